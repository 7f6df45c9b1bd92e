/* SPDX-License-Identifier: Apache-2.0
 * oneDNN as a second reference beside plain loops: products, normalisation,
 * softmax, reductions and functions of elements. */
#include "naive/naive.h"

#ifdef NAIVE_ONEDNN
#include "naive/onednn.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- descriptors and arguments ------------------------------------------ */

onednn_view onednn_row_major(const naive_tensor *t) {
  onednn_view v = {.n = t->ndim ? (int)t->ndim : 1, .dim = {1}, .stride = {1}};
  int64_t step = 1;
  for (int d = (int)t->ndim - 1; d >= 0; d--) {
    v.dim[d] = t->shape[d];
    v.stride[d] = step;
    step *= t->shape[d];
  }
  return v;
}

onednn_view onednn_permuted(onednn_view v, const int *order) {
  onednn_view to = {.n = v.n};
  for (int d = 0; d < v.n; d++) {
    to.dim[d] = v.dim[order[d]];
    to.stride[d] = v.stride[order[d]];
  }
  return to;
}

onednn_view onednn_moved(onednn_view v, int from, int to) {
  int order[NAIVE_DIM], n = 0;
  for (int d = 0; d < v.n; d++) {
    if (n == to) order[n++] = from;
    if (d != from) order[n++] = d;
  }
  if (n == to) order[n] = from;
  return onednn_permuted(v, order);
}

dnnl_memory_desc_t onednn_desc(const onednn_view *v) {
  dnnl_memory_desc_t md = {0};
  dnnl_memory_desc_init_by_strides(&md, v->n, v->dim, dnnl_f32, v->stride);
  return md;
}

void onednn_make(onednn *o, dnnl_status_t s, const_dnnl_op_desc_t op) {
  if (!s) s = dnnl_primitive_desc_create(&o->pd, op, NULL, o->engine, NULL);
  o->status = s;
}

/* Room for an argument of n elements. */
static float *onednn_room(onednn *o, int which, const dnnl_memory_desc_t *md,
                          int64_t n) {
  float *v = malloc((size_t)n * sizeof *v + 1);
  if (!v) abort();
  o->data[o->n] = v;
  o->arg[o->n].arg = which;
  if (!o->status)
    o->status = dnnl_memory_create(&o->arg[o->n].memory, md, o->engine, v);
  o->n++;
  return v;
}

void onednn_give(onednn *o, int which, dnnl_memory_desc_t md,
                 const naive_tensor *t) {
  float *v = onednn_room(o, which, &md, t->n);
  for (int64_t i = 0; i < t->n; i++) v[i] = (float)t->v[i];
}

void onednn_give_to(onednn *o, int which, dnnl_memory_desc_t md,
                    const naive_tensor *t, const naive_tensor *y) {
  float *v = onednn_room(o, which, &md, y->n);
  for (int64_t i = 0; i < y->n; i++) {
    int64_t a[NAIVE_DIM], from[NAIVE_DIM];
    naive_indices(y, i, a);
    for (uint32_t d = 0; d < t->ndim; d++)
      from[d] = t->shape[d] == 1 ? 0 : a[d + y->ndim - t->ndim];
    v[i] = (float)*naive_at(t, from);
  }
}

void onednn_run(onednn *o, dnnl_memory_desc_t md, naive_tensor *y) {
  dnnl_primitive_t primitive = NULL;
  const float *v = onednn_room(o, DNNL_ARG_DST, &md, y->n);
  if (!o->status) o->status = dnnl_primitive_create(&primitive, o->pd);
  if (!o->status)
    o->status = dnnl_primitive_execute(primitive, o->stream, o->n, o->arg);
  if (!o->status) o->status = dnnl_stream_wait(o->stream);
  dnnl_primitive_destroy(primitive);
  for (int64_t i = 0; !o->status && i < y->n; i++) y->v[i] = v[i];
}

/* ---- products ----------------------------------------------------------- */

