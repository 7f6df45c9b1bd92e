/* SPDX-License-Identifier: Apache-2.0
 * loop_partition: consecutive ranges of given lengths, and parts that begin
 * at affine points. */
#include "ir/edit.h"
#include "support/scheduled.h"

static int64_t extent_of(scheduled *t, ir_stmt loop) {
  int64_t v = -1;
  ir_const_int(&t->p, ir_st(&t->p, loop)->extent, &v);
  return v;
}

static void test_factors(void **state) {
  (void)state;
  static const int64_t want[3][3] = {{2, 3, 5}, {2, 5, 3}, {4, 6, 0}};
  for (uint32_t k = 0; k < 3; k++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 10, 6, 8);
    ir_stmt i = scheduled_loop(&t, scheduled_get(&t, "C"), 0);
    if (k == 0)
      DO(&t, loop_partition, AT(loop, i), INTS(factors, 2, 3));
    else if (k == 1)
      DO(&t, loop_partition, AT(loop, i), INTS(factors, 2, SCH_AUTO, 3));
    else
      DO(&t, loop_partition, AT(loop, i), INTS(factors, SCH_AUTO, 6));
    for (uint32_t n = 0; n < t.nout; n++)
      assert_int_equal(extent_of(&t, t.out[n]), want[k][n]);
    assert_int_equal(t.nout, k == 2 ? 2 : 3);
    assert_true(ir_is_dead(&t.p, i));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* Parts behind the first go on with what the first has begun. */
static void test_partition_reduction(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), k = scheduled_loop(&t, c, 2);
  DO(&t, loop_partition, AT(loop, k), INTS(factors, 3, 1),
     NUM(preserve_unit_iters, 0));
  ir_stmt c1 = scheduled_get(&t, "C_1"), c2 = scheduled_get(&t, "C_2");
  assert_true(sch_has_init(&t.p, c));
  assert_false(sch_has_init(&t.p, c1) || sch_has_init(&t.p, c2));
  assert_true(
      sch_reads_buf(&t.p, c2, t.p.region.v[ir_blk(&t.p, c)->writes.at].buf));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  c = scheduled_get(&t, "C");
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, c, 1), scheduled_loop(&t, c, 2)));
  REFUSED(&t, PARTITION_INIT, loop_partition, AT(loop, t.out[0]),
          INTS(factors, 5));
  scheduled_end(&t);
}

/* D where j <= i and where j > i; the parts' predicates say nothing new. */
static void test_points(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 6, 6, 2);
  ir_program *p = &t.p;
  ir_stmt d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
  ir_expr vi = ir_ref(p, ir_st(p, i)->var), vj = ir_ref(p, ir_st(p, j)->var);
  ir_expr pred = ir_binary(p, IR_LE, vj, vi);
  ir_expr more = ir_binary(p, IR_NE, vi, ir_index(p, 3));
  ir_blk(p, d)->pred = ir_and(p, pred, more);
  DO(&t, loop_partition, AT(loop, j), LIST(outer_loops, i),
     STR(points, "(r) -> (r + 1)"));
  assert_int_equal(t.nout, 2);
  assert_int_equal(ir_blk(p, d)->pred, more);
  ir_expr never = ir_blk(p, scheduled_get(&t, "D_1"))->pred;
  assert_true(ir_is_const(p, never, 0));
  scheduled_end(&t);
}

