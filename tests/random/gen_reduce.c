/* SPDX-License-Identifier: Apache-2.0
 * Random programs: reductions, products and convolutions. */
#include "random/gen_program.h"

#include <stdio.h>

static int64_t points(const gen_tensor *x) {
  int64_t n = 1;
  for (uint32_t d = 0; d < x->ndim; d++) n *= x->shape[d];
  return n;
}

static void reduce(gen *g) {
  uint32_t x = gen_pick(g), n = 0, naxes = 0;
  const gen_tensor a = g->tensor[x];
  int64_t shape[GEN_MAX_DIM];
  bool reduced[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM], at[GEN_MAX_DIM];
  ir_var axis[GEN_MAX_DIM] = {0};
  if (!a.ndim) return;
  uint32_t one = gen_below(g, a.ndim);
  for (uint32_t d = 0; d < a.ndim; d++) {
    reduced[d] = d == one || gen_once_in(g, 3);
    if (!reduced[d]) shape[n++] = a.shape[d];
  }
  gen_begin(g, "r", n, shape, idx);
  for (uint32_t d = 0, k = 0; d < a.ndim; d++)
    if (reduced[d])
      at[d] = gen_axis(g, a.shape[d], &axis[naxes++]);
    else
      at[d] = idx[k++];
  for (uint32_t d = 0; d < a.ndim; d++)
    at[d] = gen_turn(g, 6, a.shape[d] - 1, at[d]);
  gen_expr v = gen_load(g, x, at);
  if (gen_once_in(g, 3)) v = gen_tweak(g, a.t, v);
  gen_end_reduce(g, n, shape, a.t, v, naxes, axis);
}

/* ---- reducers made for the purpose, in Lua ------------------------------ */

static void say_formals(gen *g, uint32_t n, const gen_expr *l,
                        const gen_expr *r) {
  for (uint32_t i = 0; i < n; i++) {
    gen_say(g, l[i], "l%u", (unsigned)i);
    gen_say(g, r[i], "r%u", (unsigned)i);
  }
}

static void write_reducer(gen *g, const char *name, uint32_t n,
                          const gen_expr *l, const gen_expr *r,
                          const gen_expr *combined, const double *start) {
  gen_write(g, "local %s = ts.reducer(function(%s, %s)\n  return %s\nend, {",
            name, gen_list(g, n, l), gen_list(g, n, r),
            gen_list(g, n, combined));
  for (uint32_t i = 0; i < n; i++)
    gen_write(g, "%s%s", i ? ", " : "",
              start[i] == 0   ? "0"
              : start[i] == 1 ? "1"
              : start[i] < 0  ? "-math.huge"
                              : "math.huge");
  gen_write(g, "}, \"%s\")\n", name);
  snprintf(g->reducer, sizeof g->reducer, "%s", name);
}

/* Combines (value, place) pairs: the greatest value and where it is, of equal
 * ones the least place or, not commutative, the one that came first. */
static uint32_t arg_max(gen *g, tess_dtype t) {
  tess_dtype types[2] = {t, {TESS_DTYPE_INT, 32, 1}};
  gen_expr l[2] = {0}, r[2] = {0}, c[2];
  double least[2] = {-1.0 / 0.0, 0};
  char name[32];
  uint32_t reducer = 0;
  gen_name(g, "argmax", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_reducer_begin(&g->b, name, 2, types, l, r));
  say_formals(g, 2, l, r);
  gen_expr later = gen_bin(g, "<", l[0], r[0]);
  gen_expr same = gen_bin(g, "==", l[0], r[0]);
  c[0] = gen_select(g, later, r[0], l[0]);
  gen_expr first = gen_bin(g, "min", l[1], r[1]);
  gen_expr place = gen_select(g, later, r[1], l[1]);
  c[1] = gen_once_in(g, 3) ? place : gen_select(g, same, first, place);
  if (!g->failed)
    gen_check(g,
              describe_reducer_end(&g->b, name, 2, l, r, c, least, &reducer));
  write_reducer(g, name, 2, l, r, c, least);
  return reducer;
}

/* Steps from y to a y + b, pairs (a, b), one behind the other.  Steps make a
 * step, and which comes first counts. */
