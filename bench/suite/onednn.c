/* SPDX-License-Identifier: Apache-2.0
 * oneDNN as a peer of convolutions, products and softmax: activations with
 * channels last, weights and their layout prepared beforehand. */
#include "bench/suite/peer.h"

#ifndef BENCH_ONEDNN
uint32_t onednn_peers(const row *r, peer *list) {
  (void)r, (void)list;
  return 0;
}
#else

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

typedef struct onednn {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t args[4];
  int nargs;
} onednn;

static void run_onednn(void *self) {
  onednn *d = self;
  dnnl_primitive_execute(d->primitive, d->stream, d->nargs, d->args);
  dnnl_stream_wait(d->stream);
}

static bool onednn_arg(onednn *d, int which, const dnnl_memory_desc_t *md,
                       void *data) {
  dnnl_memory_t m;
  if (dnnl_memory_create(&m, md, d->engine, data)) return false;
  d->args[d->nargs++] = (dnnl_exec_arg_t){which, m};
  return true;
}

/* The argument in the layout that the primitive wants, converted now. */
static bool onednn_laid_out(onednn *d, const_dnnl_primitive_desc_t pd,
                            const dnnl_memory_desc_t *md, void *data) {
  const dnnl_memory_desc_t *to =
      dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
  dnnl_primitive_desc_t reorder;
  dnnl_primitive_t primitive;
  dnnl_memory_t from;
  if (dnnl_memory_create(&from, md, d->engine, data) ||
      dnnl_reorder_primitive_desc_create(&reorder, md, d->engine, to, d->engine,
                                         NULL) ||
      dnnl_primitive_create(&primitive, reorder) ||
      !onednn_arg(d, DNNL_ARG_WEIGHTS, to, DNNL_MEMORY_ALLOCATE))
    return false;
  dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from},
                            {DNNL_ARG_TO, d->args[d->nargs - 1].memory}};
  return !dnnl_primitive_execute(primitive, d->stream, 2, args) &&
         !dnnl_stream_wait(d->stream);
}

/* The library's functions take arrays of its own length. */
static void onednn_strides(dnnl_memory_desc_t *md, int n, const int64_t *dims,
                           const int64_t *strides, dnnl_data_type_t type) {
  dnnl_dims_t d = {0}, s = {0};
  memcpy(d, dims, (size_t)n * sizeof *d);
  memcpy(s, strides, (size_t)n * sizeof *s);
  dnnl_memory_desc_init_by_strides(md, n, d, type, s);
}

static void onednn_any(dnnl_memory_desc_t *md, int n, const int64_t *dims,
                       dnnl_data_type_t type) {
  dnnl_dims_t d = {0};
  memcpy(d, dims, (size_t)n * sizeof *d);
  dnnl_memory_desc_init_by_tag(md, n, d, type, dnnl_format_tag_any);
}

/* ---- convolutions ------------------------------------------------------- */

typedef struct shape {
  int nd; /* spatial dimensions */
  int64_t n, ci, co, groups, in[3], out[3], k[3];
  dnnl_dims_t stride, pad, dilate;
} shape;

/* An option of each dimension: a number for all, or a list. */
static void of_dims(const row *r, const char *name, int64_t otherwise, int nd,
                    int64_t *list) {
  const json_t *v = json_object_get(r->options, name);
  for (int i = 0; i < nd; i++) {
    const json_t *x = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
    list[i] = x ? (int64_t)json_integer_value(x) : otherwise;
  }
}

static shape onednn_shape_of(const row *r, bool transposed, bool depthwise) {
  static const char *const names[3][3] = {{"w"}, {"h", "w"}, {"d", "h", "w"}};
  shape s = {.n = row_number(r, "n", 1)};
  while (s.nd < 3 && json_object_get(r->options, names[2][2 - s.nd])) s.nd++;
  s.ci = row_number(r, depthwise ? "c" : "ci", 1);
  s.co = row_number(r, depthwise ? "c" : "co", 1);
  s.groups = depthwise ? s.ci : row_number(r, "groups", 1);
  of_dims(r, "k", 1, s.nd, s.k);
  of_dims(r, "stride", 1, s.nd, s.stride);
  of_dims(r, "pad", 0, s.nd, s.pad);
  of_dims(r, "dilation", 1, s.nd, s.dilate);
  for (int i = 0; i < s.nd; i++) {
    int64_t reach = (s.k[i] - 1) * s.dilate[i]--;
    s.in[i] = row_number(r, names[s.nd - 1][i], 1);
    s.out[i] = transposed
                   ? (s.in[i] - 1) * s.stride[i] - 2 * s.pad[i] + reach + 1
                   : (s.in[i] + 2 * s.pad[i] - reach - 1) / s.stride[i] + 1;
  }
  return s;
}