static void onednn_product(onednn *o, onednn_view a, onednn_view b,
                           onednn_view c, naive_tensor *y) {
  dnnl_matmul_desc_t op;
  dnnl_memory_desc_t x = onednn_desc(&a), w = onednn_desc(&b),
                     to = onednn_desc(&c);
  onednn_make(o, dnnl_matmul_desc_init(&op, &x, &w, NULL, &to), &op);
  onednn_give(o, DNNL_ARG_SRC, x, &o->x->t[0]);
  onednn_give(o, DNNL_ARG_WEIGHTS, w, &o->x->t[1]);
  onednn_run(o, to, y);
}

static onednn_view transposed_if(onednn_view v, bool yes) {
  return yes ? onednn_moved(v, v.n - 1, v.n - 2) : v;
}

static bool onednn_matmul(onednn *o) {
  naive *x = o->x;
  naive_tensor *y = &x->t[x->n - 1];
  if (naive_length(x, "batch") || naive_length(x, "batch_b")) return false;
  onednn_product(
      o, transposed_if(onednn_row_major(&x->t[0]), naive_flag(x, "trans_a")),
      transposed_if(onednn_row_major(&x->t[1]), naive_flag(x, "trans_b")),
      onednn_row_major(y), y);
  for (int64_t i = 0; i < y->n; i++)
    y->v[i] = naive_epilogue(x, y->v[i], i % y->shape[y->ndim - 1], 2);
  return true;
}

static bool onednn_dense(onednn *o) {
  naive *x = o->x;
  naive_tensor *y = &x->t[x->n - 1];
  bool bias = !naive_denied(x, "bias");
  onednn_product(o, onednn_row_major(&x->t[0]),
                 transposed_if(onednn_row_major(&x->t[1]), true),
                 onednn_row_major(y), y);
  for (int64_t i = 0; i < y->n; i++) {
    if (bias) y->v[i] += x->t[2].v[i % y->shape[1]];
    y->v[i] = naive_activated(x, y->v[i]);
  }
  return true;
}

static bool onednn_heads(onednn *o) {
  naive *x = o->x;
  onednn_product(
      o, onednn_permuted(onednn_row_major(&x->t[0]), (int[]){0, 2, 1, 3}),
      onednn_permuted(onednn_row_major(&x->t[1]), (int[]){0, 2, 3, 1}),
      onednn_row_major(&x->t[2]), &x->t[2]);
  return true;
}

/* ---- normalisation ------------------------------------------------------ */

/* Rows of what is normalised together. */
static bool onednn_layer_norm(onednn *o) {
  naive *x = o->x;
  naive_tensor *t = &x->t[0];
  bool bias = !naive_denied(x, "bias"), weight = !naive_denied(x, "weight");
  int64_t n = 1;
  for (uint32_t d = naive_axis(x, "axis", t->ndim, -1); d < t->ndim; d++)
    n *= t->shape[d];
  onednn_view rows = {.n = 2, .dim = {t->n / n, n}, .stride = {n, 1}},
              row = {.n = 1, .dim = {n}, .stride = {1}};
  dnnl_memory_desc_t md = onednn_desc(&rows), of = onednn_desc(&row);
  dnnl_layer_normalization_desc_t op;
  onednn_make(o,
              dnnl_layer_normalization_forward_desc_init(
                  &op, dnnl_forward_inference, &md, NULL,
                  (float)naive_real(x, "eps", 1e-5),
                  (weight ? dnnl_use_scale : 0U) | (bias ? dnnl_use_shift : 0)),
              &op);
  onednn_give(o, DNNL_ARG_SRC, md, t);
  if (weight) onednn_give(o, DNNL_ARG_SCALE, of, &x->t[1]);
  if (bias) onednn_give(o, DNNL_ARG_SHIFT, of, &x->t[x->n - 2]);
  onednn_run(o, md, &x->t[x->n - 1]);
  return true;
}

