/* SPDX-License-Identifier: Apache-2.0
 * Random programs: the kinds of stages. */
#include "random/gen_program.h"

static int64_t points(const gen_tensor *x) {
  int64_t n = 1;
  for (uint32_t d = 0; d < x->ndim; d++) n *= x->shape[d];
  return n;
}

/* ---- element by element ------------------------------------------------- */

/* A tensor with some of the dimensions of `shape`, broadcast to it. */
static gen_expr broadcast(gen *g, tess_dtype t, uint32_t ndim,
                          const int64_t *shape, const gen_expr *idx) {
  int64_t sub[GEN_MAX_DIM];
  gen_expr at[GEN_MAX_DIM];
  uint32_t n = 0;
  for (uint32_t d = 0; d < ndim; d++)
    if (gen_once_in(g, 2)) {
      sub[n] = shape[d];
      at[n++] = idx[d];
    }
  return gen_load(g, gen_source(g, t, n, sub), at);
}

/* A number made of the indices, as data. */
static gen_expr of_index(gen *g, tess_dtype t, uint32_t ndim,
                         const gen_expr *idx) {
  gen_expr v = gen_bin(g, "%", idx[gen_below(g, ndim)], gen_num(g, 7));
  if (t.code == TESS_DTYPE_BOOL) return gen_bin(g, "<", v, gen_num(g, 3));
  return gen_cast(g, t, v);
}

/* All dimensions of a tensor, some of them here and there backwards. */
static gen_expr turned(gen *g, uint32_t x, const gen_expr *idx) {
  gen_expr at[GEN_MAX_DIM];
  for (uint32_t d = 0; d < g->tensor[x].ndim; d++)
    at[d] = gen_turn(g, 8, g->tensor[x].shape[d] - 1, idx[d]);
  return gen_load(g, x, at);
}

static void elementwise(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  gen_expr idx[GEN_MAX_DIM];
  gen_begin(g, "e", a.ndim, a.shape, idx);
  gen_expr v = turned(g, x, idx);
  for (uint32_t k = gen_below(g, 4); k > 0; k--) switch (gen_below(g, 5)) {
    case 0:
    case 1: v = gen_tweak(g, a.t, v); break;
    case 2:
      v = gen_mix(g, a.t, v, broadcast(g, a.t, a.ndim, a.shape, idx));
      break;
    case 3:
      v = gen_mix(g, a.t, v,
                  turned(g, gen_source(g, a.t, a.ndim, a.shape), idx));
      break;
    default:
      if (a.ndim) v = gen_mix(g, a.t, v, of_index(g, a.t, a.ndim, idx));
    }
  gen_end(g, a.ndim, a.shape, a.t, v);
}

static bool is_lossless(tess_dtype to, tess_dtype from) {
  if (ir_is_float(from)) return ir_is_float(to) && to.bits > from.bits;
  return from.code == TESS_DTYPE_BOOL || (to.bits > 2 * from.bits);
}

static void cast(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  tess_dtype t = gen_dtype(g);
  gen_expr idx[GEN_MAX_DIM];
  if (g->o.representable && !is_lossless(t, a.t)) return;
  gen_begin(g, "c", a.ndim, a.shape, idx);
  gen_end(g, a.ndim, a.shape, t, gen_cast(g, t, gen_load(g, x, idx)));
}

static void stage_compare(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  gen_expr idx[GEN_MAX_DIM];
  if (a.t.code == TESS_DTYPE_BOOL) return;
  gen_begin(g, "b", a.ndim, a.shape, idx);
  gen_expr v = gen_load(g, x, idx);
  gen_expr w = broadcast(g, a.t, a.ndim, a.shape, idx);
  gen_end(g, a.ndim, a.shape, IR_BOOL, gen_bin(g, "<", v, w));
}

/* ---- moving elements ---------------------------------------------------- */

static void transpose(gen *g) {
  uint32_t x = gen_pick(g), at[GEN_MAX_DIM];
  const gen_tensor a = g->tensor[x];
  int64_t shape[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM], from[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a.ndim; d++) at[d] = d;
  for (uint32_t d = a.ndim; d > 1; d--) {
    uint32_t k = gen_below(g, d), t = at[d - 1];
    at[d - 1] = at[k], at[k] = t;
  }
  for (uint32_t d = 0; d < a.ndim; d++) shape[d] = a.shape[at[d]];
  gen_begin(g, "t", a.ndim, shape, idx);
  for (uint32_t d = 0; d < a.ndim; d++) from[at[d]] = idx[d];
  gen_end(g, a.ndim, shape, a.t, gen_load(g, x, from));
}

