/* SPDX-License-Identifier: Apache-2.0
 * Relaxation, value ranges of restricted variables, and proofs, against brute
 * force. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "support/random.h"

#include <stdio.h>

enum { NVARS = 4 };

typedef struct world {
  test_heap heap;
  ir_program p;
  arena scratch;
  rng r;
  int64_t value[4096];
} world;

static void relax_start(world *w, uint64_t index) {
  test_heap_start(&w->heap, 0);
  ir_program_init(&w->p, &w->heap.heap);
  arena_init(&w->scratch, &w->heap.heap);
  rng_init(&w->r, test_seed(), index);
}

static void relax_end(world *w) {
  arena_free(&w->scratch);
  ir_program_free(&w->p);
  test_heap_end(&w->heap);
}

/* ---- relaxation --------------------------------------------------------- */

/* One query, and the extremes for one setting of the fixed variables. */
typedef struct question {
  world *w;
  ir_expr e, lo[NVARS], extent[NVARS], min, max;
  uint32_t nrun, nfixed;
  ir_var run[NVARS], fixed[NVARS];
  bool exact;
  int64_t least, most;
  uint32_t points;
} question;

static void see(question *q, uint32_t i) {
  ir_program *p = &q->w->p;
  int64_t *value = q->w->value;
  if (i == q->nrun) {
    int64_t v = test_eval(p, q->e, value);
    q->least = q->points == 0 || v < q->least ? v : q->least;
    q->most = q->points == 0 || v > q->most ? v : q->most;
    q->points++;
    return;
  }
  int64_t lo = test_eval(p, q->lo[i], value);
  int64_t n = test_eval(p, q->extent[i], value);
  for (int64_t k = 0; k < n; k++) {
    value[q->run[i]] = lo + k;
    see(q, i + 1);
  }
}

static const char *what(const question *q) {
  static char text[8192];
  ir_program *p = &q->w->p;
  int n = snprintf(text, sizeof text, "%s relaxed over", test_text(p, q->e));
  for (uint32_t i = 0; i < q->nrun; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, " %s in %s + %s",
                  test_text(p, ir_ref(p, q->run[i])), test_text(p, q->lo[i]),
                  test_text(p, q->extent[i]));
  snprintf(text + n, sizeof text - (size_t)n, " gives %s .. %s (%s)",
           test_text(p, q->min), test_text(p, q->max),
           q->exact ? "exact" : "covering");
  return text;
}

static bool holds_here(void *ud) {
  question *q = ud;
  q->points = 0;
  see(q, 0);
  if (!q->points) return true;
  int64_t min = test_eval(&q->w->p, q->min, q->w->value);
  int64_t max = test_eval(&q->w->p, q->max, q->w->value);
  bool fits = q->exact ? min == q->least && max == q->most
                       : min <= q->least && max >= q->most;
  if (!fits)
    fail_msg("%s, but there it is %lld .. %lld", what(q), (long long)q->least,
             (long long)q->most);
  return true;
}

/* Half of the variables are relaxed, over their own bounds or over a tile whose
 * position depends on the fixed ones. */
static void relax_ask(question *q, random_exprs *x) {
  ir_program *p = x->p;
  q->nrun = q->nfixed = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    ir_var v = x->var[i];
    int64_t lo = p->var.v[v].lo, n = p->var.v[v].hi - lo + 1;
    if (rng_below(x->r, 2)) {
      q->fixed[q->nfixed++] = v;
      continue;
    }
    uint32_t k = q->nrun++;
    q->run[k] = v;
    q->lo[k] = ir_index(p, lo);
    q->extent[k] = ir_index(p, n);
  }
  for (uint32_t k = 0; q->nfixed && k < q->nrun; k++) {
    const ir_var_rec *v = &p->var.v[q->run[k]];
    const ir_var_rec *f = &p->var.v[q->fixed[0]];
    int64_t n = v->hi + 1, tile = test_pick(x->r, 1, 4);
    if (v->lo || f->lo || tile * (f->hi + 1) > n || rng_below(x->r, 2))
      continue;
    q->lo[k] = ir_mul(p, ir_ref(p, q->fixed[0]), ir_index(p, tile));
    q->extent[k] = ir_index(p, tile);
  }
}

