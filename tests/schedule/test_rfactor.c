/* SPDX-License-Identifier: Apache-2.0
 * rfactor. */
#include "ir/edit.h"
#include "support/scheduled.h"

static void test_rfactor(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)), INTS(factors, 3, 3));
  DO(&t, rfactor, AT(loop, t.out[0]), NUM(factor_axis, -1));
  assert_int_equal(t.out[0], scheduled_get(&t, "C_rf"));
  assert_int_equal(c, scheduled_get(&t, "C"));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  alloc C_rf: float32[4, 6, 3]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c_0 in range(3)\n"
          "        for c_1 in range(3)\n"
          "          block C_rf(\n"
          "              c_0_1: 3 = c_0,\n"
          "              va: 4 = a,\n"
          "              vb: 6 = b,\n"
          "              c_1_1: reduce 3 = c_1)\n"
          "            where c_0 * 3 + c_1 < 8\n"
          "            init\n"
          "              C_rf[va, vb, c_0_1] = 0.0\n"
          "            C_rf[va, vb, c_0_1] = C_rf[va, vb, c_0_1] + A[va, c_0_1 "
          "* 3 + "
          "c_1_1] * B[c_0_1 * 3 + c_1_1, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c_0 in range(3)\n"
          "        block C(c_0_1: reduce 3 = c_0, va: 4 = a, vb: 6 = b)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = C[va, vb] + C_rf[va, vb, c_0_1]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* Loops of one iteration that were split off are iters of the partial results,
 * as longer ones are. */
static void test_rfactor_units(void **state) {
  (void)state;
  static const int64_t factors[][2] = {{2, 4}, {1, 8}, {8, 1}};
  for (int64_t k = 0; k < 6; k++) {
    scheduled t;
    scheduled_start(&t);
    scheduled_matmul(&t, 4, 6, 8);
    ir_stmt c = scheduled_get(&t, "C");
    DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)),
       INTS(factors, factors[k / 2][0], factors[k / 2][1]));
    DO(&t, rfactor, AT(loop, t.out[k % 2]));
    ir_stmt rf = t.out[0];
    assert_int_equal(ir_blk(&t.p, rf)->iters.n, 4);
    assert_true(sch_has_init(&t.p, rf));
    assert_true(scheduled_same(&t));
    DO(&t, decompose_reduction, AT(block, rf),
       AT(loop, scheduled_loop(&t, rf, k % 2 ? 2 : 3)));
    assert_true(scheduled_same(&t));
    scheduled_end(&t);
  }
}

/* Where nothing is left to reduce there is nothing to initialise. */
static void test_rfactor_all(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, rfactor, AT(loop, scheduled_loop(&t, c, 2)));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  alloc C_rf: float32[8, 4, 6]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C_rf(c_1: 8 = c, va: 4 = a, vb: 6 = b)\n"
          "          C_rf[c_1, va, vb] = A[va, c_1] * B[c_1, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(c_1: reduce 8 = c, va: 4 = a, vb: 6 = b)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = C[va, vb] + C_rf[c_1, va, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  assert_true(scheduled_same(&t));
  DO(&t, add_unit_loop, AT(block_or_loop, c));
  ir_st(&t.p, t.out[0])->extent = ir_index(&t.p, 2);
  REFUSED(&t, LOOP_DRIVES_NONE, rfactor, AT(loop, t.out[0]));
  assert_string_equal(scheduled_why(&t, "rfactor"),
                      "rfactor: loop u drives no iter of block \"C\"");
  scheduled_end(&t);
}

