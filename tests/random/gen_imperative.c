/* SPDX-License-Identifier: Apache-2.0
 * Random programs: stages that are loops and blocks, with orders that must
 * be kept: scans, triangular nests, updates in place. */
#include "random/gen_program.h"

/* A square input, or an earlier tensor. */
static uint32_t imperative_square(gen *g, int64_t most) {
  int64_t n = gen_extent(g, most), shape[2] = {n, n};
  return gen_source(g, gen_dtype(g), 2, shape);
}

/* ---- orders ------------------------------------------------------------- */

/* Running sums along a dimension, or sums with what lies a few behind. */
static void scan(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!gen_suits(g, &a, 1)) return;
  uint32_t along = gen_below(g, a.ndim), back = 1 + gen_once_in(g, 4);
  ir_buf buf = gen_local(g, &a);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], before[GEN_MAX_DIM];
  for (uint32_t d = 0; d < a.ndim; d++)
    gen_iter(g, &it, d == along ? IR_OPAQUE : IR_SPATIAL, a.shape[d],
             gen_loop(g, names[d], gen_num(g, 0), gen_num(g, a.shape[d])));
  gen_block(g, &it, 0, idx);
  for (uint32_t d = 0; d < a.ndim; d++)
    before[d] = d == along ? gen_plus(g, idx[d], -(int64_t)back) : idx[d];
  gen_expr now = gen_load(g, x, idx), old = gen_read(g, buf, a.ndim, before);
  gen_expr first = gen_bin(g, "<", idx[along], gen_num(g, back));
  gen_store(g, buf, a.ndim, idx,
            gen_select(g, first, now, gen_bin(g, "+", now, old)));
  gen_close(g, a.ndim + 1);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* Sweeps in place over the first dimension, each element from its
 * neighbours. */
static void sweep(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1) || a.ndim > 2 || a.shape[0] < 3) return;
  int64_t times = 1 + gen_below(g, 3), n = a.shape[0];
  ir_buf buf = gen_copy(g, x);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], at[2];
  gen_iter(g, &it, IR_OPAQUE, times,
           gen_loop(g, "t", gen_num(g, 0), gen_num(g, times)));
  gen_iter(g, &it, IR_OPAQUE, n,
           gen_loop(g, "i", gen_num(g, 1), gen_num(g, n - 2)));
  if (a.ndim == 2)
    gen_iter(g, &it, IR_SPATIAL, a.shape[1],
             gen_loop(g, "j", gen_num(g, 0), gen_num(g, a.shape[1])));
  gen_block(g, &it, 0, idx);
  gen_expr sum = 0;
  for (int k = -1; k < 2; k++) {
    at[0] = gen_plus(g, idx[1], k);
    at[1] = a.ndim == 2 ? idx[2] : 0;
    gen_expr v = gen_read(g, buf, a.ndim, at);
    sum = sum ? gen_bin(g, "+", sum, v) : v;
  }
  gen_store(g, buf, a.ndim, idx + 1, sum);
  gen_close(g, it.n + 1);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* ---- triangles ---------------------------------------------------------- */

/* a[i, j] changes by what row k, above, and column k, before, hold. */
static void eliminate(gen *g, ir_buf buf, int64_t n, gen_expr k, bool square) {
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], rest = gen_bin(g, "-", gen_num(g, n - 1), k);
  gen_expr i = gen_loop(g, "i", gen_plus(g, k, 1), rest);
  gen_expr cols = square ? rest : gen_bin(g, "-", i, k);
  gen_expr j = gen_loop(g, "j", gen_plus(g, k, 1), cols);
  gen_iter(g, &it, IR_OPAQUE, n, k);
  gen_iter(g, &it, IR_SPATIAL, n, i);
  gen_iter(g, &it, IR_SPATIAL, n, j);
  gen_block(g, &it, 0, idx);
  gen_expr here[2] = {idx[1], idx[2]}, col[2] = {idx[1], idx[0]};
  gen_expr row[2] = {idx[0], idx[2]}, mirror[2] = {idx[2], idx[0]};
  gen_expr v = gen_read(g, buf, 2, col), old = gen_read(g, buf, 2, here);
  gen_expr w = gen_read(g, buf, 2, square ? row : mirror);
  v = g->o.representable ? gen_bin(g, "max", v, w) : gen_bin(g, "*", v, w);
  gen_store(g, buf, 2, here, gen_bin(g, "-", old, v));
  gen_close(g, 3);
}

/* Column k below the diagonal by the element on it. */
static void scale(gen *g, ir_buf buf, tess_dtype t, int64_t n, gen_expr k) {
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], rest = gen_bin(g, "-", gen_num(g, n - 1), k);
  gen_expr i = gen_loop(g, "i", gen_plus(g, k, 1), rest);
  gen_iter(g, &it, IR_OPAQUE, n, k);
  gen_iter(g, &it, IR_SPATIAL, n, i);
  gen_block(g, &it, 0, idx);
  gen_expr here[2] = {idx[1], idx[0]}, pivot[2] = {idx[0], idx[0]};
  gen_expr v = gen_read(g, buf, 2, here), p = gen_read(g, buf, 2, pivot);
  const char *op = g->o.representable ? "+" : ir_is_float(t) ? "/" : "//";
  gen_store(g, buf, 2, here, gen_bin(g, op, v, p));
  gen_close(g, 2);
}