static uint32_t steps(gen *g, tess_dtype t) {
  tess_dtype types[2] = {t, t};
  gen_expr l[2] = {0}, r[2] = {0}, c[2];
  double stay[2] = {1, 0};
  char name[32];
  uint32_t reducer = 0;
  gen_name(g, "steps", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_reducer_begin(&g->b, name, 2, types, l, r));
  say_formals(g, 2, l, r);
  c[0] = gen_bin(g, "*", l[0], r[0]);
  c[1] = gen_bin(g, "+", gen_bin(g, "*", l[1], r[0]), r[1]);
  if (!g->failed)
    gen_check(g, describe_reducer_end(&g->b, name, 2, l, r, c, stay, &reducer));
  write_reducer(g, name, 2, l, r, c, stay);
  return reducer;
}

/* The value of a polynomial, whose coefficients come one after another. */
static uint32_t horner(gen *g, tess_dtype t) {
  gen_expr l = 0, r = 0, c;
  double start = 0;
  char name[32];
  uint32_t reducer = 0;
  gen_name(g, "horner", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_reducer_begin(&g->b, name, 1, &t, &l, &r));
  say_formals(g, 1, &l, &r);
  c = gen_bin(g, "+", gen_bin(g, "*", l, gen_const(g, t)), r);
  if (!g->failed)
    gen_check(
        g, describe_reducer_end(&g->b, name, 1, &l, &r, &c, &start, &reducer));
  write_reducer(g, name, 1, &l, &r, &c, &start);
  return reducer;
}

/* The end of a compute that reduces by the last reducer. */
static void write_reduced(gen *g, uint32_t n, const gen_expr *src,
                          uint32_t naxes, const ir_var *axes, uint32_t ndim,
                          const int64_t *shape) {
  if (g->o.lua)
    gen_write_results(g, n, ndim, shape,
                      arena_printf(&g->texts, "%s(%s, {%s})", g->reducer,
                                   gen_list(g, n, src),
                                   gen_axes(g, naxes, axes)));
}

/* The last dimensions of a tensor by a reducer to which the order is not all
 * the same. */
static void reduce_in_order(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || a.t.code == TESS_DTYPE_BOOL || g->o.representable) return;
  bool one = gen_once_in(g, 3);
  uint32_t nout = one ? 1 : 2, reducer = one ? horner(g, a.t) : steps(g, a.t);
  uint32_t naxes = a.ndim > 1 ? 1 + gen_below(g, 2) : 1, n = a.ndim - naxes;
  gen_expr idx[GEN_MAX_DIM], src[2], body[2] = {0};
  ir_var axis[2] = {0};
  ir_buf out[2] = {0};
  gen_begin(g, "f", n, a.shape, idx);
  for (uint32_t k = 0; k < naxes; k++)
    idx[n + k] = gen_axis(g, a.shape[n + k], &axis[k]);
  src[nout - 1] = gen_load(g, x, idx);
  if (!one) src[0] = gen_tweak(g, a.t, src[1]);
  if (!g->failed)
    gen_check(g, describe_reduce(&g->b, reducer, nout, src, naxes, axis, body));
  if (!g->failed) gen_check(g, describe_compute_end(&g->b, nout, body, out));
  write_reduced(g, nout, src, naxes, axis, n, a.shape);
  uint64_t reads = g->reads;
  for (uint32_t k = 0; k < nout; k++) {
    g->reads = reads;
    gen_add(g, out[k], a.t, n, a.shape);
  }
}

static void reduce_pairs(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || a.t.code == TESS_DTYPE_BOOL) return;
  tess_dtype place = {TESS_DTYPE_INT, 32, 1};
  uint32_t reducer = arg_max(g, a.t), n = a.ndim - 1;
  gen_expr idx[GEN_MAX_DIM], src[2], body[2] = {0};
  ir_var axis = 0;
  ir_buf out[2] = {0};
  gen_begin(g, "m", n, a.shape, idx);
  idx[n] = gen_axis(g, a.shape[n], &axis);
  src[0] = gen_load(g, x, idx);
  src[1] = gen_cast(g, place, idx[n]);
  if (!g->failed)
    gen_check(g, describe_reduce(&g->b, reducer, 2, src, 1, &axis, body));
  if (!g->failed) gen_check(g, describe_compute_end(&g->b, 2, body, out));
  write_reduced(g, 2, src, 1, &axis, n, a.shape);
  uint64_t reads = g->reads;
  gen_add(g, out[0], a.t, n, a.shape);
  g->reads = reads;
  gen_add(g, out[1], place, n, a.shape);
}

