/* SPDX-License-Identifier: Apache-2.0
 * Building expressions: hash-consing, what is folded and what must stay, and
 * queries. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "support/expr.h"

#include <math.h>

typedef struct world {
  test_heap heap;
  ir_program p;
  arena scratch;
} world;

static const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1},
                        i32 = {TESS_DTYPE_INT, 32, 1},
                        f16 = {TESS_DTYPE_FLOAT, 16, 1};

static void expr_start(world *w) {
  test_heap_start(&w->heap, 0);
  ir_program_init(&w->p, &w->heap.heap);
  arena_init(&w->scratch, &w->heap.heap);
}

static void expr_end(world *w) {
  arena_free(&w->scratch);
  ir_program_free(&w->p);
  test_heap_end(&w->heap);
}

static ir_expr expr_loop(world *w, const char *name, int64_t extent) {
  return ir_ref(&w->p, ir_var_new(&w->p, IR_VAR_LOOP, ir_name(&w->p, name),
                                  IR_INDEX, 0, extent - 1));
}

static ir_buf expr_buffer(world *w, tess_dtype t) {
  ir_expr n = ir_index(&w->p, 64);
  return ir_buf_new(&w->p, ir_name(&w->p, "A"), t, 1, &n, IR_SCOPE_GLOBAL,
                    IR_ROLE_INPUT);
}

static ir_expr bin(world *w, ir_op op, ir_expr a, ir_expr b) {
  return ir_binary(&w->p, op, a, b);
}

static ir_expr expr_num(world *w, int64_t v) { return ir_index(&w->p, v); }

#define assert_text(w, e, text) \
  assert_string_equal(test_text(&(w)->p, (e)), (text))

/* ---- nodes -------------------------------------------------------------- */

static void test_interning(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_expr made[600];
  for (int k = 0; k < 600; k++) made[k] = expr_num(&w, k * 7919);
  for (int k = 0; k < 600; k++)
    assert_int_equal(expr_num(&w, k * 7919), made[k]);
  assert_int_not_equal(expr_num(&w, 1), ir_int(&w.p, i32, 1));
  assert_int_not_equal(ir_real(&w.p, f32, 0.0), ir_real(&w.p, f32, -0.0));
  assert_int_equal(ir_real(&w.p, f32, NAN), ir_real(&w.p, f32, NAN));
  ir_buf a = expr_buffer(&w, f32);
  ir_expr i = expr_loop(&w, "i", 8), j = expr_loop(&w, "j", 8);
  ir_expr x = ir_load(&w.p, a, 1, &i);
  assert_int_equal(ir_load(&w.p, a, 1, &i), x);
  assert_int_not_equal(ir_load(&w.p, a, 1, &j), x);
  assert_true(2 * w.p.node.n <= w.p.intern.n + 1);
  expr_end(&w);
}

/* After a rollback to a mark everything is as before, even if the table has
 * grown in between. */
static void test_forgetting(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_expr i = expr_loop(&w, "i", 64), j = expr_loop(&w, "j", 64);
  ir_expr before = bin(&w, IR_ADD, i, j);
  for (int round = 0; round < 3; round++) {
    ir_mark mark = ir_get_mark(&w.p);
    for (int k = 1; k < 400 << round; k++) {
      ir_expr x = bin(&w, IR_MUL, i, expr_num(&w, k + 1));
      bin(&w, IR_DIV, bin(&w, IR_ADD, x, j), expr_num(&w, 7));
    }
    ir_rollback(&w.p, mark);
    assert_int_equal(w.p.node.n, mark.node);
    assert_int_equal(bin(&w, IR_ADD, i, j), before);
    uint32_t entered = 0;
    for (uint32_t k = 0; k < w.p.intern.n; k++) {
      entered += w.p.intern.v[k] != 0;
      assert_true(w.p.intern.v[k] < w.p.node.n);
    }
    assert_int_equal(entered, w.p.node.n - 1);
  }
  expr_end(&w);
}

/* ---- canonical forms ---------------------------------------------------- */