/* A reducer that is not commutative keeps the order of what it combines. */
static void test_ordered(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  t.p.reducer.v[ir_blk(&t.p, c)->reducer].ordered = 1;
  DO(&t, split, AT(loop, scheduled_loop(&t, c, 2)), INTS(factors, 2, 4));
  ir_stmt outer = t.out[0], inner = t.out[1];
  REFUSED(&t, REDUCER_ORDERED, rfactor, AT(loop, inner));
  assert_string_equal(scheduled_why(&t, "rfactor"),
                      "rfactor: the reducer of block \"C\" is not known to "
                      "be associative and commutative, so its updates must "
                      "keep their order");
  REFUSED(&t, REDUCER_ORDERED, reorder, LIST(ordered_loops, inner, outer));
  REFUSED(&t, REDUCER_ORDERED, bind, AT(loop, outer),
          STR(thread_axis, "threadIdx.x"));
  DO(&t, rfactor, AT(loop, outer));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

static void test_rfactor_refusals(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt i = scheduled_loop(&t, c, 0), j = scheduled_loop(&t, c, 1);
  ir_stmt k = scheduled_loop(&t, c, 2);
  ir_program *p = &t.p;
  REFUSED(&t, NO_INIT, rfactor, AT(loop, scheduled_loop(&t, d, 0)));
  REFUSED(&t, LOOP_DRIVES_OTHERS, rfactor, AT(loop, j));
  REFUSED(&t, AXIS_OUTSIDE, rfactor, AT(loop, k), NUM(factor_axis, 3));
  REFUSED(&t, AXIS_OUTSIDE, rfactor, AT(loop, k), NUM(factor_axis, -4));
  assert_string_equal(scheduled_why(&t, "rfactor"),
                      "rfactor: axis -4 is out of range: the result of block "
                      "\"C\" has 2 dimensions, and one may be appended");
  DO(&t, unroll, AT(loop, k));
  REFUSED(&t, LOOP_NOT_SERIAL, rfactor, AT(loop, k));
  ir_st(p, k)->loop_kind = IR_SERIAL;
  ir_expr extent = ir_st(p, k)->extent;
  ir_st(p, k)->extent = ir_index(p, 0);
  REFUSED(&t, LOOP_MAY_BE_EMPTY, rfactor, AT(loop, k));
  ir_st(p, k)->extent = ir_ref(p, ir_st(p, i)->var);
  REFUSED(&t, NOT_STATIC, rfactor, AT(loop, k));
  ir_st(p, k)->extent = extent;
  ir_st(p, k)->lo = ir_index(p, 1);
  REFUSED(&t, LOOP_START_NOT_ZERO, rfactor, AT(loop, k));
  ir_st(p, k)->lo = ir_index(p, 0);
  uint32_t reducer = ir_blk(p, c)->reducer;
  ir_blk(p, c)->reducer = 0;
  REFUSED(&t, NOT_REDUCER, rfactor, AT(loop, k));
  ir_blk(p, c)->reducer = reducer;
  ir_blk(p, c)->pred =
      ir_binary(p, IR_LT, ir_index(p, 0), ir_ref(p, ir_st(p, k)->var));
  REFUSED(&t, INIT_START, rfactor, AT(loop, k));
  ir_blk(p, c)->pred = 0;
  ir_block_add_alloc(p, c, 1);
  REFUSED(&t, INIT_LOCAL, rfactor, AT(loop, k));
  ir_block_remove_alloc(p, c, 1);
  /* The same element twice. */
  ir_iter *it = &p->iter.v[ir_blk(p, c)->iters.at];
  ir_expr bind = it->bind;
  it->bind = ir_binary(p, IR_DIV, bind, ir_index(p, 2));
  REFUSED(&t, NOT_INJECTIVE, rfactor, AT(loop, k));
  p->iter.v[ir_blk(p, c)->iters.at].bind = bind;
  ir_stmt store = ir_st(p, c)->alt;
  uint32_t at = ir_st(p, store)->idx.at;
  ir_expr old = p->arg.v[at];
  p->arg.v[at] = ir_ref(p, p->iter.v[ir_blk(p, c)->iters.at + 2].var);
  REFUSED(&t, PLACE_REDUCED, rfactor, AT(loop, k));
  p->arg.v[at] = old;
  /* Another block in the nest. */
  DO(&t, reorder, LIST(ordered_loops, i, k, j));
  DO(&t, compute_at, AT(block, c), AT(loop, scheduled_loop(&t, d, 0)));
  REFUSED(&t, NOT_SINGLE_BLOCK, rfactor, AT(loop, scheduled_loop(&t, d, 0)));
  ir_region *writes = &p->region.v[ir_blk(p, d)->writes.at];
  ir_buf buf = writes->buf;
  writes->buf = p->region.v[ir_blk(p, c)->reads.at].buf;
  REFUSED(&t, RESULT_USED, rfactor, AT(loop, scheduled_loop(&t, c, 2)));
  assert_non_null(strstr(
      scheduled_why(&t, "rfactor"),
      "uses buffer \"C\", which would be complete only after that loop"));
  p->region.v[ir_blk(p, d)->writes.at].buf = buf;
  DO(&t, rfactor, AT(loop, scheduled_loop(&t, c, 2)));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

/* A loop of spatial iters whose length the reduction loop tells. */
/* A loop that both tells the place and sums would add each partial result
 * more than once. */
static void test_rfactor_mixed(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n[3] = {2, 3, 4}, six[2] = {6, 4}, two = 2;
  ir_buf a = scheduled_buf(&t, "A", IR_ROLE_INPUT, 2, six);
  ir_buf c = scheduled_buf(&t, "C", IR_ROLE_OUTPUT, 1, &two);
  ir_stmt b = scheduled_block(&t, "C", "SRR", n);
  ir_expr row = ir_add(p, ir_mul(p, t.it[0], ir_index(p, 3)), t.it[1]);
  scheduled_store(&t, c, t.it[0], 0, scheduled_load(&t, a, row, t.it[2]), true);
  scheduled_finish(&t);
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, b, 0), scheduled_loop(&t, b, 1)));
  REFUSED(&t, LOOP_DRIVES_OTHERS, rfactor, AT(loop, scheduled_loop(&t, b, 1)));
  scheduled_end(&t);
}

static void test_rfactor_bounds(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 8, 6, 8);
  ir_program *p = &t.p;
  ir_stmt c = scheduled_get(&t, "C"), k = scheduled_loop(&t, c, 2);
  DO(&t, reorder, LIST(ordered_loops, k, scheduled_loop(&t, c, 0)));
  ir_stmt i = scheduled_loop(&t, c, 2);
  ir_expr extent = ir_st(p, i)->extent;
  ir_st(p, i)->extent = scheduled_plus(&t, ir_ref(p, ir_st(p, k)->var), 1);
  REFUSED(&t, DEPENDENT_LOOP, rfactor, AT(loop, k));
  ir_st(p, i)->extent = extent;
  DO(&t, rfactor, AT(loop, k), NUM(factor_axis, 0));
  assert_true(scheduled_same(&t));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rfactor),
      cmocka_unit_test(test_rfactor_units),
      cmocka_unit_test(test_rfactor_all),
      cmocka_unit_test(test_ordered),
      cmocka_unit_test(test_rfactor_refusals),
      cmocka_unit_test(test_rfactor_mixed),
      cmocka_unit_test(test_rfactor_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
