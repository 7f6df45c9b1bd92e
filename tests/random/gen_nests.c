/* SPDX-License-Identifier: Apache-2.0
 * Random programs: several blocks in one nest, which use what the others have
 * made so far; and loops as long as some data says. */
#include "random/gen_program.h"

#include <string.h>

/* Two tensors of one stage: the later one is rather used by the next. */
static void add_two(gen *g, tess_dtype t, ir_buf first, uint32_t ndim,
                    const int64_t *shape, ir_buf second, uint32_t more,
                    const int64_t *other) {
  uint64_t reads = g->reads;
  bool swap = gen_once_in(g, 2);
  if (swap) gen_add(g, second, t, more, other);
  if (swap) g->reads = reads;
  gen_add(g, first, t, ndim, shape);
  g->reads = reads;
  if (!swap) gen_add(g, second, t, more, other);
  g->reads = 0;
}

/* Two blocks in one nest, of which the second reads what the first made in
 * this and in an earlier iteration, up, down or along. */
static void wave(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1) || a.ndim > 3) return;
  int64_t by[GEN_MAX_DIM], up = 1 + gen_below(g, 2);
  gen_iters first = {.n = 0}, second;
  gen_expr idx[GEN_MAX_DIM], from[GEN_MAX_DIM], ok = 0;
  ir_buf made = gen_local(g, &a), out = gen_local(g, &a);
  for (uint32_t d = 0; d < a.ndim; d++)
    by[d] = d ? (int64_t)gen_below(g, 3) - 1 : -up;
  gen_nest(g, a.ndim, a.shape, &first);
  second = first;
  gen_block(g, &first, 0, idx);
  gen_store(g, made, a.ndim, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, 1);
  gen_block(g, &second, 0, idx);
  for (uint32_t d = 0; d < a.ndim; d++) {
    from[d] = gen_plus(g, idx[d], by[d]);
    gen_expr in = gen_bin(g, "and", gen_bin(g, "<=", gen_num(g, 0), from[d]),
                          gen_bin(g, "<", from[d], gen_num(g, a.shape[d])));
    ok = ok ? gen_bin(g, "and", ok, in) : in;
  }
  gen_expr here = gen_read(g, made, a.ndim, idx);
  gen_expr there = gen_read(g, made, a.ndim, from);
  gen_store(g, out, a.ndim, idx,
            gen_select(g, ok, gen_bin(g, "max", here, there), here));
  gen_close(g, a.ndim + 1);
  gen_add(g, out, a.t, a.ndim, a.shape);
}

/* ---- windows ------------------------------------------------------------ */

/* The element of this window that is read; and one in it, or next to it among
 * those that are there already, if there is one.  Windows come from the first
 * on, or the other way round. */
static gen_expr of_window(gen *g, ir_buf made, const gen_tensor *part,
                          gen_expr start, int64_t size, bool back,
                          const gen_expr *idx) {
  gen_expr at[2] = {gen_plus(g, start, gen_below(g, (uint32_t)size)), 0};
  if (part->ndim == 2) at[1] = idx[1];
  gen_expr here = gen_read(g, made, part->ndim, at);
  bool beyond = gen_below(g, 3);
  int64_t by = gen_below(g, beyond ? 2 : (uint32_t)size);
  at[0] = gen_plus(g, start, !beyond ? by : back ? size + by : -1 - by);
  gen_expr there = gen_bin(g, "max", here, gen_read(g, made, part->ndim, at));
  gen_expr ok = back ? gen_bin(g, "<", at[0], gen_num(g, part->shape[0]))
                     : gen_bin(g, "<=", gen_num(g, 0), at[0]);
  return beyond ? gen_select(g, ok, there, here) : there;
}

/* All of them come to one. */
static void sum_windows(gen *g, uint32_t x) {
  const gen_tensor a = g->tensor[x];
  gen_expr idx[GEN_MAX_DIM], at[GEN_MAX_DIM];
  ir_var axis = 0;
  gen_begin(g, "r", a.ndim - 1, a.shape + 1, idx);
  at[0] = gen_axis(g, a.shape[0], &axis);
  for (uint32_t d = 1; d < a.ndim; d++) at[d] = idx[d - 1];
  gen_end_reduce(g, a.ndim - 1, a.shape + 1, a.t, gen_load(g, x, at), 1, &axis);
}

/* A loop of n iterations, or tiles of them that overhang: then *in says which
 * there are.  *t counts them, or counts down.  The number of loops. */
