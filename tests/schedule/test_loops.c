/* SPDX-License-Identifier: Apache-2.0
 * split and fuse: what they make and what they refuse. */
#include "ir/edit.h"
#include "support/scheduled.h"

#include <stdio.h>

/* B[i] = A[i] + 1 over n elements. */
static ir_stmt one_loop(scheduled *t, int64_t n) {
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 1, &n);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt block = scheduled_block(t, "B", "S", &n);
  scheduled_store(t, b, t->it[0], 0, scheduled_load(t, a, t->it[0], 0), false);
  scheduled_finish(t);
  return block;
}

static void test_split(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt block = one_loop(&t, 24);
  ir_stmt i = scheduled_loop(&t, block, 0);
  DO(&t, split, AT(loop, i), INTS(factors, 2, SCH_AUTO, 4));
  assert_int_equal(t.nout, 3);
  assert_true(ir_is_dead(&t.p, i));
  for (uint32_t k = 0; k < 3; k++)
    assert_int_equal(scheduled_loop(&t, block, k), t.out[k]);
  scheduled_expect(&t, "main(A: float32[24], B: out float32[24])\n"
                       "  for a_0 in range(2)\n"
                       "    for a_1 in range(3)\n"
                       "      for a_2 in range(4)\n"
                       "        block B(va: 24 = a_0 * 12 + a_1 * 4 + a_2)\n"
                       "          B[va] = A[va]\n");
  /* A further split goes through the sum that is there. */
  DO(&t, split, AT(loop, t.out[1]), INTS(factors, 3, 1));
  scheduled_end(&t);
}

/* Where the factors do not divide, a predicate guards; a second split keeps
 * it. */
static void test_split_guarded(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt block = one_loop(&t, 10);
  DO(&t, split, AT(loop, scheduled_loop(&t, block, 0)),
     INTS(factors, SCH_AUTO, 4));
  DO(&t, split, AT(loop, t.out[1]), INTS(factors, 2, 2));
  scheduled_expect(&t, "main(A: float32[10], B: out float32[10])\n"
                       "  for a_0 in range(3)\n"
                       "    for a_1_0 in range(2)\n"
                       "      for a_1_1 in range(2)\n"
                       "        block B(va: 10 = a_0 * 4 + a_1_0 * 2 + a_1_1)\n"
                       "          where a_0 * 2 + a_1_0 < 5\n"
                       "          B[va] = A[va]\n");
  scheduled_end(&t);
}

static void test_split_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt block = one_loop(&t, 24), i = scheduled_loop(&t, block, 0);
  REFUSED(&t, FACTORS_EMPTY, split, AT(loop, i), {.name = "factors"});
  REFUSED(&t, FACTORS_SEVERAL_OPEN, split, AT(loop, i),
          INTS(factors, SCH_AUTO, SCH_AUTO));
  REFUSED(&t, FACTOR_NOT_POSITIVE, split, AT(loop, i), INTS(factors, 4, 0));
  assert_string_equal(
      scheduled_why(&t, "split"),
      "split: factor 1 for loop a is 0, and must be at least 1");
  REFUSED(&t, FACTOR_PRODUCT_SMALL, split, AT(loop, i), INTS(factors, 3, 7));
  assert_string_equal(scheduled_why(&t, "split"),
                      "split: the factors multiply to 21, less than the "
                      "extent 24 of loop a");
  REFUSED(&t, NEEDS_PREDICATE, split, AT(loop, i), INTS(factors, 5, 5),
          NUM(disable_predication, 1));
  assert_string_equal(scheduled_why(&t, "split"),
                      "split: the factors multiply to 25, not to the extent "
                      "24 of loop a, and a predicate was disabled");
  REFUSED(&t, NEEDS_PREDICATE, split, AT(loop, i), INTS(factors, SCH_AUTO, 7),
          NUM(disable_predication, 1));
  REFUSED(&t, EXTENT_LARGE, split, AT(loop, i),
          INTS(factors, INT64_MAX, INT64_MAX));
  int64_t many[33];
  for (int k = 0; k < 33; k++) many[k] = 2;
  REFUSED(&t, FACTORS_MANY, split, AT(loop, i),
          {.name = "factors", .n = 33, .v = many});
  DO(&t, annotate, AT(block_or_loop, i), STR(ann_key, "key"),
     NUM(ann_val, ir_value_int(&t.p, 1)));
  REFUSED(&t, LOOP_ANNOTATED, split, AT(loop, i), INTS(factors, 4, 6));
  DO(&t, unannotate, AT(block_or_loop, i), STR(ann_key, "key"));
  scheduled_end(&t);
}