/* Several results at once, each combined in its own way by a reducer made
 * for it. */
static void reduce_many(gen *g) {
  static const char *const how[] = {"+", "max", "min"};
  uint32_t x = gen_pick(g), n = 1 + gen_below(g, 3), reducer = 0;
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || a.t.code == TESS_DTYPE_BOOL) return;
  tess_dtype types[3] = {a.t, a.t, a.t};
  gen_expr l[3] = {0}, r[3] = {0}, c[3], src[3], body[3] = {0};
  gen_expr idx[GEN_MAX_DIM];
  double start[3];
  char name[32];
  gen_name(g, "many", name, sizeof name);
  if (!g->failed)
    gen_check(g, describe_reducer_begin(&g->b, name, n, types, l, r));
  say_formals(g, n, l, r);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = gen_below(g, 3);
    start[i] = k == 0 ? 0 : k == 1 ? -1.0 / 0.0 : 1.0 / 0.0;
    c[i] = gen_bin(g, how[k], l[i], r[i]);
  }
  if (!g->failed)
    gen_check(g,
              describe_reducer_end(&g->b, name, n, l, r, c, start, &reducer));
  write_reducer(g, name, n, l, r, c, start);
  ir_var axis = 0;
  ir_buf out[3] = {0};
  gen_begin(g, "u", a.ndim - 1, a.shape, idx);
  idx[a.ndim - 1] = gen_axis(g, a.shape[a.ndim - 1], &axis);
  for (uint32_t i = 0; i < n; i++) {
    src[i] = gen_load(g, x, idx);
    src[i] = i ? gen_tweak(g, a.t, src[i]) : src[i];
  }
  if (!g->failed)
    gen_check(g, describe_reduce(&g->b, reducer, n, src, 1, &axis, body));
  if (!g->failed) gen_check(g, describe_compute_end(&g->b, n, body, out));
  write_reduced(g, n, src, 1, &axis, a.ndim - 1, a.shape);
  uint64_t reads = g->reads;
  for (uint32_t i = 0; i < n; i++) {
    g->reads = reads;
    gen_add(g, out[i], a.t, a.ndim - 1, a.shape);
  }
}

static void gen_multiply(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (a.ndim < 2 || a.t.code == TESS_DTYPE_BOOL) return;
  uint32_t n = a.ndim;
  int64_t k = a.shape[n - 1];
  int64_t cols = gen_extent(g, g->o.max_points / (points(&a) + 1));
  int64_t shape[GEN_MAX_DIM], right[2] = {k, cols};
  bool turned = gen_once_in(g, 3);
  if (turned) right[0] = cols, right[1] = k;
  for (uint32_t d = 0; d < n; d++) shape[d] = a.shape[d];
  shape[n - 1] = cols;
  uint32_t y = gen_source(g, a.t, 2, right);
  gen_expr idx[GEN_MAX_DIM], at[GEN_MAX_DIM];
  ir_var axis = 0;
  gen_begin(g, "d", n, shape, idx);
  gen_expr r = gen_axis(g, k, &axis);
  for (uint32_t d = 0; d < n; d++) at[d] = d + 1 < n ? idx[d] : r;
  gen_expr there[2] = {turned ? idx[n - 1] : r, turned ? r : idx[n - 1]};
  gen_expr v = gen_bin(g, "*", gen_load(g, x, at), gen_load(g, y, there));
  gen_end_reduce(g, n, shape, a.t, v, 1, &axis);
}

/* A product of two tensors over any of up to five axes, each in one of them
 * or in both, kept or summed over. */