static uint32_t maybe_tiled(gen *g, int64_t n, bool back, gen_expr *t,
                            gen_expr *in) {
  int64_t by = 2 + gen_below(g, 2);
  gen_expr zero = gen_num(g, 0);
  *in = 0;
  if (gen_below(g, 3)) {
    *t = gen_loop(g, "t", zero, gen_num(g, n));
    if (back) *t = gen_bin(g, "-", gen_num(g, n - 1), *t);
    return 1;
  }
  gen_expr o = gen_loop(g, "o", zero, gen_num(g, (n + by - 1) / by));
  gen_expr p = gen_loop(g, "p", zero, gen_num(g, by));
  *t = gen_bin(g, "+", gen_bin(g, "*", o, gen_num(g, by)), p);
  *in = gen_bin(g, "<", *t, gen_num(g, n));
  if (back) *t = gen_bin(g, "-", gen_num(g, n - 1), *t);
  return 2;
}

/* What one element comes to with each iteration, in the loop that is open. */
static gen_expr drift(gen *g, uint32_t by, ir_buf buf, int64_t n, gen_expr t,
                      gen_expr in) {
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], zero = gen_num(g, 0);
  gen_iter(g, &it, IR_OPAQUE, n, t);
  gen_block(g, &it, in, idx);
  gen_expr v = gen_load(g, by, idx);
  if (gen_once_in(g, 2)) v = gen_bin(g, "+", gen_read(g, buf, 1, &zero), v);
  gen_store(g, buf, 1, &zero, v);
  gen_close(g, 1);
  return gen_read(g, buf, 1, &zero);
}

/* A nest that makes a window in each iteration, some of which overlap, and
 * takes from it.  Sometimes the same element is another one in each. */
static void window(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  int64_t halves = 1 + gen_once_in(g, 5);
  int64_t size = halves > 1 ? 4 : 2 + gen_below(g, 4);
  int64_t step = gen_once_in(g, 2) ? 1 : 1 + gen_below(g, (uint32_t)size);
  if (!gen_suits(g, &a, 1) || a.ndim > 2 || a.shape[0] < size) return;
  gen_tensor part = a, taken = a;
  taken.shape[0] = (a.shape[0] - size) / step + 1;
  part.shape[0] = (taken.shape[0] - 1) * step + size;
  ir_buf made = gen_local(g, &part), out = gen_local(g, &taken);
  gen_iters it = {.n = 0}, use = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], t, in, more = 0;
  int64_t one = 1;
  bool drifts = gen_once_in(g, 3);
  uint32_t by = drifts ? gen_source(g, a.t, 1, taken.shape) : 0;
  ir_buf sum = drifts ? gen_copy(g, gen_source(g, a.t, 1, &one)) : 0;
  bool back = gen_once_in(g, 5);
  uint32_t loops = maybe_tiled(g, taken.shape[0], back, &t, &in);
  if (drifts) more = drift(g, by, sum, taken.shape[0], t, in);
  gen_expr start = gen_bin(g, "*", t, gen_num(g, step));
  gen_expr w = start, zero = gen_num(g, 0), there = in;
  if (halves > 1) {
    w = gen_loop(g, "u", zero, gen_num(g, halves));
    w = gen_bin(g, "+", start, gen_bin(g, "*", w, gen_num(g, size / halves)));
  }
  w = gen_bin(g, "+", w, gen_loop(g, "w", zero, gen_num(g, size / halves)));
  gen_iter(g, &it, IR_SPATIAL, part.shape[0], w);
  /* Tiles that overhang may make all that there is of their windows. */
  if (in && gen_once_in(g, 2))
    there = back ? gen_bin(g, "<=", zero, w)
                 : gen_bin(g, "<", w, gen_num(g, part.shape[0]));
  gen_nest(g, a.ndim - 1, a.shape + 1, &it);
  gen_block(g, &it, there, idx);
  gen_expr v = gen_tweak(g, a.t, gen_load(g, x, idx));
  gen_store(g, made, a.ndim, idx, more ? gen_bin(g, "+", v, more) : v);
  gen_close(g, a.ndim + 1 + (halves > 1));
  gen_iter(g, &use, IR_SPATIAL, taken.shape[0], t);
  gen_nest(g, a.ndim - 1, a.shape + 1, &use);
  gen_block(g, &use, in, idx);
  start = gen_bin(g, "*", idx[0], gen_num(g, step));
  gen_store(g, out, a.ndim, idx,
            of_window(g, made, &part, start, size, back, idx));
  gen_close(g, a.ndim + loops);
  uint64_t reads = g->reads;
  gen_add(g, out, a.t, a.ndim, taken.shape);
  if (gen_below(g, 3)) return;
  g->reads = reads;
  gen_add(g, made, a.t, a.ndim, part.shape);
  if (!gen_once_in(g, 3)) sum_windows(g, g->n - 1);
}

