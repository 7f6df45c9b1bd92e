/* SPDX-License-Identifier: Apache-2.0
 * Random programs: blocks, some of them reductions, around which conditions
 * and names stand, between the loops or outside of all. */
#include "random/gen_program.h"

typedef struct conditions {
  gen *g;
  gen_tensor a;   /* what is read, */
  uint32_t x;     /*   and its number */
  ir_buf buf, to; /* changed: like a; one for each of its rows */
  gen_expr i, k;  /* the loops' variables so far, 0: not open */
  uint32_t open;  /* statements around, the outermost loop aside */
} conditions;

/* Of the loops that are open, or of data. */
static gen_expr condition(const conditions *c) {
  gen *g = c->g;
  bool inner = c->k && gen_once_in(g, 2);
  gen_expr v = inner ? c->k : c->i;
  gen_expr n = gen_num(g, gen_below(g, (uint32_t)c->a.shape[inner]) + 1);
  gen_expr at[2] = {c->i, c->k ? c->k : gen_num(g, 0)};
  switch (gen_below(g, 6)) {
  case 0: return gen_compare(g, gen_load(g, c->x, at), gen_const(g, c->a.t));
  case 1: return gen_bin(g, "<=", gen_plus(g, n, -1), v);
  case 2:
    v = gen_bin(g, "%", v, gen_num(g, 2));
    return gen_bin(g, "==", v, gen_num(g, gen_below(g, 2)));
  case 3:
    if (c->k) return gen_bin(g, "<", gen_bin(g, "+", c->i, c->k), n);
    return gen_bin(g, "<", v, n);
  default: return gen_bin(g, "<", v, n);
  }
}

/* Once in n a condition around what follows, or a name for a variable. */
static bool wrap(conditions *c, uint32_t n, gen_expr *name) {
  gen *g = c->g;
  if (!gen_once_in(g, n)) return false;
  c->open++;
  if (gen_once_in(g, 4))
    *name = gen_let(g, *name);
  else
    gen_when(g, condition(c));
  return true;
}

/* The block: each element once more, or a row's reduction, which goes on with
 * what is there where a condition holds its init back. */
static void block(conditions *c, bool reduces) {
  gen *g = c->g;
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_iter(g, &it, IR_SPATIAL, c->a.shape[0], c->i);
  if (c->k)
    gen_iter(g, &it, reduces ? IR_REDUCE : IR_SPATIAL, c->a.shape[1], c->k);
  gen_block(g, &it, 0, idx);
  c->open++;
  if (reduces) {
    gen_init(g);
    gen_store(g, c->to, 1, idx, gen_zero(g, c->a.t));
    gen_close(g, 1);
    gen_store(
        g, c->to, 1, idx,
        gen_bin(g, "+", gen_read(g, c->to, 1, idx), gen_load(g, c->x, idx)));
    return;
  }
  gen_expr old = c->k ? gen_load(g, c->x, idx) : gen_read(g, c->to, 1, idx);
  if (c->k && gen_once_in(g, 2))
    old = gen_bin(g, "+", old, gen_read(g, c->to, 1, idx));
  gen_store(g, c->k ? c->buf : c->to, 1 + (c->k != 0), idx,
            gen_tweak(g, c->a.t, old));
}

/* One block in the outer loop, in a loop of its own or not. */
static void member(conditions *c) {
  gen *g = c->g;
  gen_expr i = c->i;
  bool rows = gen_once_in(g, 5), both = false;
  c->open = 0;
  if (wrap(c, 2, &c->i)) both = c->i == i && gen_once_in(g, 5);
  if (!rows) {
    c->k = gen_loop(g, "k", gen_num(g, 0), gen_num(g, c->a.shape[1]));
    c->open++;
    (void)wrap(c, 4, &c->k);
  }
  block(c, !rows && gen_once_in(g, 2));
  gen_close(g, c->open - both);
  c->k = 0;
  if (both) {
    gen_else(g);
    c->open = 1;
    block(c, false);
    gen_close(g, c->open);
  }
  c->i = i;
}

void gen_conditions(gen *g) {
  uint32_t x = gen_pick(g);
  conditions c = {.g = g, .x = x, .a = g->tensor[x]};
  if (!gen_suits(g, &c.a, 2) || c.a.ndim != 2) return;
  c.to = gen_copy(g, gen_source(g, c.a.t, 1, c.a.shape));
  c.buf = gen_copy(g, x);
  for (uint32_t nests = 1 + gen_below(g, 2); nests; nests--) {
    c.i = gen_loop(g, "i", gen_num(g, 0), gen_num(g, c.a.shape[0]));
    for (uint32_t n = 1 + gen_below(g, 3); n; n--) member(&c);
    gen_close(g, 1);
  }
  uint64_t reads = g->reads;
  gen_add(g, c.buf, c.a.t, 2, c.a.shape);
  g->reads = reads;
  gen_add(g, c.to, c.a.t, 1, c.a.shape);
}
