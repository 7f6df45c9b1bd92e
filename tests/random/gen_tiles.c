/* SPDX-License-Identifier: Apache-2.0
 * Random programs: rows that are made and read in another order, in steps,
 * as threads that share them do. */
#include "random/gen_program.h"

/* A loop over the elements of a row and a block in it, which has one more iter
 * than `it`; its variables in idx. */
static void row(gen *g, gen_iters it, int64_t n, gen_expr *idx) {
  gen_expr x = gen_loop(g, "x", gen_num(g, 0), gen_num(g, n));
  gen_iter(g, &it, IR_SPATIAL, n, x);
  gen_block(g, &it, 0, idx);
}

/* In each of some steps, of which the first row has none, a row is made and
 * added to `sum` from its end. */
static void steps(gen *g, gen_iters it, uint32_t x, ir_buf part, ir_buf sum) {
  const gen_tensor a = g->tensor[x];
  gen_expr idx[GEN_MAX_DIM], end = gen_num(g, a.shape[1] - 1);
  gen_iters take = it;
  gen_expr t = gen_loop(g, "t", gen_num(g, 0), it.bind[0]);
  gen_iter(g, &it, IR_SPATIAL, a.shape[0], t);
  gen_iter(g, &take, IR_OPAQUE, a.shape[0], t);
  row(g, it, a.shape[1], idx);
  gen_store(g, part, 3, idx, gen_load(g, x, idx + 1));
  gen_close(g, 2);
  row(g, take, a.shape[1], idx);
  gen_expr at[2] = {idx[0], idx[2]};
  gen_expr from[3] = {idx[0], idx[1], gen_bin(g, "-", end, idx[2])};
  gen_expr old = gen_read(g, sum, 2, at);
  gen_store(g, sum, 2, at, gen_bin(g, "+", old, gen_read(g, part, 3, from)));
  gen_close(g, 3);
}

/* Rows that are made at first and read, from their ends, at last; others in
 * between. */
void gen_tiles(gen *g) {
  int64_t n = gen_extent(g, 5), m = gen_extent(g, 12), shape[2] = {n, m};
  uint32_t x = gen_source(g, gen_dtype(g), 2, shape);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  gen_tensor all = {.t = a.t, .ndim = 3, .shape = {n, n, m}};
  ir_buf sum = gen_copy(g, x), made = gen_local(g, &a);
  ir_buf part = gen_local(g, &all), out = gen_local(g, &a);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_SPATIAL, n,
           gen_loop(g, "b", gen_num(g, 0), gen_num(g, n)));
  row(g, it, m, idx);
  gen_store(g, made, 2, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, 2);
  steps(g, it, x, part, sum);
  row(g, it, m, idx);
  gen_expr back[2] = {idx[0], gen_bin(g, "-", gen_num(g, m - 1), idx[1])};
  gen_expr v = gen_read(g, made, 2, back);
  gen_store(g, out, 2, idx, gen_bin(g, "+", v, gen_read(g, sum, 2, idx)));
  gen_close(g, 3);
  gen_add(g, out, a.t, 2, a.shape);
}