static void test_random(void **state) {
  (void)state;
  world w;
  relax_start(&w, 1);
  random_exprs x = {.p = &w.p, .r = &w.r, .made = true};
  uint32_t runs = test_runs(3000), exact = 0;
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    x.plain = i % 2;
    random_vars(&x, NVARS);
    question q = {.w = &w, .e = random_index(&x, (int)test_pick(&w.r, 1, 4))};
    relax_ask(&q, &x);
    if (!arith_relax(&w.p, &w.scratch, q.e, q.nrun, q.run, q.lo, q.extent,
                     &q.min, &q.max, &q.exact))
      fail_msg("no answer for %s", test_text(&w.p, q.e));
    for (uint32_t k = 0; k < q.nrun; k++) {
      assert_false(ir_uses_var(&w.p, q.min, q.run[k]));
      assert_false(ir_uses_var(&w.p, q.max, q.run[k]));
    }
    exact += q.exact;
    test_each_point(&w.p, q.nfixed, q.fixed, w.value, holds_here, &q);
    arena_reset(&w.scratch);
  }
  fprintf(stderr, "exact: %u of %u\n", exact, runs);
  assert_true(exact > runs / 2);
  relax_end(&w);
}

/* Relaxation of tiles must be exact and in the expected form. */
static void test_relax_tiles(void **state) {
  (void)state;
  world w;
  relax_start(&w, 2);
  ir_program *p = &w.p;
  int64_t extents[] = {4, 4, 4, 64};
  ir_var v[4];
  ir_expr e[4], n[4], zero = ir_index(p, 0), min, max;
  for (int i = 0; i < 4; i++) {
    v[i] = ir_var_new(p, IR_VAR_LOOP, ir_name_n(p, &"abcx"[i], 1), IR_INDEX, 0,
                      extents[i] - 1);
    e[i] = ir_ref(p, v[i]);
    n[i] = ir_index(p, extents[i]);
  }
  ir_expr los[2] = {zero, zero};
  bool exact;
  ir_expr sum = ir_add(p, ir_mul(p, e[0], ir_index(p, 16)),
                       ir_add(p, ir_mul(p, e[1], n[1]), e[2]));
  assert_true(arith_relax(p, &w.scratch, sum, 2, v + 1, los, n + 1, &min, &max,
                          &exact));
  assert_true(exact);
  assert_string_equal(test_text(p, min), "a * 16");
  assert_string_equal(test_text(p, max), "a * 16 + 15");

  ir_expr lo = ir_mul(p, e[0], ir_index(p, 16)), tile = ir_index(p, 16);
  ir_expr digits =
      ir_add(p, ir_binary(p, IR_DIV, e[3], n[0]),
             ir_mul(p, ir_binary(p, IR_MOD, e[3], n[0]), ir_index(p, 100)));
  assert_true(arith_relax(p, &w.scratch, digits, 1, v + 3, &lo, &tile, &min,
                          &max, &exact));
  assert_true(exact);
  assert_string_equal(test_text(p, min), "a * 4");
  assert_string_equal(test_text(p, max), "a * 4 + 303");

  /* b runs below a, which runs, too, whatever comes first. */
  ir_expr below[2] = {n[0], ir_add(p, e[0], ir_index(p, 1))};
  assert_true(arith_relax(p, &w.scratch, ir_add(p, e[1], e[2]), 2, v, los,
                          below, &min, &max, &exact));
  assert_string_equal(test_text(p, min), "c");
  assert_string_equal(test_text(p, max), "c + 3");
  relax_end(&w);
}

/* ---- restricted variables ----------------------------------------------- */