/* A loop of any kind but one of threads gives serial ones. */
static void test_split_kinds(void **state) {
  (void)state;
  static const char *const made[] = {"unroll", "vectorize", "parallel"};
  for (uint32_t n = 0; n < 3; n++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 24, 6, 8);
    ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
    assert_true(
        scheduled_call(&t, made[n], (const scheduled_arg[]){AT(loop, i), {0}}));
    DO(&t, split, AT(loop, i), INTS(factors, 4, 6));
    assert_int_equal(t.nout, 2);
    for (uint32_t k = 0; k < 2; k++)
      assert_int_equal(ir_st(&t.p, t.out[k])->loop_kind, IR_SERIAL);
    assert_true(scheduled_same(&t));
    DO(&t, bind, AT(loop, t.out[0]), STR(thread_axis, "threadIdx.x"));
    REFUSED(&t, LOOP_BOUND, split, AT(loop, t.out[0]), INTS(factors, 2, 2));
    assert_string_equal(scheduled_why(&t, "split"),
                        "split: loop a_0 is bound to a thread axis");
    scheduled_end(&t);
  }
}

/* A concurrent kind is not replaced by another, and may be asked for twice; an
 * unrolled loop may become of any kind. */
static void test_one_kind(void **state) {
  (void)state;
  static const char *const made[] = {"vectorize", "parallel", "bind", "unroll"};
  static const char *const is[] = {"vectorized", "parallel",
                                   "bound to a thread axis"};
  for (uint32_t n = 0; n < 4; n++)
    for (uint32_t m = 0; m < 4; m++) {
      scheduled t;
      char says[120];
      scheduled_start(&t);
      scheduled_matmul(&t, 24, 6, 8);
      ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
      const scheduled_arg loop = AT(loop, i),
                          axis = STR(thread_axis, "threadIdx.x");
      const scheduled_arg args[] = {loop,
                                    n == 2 ? axis : (scheduled_arg){0},
                                    {0}},
                          then[] = {
                              loop, m == 2 ? axis : (scheduled_arg){0}, {0}};
      assert_true(scheduled_call(&t, made[n], args));
      bool ok = scheduled_call(&t, made[m], then);
      assert_int_equal(ok, n == m || n == 3);
      if (!ok) {
        snprintf(says, sizeof says,
                 "%s: loop a is %s already; a loop has one kind, so split it "
                 "to have both",
                 made[m], is[n]);
        assert_string_equal(scheduled_why(&t, made[m]), says);
      }
      scheduled_end(&t);
    }
}

/* What was one loop when it was compared is two, and the other way round. */
static void test_guard_same(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), i = scheduled_loop(&t, c, 0);
  ir_stmt j = scheduled_loop(&t, c, 1);
  DO(&t, guard_same, AT(first, i), AT(second, i), NUM(same, true));
  DO(&t, guard_same, AT(first, i), AT(second, j), NUM(same, false));
  REFUSED(&t, GUARD_SAME_DIFFERS, guard_same, AT(first, i), AT(second, j),
          NUM(same, true));
  scheduled_end(&t);
}

