/* SPDX-License-Identifier: Apache-2.0
 * oneDNN as a second reference: convolutions, their transposes, pooling and
 * bilinear resizing. */
#ifdef NAIVE_ONEDNN
#include "naive/onednn.h"
#include <string.h>

/* What windows are along each spatial dimension; dilation counts from 0. */
typedef struct onednn_window {
  dnnl_dims_t k, stride, dilation, before, after;
} onednn_window;

static onednn_window window_of(const naive *x, uint32_t rank) {
  onednn_window w;
  bool sides = naive_length(x, "pad") == 2 * rank && rank;
  for (uint32_t d = 0; d < rank; d++) {
    w.k[d] = naive_entry(x, "k", d, 1);
    w.stride[d] = naive_entry(x, "stride", d, 1);
    w.dilation[d] = naive_entry(x, "dilation", d, 1) - 1;
    w.before[d] = naive_entry(x, "pad", d, 0);
    w.after[d] = naive_entry(x, "pad", sides ? rank + d : d, 0);
  }
  return w;
}

/* [n, c, ..] of a tensor of either layout. */
static onednn_view image_of(const naive_tensor *t, bool first) {
  onednn_view v = onednn_row_major(t);
  return first ? v : onednn_moved(v, v.n - 1, 1);
}

/* Weights [co, ci, ..] in groups: [group, co / groups, ci / groups, ..]. */
static onednn_view in_groups(onednn_view v, int64_t groups) {
  if (groups == 1) return v;
  onednn_view g = {.n = v.n + 1};
  memcpy(g.dim + 1, v.dim, (size_t)v.n * sizeof *v.dim);
  memcpy(g.stride + 1, v.stride, (size_t)v.n * sizeof *v.stride);
  g.dim[1] /= groups;
  g.dim[0] = groups;
  g.stride[0] = g.dim[1] * g.stride[1];
  return g;
}

static bool convolved(onednn *o, bool first, bool transposed, onednn_view w,
                      const onednn_window *at) {
  naive *x = o->x;
  naive_tensor *y = &x->t[x->n - 1];
  onednn_view from = image_of(&x->t[0], first), to = image_of(y, first);
  dnnl_memory_desc_t src = onednn_desc(&from), weights = onednn_desc(&w),
                     dst = onednn_desc(&to);
  dnnl_convolution_desc_t op;
  onednn_make(o,
              transposed
                  ? dnnl_dilated_deconvolution_forward_desc_init(
                        &op, dnnl_forward_inference, dnnl_deconvolution_direct,
                        &src, &weights, NULL, &dst, at->stride, at->dilation,
                        at->before, at->after)
                  : dnnl_dilated_convolution_forward_desc_init(
                        &op, dnnl_forward_inference, dnnl_convolution_direct,
                        &src, &weights, NULL, &dst, at->stride, at->dilation,
                        at->before, at->after),
              &op);
  onednn_give(o, DNNL_ARG_SRC, src, &x->t[0]);
  onednn_give(o, DNNL_ARG_WEIGHTS, weights, &x->t[1]);
  onednn_run(o, dst, y);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(y, i, a);
    y->v[i] = naive_epilogue(x, y->v[i], a[first ? 1 : y->ndim - 1], 2);
  }
  return true;
}

/* W[co, ci, k..], or W[k.., ci, co]. */
static bool conv(onednn *o, bool first) {
  const naive *x = o->x;
  onednn_window at = window_of(x, x->t[0].ndim - 2);
  onednn_view w = onednn_row_major(&x->t[1]);
  if (!first) w = onednn_moved(onednn_moved(w, w.n - 2, 0), w.n - 1, 0);
  return convolved(o, first, false, in_groups(w, naive_int(x, "groups", 1)),
                   &at);
}

static bool conv_first(onednn *o) { return conv(o, true); }
static bool conv_last(onednn *o) { return conv(o, false); }

/* The convolution that Winograd's transforms do; behind its result is W. */
static bool winograd(onednn *o, bool first) {
  naive *x = o->x;
  naive plain = {.t = {x->t[0], x->t[3], x->t[2]}, .n = 3, .lua = x->lua};
  o->x = &plain;
  bool has = conv(o, first);
  o->x = x;
  return has;
}

static bool winograd_first(onednn *o) { return winograd(o, true); }
static bool winograd_last(onednn *o) { return winograd(o, false); }

/* W[k, k, c]: as many groups as channels. */
static bool depthwise(onednn *o) {
  const naive *x = o->x;
  onednn_window at = window_of(x, 2);
  onednn_view w = onednn_moved(onednn_row_major(&x->t[1]), 2, 0);
  onednn_view g = {.n = 5,
                   .dim = {w.dim[0], 1, 1, w.dim[1], w.dim[2]},
                   .stride = {w.stride[0], 1, 1, w.stride[1], w.stride[2]}};
  return convolved(o, false, false, g, &at);
}