/* The elements in another shape, by their row-major number. */
static void reshape(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  int64_t n = points(&a), shape[2] = {n, 1};
  gen_expr idx[2], from[GEN_MAX_DIM];
  for (int64_t f = 2; f < 9; f++)
    if (n % f == 0 && gen_once_in(g, 2)) shape[0] = f, shape[1] = n / f;
  gen_begin(g, "s", 2, shape, idx);
  gen_expr at =
      gen_bin(g, "+", gen_bin(g, "*", idx[0], gen_num(g, shape[1])), idx[1]);
  for (uint32_t d = a.ndim; d-- > 0;) {
    from[d] = d ? gen_bin(g, "%", at, gen_num(g, a.shape[d])) : at;
    at = gen_bin(g, "//", at, gen_num(g, a.shape[d]));
  }
  gen_end(g, 2, shape, a.t, gen_load(g, x, from));
}

static gen_expr inside(gen *g, gen_expr i, int64_t lo, int64_t hi) {
  gen_expr a = gen_bin(g, "<=", gen_num(g, lo), i);
  return gen_bin(g, "and", a, gen_bin(g, "<", i, gen_num(g, hi)));
}

/* A border of a constant; the load is out of bounds where it is not taken. */
static void pad(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || points(&a) * 2 > g->o.max_points) return;
  int64_t shape[GEN_MAX_DIM], before[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM], from[GEN_MAX_DIM], ok = 0;
  for (uint32_t d = 0; d < a.ndim; d++) {
    before[d] = gen_below(g, 3);
    shape[d] = a.shape[d] + before[d] + gen_below(g, 2);
  }
  gen_begin(g, "p", a.ndim, shape, idx);
  for (uint32_t d = 0; d < a.ndim; d++) {
    gen_expr in = inside(g, idx[d], before[d], before[d] + a.shape[d]);
    ok = ok ? gen_bin(g, "and", ok, in) : in;
    from[d] = gen_bin(g, "-", idx[d], gen_num(g, before[d]));
  }
  gen_expr v = gen_load(g, x, from);
  gen_end(g, a.ndim, shape, a.t, gen_select(g, ok, v, gen_const(g, a.t)));
}

/* A part of the elements, from some place on, all or every second, forwards
 * or backwards. */
static void slice(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  int64_t shape[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM], from[GEN_MAX_DIM];
  int64_t first[GEN_MAX_DIM], step[GEN_MAX_DIM];
  if (!a.ndim) return;
  for (uint32_t d = 0; d < a.ndim; d++) {
    first[d] = gen_below(g, a.shape[d] < 4 ? (uint32_t)a.shape[d] : 4);
    step[d] = 1 + gen_once_in(g, 6);
    shape[d] = (a.shape[d] - first[d] - 1) / step[d] + 1;
    if (shape[d] > 2 && gen_once_in(g, 3)) shape[d]--;
  }
  gen_begin(g, "q", a.ndim, shape, idx);
  for (uint32_t d = 0; d < a.ndim; d++) {
    from[d] = gen_turn(g, 3, shape[d] - 1, idx[d]);
    from[d] = gen_bin(g, "*", from[d], gen_num(g, step[d]));
    from[d] = gen_bin(g, "+", from[d], gen_num(g, first[d]));
  }
  gen_expr v = gen_load(g, x, from);
  gen_end(g, a.ndim, shape, a.t, gen_once_in(g, 2) ? gen_tweak(g, a.t, v) : v);
}

/* Two tensors one behind the other. */
static void join(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || points(&a) * 2 > g->o.max_points) return;
  uint32_t d = gen_below(g, a.ndim), y = gen_source(g, a.t, a.ndim, a.shape);
  int64_t shape[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM];
  for (uint32_t k = 0; k < a.ndim; k++)
    shape[k] = a.shape[k] * (k == d ? 2 : 1);
  gen_begin(g, "j", a.ndim, shape, idx);
  gen_expr first = gen_bin(g, "<", idx[d], gen_num(g, a.shape[d]));
  gen_expr v = gen_load(g, x, idx);
  idx[d] = gen_bin(g, "-", idx[d], gen_num(g, a.shape[d]));
  gen_end(g, a.ndim, shape, a.t, gen_select(g, first, v, gen_load(g, y, idx)));
}