/* Squares that lie on the diagonal, each made from what overlaps the one
 * before, and the greater of two elements of each. */
static void diagonal(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  int64_t size = 2 + gen_below(g, 2), count = 1;
  if (!gen_suits(g, &a, 2) || a.ndim > 2) return;
  count += (a.shape[0] < a.shape[1] ? a.shape[0] : a.shape[1]) - size;
  if (count < 1) return;
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {count}};
  ir_buf made = gen_local(g, &a), out = gen_local(g, &row);
  gen_iters it = {.n = 0}, use = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], v[2], at[2], zero = gen_num(g, 0);
  gen_expr t = gen_loop(g, "t", zero, gen_num(g, count));
  gen_expr u = gen_loop(g, "u", zero, gen_num(g, size));
  gen_expr w = gen_loop(g, "w", zero, gen_num(g, size));
  gen_iter(g, &it, IR_SPATIAL, a.shape[0], gen_bin(g, "+", t, u));
  gen_iter(g, &it, IR_SPATIAL, a.shape[1], gen_bin(g, "+", t, w));
  gen_block(g, &it, 0, idx);
  gen_store(g, made, 2, idx, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, 3);
  gen_iter(g, &use, IR_SPATIAL, count, t);
  gen_block(g, &use, 0, idx);
  for (int k = 0; k < 2; k++) {
    for (int d = 0; d < 2; d++)
      at[d] = gen_plus(g, idx[0], gen_below(g, (uint32_t)size));
    v[k] = gen_read(g, made, 2, at);
  }
  gen_store(g, out, 1, idx, gen_bin(g, "max", v[0], v[1]));
  gen_close(g, 2);
  gen_add(g, out, a.t, 1, row.shape);
}

/* ---- running results ---------------------------------------------------- */

/* buf[i] = how(buf[i], x[i, k]), from 0 on; its nest is open. */
static void accumulate(gen *g, ir_buf buf, uint32_t x, const gen_iters *it,
                       const char *how) {
  const tess_dtype t = g->tensor[x].t;
  gen_expr idx[GEN_MAX_DIM];
  gen_block(g, it, 0, idx);
  gen_init(g);
  gen_store(g, buf, 1, idx, gen_zero(g, t));
  gen_close(g, 1);
  gen_expr old = gen_read(g, buf, 1, idx);
  gen_store(g, buf, 1, idx, gen_bin(g, how, old, gen_load(g, x, idx)));
  gen_close(g, 1);
}

/* Sums over the columns of a matrix, or two reductions at once, and what they
 * have come to after each of them. */
static void running(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  uint32_t taps = 1 + gen_below(g, 2), other = gen_below(g, 3);
  if (!gen_suits(g, &a, 2) || a.ndim > 2 || a.shape[0] < taps) return;
  int64_t shape[2] = {a.shape[1], a.shape[0] - taps + 1};
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  gen_tensor all = {.t = a.t, .ndim = 2, .shape = {shape[0], shape[1]}};
  ir_buf sum = gen_local(g, &row);
  ir_buf out = gen_local(g, other == 0 ? &row : &all);
  gen_iters it = {.n = 0}, use = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], from;
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, shape[0]));
  gen_nest(g, 1, a.shape, &it);
  gen_iter(g, &it, IR_REDUCE, shape[0], k);
  accumulate(g, sum, x, &it, "+");
  if (other == 0) {
    accumulate(g, out, x, &it, gen_once_in(g, 2) ? "max" : "+");
    gen_close(g, 2);
    add_two(g, a.t, sum, 1, a.shape, out, 1, a.shape);
    return;
  }
  gen_close(g, 1);
  gen_iter(g, &use, IR_OPAQUE, shape[0], k);
  gen_nest(g, 1, shape + 1, &use);
  gen_block(g, &use, 0, idx);
  gen_expr v = gen_read(g, sum, 1, idx + 1);
  from = gen_plus(g, idx[1], 1);
  if (taps > 1) v = gen_bin(g, "max", v, gen_read(g, sum, 1, &from));
  gen_store(g, out, 2, idx, v);
  gen_close(g, 3);
  if (gen_once_in(g, 2))
    add_two(g, a.t, sum, 1, a.shape, out, 2, shape);
  else
    gen_add(g, out, a.t, 2, shape);
}

