/* SPDX-License-Identifier: Apache-2.0
 * Random programs: the greatest or least of each row, and a sum that scales
 * with it, as in a softmax; or one that nearly does. */
#include "random/gen_program.h"

/* x less the greatest or the least less x, perhaps scaled; or, rarely, the
 * wrong way round. */
static gen_expr exponent(gen *g, tess_dtype t, gen_expr x, gen_expr end,
                         bool least) {
  if (gen_once_in(g, 8)) least = !least;
  gen_expr e = gen_bin(g, "-", least ? end : x, least ? x : end);
  return gen_once_in(g, 4) ? gen_bin(g, "*", e, gen_const(g, t)) : e;
}

/* A summand with such an exponent. */
static gen_expr summand(gen *g, tess_dtype t, gen_expr e, gen_expr x,
                        gen_expr row) {
  e = gen_once_in(g, 12) ? gen_call(g, "tanh", e) : gen_call(g, "exp", e);
  switch (gen_below(g, 6)) {
  case 0: return gen_bin(g, "*", e, x);
  case 1: return gen_bin(g, "/", e, row);
  case 2: return gen_bin(g, "*", row, gen_bin(g, "*", e, x));
  case 3: return gen_select(g, gen_compare(g, x, gen_const(g, t)), e, x);
  default: return e;
  }
}

/* X[i, k] -> E[i], the ends of rows, and S[i], or S[i, j] by another matrix. */
void gen_extremes(gen *g) {
  const tess_dtype t = {TESS_DTYPE_FLOAT, 32, 1};
  int64_t shape[3] = {gen_extent(g, 12), gen_extent(g, 24), gen_extent(g, 6)};
  uint32_t x = gen_pick(g), w = gen_source(g, t, 1, shape);
  gen_expr idx[GEN_MAX_DIM], at[2];
  ir_var axis = 0;
  bool least = gen_once_in(g, 3), wide = gen_once_in(g, 2);
  if (g->tensor[x].ndim != 2 || !ir_dtype_eq(g->tensor[x].t, t) || g->nsizes ||
      g->tensor[x].shape[0] != shape[0])
    x = gen_source(g, t, 2, shape);
  shape[1] = g->tensor[x].shape[1];
  uint32_t y = gen_source(g, t, 2, shape + 1);

  gen_begin(g, "extreme", 1, shape, idx);
  at[0] = idx[0], at[1] = gen_axis(g, shape[1], &axis);
  gen_expr v = gen_load(g, x, at);
  gen_end_by(g, least ? "min" : "max", least ? "reduce_min" : "reduce_max", 1,
             shape, t, v, 1, &axis);
  uint32_t end = g->n - 1;

  int64_t to[2] = {shape[0], shape[2]};
  gen_begin(g, "scaled", wide ? 2 : 1, to, idx);
  at[0] = idx[0], at[1] = gen_axis(g, shape[1], &axis);
  v = gen_load(g, x, at);
  gen_expr e = exponent(g, t, v, gen_load(g, end, idx), least);
  e = summand(g, t, e, v, gen_load(g, w, idx));
  if (wide) {
    at[0] = at[1], at[1] = idx[1];
    e = gen_bin(g, "*", e, gen_load(g, y, at));
  }
  gen_end_by(g, "sum", "sum", wide ? 2 : 1, to, t, e, 1, &axis);
}
