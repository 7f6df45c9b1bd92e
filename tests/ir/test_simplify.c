/* SPDX-License-Identifier: Apache-2.0
 * Simplification, against brute force: random expressions are built twice,
 * as they are and simplified, and compared at every point of their domain. */
#include "ir/edit.h"
#include "support/chain.h"
#include "support/random.h"

#include <stdio.h>

enum { NVARS = 4 };

typedef struct world {
  test_heap heap;
  ir_program p;
  rng r;
  ir_var var[NVARS];
  int64_t value[4096];
  ir_buf buf;
  ir_expr raw, made;
} world;

static void simplify_start(world *w, uint64_t index) {
  test_heap_start(&w->heap, 0);
  ir_program_init(&w->p, &w->heap.heap);
  rng_init(&w->r, test_seed(), index);
}

static void simplify_end(world *w) {
  ir_program_free(&w->p);
  test_heap_end(&w->heap);
}

/* Variables of type t with small domains. */
static void make_vars(world *w, tess_dtype t) {
  for (int i = 0; i < NVARS; i++)
    w->var[i] =
        ir_var_new(&w->p, IR_VAR_FORMAL, ir_name_n(&w->p, &"ijkl"[i], 1), t, 0,
                   t.code == TESS_DTYPE_BOOL ? 1 : 5);
}

static bool same_value(void *ud) {
  world *w = ud;
  int64_t a = test_eval(&w->p, w->raw, w->value);
  int64_t b = test_eval(&w->p, w->made, w->value);
  if (a != b) {
    fprintf(stderr, "at");
    for (int i = 0; i < NVARS; i++)
      fprintf(stderr, " %c=%lld", "ijkl"[i], (long long)w -> value[w->var[i]]);
    fprintf(stderr, ": %lld, not %lld\n", (long long)b, (long long)a);
  }
  return a == b;
}

static void simplify_check(world *w) {
  w->made = test_rebuild(&w->p, w->raw, 0, NULL);
  if (!test_each_point(&w->p, NVARS, w->var, w->value, same_value, w))
    fail_msg("%s became %s", test_text(&w->p, w->raw),
             test_text(&w->p, w->made));
  ir_expr again = test_rebuild(&w->p, w->made, 0, NULL);
  if (again != w->made)
    fail_msg("%s became %s, and then %s", test_text(&w->p, w->raw),
             test_text(&w->p, w->made), test_text(&w->p, again));
}

static void test_index(void **state) {
  world w;
  (void)state;
  uint32_t runs = test_runs(3000);
  simplify_start(&w, 1);
  random_exprs x = {.p = &w.p, .r = &w.r};
  for (uint32_t i = 0; i < runs; i++) {
    if (i % 16 == 0) {
      ir_program_reset(&w.p);
      random_vars(&x, NVARS);
      memcpy(w.var, x.var, sizeof w.var);
    }
    int depth = (int)test_pick(&w.r, 1, 5);
    w.raw = rng_below(&w.r, 4) ? random_index(&x, depth)
                               : random_condition(&x, depth);
    simplify_check(&w);
  }
  simplify_end(&w);
}

/* ---- polynomials divided by others -------------------------------------- */

static ir_expr any_product(world *w) {
  ir_program *p = &w->p;
  ir_expr e = ir_index(p, test_pick(&w->r, -3, 3));
  for (int64_t n = test_pick(&w->r, 0, 3); n > 0; n--)
    e = test_raw(p, IR_MUL, e, ir_ref(p, w->var[rng_below(&w->r, NVARS)]));
  return e;
}

/* A sum of products; now and then some are multiples of `of`. */
static ir_expr polynomial(world *w, ir_expr of) {
  ir_program *p = &w->p;
  ir_expr e = any_product(w);
  for (int64_t n = test_pick(&w->r, 0, 3); n > 0; n--) {
    ir_expr x = any_product(w);
    if (of && rng_below(&w->r, 2)) x = test_raw(p, IR_MUL, x, of);
    e = test_raw(p, IR_ADD, e, x);
  }
  return e;
}