/* ---- blocks in blocks --------------------------------------------------- */

/* Sums of which each step is a block of blocks, with a buffer of its own that
 * the init uses, too. */
static void nested(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 2) || a.ndim > 2) return;
  int64_t n = 1 + gen_below(g, 3);
  gen_tensor row = {.t = a.t, .ndim = 1, .shape = {a.shape[0]}};
  gen_tensor few = {.t = a.t, .ndim = 1, .shape = {n}};
  ir_buf sum = gen_local(g, &row), part = gen_own(g, &few);
  gen_iters it = {.n = 0}, make = {.named = 2}, add = {.named = 2};
  gen_expr idx[GEN_MAX_DIM], at, zero = gen_num(g, 0), count = gen_num(g, n);
  gen_nest(g, 1, a.shape, &it);
  gen_expr k = gen_loop(g, "k", zero, gen_num(g, a.shape[1]));
  gen_iter(g, &it, IR_REDUCE, a.shape[1], k);
  gen_block(g, &it, 0, idx);
  gen_init(g);
  gen_store(g, part, 1, &zero, gen_zero(g, a.t));
  gen_store(g, sum, 1, idx, gen_read(g, part, 1, &zero));
  gen_close(g, 1);
  gen_iter(g, &make, IR_SPATIAL, n, gen_loop(g, "j", zero, count));
  gen_block(g, &make, 0, &at);
  gen_store(g, part, 1, &at, gen_tweak(g, a.t, gen_load(g, x, idx)));
  gen_close(g, 2);
  gen_iter(g, &add, IR_REDUCE, n, gen_loop(g, "j", zero, count));
  gen_block(g, &add, 0, &at);
  gen_expr old = gen_read(g, sum, 1, idx);
  gen_store(g, sum, 1, idx, gen_bin(g, "+", old, gen_read(g, part, 1, &at)));
  gen_close(g, 5);
  gen_add(g, sum, a.t, 1, a.shape);
}

/* ---- in place ----------------------------------------------------------- */

/* Each element of a row is the one before it and another. */
static void nests_chain(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1) || a.ndim > 2 || a.shape[a.ndim - 1] < 2) return;
  uint32_t last = a.ndim - 1, with = gen_source(g, a.t, a.ndim, a.shape);
  ir_buf buf = gen_copy(g, x);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM], zero = gen_num(g, 0);
  int64_t n = a.shape[last] - 1;
  gen_nest(g, last, a.shape, &it);
  gen_iter(g, &it, IR_OPAQUE, n, gen_loop(g, "i", zero, gen_num(g, n)));
  gen_block(g, &it, 0, idx);
  gen_expr old = gen_read(g, buf, a.ndim, idx);
  idx[last] = gen_plus(g, idx[last], 1);
  gen_store(g, buf, a.ndim, idx, gen_bin(g, "+", old, gen_load(g, with, idx)));
  gen_close(g, a.ndim + 1);
  gen_add(g, buf, a.t, a.ndim, a.shape);
}

/* The loops of dimensions from it->n to `to`. */
static void nest_on(gen *g, const gen_tensor *a, uint32_t to, gen_iters *it) {
  static const char *const names[GEN_MAX_DIM] = {"a", "b", "c", "d", "e"};
  for (uint32_t d = it->n; d < to; d++)
    gen_iter(g, it, IR_SPATIAL, a->shape[d],
             gen_loop(g, names[d], gen_num(g, 0), gen_num(g, a->shape[d])));
}

/* A block over all dimensions, some of whose loops are open; what remains to
 * be closed. */
static uint32_t block_in(gen *g, const gen_tensor *a, gen_iters it,
                         gen_expr *idx) {
  uint32_t open = it.n;
  nest_on(g, a, a->ndim, &it);
  gen_block(g, &it, 0, idx);
  return a->ndim - open + 1;
}

