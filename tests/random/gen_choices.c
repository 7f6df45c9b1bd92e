/* SPDX-License-Identifier: Apache-2.0
 * Random programs: blocks whose statements run where data says so, which
 * they may change, and values that choose between parts of themselves. */
#include "random/gen_program.h"

typedef struct choices {
  gen *g;
  tess_dtype t;
  uint32_t ndim;    /* of what is written */
  ir_buf buf[2];    /* written */
  gen_expr *at;     /* where */
  gen_expr element; /* of the tensor that is looked at */
} choices;

static gen_expr any_of(const choices *c) {
  uint32_t which = gen_below(c->g, 3);
  return which < 2 ? gen_read(c->g, c->buf[which], c->ndim, c->at) : c->element;
}

static gen_expr condition(const choices *c) {
  gen_expr a = any_of(c);
  if (c->t.code == TESS_DTYPE_BOOL) return a;
  gen_expr b = gen_once_in(c->g, 2) ? any_of(c) : gen_const(c->g, c->t);
  return gen_compare(c->g, a, b);
}

/* e, or e and something more, again and again: each is in both sides of the
 * next. */
static gen_expr choices_chain(const choices *c, gen_expr e) {
  gen *g = c->g;
  for (uint32_t n = gen_below(g, 6); n > 0; n--) {
    gen_expr cond = condition(c), other = gen_mix(g, c->t, e, any_of(c));
    e = gen_once_in(g, 2) ? gen_select(g, cond, e, other)
                          : gen_select(g, cond, other, e);
  }
  return e;
}

static void store(const choices *c) {
  gen *g = c->g;
  gen_expr v = any_of(c);
  v = gen_once_in(g, 3) ? choices_chain(c, v) : gen_tweak(g, c->t, v);
  gen_store(g, c->buf[gen_below(g, 2)], c->ndim, c->at, v);
}

static void choices_choose(const choices *c, uint32_t depth) {
  gen *g = c->g;
  gen_when(g, condition(c));
  store(c);
  if (depth && gen_once_in(g, 3)) choices_choose(c, depth - 1);
  if (gen_once_in(g, 2)) store(c);
  if (gen_once_in(g, 3)) {
    gen_else(g);
    store(c);
  }
  gen_close(g, 1);
}

/* Where results start, when they are the best of several. */
static void choices_start(const choices *c) {
  gen_init(c->g);
  for (uint32_t i = 0; i < 2; i++)
    gen_store(c->g, c->buf[i], c->ndim, c->at, gen_zero(c->g, c->t));
  gen_close(c->g, 1);
}

/* Each element of two tensors from one of x, or, of a row of x, one after the
 * other. */
void gen_choices(gen *g) {
  uint32_t x = gen_pick(g);
  const gen_tensor a = g->tensor[x];
  if (!gen_suits(g, &a, 1)) return;
  bool rows = a.ndim > 1 && gen_once_in(g, 2);
  gen_tensor like = {.t = a.t, .ndim = a.ndim - rows};
  memcpy(like.shape, a.shape, like.ndim * sizeof *like.shape);
  uint32_t from = gen_source(g, a.t, like.ndim, like.shape);
  choices c = {.g = g, .t = a.t, .ndim = like.ndim};
  c.buf[0] = rows ? gen_local(g, &like) : gen_copy(g, x);
  c.buf[1] = rows ? gen_local(g, &like) : gen_copy(g, from);
  gen_iters it = {.n = 0};
  gen_expr idx[GEN_MAX_DIM];
  gen_nest(g, a.ndim, a.shape, &it);
  if (rows) it.kind[a.ndim - 1] = IR_REDUCE;
  gen_block(g, &it, 0, idx);
  c.at = idx;
  if (rows) choices_start(&c);
  c.element = gen_load(g, x, idx);
  choices_choose(&c, 2);
  gen_close(g, a.ndim + 1);
  uint64_t reads = g->reads;
  gen_add(g, c.buf[0], a.t, like.ndim, like.shape);
  g->reads = reads;
  gen_add(g, c.buf[1], a.t, like.ndim, like.shape);
}