static void einsum(gen *g) {
  enum { LEFT = 1, RIGHT = 2, KEPT = 4, AXES = 5 };
  int64_t extent[AXES], left = g->o.max_points, shape[3][AXES];
  gen_expr var[AXES], idx[AXES], at[2][AXES];
  ir_var axis[AXES] = {0};
  uint32_t in[AXES], n = 2 + gen_below(g, 4), ndim[3] = {0}, naxes = 0;
  tess_dtype t = gen_dtype(g);
  if (t.code == TESS_DTYPE_BOOL) return;
  for (uint32_t i = 0; i < n; i++) {
    extent[i] = gen_extent(g, left < 12 ? left : 12);
    left /= extent[i];
    in[i] = 1 + gen_below(g, 3);
    in[i] |= gen_below(g, 3) ? KEPT : 0;
    for (uint32_t k = 0; k < 3; k++)
      if (in[i] >> k & 1) shape[k][ndim[k]++] = extent[i];
  }
  uint32_t x = gen_source(g, t, ndim[0], shape[0]);
  uint32_t y = gen_source(g, t, ndim[1], shape[1]);
  gen_begin(g, "o", ndim[2], shape[2], idx);
  for (uint32_t i = 0, k = 0; i < n; i++)
    var[i] = in[i] & KEPT ? idx[k++] : gen_axis(g, extent[i], &axis[naxes++]);
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t i = 0, d = 0; i < n; i++)
      if (in[i] >> k & 1) at[k][d++] = var[i];
  gen_expr v = gen_bin(g, "*", gen_load(g, x, at[0]), gen_load(g, y, at[1]));
  if (naxes)
    gen_end_reduce(g, ndim[2], shape[2], t, v, naxes, axis);
  else
    gen_end(g, ndim[2], shape[2], t, v);
}

/* A convolution over the first dimension, channels last; or what is called
 * so and is a correlation. */
static void convolve(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (a.ndim != 2 || a.t.code == TESS_DTYPE_BOOL || a.shape[1] > 8) return;
  int64_t k = a.shape[0] < 3 ? 1 : 3, out = gen_extent(g, 4);
  int64_t shape[2] = {a.shape[0] - k + 1, out}, w[3] = {k, a.shape[1], out};
  gen_expr idx[2];
  ir_var axis[2] = {0};
  uint32_t weight = gen_source(g, a.t, 3, w);
  gen_begin(g, "v", 2, shape, idx);
  gen_expr rk = gen_axis(g, k, &axis[0]), rc = gen_axis(g, w[1], &axis[1]);
  gen_expr from = gen_turn(g, 3, shape[0] - 1, idx[0]);
  gen_expr by = gen_turn(g, 2, k - 1, rk);
  gen_expr at[2] = {gen_bin(g, "+", from, by), rc};
  gen_expr wat[3] = {rk, rc, idx[1]};
  gen_expr v = gen_bin(g, "*", gen_load(g, x, at), gen_load(g, weight, wat));
  gen_end_reduce(g, 2, shape, a.t, v, 2, axis);
}

/* A convolution of an image, channels last, with stride and dilation. */
static void convolve_image(gen *g) {
  int64_t k = 1 + 2 * gen_below(g, 2), stride = 1 + gen_below(g, 2);
  int64_t apart = 1 + gen_below(g, 2), in = 1 + gen_below(g, 3);
  int64_t out = 1 + gen_below(g, 4), size[2];
  int64_t w[4] = {k, k, in, out}, image[3], shape[3];
  tess_dtype t = gen_dtype(g);
  if (t.code == TESS_DTYPE_BOOL) return;
  for (uint32_t d = 0; d < 2; d++) {
    size[d] = 1 + gen_below(g, 5);
    image[d] = (size[d] - 1) * stride + (k - 1) * apart + 1;
    shape[d] = size[d];
  }
  image[2] = in, shape[2] = out;
  uint32_t x = gen_source(g, t, 3, image), y = gen_source(g, t, 4, w);
  gen_expr idx[3], at[3], r[3];
  ir_var axis[3] = {0};
  gen_begin(g, "z", 3, shape, idx);
  for (uint32_t d = 0; d < 2; d++) {
    r[d] = gen_axis(g, k, &axis[d]);
    gen_expr from = gen_turn(g, 3, size[d] - 1, idx[d]);
    gen_expr by = gen_turn(g, 3, k - 1, r[d]);
    at[d] = gen_bin(g, "+", gen_bin(g, "*", from, gen_num(g, stride)),
                    gen_bin(g, "*", by, gen_num(g, apart)));
  }
  at[2] = r[2] = gen_axis(g, in, &axis[2]);
  gen_expr there[4] = {r[0], r[1], r[2], idx[2]};
  gen_expr v = gen_bin(g, "*", gen_load(g, x, at), gen_load(g, y, there));
  gen_end_reduce(g, 3, shape, t, v, 3, axis);
}

void gen_reduction(gen *g) {
  static void (*const kinds[])(gen * g) = {
      reduce,          reduce,       reduce,      reduce_pairs,
      reduce_in_order, gen_multiply, reduce_many, einsum,
      gen_multiply,    einsum,       convolve,    convolve_image};
  kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