/* What stands `by` elements further along a dimension; 0 where nothing is. */
static gen_expr beside(gen *g, ir_buf buf, const gen_tensor *a, uint32_t d,
                       int64_t by, const gen_expr *idx) {
  gen_expr from[GEN_MAX_DIM];
  memcpy(from, idx, a->ndim * sizeof *idx);
  from[d] = gen_plus(g, idx[d], by);
  gen_expr in = gen_bin(g, "and", gen_bin(g, "<=", gen_num(g, 0), from[d]),
                        gen_bin(g, "<", from[d], gen_num(g, a->shape[d])));
  gen_expr v = gen_read(g, buf, a->ndim, from);
  return by ? gen_select(g, in, v, gen_zero(g, a->t)) : v;
}

/* Rounds of a state: each makes something of what is new, and perhaps of the
 * state, which that becomes; and takes what it was, or then is, along.  The
 * blocks of a round share some outer loops. */
static void rounds(gen *g) {
  uint32_t x = gen_pick(g), d;
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1) || a.ndim > 3) return;
  gen_tensor all = {.t = a.t, .ndim = a.ndim + 1, .shape = {2}};
  memcpy(all.shape + 1, a.shape, a.ndim * sizeof *a.shape);
  all.shape[0] += gen_below(g, 2);
  uint32_t news = gen_source(g, a.t, all.ndim, all.shape);
  ir_buf state = gen_copy(g, x), taken = gen_local(g, &all);
  ir_buf made = gen_once_in(g, 2) ? gen_own(g, &a) : gen_local(g, &a);
  gen_iters it = {.n = 0}, shared = {.named = 1};
  gen_expr idx[GEN_MAX_DIM + 1], zero = gen_num(g, 0);
  bool early = gen_below(g, 3) != 0;
  gen_iter(g, &it, IR_OPAQUE, all.shape[0],
           gen_loop(g, "t", zero, gen_num(g, all.shape[0])));
  gen_block(g, &it, 0, idx);
  nest_on(g, &a, gen_below(g, a.ndim + 1), &shared);
  uint32_t open = block_in(g, &a, shared, idx + 1);
  gen_expr v = gen_load(g, news, idx);
  d = gen_below(g, a.ndim);
  if (gen_once_in(g, 3))
    v = gen_mix(g, a.t, v, beside(g, state, &a, d, 0, idx + 1));
  gen_store(g, made, a.ndim, idx + 1, v);
  gen_close(g, open);
  for (int k = 0; k < 2; k++) {
    (void)block_in(g, &a, shared, idx + 1);
    v = early == !k
            ? beside(g, state, &a, d, (int64_t)gen_below(g, 3) - 1, idx + 1)
            : gen_read(g, made, a.ndim, idx + 1);
    if (early == !k)
      gen_store(g, taken, all.ndim, idx, v);
    else
      gen_store(g, state, a.ndim, idx + 1, v);
    gen_close(g, open);
  }
  gen_close(g, shared.n + 2);
  add_two(g, a.t, taken, all.ndim, all.shape, state, a.ndim, a.shape);
}

/* ---- lengths that are data ---------------------------------------------- */

/* Rows of which as many elements are changed as a tensor says. */
static void ragged(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  const tess_dtype t = {TESS_DTYPE_INT, 32, 1};
  if (!gen_suits(g, &a, 2) || a.ndim > 2) return;
  gen_expr idx[GEN_MAX_DIM];
  uint32_t from = gen_source(g, t, 1, a.shape), len = g->n;
  gen_begin(g, "a", 1, a.shape, idx);
  gen_end(g, 1, a.shape, t, gen_tweak(g, t, gen_load(g, from, idx)));
  ir_buf buf = gen_copy(g, x);
  gen_iters it = {.n = 0};
  gen_nest(g, 1, a.shape, &it);
  gen_expr n = gen_cast(g, IR_INDEX, gen_load(g, len, it.bind));
  n = gen_bin(g, "%", n, gen_num(g, a.shape[1] + 1));
  gen_iter(g, &it, IR_SPATIAL, a.shape[1], gen_loop(g, "j", gen_num(g, 0), n));
  gen_block(g, &it, 0, idx);
  gen_expr few = gen_bin(g, "<", gen_load(g, len, idx), gen_const(g, t));
  gen_expr v = gen_load(g, x, idx);
  gen_store(g, buf, 2, idx, gen_select(g, few, v, gen_tweak(g, a.t, v)));
  gen_close(g, 3);
  gen_add(g, buf, a.t, 2, a.shape);
}

void gen_several(gen *g) {
  static void (*const kinds[])(gen * g) = {
      wave,        wave,        window,  window,  window,  window,
      window,      running,     running, running, running, diagonal,
      nests_chain, nests_chain, ragged,  nested,  rounds,  rounds};
  kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}
