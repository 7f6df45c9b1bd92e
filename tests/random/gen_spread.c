/* SPDX-License-Identifier: Apache-2.0
 * Random programs: reductions of which a loop that no iter of them names does
 * a part in each iteration, told by a bound, a predicate, a condition or by
 * results that move along; what there is so far is used in the same loop.
 * Their loops begin anywhere, also below 0, and their inits read in odd
 * places. */
#include "random/gen_program.h"

typedef struct spreading {
  gen *g;
  uint32_t x;    /* rows x columns, to be added up */
  gen_tensor a;  /* it */
  int64_t steps; /* of the loop; in each `width` columns are added */
  int64_t width;
  ir_buf sum, used;
  uint32_t start; /* what sums start from: a number for each row */
  uint32_t opened;
} spreading;

enum { WHOLE, BOUND, PREDICATE, CONDITION, WINDOW, KINDS };

/* A loop of n iterations from anywhere; what counts them from 0. */
static gen_expr loop_from(spreading *w, const char *name, gen_expr n) {
  gen *g = w->g;
  int64_t lo = gen_once_in(g, 2) ? 0 : (int64_t)gen_below(g, 9) - 4;
  w->opened++;
  return gen_plus(g, gen_loop(g, name, gen_num(g, lo), n), -lo);
}

/* sum[idx] begins as a number that is read in one place or another. */
static void spread_begin(const spreading *w, const gen_expr *idx) {
  gen *g = w->g;
  tess_dtype t = w->a.t;
  gen_expr v = gen_load(g, w->start, idx), zero = gen_zero(g, t);
  gen_init(g);
  switch (gen_below(g, 4)) {
  case 0: gen_store(g, w->sum, 1, idx, zero); break;
  case 1:
    gen_store(g, w->sum, 1, idx, gen_tweak(g, t, gen_let(g, v)));
    gen_close(g, 1);
    break;
  case 2:
    gen_when(g, gen_bin(g, "<", v, gen_const(g, t)));
    gen_store(g, w->sum, 1, idx, zero);
    gen_else(g);
    gen_store(g, w->sum, 1, idx, v);
    gen_close(g, 1);
    break;
  default: gen_store(g, w->sum, 1, idx, v);
  }
  gen_close(g, 1);
}

/* sum[row] = sum[row] + x[row][column], where `pred` says so. */
static void add(const spreading *w, gen_expr row, gen_expr column,
                gen_expr pred) {
  gen *g = w->g;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_SPATIAL, w->a.shape[0], row);
  gen_iter(g, &it, IR_REDUCE, w->a.shape[1], column);
  gen_block(g, &it, pred, idx);
  spread_begin(w, idx);
  gen_store(
      g, w->sum, 1, idx,
      gen_bin(g, "+", gen_read(g, w->sum, 1, idx), gen_load(g, w->x, idx)));
  gen_close(g, 1);
}

/* The columns of a row that are due in step t; all of them if `kind` is
 * WHOLE. */
static void add_row(spreading *w, int kind, gen_expr t, gen_expr row) {
  gen *g = w->g;
  uint32_t before = w->opened;
  gen_expr all = gen_num(g, w->a.shape[1]), width = gen_num(g, w->width);
  gen_expr first = gen_bin(g, "*", t, width), due = 0, k;
  if (kind == BOUND) {
    w->opened++;
    k = gen_loop(g, "k", first, width);
  } else {
    k = loop_from(w, "k", all);
  }
  if (kind == PREDICATE || kind == CONDITION)
    due = gen_bin(g, "and", gen_bin(g, "<=", first, k),
                  gen_bin(g, "<", k, gen_bin(g, "+", first, width)));
  if (kind == CONDITION) {
    w->opened++;
    gen_when(g, due);
  }
  add(w, row, k, kind == PREDICATE ? due : 0);
  gen_close(g, w->opened - before);
  w->opened = before;
}

/* Rows t, t - 1, .. get their first, second, .. column in step t. */
static void add_window(spreading *w, gen_expr t) {
  gen *g = w->g;
  gen_expr k = gen_loop(g, "k", gen_num(g, 0), gen_plus(g, t, 1));
  add(w, gen_bin(g, "-", t, k), k, 0);
  gen_close(g, 1);
}

/* used[t][row] is made of sum[row], or of the first sum. */
static void use(const spreading *w, gen_expr t, gen_expr row, bool first) {
  gen *g = w->g;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_SPATIAL, w->steps, t);
  if (row) gen_iter(g, &it, IR_SPATIAL, w->a.shape[0], row);
  gen_block(g, &it, 0, idx);
  gen_expr at = first ? gen_num(g, 0) : idx[1];
  gen_expr to[2] = {idx[0], row ? idx[1] : gen_num(g, 0)};
  gen_store(g, w->used, 2, to,
            gen_tweak(g, w->a.t, gen_read(g, w->sum, 1, &at)));
  gen_close(g, 1);
}

/* In a step of the loop; rows by loops of their own, or by one. */
static void spread_step(spreading *w, int kind, gen_expr t) {
  gen *g = w->g;
  gen_expr rows = gen_num(g, w->a.shape[0]), row;
  if (kind == WINDOW) {
    add_window(w, t);
    use(w, t, 0, true);
    return;
  }
  row = loop_from(w, "j", rows);
  add_row(w, kind, t, row);
  if (gen_once_in(g, 2)) {
    gen_close(g, 1);
    row = gen_loop(g, "i", gen_num(g, 0), rows);
  }
  use(w, t, row, false);
  gen_close(g, 1);
}

void gen_spread(gen *g) {
  spreading w = {.g = g};
  int kind = (int)gen_below(g, KINDS);
  w.steps = 1 + gen_below(g, 5);
  w.width = 1 + gen_below(g, 3);
  int64_t shape[2] = {kind == WINDOW ? w.steps : gen_extent(g, 6),
                      kind == WINDOW ? w.steps : w.steps * w.width};
  w.x = gen_source(g, gen_dtype(g), 2, shape);
  w.a = g->tensor[w.x];
  if (!gen_suits(g, &w.a, 2)) return;
  w.start = gen_source(g, w.a.t, 1, shape);
  gen_tensor row = {.t = w.a.t, .ndim = 1, .shape = {shape[0]}};
  gen_tensor all = {.t = w.a.t, .ndim = 2, .shape = {w.steps, shape[0]}};
  if (kind == WINDOW) all.shape[1] = 1;
  w.sum = gen_local(g, &row);
  w.used = gen_local(g, &all);
  spread_step(&w, kind, loop_from(&w, "t", gen_num(g, w.steps)));
  gen_close(g, 1);
  uint64_t reads = g->reads;
  gen_add(g, w.used, w.a.t, 2, all.shape);
  if (!gen_once_in(g, 4)) return;
  g->reads = reads;
  gen_add(g, w.sum, w.a.t, 1, shape);
}