static bool onednn_batch_norm(onednn *o) {
  static const int which[] = {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT,
                              DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  naive *x = o->x;
  onednn_view v = onednn_row_major(&x->t[0]),
              channels = onednn_row_major(&x->t[1]);
  if (naive_is(x, "layout", "channels_last")) v = onednn_moved(v, v.n - 1, 1);
  dnnl_memory_desc_t md = onednn_desc(&v), of = onednn_desc(&channels);
  dnnl_batch_normalization_desc_t op;
  onednn_make(o,
              dnnl_batch_normalization_forward_desc_init(
                  &op, dnnl_forward_inference, &md,
                  (float)naive_real(x, "eps", 1e-5),
                  dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift),
              &op);
  for (int i = 0; i < 5; i++) onednn_give(o, which[i], i ? of : md, &x->t[i]);
  onednn_run(o, md, &x->t[5]);
  return true;
}

static bool onednn_soft(onednn *o, bool log_of) {
  naive *x = o->x;
  onednn_view v = onednn_row_major(&x->t[0]);
  dnnl_memory_desc_t md = onednn_desc(&v);
  dnnl_softmax_desc_t op;
  int axis = (int)naive_axis(x, "axis", x->t[0].ndim, -1);
  onednn_make(o,
              log_of ? dnnl_logsoftmax_forward_desc_init(
                           &op, dnnl_forward_inference, &md, axis)
                     : dnnl_softmax_forward_desc_init(
                           &op, dnnl_forward_inference, &md, axis),
              &op);
  onednn_give(o, DNNL_ARG_SRC, md, &x->t[0]);
  onednn_run(o, md, &x->t[1]);
  return true;
}

static bool onednn_softmax(onednn *o) { return onednn_soft(o, false); }
static bool onednn_log_softmax(onednn *o) { return onednn_soft(o, true); }

/* ---- reductions --------------------------------------------------------- */

/* Over dimensions that are true in `over`; the library refuses reductions
 * that leave the shape as it is. */
static bool onednn_reduced(onednn *o, dnnl_alg_kind_t alg, float p,
                           const bool *over) {
  naive_tensor *t = &o->x->t[0], *y = &o->x->t[1];
  onednn_view from = onednn_row_major(t), to = from;
  int64_t step = 1;
  for (int d = from.n - 1; d >= 0; d--) {
    if (over[d]) to.dim[d] = 1;
    to.stride[d] = step;
    step *= to.dim[d];
  }
  if (t->n == y->n) return false;
  dnnl_memory_desc_t md = onednn_desc(&from), result = onednn_desc(&to);
  dnnl_reduction_desc_t op;
  onednn_make(o, dnnl_reduction_desc_init(&op, alg, &md, &result, p, 0), &op);
  onednn_give(o, DNNL_ARG_SRC, md, t);
  onednn_run(o, result, y);
  return true;
}

static bool onednn_reduce(onednn *o) {
  static const struct {
    const char *name;
    dnnl_alg_kind_t alg;
    float p;
  } kinds[] = {
      {"sum", dnnl_reduction_sum, 0},
      {"mean", dnnl_reduction_mean, 0},
      {"prod", dnnl_reduction_mul, 0},
      {"max", dnnl_reduction_max, 0},
      {"min", dnnl_reduction_min, 0},
      {"l1", dnnl_reduction_norm_lp_power_p_sum, 1},
      {"l2", dnnl_reduction_norm_lp_sum, 2},
      {"sum_square", dnnl_reduction_norm_lp_power_p_sum, 2},
  };
  naive *x = o->x;
  uint32_t rank = x->t[0].ndim, n = naive_length(x, "axes");
  bool over[NAIVE_DIM];
  for (uint32_t d = 0; d < rank; d++) over[d] = n == 0;
  for (uint32_t i = 0; i < n; i++) {
    int64_t a = naive_entry(x, "axes", i, 0);
    over[a < 0 ? a + rank : a] = true;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (naive_is(x, "op", kinds[i].name))
      return onednn_reduced(o, kinds[i].alg, kinds[i].p, over);
  return false;
}

static bool onednn_norm(onednn *o) {
  return onednn_reduced(o, dnnl_reduction_norm_lp_sum, 2,
                        (const bool[]){false, true, true});
}

/* ---- elements ----------------------------------------------------------- */

static bool onednn_each(onednn *o, dnnl_alg_kind_t alg, double alpha,
                        double beta) {
  onednn_view v = onednn_row_major(&o->x->t[0]);
  dnnl_memory_desc_t md = onednn_desc(&v);
  dnnl_eltwise_desc_t op;
  onednn_make(o,
              dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, alg,
                                             &md, (float)alpha, (float)beta),
              &op);
  onednn_give(o, DNNL_ARG_SRC, md, &o->x->t[0]);
  onednn_run(o, md, &o->x->t[1]);
  return true;
}

static bool onednn_pairs(onednn *o, dnnl_alg_kind_t alg) {
  naive_tensor *t = o->x->t;
  onednn_view v = onednn_row_major(&t[2]);
  dnnl_memory_desc_t md = onednn_desc(&v);
  dnnl_binary_desc_t op;
  onednn_make(o, dnnl_binary_desc_init(&op, alg, &md, &md, &md), &op);
  onednn_give_to(o, DNNL_ARG_SRC_0, md, &t[0], &t[2]);
  onednn_give_to(o, DNNL_ARG_SRC_1, md, &t[1], &t[2]);
  onednn_run(o, md, &t[2]);
  return true;
}

static bool onednn_prelu(onednn *o) {
  naive_tensor *t = o->x->t;
  onednn_view v = onednn_row_major(&t[2]);
  dnnl_memory_desc_t md = onednn_desc(&v);
  dnnl_prelu_desc_t op;
  onednn_make(
      o, dnnl_prelu_forward_desc_init(&op, dnnl_forward_inference, &md, &md),
      &op);
  onednn_give_to(o, DNNL_ARG_SRC, md, &t[0], &t[2]);
  onednn_give_to(o, DNNL_ARG_WEIGHTS, md, &t[1], &t[2]);
  onednn_run(o, md, &t[2]);
  return true;
}

#define EACH(name, alg, alpha, beta)             \
  static bool each_##name(onednn *o) {           \
    return onednn_each(o, alg, (alpha), (beta)); \
  }