/* Rows chosen by an input of indices. */
static void stage_gather(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  tess_dtype t = {TESS_DTYPE_INT, 32, 1};
  if (!a.ndim) return;
  int64_t shape[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a.ndim; d++) shape[d] = a.shape[d];
  shape[0] = gen_extent(g, 12);
  uint32_t before = g->n, rows = gen_source(g, t, 1, shape);
  if (rows < before) return;
  gen_begin(g, "g", a.ndim, shape, idx);
  gen_expr row = gen_load(g, rows, idx);
  idx[0] = gen_cast(g, IR_INDEX, row);
  gen_end(g, a.ndim, shape, a.t, gen_load(g, x, idx));
  g->tensor[rows].is_index = true;
}

/* ---- windows ------------------------------------------------------------ */

/* Sums of shifted elements, the result shrunk and perhaps backwards. */
static void stage_stencil(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!a.ndim || a.t.code == TESS_DTYPE_BOOL) return;
  uint32_t d = gen_below(g, a.ndim), taps = 2 + gen_below(g, 2);
  if (a.shape[d] < taps) return;
  int64_t shape[GEN_MAX_DIM];
  gen_expr idx[GEN_MAX_DIM], at[GEN_MAX_DIM], v = 0;
  for (uint32_t k = 0; k < a.ndim; k++)
    shape[k] = a.shape[k] - (k == d ? taps - 1 : 0);
  gen_begin(g, "h", a.ndim, shape, idx);
  idx[d] = gen_turn(g, 2, shape[d] - 1, idx[d]);
  for (uint32_t k = 0; k < taps; k++) {
    for (uint32_t i = 0; i < a.ndim; i++)
      at[i] = i == d ? gen_bin(g, "+", idx[i], gen_num(g, k)) : idx[i];
    gen_expr w = gen_load(g, x, at);
    v = v ? gen_bin(g, "+", v, w) : w;
  }
  gen_end(g, a.ndim, shape, a.t, v);
}

/* The last two dimensions of x by a window with a stride, at least `least`
 * long; either may go backwards. */
static void pool_of(gen *g, uint32_t x, uint32_t least, bool turns) {
  const gen_tensor a = g->tensor[x];
  uint32_t n = a.ndim < 2 ? a.ndim : 2;
  int64_t shape[GEN_MAX_DIM], win[2], stride[2];
  gen_expr idx[GEN_MAX_DIM];
  ir_var axis[2] = {0};
  if (!n) return;
  for (uint32_t d = 0; d < a.ndim; d++) shape[d] = a.shape[d];
  for (uint32_t k = 0; k < n; k++) {
    int64_t *s = &shape[a.ndim - n + k];
    win[k] = least + gen_below(g, 4 - least);
    stride[k] = 1 + gen_below(g, 2);
    if (win[k] > *s) win[k] = 1;
    *s = (*s - win[k]) / stride[k] + 1;
  }
  gen_begin(g, "w", a.ndim, shape, idx);
  for (uint32_t k = 0; k < n; k++) {
    gen_expr *i = &idx[a.ndim - n + k];
    gen_expr r = gen_axis(g, win[k], &axis[k]);
    if (turns) {
      r = gen_turn(g, 3, win[k] - 1, r);
      *i = gen_turn(g, 3, shape[a.ndim - n + k] - 1, *i);
    }
    *i = gen_bin(g, "+", gen_bin(g, "*", *i, gen_num(g, stride[k])), r);
  }
  gen_end_reduce(g, a.ndim, shape, a.t, gen_load(g, x, idx), n, axis);
}

static void pool(gen *g) { pool_of(g, gen_pick(g), 1, true); }

/* Windows of windows, forwards: what may be rolled. */
static void cascade(gen *g) {
  elementwise(g);
  for (uint32_t k = 1 + gen_below(g, 2); k > 0; k--)
    pool_of(g, g->n - 1, 2, false);
}

void gen_stage(gen *g) {
  static void (*const kinds[])(gen * g) = {
      elementwise,    elementwise,    elementwise,
      elementwise,    cast,           stage_compare,
      transpose,      reshape,        pad,
      join,           stage_gather,   stage_stencil,
      stage_stencil,  pool,           cascade,
      gen_reduction,  gen_reduction,  gen_reduction,
      gen_reduction,  gen_reduction,  gen_reduction,
      gen_reduction,  gen_reduction,  gen_imperative,
      gen_imperative, gen_imperative, slice,
      slice};
  if (!g->o.representable && gen_once_in(g, 16))
    gen_extremes(g);
  else
    kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