/* Loops that start late or have no constant extent. */
static void test_strange_loops(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt block = one_loop(&t, 24), i = scheduled_loop(&t, block, 0);
  ir_expr zero = ir_st(&t.p, i)->lo, extent = ir_st(&t.p, i)->extent;
  ir_st(&t.p, i)->lo = ir_index(&t.p, 1);
  REFUSED(&t, LOOP_START_NOT_ZERO, fuse, LIST(loops, i));
  ir_st(&t.p, i)->lo = zero;
  ir_var n =
      ir_var_new(&t.p, IR_VAR_SIZE, ir_name(&t.p, "n"), IR_INDEX, 1, INT64_MAX);
  ir_st(&t.p, i)->extent = ir_ref(&t.p, n);
  REFUSED(&t, NOT_STATIC, split, AT(loop, i), INTS(factors, 4, 8));
  REFUSED(&t, NOT_STATIC, vectorize, AT(loop, i));
  REFUSED(&t, TILE_OPEN, sample_perfect_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, 1, 1));
  REFUSED(&t, TILE_OPEN, sample_perfect_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, -1, 0));
  REFUSED(&t, TILE_OPEN, sample_partitioned_tile, AT(loop, i), NUM(n, 2),
          INTS(decision, -1, 2));
  REFUSED(&t, THREADS_NOT_STATIC, bind, AT(loop, i),
          STR(thread_axis, "threadIdx.x"));
  REFUSED(&t, COPY_NOT_STATIC, cache_write, AT(block, block),
          NUM(write_buffer_index, 0), STR(storage_scope, "local"));
  ir_st(&t.p, i)->extent = ir_sub(&t.p, ir_ref(&t.p, n), ir_index(&t.p, 1));
  REFUSED(&t, LOOP_MAY_BE_EMPTY, fuse, LIST(loops, i));
  ir_st(&t.p, i)->extent = ir_ref(&t.p, n);
  DO(&t, bind, AT(loop, i), STR(thread_axis, "blockIdx.x"));
  ir_st(&t.p, i)->loop_kind = IR_SERIAL;
  DO(&t, parallel, AT(loop, i));
  ir_st(&t.p, i)->extent = extent;
  scheduled_end(&t);
}

static void test_fuse(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt d = scheduled_get(&t, "D"), c = scheduled_get(&t, "C");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  DO(&t, fuse, LIST(loops, i, j));
  assert_true(ir_is_dead(&t.p, i) && ir_is_dead(&t.p, j));
  assert_int_equal(t.out[0], scheduled_loop(&t, d, 0));
  DO(&t, fuse,
     LIST(loops, scheduled_loop(&t, c, 0), scheduled_loop(&t, c, 1),
          scheduled_loop(&t, c, 2)));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  for a_b_c_fused in range(192)\n"
          "    block C(\n"
          "        va: 4 = a_b_c_fused // 48,\n"
          "        vb: 6 = a_b_c_fused // 8 % 6,\n"
          "        vc: reduce 8 = a_b_c_fused % 8)\n"
          "      init\n"
          "        C[va, vb] = 0.0\n"
          "      C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "  for a_b_fused in range(24)\n"
          "    block D(va: 4 = a_b_fused // 6, vb: 6 = a_b_fused % 6)\n"
          "      D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  scheduled_end(&t);
}

/* Splitting and fusing again gives the bindings back. */
static void test_split_fuse(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_stmt block = one_loop(&t, 24);
  DO(&t, split, AT(loop, scheduled_loop(&t, block, 0)), INTS(factors, 4, 6));
  DO(&t, fuse, LIST(loops, t.out[0], t.out[1]));
  scheduled_expect(&t, "main(A: float32[24], B: out float32[24])\n"
                       "  for a_0_a_1_fused in range(24)\n"
                       "    block B(va: 24 = a_0_a_1_fused)\n"
                       "      B[va] = A[va]\n");
  DO(&t, fuse, LIST(loops, t.out[0]));
  assert_int_equal(t.out[0], scheduled_loop(&t, block, 0));
  scheduled_end(&t);
}