/* Channels last: [n, places.., c], in oneDNN's order n, c, places. */
static void image(const shape *s, const int64_t *places, int64_t c,
                  dnnl_memory_desc_t *md) {
  int64_t dims[5] = {s->n, c}, strides[5] = {0, 1}, step = c;
  for (int i = s->nd - 1; i >= 0; i--) {
    dims[2 + i] = places[i];
    strides[2 + i] = step;
    step *= places[i];
  }
  strides[0] = step;
  onednn_strides(md, s->nd + 2, dims, strides, dnnl_f32);
}

/* Ours are [k.., ci, co]; groups are parts of co.  Also with any layout. */
static void weights(const shape *s, dnnl_memory_desc_t *md,
                    dnnl_memory_desc_t *any) {
  int64_t dims[6], strides[6], step, co = s->co / s->groups;
  int64_t ci = s->ci / s->groups;
  int n = 0;
  if (s->groups > 1) dims[n] = s->groups, strides[n++] = co;
  dims[n] = co, strides[n++] = 1;
  dims[n] = ci, strides[n++] = s->co;
  step = ci * s->co;
  for (int i = s->nd - 1; i >= 0; i--) {
    dims[n + i] = s->k[i];
    strides[n + i] = step;
    step *= s->k[i];
  }
  onednn_strides(md, n + s->nd, dims, strides, dnnl_f32);
  onednn_any(any, n + s->nd, dims, dnnl_f32);
}

static dnnl_primitive_attr_t relu_after(bool wanted) {
  dnnl_primitive_attr_t attr;
  dnnl_post_ops_t ops;
  dnnl_primitive_attr_create(&attr);
  if (wanted) {
    dnnl_post_ops_create(&ops);
    dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
    dnnl_primitive_attr_set_post_ops(attr, ops);
  }
  return attr;
}

/* A bias stands for bias and normalisation, whose scale peers fold into the
 * weights. */
static bool onednn_conv(onednn *d, const row *r, bool transposed,
                        bool depthwise) {
  shape s = onednn_shape_of(r, transposed, depthwise);
  bool bias = json_is_true(json_object_get(r->options, "bias"));
  dnnl_memory_desc_t x, y, w, any, b;
  image(&s, s.in, s.ci, &x);
  image(&s, s.out, s.co, &y);
  weights(&s, &w, &any);
  onednn_strides(&b, 1, &s.co, (int64_t[]){1}, dnnl_f32);
  dnnl_convolution_desc_t conv;
  dnnl_status_t st =
      transposed
          ? dnnl_dilated_deconvolution_forward_desc_init(
                &conv, dnnl_forward_inference, dnnl_deconvolution_direct, &x,
                &any, bias ? &b : NULL, &y, s.stride, s.dilate, s.pad, s.pad)
          : dnnl_dilated_convolution_forward_desc_init(
                &conv, dnnl_forward_inference, dnnl_convolution_direct, &x,
                &any, bias ? &b : NULL, &y, s.stride, s.dilate, s.pad, s.pad);
  dnnl_primitive_desc_t pd;
  bool relu = json_is_true(json_object_get(r->options, "relu"));
  return !st &&
         !dnnl_primitive_desc_create(&pd, &conv, relu_after(relu), d->engine,
                                     NULL) &&
         !dnnl_primitive_create(&d->primitive, pd) &&
         onednn_arg(d, DNNL_ARG_SRC, &x, r->data[0]) &&
         onednn_laid_out(d, pd, &w, r->data[1]) &&
         (!bias || onednn_arg(d, DNNL_ARG_BIAS, &b, r->data[2])) &&
         onednn_arg(d, DNNL_ARG_DST, &y, r->out);
}