#define PAIRS(name, alg) \
  static bool pairs_##name(onednn *o) { return onednn_pairs(o, alg); }
#define OPTION(name, otherwise) naive_real(o->x, name, otherwise)

EACH(abs, dnnl_eltwise_abs, 0, 0)
EACH(neg, dnnl_eltwise_linear, -1, 0)
EACH(square, dnnl_eltwise_square, 0, 0)
EACH(reciprocal, dnnl_eltwise_pow, 1, -1)
EACH(sqrt, dnnl_eltwise_sqrt, 0, 0)
EACH(rsqrt, dnnl_eltwise_pow, 1, -0.5)
EACH(exp, dnnl_eltwise_exp, 0, 0)
EACH(log, dnnl_eltwise_log, 0, 0)
EACH(tanh, dnnl_eltwise_tanh, 0, 0)
EACH(sigmoid, dnnl_eltwise_logistic, 0, 0)
EACH(round, dnnl_eltwise_round, 0, 0)
EACH(relu, dnnl_eltwise_relu, 0, 0)
EACH(gelu, dnnl_eltwise_gelu_erf, 0, 0)
EACH(gelu_tanh, dnnl_eltwise_gelu_tanh, 0, 0)
EACH(silu, dnnl_eltwise_swish, 1, 0)
EACH(softplus, dnnl_eltwise_soft_relu, 0, 0)
EACH(mish, dnnl_eltwise_mish, 0, 0)
EACH(hard_swish, dnnl_eltwise_hardswish, 0, 0)
EACH(leaky_relu, dnnl_eltwise_relu, OPTION("alpha", 0.01), 0)
EACH(elu, dnnl_eltwise_elu, OPTION("alpha", 1), 0)
EACH(clamp, dnnl_eltwise_clip, OPTION("low", 0), OPTION("high", 1))
PAIRS(add, dnnl_binary_add)
PAIRS(sub, dnnl_binary_sub)
PAIRS(mul, dnnl_binary_mul)
PAIRS(div, dnnl_binary_div)
PAIRS(minimum, dnnl_binary_min)
PAIRS(maximum, dnnl_binary_max)
PAIRS(equal, dnnl_binary_eq)
PAIRS(not_equal, dnnl_binary_ne)
PAIRS(less, dnnl_binary_lt)
PAIRS(less_equal, dnnl_binary_le)
PAIRS(greater, dnnl_binary_gt)
PAIRS(greater_equal, dnnl_binary_ge)