static void test_fuse_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2), l = scheduled_loop(&t, d, 0);
  REFUSED(&t, LOOPS_EMPTY, fuse, {.name = "loops"});
  REFUSED(&t, NOT_PARENT, fuse, LIST(loops, i, k));
  assert_string_equal(scheduled_why(&t, "fuse"),
                      "fuse: loop c is not directly in the body of loop a");
  REFUSED(&t, NOT_PARENT, fuse, LIST(loops, j, i));
  REFUSED(&t, NOT_PARENT, fuse, LIST(loops, i, l));
  DO(&t, decompose_reduction, AT(block, c), AT(loop, k));
  REFUSED(&t, NOT_ONLY_CHILD, fuse, LIST(loops, j, k));
  DO(&t, annotate, AT(block_or_loop, j), STR(ann_key, "key"),
     NUM(ann_val, ir_value_int(&t.p, 1)));
  REFUSED(&t, LOOP_ANNOTATED, fuse, LIST(loops, i, j));
  DO(&t, unannotate, AT(block_or_loop, j), STR(ann_key, "key"));
  DO(&t, bind, AT(loop, i), STR(thread_axis, "blockIdx.x"));
  REFUSED(&t, LOOP_BOUND, fuse, LIST(loops, i, j));
  REFUSED(&t, LOOP_BOUND, fuse, LIST(loops, i));
  scheduled_end(&t);
}

/* One loop alone, and two, of any kinds give a serial one. */
static void test_fuse_kinds(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 6, 4, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0);
  DO(&t, parallel, AT(loop, i));
  DO(&t, fuse, LIST(loops, i));
  assert_int_equal(t.out[0], i);
  assert_int_equal(ir_st(&t.p, i)->loop_kind, IR_SERIAL);
  DO(&t, parallel, AT(loop, i));
  DO(&t, fuse, LIST(loops, i, scheduled_loop(&t, c, 1)));
  assert_int_equal(ir_st(&t.p, t.out[0])->loop_kind, IR_SERIAL);
  DO(&t, vectorize, AT(loop, scheduled_loop(&t, d, 1)));
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, d, 0), scheduled_loop(&t, d, 1)));
  assert_int_equal(ir_st(&t.p, t.out[0])->loop_kind, IR_SERIAL);
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A loop that does not run, outside and inside. */
static void test_fuse_empty(void **state) {
  (void)state;
  for (uint32_t at = 0; at < 2; at++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 4, 6, 8);
    ir_stmt d = scheduled_get(&t, "D");
    ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
    ir_st(&t.p, at ? j : i)->extent = ir_index(&t.p, 0);
    ir_program_copy(&t.first, &t.p);
    DO(&t, fuse, LIST(loops, i, j));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* A triangle, and extents whose product is too large. */
static void test_fuse_bounds(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  ir_expr extent = ir_st(&t.p, j)->extent;
  ir_st(&t.p, j)->extent =
      scheduled_plus(&t, ir_ref(&t.p, ir_st(&t.p, i)->var), 1);
  REFUSED(&t, DEPENDENT_LOOP, fuse, LIST(loops, i, j));
  ir_stmt c = scheduled_get(&t, "C"), n = scheduled_loop(&t, c, 1);
  ir_stmt m = scheduled_loop(&t, c, 0);
  ir_expr whole = ir_st(&t.p, n)->extent;
  ir_st(&t.p, n)->extent =
      scheduled_plus(&t, ir_ref(&t.p, ir_st(&t.p, m)->var), 1);
  REFUSED(&t, DEPENDENT_LOOP, reorder, LIST(ordered_loops, n, m));
  ir_st(&t.p, n)->extent = whole;
  ir_st(&t.p, j)->extent = ir_index(&t.p, (int64_t)1 << 59);
  REFUSED(&t, EXTENT_LARGE, fuse, LIST(loops, i, j));
  ir_st(&t.p, j)->extent = extent;
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_split),
      cmocka_unit_test(test_split_kinds),
      cmocka_unit_test(test_one_kind),
      cmocka_unit_test(test_fuse_kinds),
      cmocka_unit_test(test_split_guarded),
      cmocka_unit_test(test_guard_same),
      cmocka_unit_test(test_split_refusals),
      cmocka_unit_test(test_strange_loops),
      cmocka_unit_test(test_fuse),
      cmocka_unit_test(test_split_fuse),
      cmocka_unit_test(test_fuse_refusals),
      cmocka_unit_test(test_fuse_bounds),
      cmocka_unit_test(test_fuse_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