static void test_quotients(void **state) {
  world w;
  (void)state;
  uint32_t runs = test_runs(3000);
  simplify_start(&w, 4);
  for (uint32_t i = 0; i < runs; i++) {
    if (i % 16 == 0) {
      ir_program_reset(&w.p);
      make_vars(&w, IR_INDEX);
    }
    ir_expr by = polynomial(&w, 0);
    if (rng_below(&w.r, 4)) /* one that is known not to be 0 */
      by = test_raw(&w.p, IR_MAX, by, ir_index(&w.p, 1));
    if (rng_below(&w.r, 4))
      by = test_raw(&w.p, IR_ADD, ir_index(&w.p, test_pick(&w.r, 1, 2)),
                    test_raw(&w.p, IR_MUL, ir_ref(&w.p, w.var[0]),
                             ir_ref(&w.p, w.var[rng_below(&w.r, NVARS)])));
    ir_expr a = polynomial(&w, by);
    w.raw = test_raw(&w.p, rng_below(&w.r, 2) ? IR_DIV : IR_MOD, a, by);
    simplify_check(&w);
  }
  /* What fusing i < n and j < q + 1 made, and the number of both. */
  ir_program *p = &w.p;
  ir_expr n = ir_ref(p, w.var[0]), q = ir_ref(p, w.var[1]);
  ir_expr i = ir_ref(p, w.var[2]), j = ir_ref(p, w.var[3]);
  ir_expr size = ir_add(p, q, ir_index(p, 1));
  ir_expr both = ir_add(p, ir_mul(p, i, size), j);
  assert_int_equal(ir_binary(p, IR_DIV, ir_mul(p, n, size), size), n);
  assert_int_equal(ir_binary(p, IR_DIV, both, size),
                   ir_add(p, i, ir_binary(p, IR_DIV, j, size)));
  assert_int_equal(ir_binary(p, IR_MOD, both, size),
                   ir_binary(p, IR_MOD, j, size));
  /* The last of all, and of one i. */
  ir_expr last = ir_sub(p, ir_mul(p, n, size), ir_index(p, 1));
  assert_int_equal(ir_binary(p, IR_DIV, last, size),
                   ir_sub(p, n, ir_index(p, 1)));
  assert_int_equal(ir_binary(p, IR_MOD, last, size), q);
  both = ir_add(p, ir_mul(p, i, size), q);
  assert_int_equal(ir_binary(p, IR_DIV, both, size), i);
  assert_int_equal(ir_binary(p, IR_MOD, both, size), q);
  simplify_end(&w);
}

/* ---- integers that wrap ------------------------------------------------- */

static ir_expr wrapped_expr(world *w, tess_dtype t, int depth) {
  ir_program *p = &w->p;
  if (depth == 0 || rng_below(&w->r, 10) == 0) {
    ir_expr at = ir_index(p, test_pick(&w->r, 0, 2));
    switch (rng_below(&w->r, 4)) {
    case 0: return ir_int(p, t, test_pick(&w->r, -4, 4));
    case 1:
      if (!ir_dtype_eq(t, IR_INDEX))
        return ir_int(p, t, (int64_t)rng_u64(&w->r));
      return ir_load(p, w->buf, 1, &at);
    case 2:
      if (!ir_dtype_eq(t, IR_INDEX))
        return ir_ref(p, w->var[rng_below(&w->r, NVARS)]);
      return ir_load(p, w->buf, 1, &at);
    default: return ir_load(p, w->buf, 1, &at);
    }
  }
  ir_expr a = wrapped_expr(w, t, depth - 1), b = wrapped_expr(w, t, depth - 1);
  ir_op op = (ir_op)test_pick(&w->r, IR_ADD, IR_MAX);
  uint64_t kind = rng_below(&w->r, 8);
  if (kind == 0) {
    static const ir_op cmp[] = {IR_EQ, IR_NE, IR_LT, IR_LE};
    ir_node n = {.op = IR_SELECT,
                 .dtype = t,
                 .b = a,
                 .c = b,
                 .a = test_raw(p, cmp[rng_below(&w->r, 4)], a, b)};
    return ir_raw(p, &n, NULL);
  }
  if (kind == 1) {
    static const tess_dtype via[] = {
        {TESS_DTYPE_INT, 8, 1},  {TESS_DTYPE_INT, 64, 1},
        {TESS_DTYPE_UINT, 8, 1}, {TESS_DTYPE_UINT, 64, 1},
        {TESS_DTYPE_BOOL, 8, 1}, {TESS_DTYPE_INT, 16, 1}};
    ir_node n = {.op = IR_CAST, .dtype = via[rng_below(&w->r, 6)], .a = a};
    n = (ir_node){.op = IR_CAST, .dtype = t, .a = ir_raw(p, &n, NULL)};
    return ir_raw(p, &n, NULL);
  }
  return test_raw(p, op, a, b);
}