#define EACH_ROW(name) \
  { #name, each_##name }
#define PAIRS_ROW(name) \
  { #name, pairs_##name }

const onednn_op onednn_others[] = {
    {"matmul", onednn_matmul},
    {"batch_matmul", onednn_matmul},
    {"dense", onednn_dense},
    {"transpose_batch_matmul", onednn_heads},
    {"layer_norm", onednn_layer_norm},
    {"batch_norm", onednn_batch_norm},
    {"softmax", onednn_softmax},
    {"log_softmax", onednn_log_softmax},
    {"reduce", onednn_reduce},
    {"norm", onednn_norm},
    {"prelu", onednn_prelu},
    EACH_ROW(abs),
    EACH_ROW(neg),
    EACH_ROW(square),
    EACH_ROW(reciprocal),
    EACH_ROW(sqrt),
    EACH_ROW(rsqrt),
    EACH_ROW(exp),
    EACH_ROW(log),
    EACH_ROW(tanh),
    EACH_ROW(sigmoid),
    EACH_ROW(round),
    EACH_ROW(relu),
    EACH_ROW(gelu),
    EACH_ROW(gelu_tanh),
    EACH_ROW(silu),
    EACH_ROW(softplus),
    EACH_ROW(mish),
    EACH_ROW(hard_swish),
    EACH_ROW(leaky_relu),
    EACH_ROW(elu),
    EACH_ROW(clamp),
    PAIRS_ROW(add),
    PAIRS_ROW(sub),
    PAIRS_ROW(mul),
    PAIRS_ROW(div),
    PAIRS_ROW(minimum),
    PAIRS_ROW(maximum),
    PAIRS_ROW(equal),
    PAIRS_ROW(not_equal),
    PAIRS_ROW(less),
    PAIRS_ROW(less_equal),
    PAIRS_ROW(greater),
    PAIRS_ROW(greater_equal),
    {NULL, NULL},
};

/* ---- a call ------------------------------------------------------------- */

static const onednn_op *onednn_find(const char *name) {
  const onednn_op *lists[] = {onednn_windows, onednn_others};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (const onednn_op *op = lists[i]; op->name; op++)
      if (!strcmp(op->name, name)) return op;
  return NULL;
}

/* Its work is small, and LeakSanitizer fails on the threads of libgomp. */
static void use_one_thread(void) {
  void (*set_threads)(int);
  void *s = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
  memcpy(&set_threads, &s, sizeof s);
  if (s) set_threads(1);
}

bool naive_onednn(const char *name, naive *x, bool *ok) {
  const onednn_op *op = onednn_find(name);
  onednn o = {.x = x};
  if (!op) return false;
  use_one_thread();
  if (dnnl_engine_create(&o.engine, dnnl_cpu, 0) ||
      dnnl_stream_create(&o.stream, o.engine, dnnl_stream_default_flags))
    abort();
  bool has = op->run(&o);
  for (int i = 0; i < o.n; i++) {
    dnnl_memory_destroy(o.arg[i].memory);
    free(o.data[i]);
  }
  dnnl_primitive_desc_destroy(o.pd);
  dnnl_stream_destroy(o.stream);
  dnnl_engine_destroy(o.engine);
  *ok = !o.status;
  return has;
}

#else
typedef int onednn_is_not_there;
#endif