/* W[ci, co, k, k], or W[k, k, ci, co].  What out_pad adds is padding less. */
static bool transposed(onednn *o, bool first) {
  const naive *x = o->x;
  if (naive_int(x, "groups", 1) > 1) return false;
  onednn_window at = window_of(x, 2);
  for (uint32_t d = 0; d < 2; d++) {
    at.after[d] -= naive_entry(x, "out_pad", d, 0);
    if (at.after[d] < 0) return false;
  }
  onednn_view w = onednn_row_major(&x->t[1]);
  w = onednn_permuted(w, first ? (int[]){1, 0, 2, 3} : (int[]){3, 2, 0, 1});
  return convolved(o, first, true, w, &at);
}

static bool transposed_first(onednn *o) { return transposed(o, true); }
static bool transposed_last(onednn *o) { return transposed(o, false); }

/* ---- images ------------------------------------------------------------- */

static bool pooled(onednn *o, dnnl_alg_kind_t alg, const onednn_window *at) {
  naive *x = o->x;
  bool first = !naive_is(x, "layout", "NLC") &&
               !naive_is(x, "layout", "NHWC") &&
               !naive_is(x, "layout", "NDHWC");
  onednn_view from = image_of(&x->t[0], first), to = image_of(&x->t[1], first);
  dnnl_memory_desc_t src = onednn_desc(&from), dst = onednn_desc(&to);
  dnnl_pooling_v2_desc_t op;
  onednn_make(o,
              dnnl_pooling_v2_forward_desc_init(
                  &op, dnnl_forward_inference, alg, &src, &dst, at->stride,
                  at->k, at->dilation, at->before, at->after),
              &op);
  onednn_give(o, DNNL_ARG_SRC, src, &x->t[0]);
  onednn_run(o, dst, &x->t[1]);
  return true;
}

static bool max_pool(onednn *o) {
  onednn_window at = window_of(o->x, o->x->t->ndim - 2);
  return pooled(o, dnnl_pooling_max, &at);
}

static bool avg_pool(onednn *o) {
  onednn_window at = window_of(o->x, o->x->t->ndim - 2);
  return pooled(o,
                naive_flag(o->x, "count_include_pad")
                    ? dnnl_pooling_avg_include_padding
                    : dnnl_pooling_avg_exclude_padding,
                &at);
}

static bool global_pool(onednn *o) {
  static const char *const names[] = {"d", "h", "w"};
  const naive *x = o->x;
  uint32_t rank = x->t->ndim - 2;
  onednn_window at = {.stride = {1, 1, 1}};
  for (uint32_t d = 0; d < rank; d++)
    at.k[d] = naive_int(x, names[3 - rank + d], 1);
  return pooled(o,
                naive_is(x, "op", "max") ? dnnl_pooling_max
                                         : dnnl_pooling_avg_exclude_padding,
                &at);
}

/* Of the nearest elements the library takes the other one of two that are as
 * near, and it has no other coordinates. */
static bool resize(onednn *o) {
  naive *x = o->x;
  bool first = !naive_is(x, "layout", "NHWC");
  if (!naive_is(x, "mode", "bilinear") ||
      naive_is(x, "coordinates", "align_corners") ||
      naive_is(x, "coordinates", "asymmetric"))
    return false;
  onednn_view from = image_of(&x->t[0], first), to = image_of(&x->t[1], first);
  dnnl_memory_desc_t src = onednn_desc(&from), dst = onednn_desc(&to);
  dnnl_resampling_desc_t op;
  onednn_make(o,
              dnnl_resampling_forward_desc_init(&op, dnnl_forward_inference,
                                                dnnl_resampling_linear, NULL,
                                                &src, &dst),
              &op);
  onednn_give(o, DNNL_ARG_SRC, src, &x->t[0]);
  onednn_run(o, dst, &x->t[1]);
  return true;
}

const onednn_op onednn_windows[] = {
    {"conv1d_ncl", conv_first},
    {"conv1d_nlc", conv_last},
    {"conv2d_nchw", conv_first},
    {"conv2d_nhwc", conv_last},
    {"conv3d_ncdhw", conv_first},
    {"conv3d_ndhwc", conv_last},
    {"conv2d_winograd_nchw", winograd_first},
    {"conv2d_winograd_nhwc", winograd_last},
    {"depthwise_conv2d_nhwc", depthwise},
    {"conv2d_transpose_nchw", transposed_first},
    {"conv2d_transpose_nhwc", transposed_last},
    {"max_pool1d", max_pool},
    {"max_pool2d", max_pool},
    {"max_pool3d", max_pool},
    {"avg_pool1d", avg_pool},
    {"avg_pool2d", avg_pool},
    {"avg_pool3d", avg_pool},
    {"global_pool1d", global_pool},
    {"global_pool2d", global_pool},
    {"global_pool3d", global_pool},
    {"resize2d", resize},
    {NULL, NULL},
};

#else
typedef int onednn_is_not_there;
#endif
