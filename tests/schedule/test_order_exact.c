/* SPDX-License-Identifier: Apache-2.0
 * The order of reductions decided exactly: over random nests that count up,
 * down and in turns, under predicates, a reorder is refused where an
 * iteration would change places with the one that initialises its result,
 * and else computes what it computed. */
#include "ir/edit.h"
#include "support/expr.h"
#include "support/moved.h"

enum { NESTS = TEST_DRAWS(400), DEPTH = 3, MAX_RUN = 200 };

typedef struct world {
  scheduled t;
  rng r;
  ir_program start;
  ir_stmt block, loop[DEPTH];
  int64_t size[DEPTH];
} world;

/* ---- making a nest ------------------------------------------------------ */

static int64_t order_exact_below(world *w, int64_t n) {
  return (int64_t)rng_below(&w->r, (uint64_t)n);
}

/* One loop, counted up, down, from the middle on, or with another one. */
static ir_expr random_bind(world *w) {
  ir_program *p = &w->t.p;
  uint32_t k = (uint32_t)order_exact_below(w, DEPTH), o = (k + 1) % DEPTH;
  ir_expr v = ir_ref(p, ir_st(p, w->loop[k])->var);
  ir_expr u = ir_ref(p, ir_st(p, w->loop[o])->var);
  ir_expr down = ir_sub(p, ir_index(p, w->size[k] - 1), v);
  ir_expr size = ir_index(p, w->size[k]), over = ir_index(p, w->size[o]);
  switch (order_exact_below(w, 7)) {
  case 0:
  case 1: return v;
  case 2: return down;
  case 3:
    return ir_binary(p, IR_MOD,
                     ir_add(p, v, ir_index(p, order_exact_below(w, 3))), size);
  case 4: return ir_add(p, ir_mul(p, v, over), u);
  case 5: return ir_add(p, ir_mul(p, down, over), u);
  default: return ir_binary(p, IR_DIV, v, ir_index(p, 2));
  }
}

static ir_expr random_pred(world *w) {
  ir_program *p = &w->t.p;
  uint32_t k = (uint32_t)order_exact_below(w, DEPTH);
  ir_expr v = ir_ref(p, ir_st(p, w->loop[k])->var);
  ir_expr u = ir_ref(p, ir_st(p, w->loop[(k + 1) % DEPTH])->var);
  switch (order_exact_below(w, 6)) {
  case 0: return ir_binary(p, IR_LE, v, u);
  case 1: return ir_binary(p, IR_LE, ir_index(p, 1), v);
  case 2: return ir_binary(p, IR_NE, v, u);
  default: return 0;
  }
}

/* C is all ones, and then sums of X by iters that follow the loops at will. */
static void order_exact_make(world *w, uint64_t seed) {
  scheduled *t = &w->t;
  ir_program *p = &t->p;
  memset(w, 0, sizeof *w);
  scheduled_start(t);
  ir_program_init(&w->start, &t->heap.heap);
  rng_init(&w->r, seed, 5);
  const int64_t wide[3] = {16, 16, 16};
  ir_buf x = scheduled_buf(t, "X", IR_ROLE_INPUT, 3, wide);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 1, wide);
  scheduled_block(t, "one", "S", wide);
  scheduled_store(t, c, t->it[0], 0,
                  ir_real(p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 1), false);
  for (int k = 0; k < DEPTH; k++) w->size[k] = 2 + order_exact_below(w, 3);
  ir_stmt b = scheduled_block(t, "C", "SRR", wide), l = b;
  ir_expr idx[3] = {t->it[0], t->it[1], t->it[2]};
  scheduled_store(t, c, t->it[0], 0, ir_load(p, x, 3, idx), true);
  for (int k = DEPTH; k-- > 0;) {
    w->loop[k] = l = ir_st(p, l)->parent;
    ir_st(p, l)->extent = ir_index(p, w->size[k]);
    ir_var v = ir_var_like(p, ir_st(p, l)->var, 0, w->size[k] - 1);
    p->var.v[v].owner = l;
    ir_st(p, l)->var = v;
  }
  ir_iter it[DEPTH];
  for (uint32_t k = 0; k < DEPTH; k++) {
    it[k] = p->iter.v[ir_blk(p, b)->iters.at + k];
    it[k].bind = k ? random_bind(w) : ir_ref(p, ir_st(p, w->loop[0])->var);
  }
  ir_block_set_iters(p, b, DEPTH, it);
  ir_blk(p, b)->pred = random_pred(w);
  scheduled_finish(t);
  w->block = scheduled_get(t, "C");
  ir_program_copy(&w->start, p);
}

/* ---- what is legal ------------------------------------------------------ */

typedef struct run {
  int64_t at[DEPTH], result;
  bool init;
} run;