static void test_wrapping(void **state) {
  static const tess_dtype types[] = {
      {TESS_DTYPE_INT, 8, 1},  {TESS_DTYPE_UINT, 8, 1},
      {TESS_DTYPE_INT, 32, 1}, {TESS_DTYPE_UINT, 64, 1},
      {TESS_DTYPE_INT, 64, 1}, {TESS_DTYPE_BOOL, 8, 1}};
  world w;
  (void)state;
  uint32_t runs = test_runs(3000);
  simplify_start(&w, 2);
  for (uint32_t i = 0; i < runs; i++) {
    tess_dtype t = types[i % 6];
    ir_program_reset(&w.p);
    make_vars(&w, t);
    w.buf = ir_buf_new(&w.p, ir_name(&w.p, "A"), t, 0, NULL, IR_SCOPE_GLOBAL,
                       IR_ROLE_INPUT);
    w.raw = wrapped_expr(&w, t, (int)test_pick(&w.r, 1, 4));
    simplify_check(&w);
  }
  simplify_end(&w);
}

/* ---- split and fuse ----------------------------------------------------- */

enum { MAX_STEPS = 9 };

/* Any chain that leaves no rest, undone step by step, leaves the loops as
 * they were; and bounds are exact on the way. */
static void test_chains(void **state) {
  static const int64_t extents[] = {12, 16, 30, 36, 60, 64, 7, 128};
  world w;
  (void)state;
  uint32_t runs = test_runs(2000);
  simplify_start(&w, 3);
  for (uint32_t i = 0; i < runs; i++) {
    ir_program_reset(&w.p);
    chain s = {.p = &w.p, .r = &w.r, .nexpr = (uint32_t)test_pick(&w.r, 1, 3)};
    chain_step done[MAX_STEPS];
    int64_t hi[CHAIN_EXPRS];
    for (uint32_t k = 0; k < s.nexpr; k++) {
      hi[k] = extents[rng_below(&w.r, 8)] - 1;
      s.expr[k] = ir_ref(&w.p, chain_add(&s, k, hi[k] + 1));
    }
    uint32_t n = (uint32_t)test_pick(&w.r, 1, MAX_STEPS);
    for (uint32_t k = 0; k < n; k++) done[k] = chain_random(&s, true);
    for (uint32_t k = 0; k < s.nexpr; k++) {
      assert_int_equal(ir_at(&w.p, s.expr[k])->lo, 0);
      assert_int_equal(ir_at(&w.p, s.expr[k])->hi, hi[k]);
    }
    const char *middle = test_text(&w.p, s.expr[0]);
    for (uint32_t k = n; k-- > 0;) chain_undo(&s, &done[k]);
    assert_int_equal(s.n, s.nexpr);
    for (uint32_t k = 0; k < s.nexpr; k++)
      if (s.expr[k] != ir_ref(&w.p, s.loop[k]))
        fail_msg("chain %u: %s, undone, is %s", i, middle,
                 test_text(&w.p, s.expr[k]));
  }
  simplify_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_index),
      cmocka_unit_test(test_quotients),
      cmocka_unit_test(test_wrapping),
      cmocka_unit_test(test_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