static void test_confined(void **state) {
  (void)state;
  world w;
  relax_start(&w, 3);
  random_exprs x = {.p = &w.p, .r = &w.r, .made = true};
  uint32_t runs = test_runs(3000);
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    x.plain = i % 2;
    random_vars(&x, NVARS);
    arith_range range[NVARS];
    question q = {.w = &w,
                  .e = random_index(&x, (int)test_pick(&w.r, 1, 4)),
                  .nrun = NVARS};
    for (int k = 0; k < NVARS; k++) {
      const ir_var_rec *v = &w.p.var.v[x.var[k]];
      range[k].lo = test_pick(&w.r, v->lo, v->hi);
      range[k].hi = test_pick(&w.r, range[k].lo, v->hi);
      q.run[k] = x.var[k];
      q.lo[k] = ir_index(&w.p, range[k].lo);
      q.extent[k] = ir_index(&w.p, range[k].hi - range[k].lo + 1);
    }
    uint32_t n = (uint32_t)test_pick(&w.r, 0, NVARS);
    for (uint32_t k = n; k < NVARS; k++) {
      const ir_var_rec *v = &w.p.var.v[x.var[k]];
      q.lo[k] = ir_index(&w.p, v->lo);
      q.extent[k] = ir_index(&w.p, v->hi - v->lo + 1);
    }
    arith_range r = arith_bounds_with(&w.p, &w.scratch, q.e, n, x.var, range);
    see(&q, 0);
    if (r.lo > q.least || r.hi < q.most)
      fail_msg("%s: [%lld, %lld] does not hold [%lld, %lld]",
               test_text(&w.p, q.e), (long long)r.lo, (long long)r.hi,
               (long long)q.least, (long long)q.most);
    arena_reset(&w.scratch);
  }
  relax_end(&w);
}

/* ---- proofs ------------------------------------------------------------- */

typedef struct claim {
  world *w;
  ir_expr assume, cond;
} claim;

static bool is_true_here(void *ud) {
  claim *c = ud;
  return !test_eval(&c->w->p, c->assume, c->w->value) ||
         test_eval(&c->w->p, c->cond, c->w->value);
}

/* Nothing false is proven; of what is true, a good part. */
static void test_proofs(void **state) {
  (void)state;
  world w;
  relax_start(&w, 4);
  random_exprs x = {.p = &w.p, .r = &w.r, .made = true};
  uint32_t runs = test_runs(6000), proven = 0, is_true = 0;
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    x.plain = true;
    random_vars(&x, NVARS);
    claim c = {.w = &w};
    c.assume = i % 3 ? random_condition(&x, 2) : ir_bool(&w.p, true);
    c.cond = random_condition(&x, 3);
    uint32_t nodes = w.p.node.n;
    bool claimed = arith_prove(&w.p, &w.scratch, c.cond, c.assume);
    assert_int_equal(w.p.node.n, nodes);
    bool holds = test_each_point(&w.p, NVARS, x.var, w.value, is_true_here, &c);
    if (claimed && !holds)
      fail_msg("%s does not give %s", test_text(&w.p, c.assume),
               test_text(&w.p, c.cond));
    proven += claimed;
    is_true += holds;
  }
  fprintf(stderr, "proven: %u of %u true ones\n", proven, is_true);
  assert_true(proven > is_true / 2);
  relax_end(&w);
}

/* Claims about equality and order of two expressions. */
static void test_orders(void **state) {
  (void)state;
  world w;
  relax_start(&w, 5);
  random_exprs x = {.p = &w.p, .r = &w.r, .made = true};
  uint32_t runs = test_runs(3000);
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    random_vars(&x, NVARS);
    ir_expr a = random_index(&x, (int)test_pick(&w.r, 1, 3));
    ir_expr b = random_index(&x, (int)test_pick(&w.r, 1, 3));
    claim c = {.w = &w, .assume = ir_bool(&w.p, true)};
    if (arith_prove_le(&w.p, a, b)) {
      c.cond = test_raw(&w.p, IR_LE, a, b);
      assert_true(
          test_each_point(&w.p, NVARS, x.var, w.value, is_true_here, &c));
    }
    if (arith_prove_eq(&w.p, a, b)) {
      c.cond = test_raw(&w.p, IR_EQ, a, b);
      assert_true(
          test_each_point(&w.p, NVARS, x.var, w.value, is_true_here, &c));
    }
  }
  relax_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),   cmocka_unit_test(test_relax_tiles),
      cmocka_unit_test(test_confined), cmocka_unit_test(test_proofs),
      cmocka_unit_test(test_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