static void test_forms(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_expr i = expr_loop(&w, "i", 8), j = expr_loop(&w, "j", 4),
          k = expr_loop(&w, "k", 16);
  ir_expr x = expr_loop(&w, "x", 1024), one = expr_loop(&w, "one", 1);
  ir_expr four = expr_num(&w, 4), sixteen = expr_num(&w, 16);
  ir_expr sum =
      bin(&w, IR_ADD, k, bin(&w, IR_ADD, bin(&w, IR_MUL, i, four), j));
  assert_text(&w, sum, "i * 4 + j + k");
  assert_text(&w, bin(&w, IR_SUB, sum, j), "i * 4 + k");
  assert_text(&w, bin(&w, IR_ADD, i, one), "i");
  ir_expr tile = bin(&w, IR_ADD, bin(&w, IR_MUL, i, four), j);
  assert_int_equal(bin(&w, IR_DIV, tile, four), i);
  assert_int_equal(bin(&w, IR_MOD, tile, four), j);
  ir_expr q = bin(&w, IR_DIV, x, sixteen), r = bin(&w, IR_MOD, x, sixteen);
  assert_int_equal(bin(&w, IR_ADD, bin(&w, IR_MUL, q, sixteen), r), x);
  assert_text(&w, bin(&w, IR_DIV, q, four), "x // 64");
  assert_text(&w, bin(&w, IR_DIV, r, four), "x // 4 % 4");
  assert_text(&w, bin(&w, IR_MOD, r, four), "x % 4");
  assert_text(&w, bin(&w, IR_SUB, x, bin(&w, IR_MUL, q, sixteen)), "x % 16");
  assert_text(&w, bin(&w, IR_LT, tile, expr_num(&w, 20)), "i < 5");
  assert_text(&w, bin(&w, IR_LE, expr_num(&w, 3), tile), "3 <= i * 4 + j");
  assert_true(ir_is_const(&w.p, bin(&w, IR_LT, tile, expr_num(&w, 32)), 1));
  assert_text(&w, bin(&w, IR_MIN, bin(&w, IR_ADD, x, four), x), "x");
  assert_text(&w, bin(&w, IR_MAX, x, expr_num(&w, -1)), "x");
  ir_expr c = bin(&w, IR_LT, x, expr_num(&w, 100));
  assert_int_equal(ir_and(&w.p, c, bin(&w, IR_LT, x, expr_num(&w, 200))), c);
  assert_true(ir_is_const(&w.p, ir_and(&w.p, c, ir_not(&w.p, c)), 0));
  assert_int_equal(ir_and(&w.p, 0, c), c);
  expr_end(&w);
}

/* Sums of more terms than a linear form has stay correct. */
static void test_long_sums(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  int64_t value[256] = {0}, want = 0;
  ir_expr sum = expr_num(&w, 0);
  for (int k = 0; k < 100; k++) {
    ir_expr v = expr_loop(&w, "v", 10);
    sum = bin(&w, IR_ADD, sum, bin(&w, IR_MUL, v, expr_num(&w, k + 1)));
    value[ir_at(&w.p, v)->a] = k % 10;
    want += (k % 10) * (k + 1);
  }
  assert_int_equal(test_eval(&w.p, sum, value), want);
  ir_expr twice = bin(&w, IR_ADD, sum, sum);
  assert_int_equal(test_eval(&w.p, twice, value), 2 * want);
  ir_expr part = bin(&w, IR_MOD, bin(&w, IR_DIV, twice, expr_num(&w, 3)),
                     expr_num(&w, 1000));
  assert_int_equal(test_eval(&w.p, part, value), 2 * want / 3 % 1000);
  ir_expr atom[40];
  int64_t coef[40], c;
  assert_int_equal(arith_terms(&w.p, sum, 40, atom, coef, &c), -1);
  expr_end(&w);
}

