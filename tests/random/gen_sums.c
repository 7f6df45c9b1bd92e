/* SPDX-License-Identifier: Apache-2.0
 * Random programs: reductions that do not begin where their init stands, or
 * not always, or begin several times, or from what is made beside them, or that
 * end in several places, or run over corners; and iterations with holes. */
#include "random/gen_program.h"

/* A matrix of numbers: any tensor that is one, or a new input. */
static uint32_t matrix(gen *g) {
  uint32_t x = gen_pick(g);
  int64_t shape[2] = {gen_extent(g, 12), gen_extent(g, 12)};
  if (gen_suits(g, &g->tensor[x], 2) && g->tensor[x].ndim == 2) return x;
  return gen_source(g, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2, shape);
}

/* buf[idx] starts from `start`, of which somebody may be told, and what is
 * given is added to it. */
static void add_up(gen *g, ir_buf buf, uint32_t n, const gen_expr *idx,
                   gen_expr start, gen_expr more) {
  gen_init(g);
  if (gen_once_in(g, 4)) gen_effect(g, n, idx);
  gen_store(g, buf, n, idx, start);
  gen_close(g, 1);
  gen_store(g, buf, n, idx, gen_bin(g, "+", gen_read(g, buf, n, idx), more));
}

/* Sums of rows that hold something already.  The last of an iter comes first,
 * so that the init forgets the others; or the first does not come at all
 * where a predicate says so. */
static void late(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  ir_buf buf = gen_copy(g, gen_source(g, a.t, 1, a.shape));
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], some = 0;
  gen_nest(g, 1, a.shape, &it);
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, a.shape[1]));
  if (gen_once_in(g, 2))
    some = gen_bin(g, "<", gen_num(g, gen_below(g, 4)),
                   gen_bin(g, "+", it.bind[0], k));
  else
    k = gen_bin(g, "-", gen_num(g, a.shape[1] - 1), k);
  gen_iter(g, &it, IR_REDUCE, a.shape[1], k);
  gen_block(g, &it, some, idx);
  add_up(g, buf, 1, idx, gen_zero(g, a.t), gen_load(g, x, idx));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 1, a.shape);
}

/* Sums of rows, each from what another block of the nest has just made. */
static void from_beside(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  uint32_t first = gen_source(g, a.t, 1, a.shape);
  ir_buf start = gen_local(g, &row), sum = gen_local(g, &row);
  gen_iters make = {.n = 0}, it;
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, 1, a.shape, &make);
  it = make;
  gen_block(g, &make, 0, idx);
  gen_store(g, start, 1, idx, gen_tweak(g, a.t, gen_load(g, first, idx)));
  gen_close(g, 1);
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, a.shape[1]));
  gen_iter(g, &it, IR_REDUCE, a.shape[1], k);
  gen_block(g, &it, 0, idx);
  add_up(g, sum, 1, idx, gen_read(g, start, 1, idx), gen_load(g, x, idx));
  gen_close(g, 3);
  gen_add(g, sum, a.t, 1, a.shape);
}

/* Sums of rows by one loop over all elements, each of which is its own row's
 * start or not. */
static void flat(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], cols = gen_num(g, a.shape[1]);
  ir_buf buf = gen_local(g, &row);
  gen_expr all = gen_num(g, a.shape[0] * a.shape[1]);
  gen_expr i = gen_loop(g, "i", gen_num(g, 0), all);
  gen_iter(g, &it, IR_SPATIAL, a.shape[0], gen_bin(g, "//", i, cols));
  gen_iter(g, &it, IR_REDUCE, a.shape[1], gen_bin(g, "%", i, cols));
  gen_block(g, &it, 0, idx);
  add_up(g, buf, 1, idx, gen_zero(g, a.t), gen_load(g, x, idx));
  gen_close(g, 2);
  gen_add(g, buf, a.t, 1, a.shape);
}

/* Each row of a state is looked at, and then becomes a sum.  Before that it
 * holds what it held, or what another block of the nest has made of it. */