static void test_points_same(void **state) {
  (void)state;
  static const char *const maps[] = {"(r) -> (r + 1)", "(r) -> (r - 2, r + 2)",
                                     "(r) -> (r // 2, 2 * r)",
                                     "(r) -> (3, r % 3 + 2)"};
  for (uint32_t k = 0; k < 4; k++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 6, 7, 2);
    ir_stmt d = scheduled_get(&t, "D");
    ir_stmt i = scheduled_loop(&t, d, 0), j = scheduled_loop(&t, d, 1);
    DO(&t, loop_partition, AT(loop, j), LIST(outer_loops, i),
       STR(points, maps[k]));
    assert_int_equal(t.nout, k ? 3 : 2);
    assert_true(scheduled_same(&t));
    ir_stmt last = t.out[t.nout - 1];
    DO(&t, split, AT(loop, last), INTS(factors, SCH_AUTO, 2, 2));
    assert_true(scheduled_same(&t));
    DO(&t, parallel, AT(loop, t.out[0]));
    DO(&t, vectorize, AT(loop, t.out[2]));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* A part in which a guard keeps the block from running, and blocks whose
 * copies would be called alike. */
static void test_guarded(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 2);
  ir_stmt d = scheduled_get(&t, "D"), j = scheduled_loop(&t, d, 1);
  DO(&t, split, AT(loop, j), INTS(factors, 4, 4));
  DO(&t, loop_partition, AT(loop, t.out[0]), INTS(factors, 2));
  assert_true(scheduled_same(&t));
  ir_stmt i = scheduled_loop(&t, d, 0);
  DO(&t, loop_partition, AT(loop, i), INTS(factors, 2));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

static void test_partition_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
  REFUSED(&t, FACTORS_EMPTY, loop_partition, AT(loop, i));
  REFUSED(&t, FACTOR_NOT_POSITIVE, loop_partition, AT(loop, i),
          INTS(factors, 0));
  REFUSED(&t, FACTORS_SEVERAL_OPEN, loop_partition, AT(loop, i),
          INTS(factors, SCH_AUTO, SCH_AUTO));
  REFUSED(&t, PARTITION_LONG, loop_partition, AT(loop, i), INTS(factors, 4));
  REFUSED(&t, PARTITION_LONG, loop_partition, AT(loop, i),
          INTS(factors, 2, SCH_AUTO, 2));
  assert_string_equal(scheduled_why(&t, "loop_partition"),
                      "loop_partition: the parts up to number 2, counted from "
                      "0, leave nothing of the 4 iterations of loop a");
  int64_t many[32];
  for (int n = 0; n < 32; n++) many[n] = 1;
  REFUSED(&t, FACTORS_MANY, loop_partition, AT(loop, i),
          {.name = "factors", .n = 32, .v = many});
  REFUSED(&t, PARTITION_BOTH, loop_partition, AT(loop, i), INTS(factors, 1),
          STR(points, "(x) -> (x)"));
  REFUSED(&t, PARTITION_PARAMETERS, loop_partition, AT(loop, j),
          STR(points, "(x) -> (x)"));
  REFUSED(&t, PARTITION_EMPTY, loop_partition, AT(loop, j),
          LIST(outer_loops, i), STR(points, "(x) -> (x + 6)"));
  REFUSED(&t, LOOP_NOT_AROUND, loop_partition, AT(loop, i),
          LIST(outer_loops, j), STR(points, "(x) -> (x)"));
  REFUSED(&t, LOOP_NOT_AROUND, loop_partition, AT(loop, j),
          LIST(outer_loops, scheduled_loop(&t, d, 0)),
          STR(points, "(x) -> (x)"));
  REFUSED(&t, PARTITION_INIT, loop_partition, AT(loop, k), LIST(outer_loops, i),
          STR(points, "(x) -> (x)"));
  DO(&t, annotate, AT(block_or_loop, i), STR(ann_key, "x"),
     NUM(ann_val, ir_value_int(&t.p, 1)));
  REFUSED(&t, LOOP_ANNOTATED, loop_partition, AT(loop, i), INTS(factors, 1));
  DO(&t, unroll, AT(loop, j));
  REFUSED(&t, LOOP_NOT_SERIAL, loop_partition, AT(loop, j), INTS(factors, 1));
  i = scheduled_loop(&t, d, 0);
  j = scheduled_loop(&t, d, 1);
  DO(&t, loop_partition, AT(loop, j), LIST(outer_loops, i),
     STR(points, "(x) -> (x + 1)"));
  REFUSED(&t, NOT_STATIC, loop_partition, AT(loop, t.out[1]), INTS(factors, 1));
  scheduled_end(&t);
}

/* Parts that a guard keeps from running are of no block around, which need not
 * declare what they would access. */
static void test_rest_in_block(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 5;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 1, &n);
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_OUTPUT, 1, &n);
  ir_stmt b = scheduled_block(&t, "X", "S", &n);
  scheduled_store(&t, x, t.it[0], 0, scheduled_load(&t, a, t.it[0], 0), false);
  ir_stmt i = scheduled_loop(&t, b, 0);
  ir_st(&t.p, i)->lo = ir_index(&t.p, 1);
  ir_st(&t.p, i)->extent = ir_index(&t.p, 3);
  scheduled_finish(&t);
  DO(&t, blockize, LIST(target, i));
  DO(&t, split, AT(loop, i), INTS(factors, 7, 6));
  DO(&t, loop_partition, AT(loop, t.out[0]), INTS(factors, 4));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_factors),
      cmocka_unit_test(test_partition_reduction),
      cmocka_unit_test(test_points),
      cmocka_unit_test(test_points_same),
      cmocka_unit_test(test_guarded),
      cmocka_unit_test(test_partition_refusals),
      cmocka_unit_test(test_rest_in_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
