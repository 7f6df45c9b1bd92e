/* SPDX-License-Identifier: Apache-2.0
 * Getters, annotations and the small primitives. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"
#include "support/scheduled.h"

static void test_getters(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt root = scheduled_get(&t, "root");
  REFUSED(&t, BLOCK_UNKNOWN, get_block, STR(name, "E"));
  assert_string_equal(scheduled_why(&t, "get_block"),
                      "get_block: there is no block named \"E\": there are "
                      "\"C\", \"D\"");
  DO(&t, get_block, STR(name, "C"), STR(func_name, "main"));
  REFUSED(&t, FUNC_UNKNOWN, get_block, STR(name, "C"), STR(func_name, "other"));
  DO(&t, get_loops, AT(block, c));
  assert_int_equal(t.nout, 3);
  ir_stmt i = t.out[0];
  DO(&t, get_loops, AT(block, root));
  assert_int_equal(t.nout, 0);
  DO(&t, get_child_blocks, AT(block_or_loop, root));
  assert_int_equal(t.nout, 2);
  assert_int_equal(t.out[0], c);
  assert_int_equal(t.out[1], d);
  DO(&t, get_child_blocks, AT(block_or_loop, i));
  assert_int_equal(t.nout, 1);
  DO(&t, get_child_blocks, AT(block_or_loop, c));
  assert_int_equal(t.nout, 0);
  DO(&t, get_producers, AT(block, d));
  assert_int_equal(t.nout, 1);
  assert_int_equal(t.out[0], c);
  DO(&t, get_producers, AT(block, c));
  assert_int_equal(t.nout, 0);
  DO(&t, get_producers, AT(block, root));
  assert_int_equal(t.nout, 0);
  DO(&t, get_consumers, AT(block, c));
  assert_int_equal(t.nout, 1);
  assert_int_equal(t.out[0], d);
  DO(&t, get_output_blocks, AT(scope_block, root));
  assert_int_equal(t.nout, 1);
  assert_int_equal(t.out[0], d);
  scheduled_end(&t);
}

/* Two blocks write the halves of X, a third reads its start: only that
 * half's writer is its producer. */
static void test_halves(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  int64_t n = 8, h = 4;
  ir_buf x = scheduled_buf(&t, "X", IR_ROLE_LOCAL, 1, &n);
  ir_buf y = scheduled_buf(&t, "Y", IR_ROLE_OUTPUT, 1, &h);
  ir_expr two = ir_real(&t.p, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1}, 2);
  ir_stmt low = scheduled_block(&t, "low", "S", &h);
  scheduled_store(&t, x, t.it[0], 0, two, false);
  ir_stmt high = scheduled_block(&t, "high", "S", &h);
  scheduled_store(&t, x, scheduled_plus(&t, t.it[0], 4), 0, two, false);
  ir_stmt use = scheduled_block(&t, "use", "S", &h);
  scheduled_store(&t, y, t.it[0], 0, scheduled_load(&t, x, t.it[0], 0), false);
  scheduled_finish(&t);
  DO(&t, get_producers, AT(block, use));
  assert_int_equal(t.nout, 1);
  assert_int_equal(t.out[0], low);
  DO(&t, get_consumers, AT(block, high));
  assert_int_equal(t.nout, 0);
  assert_int_equal(sch_depends(&t.s, low, use), SCH_RAW);
  assert_int_equal(sch_depends(&t.s, low, high), 0);
  scheduled_end(&t);
}

static void test_annotations(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), i = scheduled_loop(&t, c, 0);
  ir_val one = ir_value_int(&t.p, 1), same = ir_value_int(&t.p, 1);
  ir_val text = ir_value_str(&t.p, "1");
  for (int k = 0; k < 2; k++) {
    ir_stmt at = k ? i : c;
    DO(&t, annotate, AT(block_or_loop, at), STR(ann_key, "key"),
       NUM(ann_val, one));
    DO(&t, annotate, AT(block_or_loop, at), STR(ann_key, "key"),
       NUM(ann_val, same));
    REFUSED(&t, ANNOTATED, annotate, AT(block_or_loop, at), STR(ann_key, "key"),
            NUM(ann_val, text));
    REFUSED(&t, KEY_EMPTY, annotate, AT(block_or_loop, at), STR(ann_key, ""),
            NUM(ann_val, one));
    DO(&t, annotate, AT(block_or_loop, at), STR(ann_key, "other"),
       NUM(ann_val, text));
    DO(&t, unannotate, AT(block_or_loop, at), STR(ann_key, "key"));
    REFUSED(&t, NOT_ANNOTATED, unannotate, AT(block_or_loop, at),
            STR(ann_key, "key"));
    assert_null(ir_anno_get(&t.p, at, "key"));
    assert_non_null(ir_anno_get(&t.p, at, "other"));
  }
  assert_string_equal(scheduled_why(&t, "unannotate"),
                      "unannotate: loop a has no annotation \"key\"");
  scheduled_end(&t);
}