static void renewed(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  uint32_t old = gen_source(g, a.t, 1, a.shape);
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  ir_buf state = gen_copy(g, old), seen = gen_local(g, &row);
  gen_iters it = {.n = 0}, sum;
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, 1, a.shape, &it);
  sum = it;
  if (gen_once_in(g, 2)) {
    gen_block(g, &it, 0, idx);
    gen_store(g, state, 1, idx, gen_tweak(g, a.t, gen_load(g, old, idx)));
    gen_close(g, 1);
  }
  gen_block(g, &it, 0, idx);
  gen_store(g, seen, 1, idx, gen_read(g, state, 1, idx));
  gen_close(g, 1);
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, a.shape[1]));
  gen_iter(g, &sum, IR_REDUCE, a.shape[1], k);
  gen_block(g, &sum, 0, idx);
  add_up(g, state, 1, idx, gen_zero(g, a.t), gen_load(g, x, idx));
  gen_close(g, 3);
  uint64_t reads = g->reads;
  gen_add(g, seen, a.t, 1, a.shape);
  g->reads = reads;
  gen_add(g, state, a.t, 1, a.shape);
}

/* What is called a reduction goes to a place of its own each time, of which
 * the init meets only the first. */
static void spread(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  ir_buf buf = gen_copy(g, gen_source(g, a.t, 2, a.shape));
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, 1, a.shape, &it);
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, a.shape[1]));
  gen_iter(g, &it, IR_REDUCE, a.shape[1], k);
  gen_block(g, &it, 0, idx);
  add_up(g, buf, 2, idx, gen_zero(g, a.t), gen_load(g, x, idx));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 2, a.shape);
}

/* Several rows, one after the other or all at a time, go into one sum: each
 * begins it again. */
static void together(gen *g) {
  uint32_t x = matrix(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  ir_buf buf = gen_copy(g, gen_source(g, a.t, 1, a.shape));
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], bind[2];
  bool inside = gen_once_in(g, 2);
  gen_expr rows = gen_num(g, 1 + gen_below(g, (uint32_t)a.shape[0]));
  for (int i = 0; i < 2; i++) {
    int d = inside ? 1 - i : i;
    bind[d] = gen_loop(g, d ? "k" : "i", gen_num(g, 0), gen_num(g, a.shape[d]));
  }
  gen_iter(g, &it, IR_SPATIAL, a.shape[0], bind[0]);
  gen_iter(g, &it, IR_REDUCE, a.shape[1], bind[1]);
  gen_block(g, &it, 0, idx);
  gen_expr at = gen_bin(g, "//", idx[0], rows);
  add_up(g, buf, 1, &at, gen_zero(g, a.t), gen_load(g, x, idx));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 1, a.shape);
}

/* A loop over some of 0 .. n - 1, or none, as one around it tells. */
static gen_expr part_loop(gen *g, const char *name, int64_t n, gen_expr around,
                          gen_expr *lo) {
  gen_expr all = gen_num(g, n), zero = gen_num(g, 0);
  gen_expr by = gen_plus(g, around, gen_below(g, 2)), some;
  some = gen_once_in(g, 2) ? gen_bin(g, "%", by, all)
                           : gen_bin(g, "min", by, gen_num(g, n - 1));
  gen_expr rest = gen_bin(g, "-", all, some);
  uint32_t form = gen_below(g, 3);
  *lo = form ? zero : some;
  return gen_loop(g, name, *lo, form == 1 ? some : rest);
}

/* A loop over 0 .. n - 1, or two that count together. */
static gen_expr whole_loop(gen *g, const char *const *name, int64_t n,
                           uint32_t *opened) {
  gen_expr zero = gen_num(g, 0), two = gen_num(g, 2);
  if (n % 2 || gen_once_in(g, 2))
    return gen_loop(g, name[0], zero, gen_num(g, n));
  gen_expr outer = gen_loop(g, name[0], zero, gen_num(g, n / 2));
  gen_expr inner = gen_loop(g, name[1], zero, two);
  ++*opened;
  return gen_bin(g, "+", gen_bin(g, "*", outer, two), inner);
}

/* Opens loops over three dimensions, the first at any place among the others;
 * one of them tells where another runs.  Perhaps the condition under which
 * something is to be done at bind[..]. */
static gen_expr corner_loops(gen *g, const int64_t *n, gen_expr *bind,
                             uint32_t *opened) {
  static const char *const names[3][2] = {
      {"i", "i1"}, {"r", "r1"}, {"k", "k1"}};
  uint32_t by = gen_below(g, 2), cut = by + 1 + gen_below(g, 2 - by);
  uint32_t first = gen_below(g, 3);
  gen_expr loop[3], lo = 0;
  *opened += 3;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t d = i == first ? 0 : i < first ? i + 1 : i;
    loop[i] = i == cut ? part_loop(g, names[d][0], n[d], loop[by], &lo)
                       : whole_loop(g, names[d], n[d], opened);
    bind[d] = loop[i];
    if (i == cut && d && gen_once_in(g, 3))
      bind[d] = gen_bin(g, "-", loop[i], lo);
  }
  if (!gen_once_in(g, 4)) return 0;
  gen_expr end = gen_plus(g, loop[by], (int64_t)gen_below(g, 3) - 1);
  return gen_bin(g, "<=", loop[cut], end);
}