/* Near the ends of 64 bits simplification gives up rather than overflow. */
static void test_huge_numbers(void **state) {
  static const int64_t huge[] = {INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1,
                                 INT64_MIN + 1, -1};
  world w;
  (void)state;
  expr_start(&w);
  ir_expr i = expr_loop(&w, "i", 3), j = expr_loop(&w, "j", 2);
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++)
      for (ir_op op = IR_ADD; op <= IR_LE; op = (ir_op)(op + 1)) {
        ir_expr x = bin(&w, IR_MUL, i, expr_num(&w, huge[a]));
        ir_expr y =
            bin(&w, IR_ADD, x, bin(&w, IR_MUL, j, expr_num(&w, huge[b])));
        assert_true(bin(&w, op, y, expr_num(&w, huge[b])));
        assert_true(bin(&w, op, y, x));
        assert_true(bin(&w, op, expr_num(&w, huge[a]), y));
      }
  expr_end(&w);
}

/* ---- other types -------------------------------------------------------- */

static void test_floats_stay(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_buf a = expr_buffer(&w, f32);
  ir_expr i = expr_loop(&w, "i", 8), x = ir_load(&w.p, a, 1, &i);
  ir_expr zero = ir_real(&w.p, f32, 0), one = ir_real(&w.p, f32, 1);
  assert_text(&w, bin(&w, IR_ADD, x, zero), "A[i] + 0.0");
  assert_text(&w, bin(&w, IR_MUL, x, one), "A[i] * 1.0");
  assert_text(&w, bin(&w, IR_SUB, x, x), "A[i] - A[i]");
  assert_text(&w, bin(&w, IR_EQ, x, x), "A[i] == A[i]");
  assert_text(&w, ir_not(&w.p, bin(&w, IR_LT, x, one)), "!(A[i] < 1.0)");
  ir_expr half = bin(&w, IR_DIV, one, ir_real(&w.p, f32, 2));
  assert_true(ir_at(&w.p, half)->f == 0.5);
  /* What would be rounded is not folded: it is not the same in exact
   * arithmetic. */
  assert_text(&w, bin(&w, IR_DIV, one, ir_real(&w.p, f32, 3)), "1.0 / 3.0");
  ir_expr big = ir_real(&w.p, f16, 60000), tiny = ir_real(&w.p, f32, 0x1p-20);
  assert_int_equal(ir_at(&w.p, bin(&w, IR_ADD, big, big))->op, IR_ADD);
  assert_int_equal(ir_at(&w.p, bin(&w, IR_ADD, one, tiny))->op, IR_ADD);
  assert_int_equal(ir_at(&w.p, bin(&w, IR_MIN, one, tiny))->op, IR_MIN);
  assert_true(ir_at(&w.p, ir_cast(&w.p, i32, ir_real(&w.p, f32, 3e9)))->i ==
              INT32_MAX);
  expr_end(&w);
}

/* No rule drops a load, and integers that may wrap are not reassociated. */
static void test_loads_stay(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_buf a = expr_buffer(&w, i32);
  ir_expr i = expr_loop(&w, "i", 8), x = ir_load(&w.p, a, 1, &i);
  ir_expr zero = ir_int(&w.p, i32, 0), two = ir_int(&w.p, i32, 2);
  assert_true(ir_has_load(&w.p, bin(&w, IR_MUL, x, zero), a));
  assert_true(ir_has_load(&w.p, bin(&w, IR_SUB, x, x), 0));
  assert_int_equal(bin(&w, IR_ADD, x, zero), x);
  ir_expr y = bin(&w, IR_DIV, bin(&w, IR_MUL, x, two), two);
  assert_text(&w, y, "A[i] * 2 // 2");
  ir_expr off = ir_int(&w.p, IR_BOOL, 0);
  assert_true(ir_is_const(&w.p, ir_load_masked(&w.p, a, i32, 1, &i, off), 0));
  assert_int_equal(ir_load_masked(&w.p, a, i32, 1, &i, ir_bool(&w.p, true)), x);
  ir_expr mask = bin(&w, IR_LT, i, expr_num(&w, 5));
  ir_expr masked = ir_load_masked(&w.p, a, i32, 1, &i, mask);
  const uint32_t *ops;
  uint32_t fixed[3];
  assert_int_equal(ir_operands(&w.p, masked, &ops, fixed), 2);
  assert_int_equal(ops[0], i);
  assert_int_equal(ops[1], mask);
  expr_end(&w);
}