static int64_t order_exact_eval(const world *w, const int64_t *at, ir_expr e) {
  const ir_program *p = &w->start;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT) return n->i;
  if (n->op == IR_VAR) {
    for (uint32_t k = 0; k < DEPTH; k++)
      if (ir_st(p, w->loop[k])->var == n->a) return at[k];
    fail_msg("not a loop");
  }
  int64_t a = order_exact_eval(w, at, n->a), b = order_exact_eval(w, at, n->b);
  switch ((ir_op)n->op) {
  case IR_ADD: return a + b;
  case IR_SUB: return a - b;
  case IR_MUL: return a * b;
  case IR_DIV: return a / b;
  case IR_MOD: return a % b;
  case IR_LE: return a <= b;
  case IR_LT: return a < b;
  case IR_NE: return a != b;
  default: fail_msg("not an index"); return 0;
  }
}

static uint32_t run_all(const world *w, run *out) {
  const ir_program *p = &w->start;
  const ir_block_rec *b = ir_blk(p, w->block);
  uint32_t n = 0;
  int64_t at[DEPTH];
  for (at[0] = 0; at[0] < w->size[0]; at[0]++)
    for (at[1] = 0; at[1] < w->size[1]; at[1]++)
      for (at[2] = 0; at[2] < w->size[2]; at[2]++) {
        if (b->pred && !order_exact_eval(w, at, b->pred)) continue;
        run *r = &out[n++];
        memcpy(r->at, at, sizeof at);
        r->result = order_exact_eval(w, at, p->iter.v[b->iters.at].bind);
        r->init = !order_exact_eval(w, at, p->iter.v[b->iters.at + 1].bind) &&
                  !order_exact_eval(w, at, p->iter.v[b->iters.at + 2].bind);
      }
  return n;
}

/* The first in the new order, whose loop number k is next[k] of the old. */
static int order(const run *a, const run *b, const uint32_t *next) {
  for (uint32_t k = 0; k < DEPTH; k++)
    if (a->at[next[k]] != b->at[next[k]])
      return a->at[next[k]] < b->at[next[k]] ? -1 : 1;
  return 0;
}

static bool may(const run *all, uint32_t n, const uint32_t *next) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < i; j++)
      if (all[i].result == all[j].result && all[i].init != all[j].init &&
          order(&all[j], &all[i], next) > 0)
        return false;
  return true;
}

/* ---- comparing ---------------------------------------------------------- */

static const run *named(const world *w, const run *all, uint32_t n, int side) {
  const sch_conflict *c = &w->t.s.refusal.conflict;
  for (uint32_t i = 0; i < n; i++) {
    bool is = c->n[side] > 0;
    for (uint32_t d = 0; d < c->n[side]; d++)
      for (uint32_t k = 0; k < DEPTH; k++)
        if (ir_st(&w->start, w->loop[k])->var == c->var[side][d])
          is = is && all[i].at[k] == c->at[side][d];
    if (is) return &all[i];
  }
  fail_msg("the refusal names an iteration that does not run: %s",
           scheduled_why((scheduled *)(uintptr_t)&w->t, "reorder"));
  return NULL;
}

/* The refusal names an iteration and the one that initialises its result. */
static void check_refusal(const world *w, const run *all, uint32_t n,
                          const uint32_t *next) {
  if (w->t.s.refusal.reason != SCH_R_ORDER_INIT) return;
  const run *a = named(w, all, n, 0), *b = named(w, all, n, 1);
  assert_true(a->result == b->result && b->init && !a->init);
  static const uint32_t as_is[] = {0, 1, 2};
  assert_true(order(a, b, as_is) != order(a, b, next));
}

static void test_exact(void **state) {
  (void)state;
  static const uint32_t perm[5][DEPTH] = {
      {1, 0, 2}, {0, 2, 1}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
  uint32_t legal = 0, illegal = 0;
  for (uint64_t seed = 0; seed < NESTS; seed++) {
    static world w;
    run all[MAX_RUN];
    order_exact_make(&w, seed);
    uint32_t n = run_all(&w, all);
    for (uint32_t k = 0; k < 5; k++) {
      ir_stmt to[DEPTH];
      for (uint32_t i = 0; i < DEPTH; i++) to[i] = w.loop[perm[k][i]];
      bool ok =
          RUN(&w.t, reorder, {.name = "ordered_loops", .v = to, .n = DEPTH});
      bool is = may(all, n, perm[k]);
      if (ok) moved_equal(&w.t);
      if (ok != is)
        fail_msg("seed %llu: order %u is %s\n%s%s", (unsigned long long)seed, k,
                 is ? "legal, and refused" : "not legal, and accepted",
                 scheduled_text(&w.t), scheduled_why(&w.t, "reorder"));
      if (!ok) check_refusal(&w, all, n, perm[k]);
      ir_program_copy(&w.t.p, &w.start);
      legal += is;
      illegal += !is;
    }
    ir_program_free(&w.start);
    scheduled_end(&w.t);
  }
  assert_true(legal > TEST_DRAWS(200) && illegal > TEST_DRAWS(200));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