/* In place and right-looking, as LU and Cholesky are. */
static void factorise(gen *g) {
  uint32_t x = imperative_square(g, g->o.representable ? 6 : 9);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2) || a.shape[0] < 2) return;
  bool lu = gen_once_in(g, 2);
  int64_t n = a.shape[0];
  ir_buf buf = gen_copy(g, x);
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, n));
  scale(g, buf, a.t, n, k);
  eliminate(g, buf, n, k, lu);
  gen_close(g, 1);
  gen_add(g, buf, a.t, 2, a.shape);
}

/* x[i] less what the rows above give: forward substitution. */
static void substitute(gen *g) {
  uint32_t l = imperative_square(g, 12);
  const gen_tensor a = g->tensor[l];
  if (!gen_suits(g, &a, 2)) return;
  uint32_t x = gen_source(g, a.t, 1, a.shape);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf = gen_copy(g, x);
  gen_expr i = gen_loop(g, "i", gen_num(g, 0), gen_num(g, a.shape[0]));
  gen_expr j = gen_loop(g, "j", gen_num(g, 0), i);
  gen_iter(g, &it, IR_OPAQUE, a.shape[0], i);
  gen_iter(g, &it, IR_OPAQUE, a.shape[0], j);
  gen_block(g, &it, 0, idx);
  gen_expr v = gen_read(g, buf, 1, idx + 1), old = gen_read(g, buf, 1, idx);
  gen_expr w = gen_load(g, l, idx);
  v = g->o.representable ? gen_bin(g, "min", v, w) : gen_bin(g, "*", v, w);
  gen_store(g, buf, 1, idx, gen_bin(g, "-", old, v));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 1, a.shape);
}

/* y[i] = sum of x[i, j] for j up to i, or from i on, or for all j: a
 * reduction with an init, which may read, and which may subtract, so that no
 * reducer is known for it. */
static void sum_triangle(gen *g) {
  uint32_t x = imperative_square(g, 16);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  int64_t n = a.shape[0];
  uint32_t form = gen_below(g, 4);
  bool upper = form == 0, starts = gen_once_in(g, 3);
  uint32_t first = starts ? gen_source(g, a.t, 1, row.shape) : 0;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  /* The first row may have nothing to add, and stays as it is. */
  ir_buf buf = form == 3 ? gen_copy(g, gen_source(g, a.t, 1, row.shape))
                         : gen_local(g, &row);
  gen_expr i = gen_loop(g, "i", gen_num(g, 0), gen_num(g, n));
  gen_expr all = gen_num(g, n);
  gen_expr some = upper       ? gen_bin(g, "-", all, i)
                  : form == 1 ? gen_plus(g, i, 1)
                  : form == 3 ? i
                              : all;
  gen_expr j = gen_loop(g, "j", upper ? i : gen_num(g, 0), some);
  /* The reduction starts at the first of them. */
  gen_iter(g, &it, IR_SPATIAL, n, i);
  gen_iter_to(&it, IR_REDUCE, gen_once_in(g, 3) ? some : all,
              upper ? gen_bin(g, "-", j, i) : j);
  gen_block(g, &it, 0, idx);
  gen_init(g);
  gen_store(g, buf, 1, idx,
            starts ? gen_load(g, first, idx) : gen_zero(g, a.t));
  gen_close(g, 1);
  gen_expr at[2] = {idx[0], upper ? gen_bin(g, "+", idx[0], idx[1]) : idx[1]};
  gen_expr old = gen_read(g, buf, 1, idx);
  gen_store(g, buf, 1, idx,
            gen_bin(g, gen_once_in(g, 4) ? "-" : "+", old, gen_load(g, x, at)));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 1, &n);
}

/* Rows that grow, by blocks whose domains grow with them: one makes some
 * elements, the other takes them. */
static void stairs(gen *g) {
  uint32_t x = imperative_square(g, 12);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2)) return;
  ir_buf made = gen_local(g, &a), to = gen_copy(g, x);
  for (int k = 0; k < 2; k++) {
    gen_iters it = {.n = 0};
    gen_expr idx[GEN_MAX_DIM];
    gen_nest(g, 1, a.shape, &it);
    gen_expr some = gen_plus(g, it.bind[0], 1);
    gen_iter_to(&it, IR_SPATIAL, some, gen_loop(g, "j", gen_num(g, 0), some));
    gen_block(g, &it, 0, idx);
    if (k == 0)
      gen_store(g, made, 2, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
    else
      gen_store(
          g, to, 2, idx,
          gen_bin(g, "+", gen_read(g, to, 2, idx), gen_read(g, made, 2, idx)));
    gen_close(g, 3);
  }
  gen_add(g, to, a.t, 2, a.shape);
}

/* ---- conditions --------------------------------------------------------- */

/* In a loop without iterations there is time for many. */
static gen_expr far(gen *g) {
  return gen_loop(g, "z", gen_num(g, 0), gen_num(g, INT64_C(1) << 45));
}