static void test_vectors(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_program *p = &w.p;
  ir_expr i = expr_loop(&w, "i", 8), one = expr_num(&w, 1),
          three = expr_num(&w, 3);
  ir_expr r = ir_ramp(p, i, one, 4), b = ir_broadcast(p, three, 4);
  assert_int_equal(bin(&w, IR_ADD, r, b),
                   ir_ramp(p, bin(&w, IR_ADD, i, three), one, 4));
  assert_int_equal(bin(&w, IR_MUL, b, r),
                   ir_ramp(p, bin(&w, IR_MUL, i, three), three, 4));
  assert_int_equal(bin(&w, IR_SUB, r, r),
                   ir_int(p, (tess_dtype){TESS_DTYPE_INT, 64, 4}, 0));
  assert_int_equal(ir_broadcast(p, i, 1), i);
  assert_int_equal(ir_ramp(p, i, expr_num(&w, 0), 4), ir_broadcast(p, i, 4));
  expr_end(&w);
}

/* ---- queries ------------------------------------------------------------ */

static void expr_count(const ir_program *p, ir_expr e, void *ud) {
  (void)p;
  (void)e;
  ++*(uint32_t *)ud;
}

/* Nodes shared at every level would take 2^200 steps to walk as a tree. */
static void test_shared_nodes(void **state) {
  world w;
  (void)state;
  expr_start(&w);
  ir_buf a = expr_buffer(&w, f32), b = expr_buffer(&w, f32);
  ir_expr i = expr_loop(&w, "i", 8), e = ir_load(&w.p, a, 1, &i);
  ir_var like = 0;
  while (like % 32 != ir_at(&w.p, i)->a % 32 || like == ir_at(&w.p, i)->a)
    like = ir_at(&w.p, expr_loop(&w, "x", 8))->a;
  ir_expr other = ir_ref(&w.p, like), y = ir_load(&w.p, a, 1, &other);
  for (int k = 0; k < 200; k++) {
    e = bin(&w, IR_MUL, e, e);
    y = bin(&w, IR_MUL, y, bin(&w, IR_ADD, y, e));
  }
  assert_true(ir_uses_var(&w.p, e, ir_at(&w.p, i)->a));
  assert_false(ir_uses_var(&w.p, e, like));
  assert_true(ir_uses_var(&w.p, y, like));
  assert_true(ir_has_load(&w.p, e, a));
  assert_false(ir_has_load(&w.p, y, b));
  uint32_t n = 0;
  ir_visit(&w.p, &w.scratch, e, expr_count, &n);
  assert_int_equal(n, 202);
  expr_end(&w);
}

/* ---- memory ------------------------------------------------------------- */

static tess_status build_much(void *ud) {
  world *w = ud;
  ir_program_reset(&w->p);
  ir_expr i = expr_loop(w, "i", 64), j = expr_loop(w, "j", 64), e = i;
  ir_buf a = expr_buffer(w, i32);
  for (int k = 1; k < 200; k++) {
    e = bin(w, IR_ADD, bin(w, IR_MUL, e, expr_num(w, 3)), j);
    e = bin(w, IR_MOD, e, expr_num(w, 1000 + k));
    ir_load(&w->p, a, 1, &e);
  }
  return TESS_OK;
}

static tess_status init(void *ud) {
  world *w = ud;
  ir_program_init(&w->p, &w->heap.heap);
  return build_much(w);
}

static void expr_release(void *ud) {
  world *w = ud;
  ir_program_free(&w->p);
  w->p = (ir_program){.heap = &w->heap.heap};
}

static void test_exhaustion(void **state) {
  world w = {.p = {0}};
  (void)state;
  test_heap_start(&w.heap, 0);
  w.p.heap = &w.heap.heap;
  assert_true(test_each_failure(&w.heap, init, expr_release, &w) > 10);
  test_heap_end(&w.heap);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_interning),    cmocka_unit_test(test_forgetting),
      cmocka_unit_test(test_forms),        cmocka_unit_test(test_long_sums),
      cmocka_unit_test(test_huge_numbers), cmocka_unit_test(test_floats_stay),
      cmocka_unit_test(test_loads_stay),   cmocka_unit_test(test_vectors),
      cmocka_unit_test(test_shared_nodes), cmocka_unit_test(test_exhaustion),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