/* Sums of planes that hold something already, by loops of which one tells where
 * another runs, perhaps in the middle of a reduction. */
static void corners(gen *g) {
  int64_t n[3] = {gen_extent(g, 8), gen_extent(g, 5), gen_extent(g, 6)};
  uint32_t x = gen_source(g, gen_dtype(g), 3, n), opened = 1;
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 3)) return;
  ir_buf buf = gen_copy(g, gen_source(g, a.t, 1, n));
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], bind[3], width = gen_num(g, n[2]);
  gen_expr some = corner_loops(g, n, bind, &opened);
  gen_iter(g, &it, IR_SPATIAL, n[0], bind[0]);
  bool as_one = gen_once_in(g, 3);
  if (as_one)
    gen_iter(g, &it, IR_REDUCE, n[1] * n[2],
             gen_bin(g, "+", gen_bin(g, "*", bind[1], width), bind[2]));
  for (uint32_t d = 1; d < 3 && !as_one; d++)
    gen_iter(g, &it, IR_REDUCE, n[d], bind[d]);
  gen_block(g, &it, some, idx);
  gen_expr from[3] = {idx[0], idx[1], as_one ? 0 : idx[2]};
  if (as_one) {
    from[1] = gen_bin(g, "//", idx[1], width);
    from[2] = gen_bin(g, "%", idx[1], width);
  }
  add_up(g, buf, 1, idx, gen_zero(g, a.t), gen_load(g, x, from));
  gen_close(g, opened);
  gen_add(g, buf, a.t, 1, n);
}

/* Every second element from one between, or from another of them, where none
 * of many conditions says no: too many pieces to look at for whoever asks
 * which iterations meet. */
static void holes(gen *g) {
  enum { LOOPS = 5, EXTENT = 4, CONDITIONS = 24, ALL = 2048 };
  const tess_dtype t = {TESS_DTYPE_FLOAT, 32, 1};
  static const char *const names[LOOPS] = {"a", "b", "c", "d", "e"};
  int64_t n = ALL, scale = 2;
  if (g->o.only_computes || g->failed) return;
  ir_buf buf = gen_copy(g, gen_source(g, t, 1, &n));
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], ok = 0;
  gen_expr at = gen_num(g, 0), from = gen_num(g, gen_once_in(g, 8));
  for (uint32_t i = 0; i < LOOPS; i++)
    gen_iter(g, &it, IR_SPATIAL, EXTENT,
             gen_loop(g, names[i], gen_num(g, 0), gen_num(g, EXTENT)));
  for (int k = 0; k < CONDITIONS; k++) {
    gen_expr sum = gen_num(g, 0);
    for (int i = 0; i < LOOPS; i++) {
      int c = (k * 7 + i * 5 + k * i * 3) % 11 - 5;
      sum = gen_bin(g, "+", sum, gen_bin(g, "*", it.bind[i], gen_num(g, c)));
    }
    gen_expr hole = gen_bin(g, "!=", sum, gen_num(g, k - 8));
    ok = ok ? gen_bin(g, "and", ok, hole) : hole;
  }
  gen_block(g, &it, ok, idx);
  for (uint32_t i = 0; i < LOOPS; i++, scale *= EXTENT) {
    gen_expr by = gen_num(g, scale);
    at = gen_bin(g, "+", at, gen_bin(g, "*", idx[i], by));
    from = gen_bin(g, "+", from, gen_bin(g, "*", idx[LOOPS - 1 - i], by));
  }
  gen_store(g, buf, 1, &at, gen_read(g, buf, 1, &from));
  gen_close(g, LOOPS + 1);
  gen_add(g, buf, t, 1, &n);
}

void gen_sums(gen *g) {
  static void (*const kinds[])(gen * g) = {
      late,    late,     from_beside, spread,  flat,   flat,
      renewed, together, corners,     corners, corners};
  if (gen_once_in(g, 32))
    holes(g);
  else
    kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