/* A block with a branch, in loops of which one may stand under a condition
 * of its own, or have no iteration, nor then the iter. */
static void branch(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  if (!gen_suits(g, &a, 1)) return;
  uint32_t opened = 0, inner = gen_once_in(g, 2) ? a.ndim - 1 : GEN_MAX_DIM;
  bool empty = gen_once_in(g, 4);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], i = 0;
  ir_buf buf = gen_copy(g, x);
  for (uint32_t d = 0; d < a.ndim && !g->failed; d++) {
    if (d == inner && i && !empty) {
      gen_when(g, gen_bin(g, "<", i, gen_num(g, 2)));
      opened++;
    }
    int64_t n = empty && d == inner ? 0 : a.shape[d];
    i = gen_loop(g, names[d], gen_num(g, 0), gen_num(g, n));
    gen_iter(g, &it, IR_SPATIAL, n || gen_once_in(g, 2) ? a.shape[d] : 0, i);
    opened++;
    if (n || gen_once_in(g, 2)) continue;
    (void)far(g);
    opened++;
  }
  gen_block(g, &it, 0, idx);
  gen_when(g, gen_bin(g, "<", idx[0], gen_num(g, 3)));
  gen_store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_else(g);
  gen_store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, opened + 2);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* A block of which one dimension has no element, perhaps in a loop that nobody
 * would live to see the end of. */
static void idle(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1)) return;
  int64_t shape[GEN_MAX_DIM];
  uint32_t none = gen_below(g, a.ndim);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf = gen_copy(g, x);
  for (uint32_t d = 0; d < a.ndim; d++) shape[d] = d == none ? 0 : a.shape[d];
  gen_nest(g, a.ndim, shape, &it);
  bool is_far = gen_once_in(g, 2);
  if (is_far) (void)far(g);
  gen_block(g, &it, 0, idx);
  gen_store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, a.ndim + 1 + is_far);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* Two results of one block. */
static void pair(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1)) return;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf[2] = {gen_local(g, &a), gen_local(g, &a)};
  gen_nest(g, a.ndim, a.shape, &it);
  gen_block(g, &it, 0, idx);
  for (uint32_t i = 0; i < 2; i++)
    gen_store(g, buf[i], a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, a.ndim + 1);
  uint64_t reads = g->reads;
  gen_add(g, buf[0], a.t, a.ndim, a.shape);
  g->reads = reads;
  gen_add(g, buf[1], a.t, a.ndim, a.shape);
}

/* An input that is changed in place, element by element, or to which another
 * tensor is added. */
static void in_place(gen *g) {
  uint32_t x = gen_pick(g), with = x;
  if (gen_once_in(g, 2) && gen_suits(g, &g->tensor[x], 1))
    with = gen_source(g, g->tensor[x].t, g->tensor[x].ndim, g->tensor[x].shape);
  gen_tensor *a = &g->tensor[x];
  if (!gen_suits(g, a, 1) || a->is_index || a->inputs != UINT64_C(1) << x)
    return;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, a->ndim, a->shape, &it);
  gen_block(g, &it, 0, idx);
  gen_expr old = gen_load(g, x, idx);
  gen_store(g, a->buf, a->ndim, idx,
            with == x ? gen_tweak(g, a->t, old)
                      : gen_bin(g, "+", old, gen_load(g, with, idx)));
  gen_close(g, a->ndim + 1);
  a->by |= g->tensor[with].inputs;
  a->changed = true;
  g->nstages++;
}

/* A loop that runs further than the block's predicate lets it, up or down. */
static void guarded(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1) || a.ndim > 2) return;
  int64_t n = a.shape[0], by = 2 + gen_below(g, 3), outer = (n + by - 1) / by;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  ir_buf buf = gen_local(g, &a);
  gen_expr i = gen_loop(g, "i", gen_num(g, 0), gen_num(g, outer));
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, by));
  gen_expr at = gen_bin(g, "+", gen_bin(g, "*", i, gen_num(g, by)), k);
  gen_iter(g, &it, IR_SPATIAL, n, gen_turn(g, 3, n - 1, at));
  if (a.ndim == 2)
    gen_iter(g, &it, IR_SPATIAL, a.shape[1],
             gen_loop(g, "j", gen_num(g, 0), gen_num(g, a.shape[1])));
  gen_block(g, &it, gen_bin(g, "<", at, gen_num(g, n)), idx);
  gen_store(g, buf, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, a.ndim + 2);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

void gen_imperative(gen *g) {
  static void (*const kinds[])(gen * g) = {
      scan,           scan,         sweep,       factorise,      factorise,
      substitute,     sum_triangle, stairs,      guarded,        branch,
      idle,           in_place,     pair,        gen_several,    gen_several,
      gen_several,    gen_several,  gen_several, gen_several,    gen_several,
      gen_sums,       gen_sums,     gen_sums,    gen_tiles,      gen_bounds,
      gen_choices,    gen_choices,  gen_choices, gen_conditions, gen_conditions,
      gen_conditions, gen_spread,   gen_spread};
  kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