/* ---- products, softmax -------------------------------------------------- */

static bool onednn_matmul(onednn *d, const row *r, bool heads, bool int8) {
  int64_t b = row_number(r, "b", 1), h = row_number(r, "heads", 1);
  int64_t m = row_number(r, heads ? "seq" : "m", 1);
  int64_t n = row_number(r, heads ? "seq" : "n", 1);
  int64_t k = row_number(r, heads ? "dim" : "k", 1);
  bool trans_b = json_is_true(json_object_get(r->options, "trans_b"));
  dnnl_memory_desc_t x, w, y;
  dnnl_data_type_t in = int8 ? dnnl_s8 : dnnl_f32;
  dnnl_data_type_t out = int8 ? dnnl_s32 : dnnl_f32;
  const int64_t row_step = heads ? h * k : k;
  onednn_strides(&x, 4, (int64_t[]){b, h, m, k},
                 (int64_t[]){m * row_step, heads ? k : m * k, row_step, 1}, in);
  onednn_strides(
      &w, 4, (int64_t[]){b, h, k, n},
      heads ? (int64_t[]){n * row_step, k, 1, row_step}
            : (int64_t[]){k * n, k * n, trans_b ? 1 : n, trans_b ? k : 1},
      in);
  onednn_strides(&y, 4, (int64_t[]){b, h, m, n},
                 (int64_t[]){h * m * n, m * n, n, 1}, out);
  dnnl_matmul_desc_t product;
  dnnl_primitive_desc_t pd;
  return !dnnl_matmul_desc_init(&product, &x, &w, NULL, &y) &&
         !dnnl_primitive_desc_create(&pd, &product, NULL, d->engine, NULL) &&
         !dnnl_primitive_create(&d->primitive, pd) &&
         onednn_arg(d, DNNL_ARG_SRC, &x, r->data[0]) &&
         onednn_arg(d, DNNL_ARG_WEIGHTS, &w, r->data[1]) &&
         onednn_arg(d, DNNL_ARG_DST, &y, r->out);
}

static bool onednn_softmax(onednn *d, const row *r) {
  const json_t *list = json_object_get(r->options, "shape");
  int64_t m = json_integer_value(json_array_get(list, 0));
  int64_t n = json_integer_value(json_array_get(list, 1));
  dnnl_memory_desc_t x;
  onednn_strides(&x, 2, (int64_t[]){m, n}, (int64_t[]){n, 1}, dnnl_f32);
  dnnl_softmax_desc_t softmax;
  dnnl_primitive_desc_t pd;
  return !dnnl_softmax_forward_desc_init(&softmax, dnnl_forward_inference, &x,
                                         1) &&
         !dnnl_primitive_desc_create(&pd, &softmax, NULL, d->engine, NULL) &&
         !dnnl_primitive_create(&d->primitive, pd) &&
         onednn_arg(d, DNNL_ARG_SRC, &x, r->data[0]) &&
         onednn_arg(d, DNNL_ARG_DST, &x, r->out);
}

uint32_t onednn_peers(const row *r, peer *list) {
  const char *op = r->operator;
  onednn *d = calloc(1, sizeof *d);
  bool made = false;
  if (dnnl_engine_create(&d->engine, dnnl_cpu, 0) ||
      dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags))
    return 0;
  if (!strncmp(op, "conv2d_transpose", 16))
    made = onednn_conv(d, r, true, false);
  else if (!strncmp(op, "depthwise", 9))
    made = onednn_conv(d, r, false, true);
  else if (!strncmp(op, "conv", 4) && !strstr(op, "winograd"))
    made = onednn_conv(d, r, false, false);
  else if (strstr(op, "matmul"))
    made = onednn_matmul(d, r, !strncmp(op, "transpose", 9),
                         !strcmp(op, "matmul_int8"));
  else if (!strcmp(op, "softmax"))
    made = onednn_softmax(d, r);
  if (!made) return 0;
  bool folded = json_is_true(json_object_get(r->options, "bn"));
  *list = (peer){"oneDNN", run_onednn, d, !folded};
  return 1;
}
#endif