static void test_unit_loop(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt d = scheduled_get(&t, "D"), i = scheduled_loop(&t, d, 0);
  DO(&t, add_unit_loop, AT(block_or_loop, d));
  assert_int_equal(scheduled_loop(&t, d, 2), t.out[0]);
  DO(&t, add_unit_loop, AT(block_or_loop, i));
  assert_int_equal(scheduled_loop(&t, d, 0), t.out[0]);
  assert_int_equal(scheduled_loop(&t, d, 1), i);
  REFUSED(&t, BLOCK_IS_ROOT, add_unit_loop,
          AT(block_or_loop, scheduled_get(&t, "root")));
  scheduled_end(&t);
}

static void test_iter_order(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  DO(&t, reorder_block_iter_var, AT(block, c), INTS(new_order, 2, 0, 1));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(vc: reduce 8 = c, va: 4 = a, vb: 6 = b)\n"
          "          init\n"
          "            C[va, vb] = 0.0\n"
          "          C[va, vb] = C[va, vb] + A[va, vc] * B[vc, vb]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C[va, vb] + 1.0, 0.0)\n");
  REFUSED(&t, NOT_PERMUTATION, reorder_block_iter_var, AT(block, c),
          INTS(new_order, 0, 1));
  REFUSED(&t, NOT_PERMUTATION, reorder_block_iter_var, AT(block, c),
          INTS(new_order, 0, 1, 1));
  REFUSED(&t, NOT_PERMUTATION, reorder_block_iter_var, AT(block, c),
          INTS(new_order, 0, 1, 3));
  scheduled_end(&t);
}

/* What the analyses say about blocks and loops. */
static void test_blocks(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  ir_stmt root = scheduled_get(&t, "root"), k = scheduled_loop(&t, c, 2);
  assert_int_equal(sch_block_props(&t.s, root, c),
                   SCH_DOMINANT | SCH_REDUCTION);
  assert_int_equal(sch_block_props(&t.s, root, d), SCH_DOMINANT | SCH_COMPLETE);
  assert_true(sch_is_trivial(&t.p, c));
  assert_false(sch_is_output(&t.p, c));
  assert_true(sch_is_output(&t.p, d));
  assert_int_equal(sch_type_of_loop(&t.s, k), SCH_LOOP_R);
  assert_int_equal(sch_type_of_loop(&t.s, scheduled_loop(&t, c, 1)),
                   SCH_LOOP_S);
  DO(&t, fuse, LIST(loops, scheduled_loop(&t, c, 1), k));
  assert_int_equal(sch_type_of_loop(&t.s, t.out[0]), SCH_LOOP_MIXED);
  assert_false(sch_is_trivial(&t.p, c));
  assert_int_equal(sch_common(&t.p, c, d), root);
  assert_true(sch_comes_before(&t.p, c, d));
  assert_false(sch_comes_before(&t.p, d, c));
  scheduled_end(&t);
}

/* Every reason has a sentence without a hole left open. */
static void test_reasons(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  for (unsigned r = 0; r < SCH_R_COUNT; r++) {
    t.s.refusal = (sch_refusal){.reason = (uint16_t)r,
                                .s = {c, scheduled_loop(&t, c, 0)},
                                .buf = 1,
                                .n = {1, 2, 3, 4},
                                .t = "text"};
    t.s.refusal.reason = (uint16_t)r;
    const char *text = scheduled_why(&t, "prim");
    assert_null(strpbrk(text, "{}?"));
    assert_true(strlen(text) > 8);
  }
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_getters),     cmocka_unit_test(test_halves),
      cmocka_unit_test(test_annotations), cmocka_unit_test(test_unit_loop),
      cmocka_unit_test(test_iter_order),  cmocka_unit_test(test_blocks),
      cmocka_unit_test(test_reasons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
