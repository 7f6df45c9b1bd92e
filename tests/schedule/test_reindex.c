/* SPDX-License-Identifier: Apache-2.0
 * reindex. */
#include "ir/edit.h"
#include "support/moved.h"

static void test_reindex_matmul(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C"), d = scheduled_get(&t, "D");
  DO(&t, reindex, AT(block, c), SIDE(buffer, write, 0));
  assert_int_equal(t.out[0], scheduled_get(&t, "C_reindex"));
  DO(&t, reindex, AT(block, c), SIDE(buffer, read, 1));
  DO(&t, reindex, AT(block, d), STR(buffer, "C"));
  scheduled_expect(
      &t, "main(A: float32[4, 8], B: float32[8, 6], D: out float32[4, 6])\n"
          "  alloc C: float32[4, 6]\n"
          "  alloc C_reindex: float32[4, 6]\n"
          "  alloc B_reindex: float32[6, 8]\n"
          "  alloc C_reindex_1: float32[4, 6]\n"
          "  for ax0 in range(6)\n"
          "    for ax1 in range(8)\n"
          "      block B_reindex(v0: 6 = ax0, v1: 8 = ax1)\n"
          "        B_reindex[v0, v1] = B[v1, v0]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      for c in range(8)\n"
          "        block C(va: 4 = a, vb: 6 = b, vc: reduce 8 = c)\n"
          "          init\n"
          "            C_reindex[va, vb] = 0.0\n"
          "          C_reindex[va, vb] = C_reindex[va, vb] + A[va, vc] * "
          "B_reindex[vb, vc]\n"
          "  for ax0 in range(4)\n"
          "    for ax1 in range(6)\n"
          "      block C_reindex(v0: 4 = ax0, v1: 6 = ax1)\n"
          "        C[v0, v1] = C_reindex[v0, v1]\n"
          "  for ax0 in range(4)\n"
          "    for ax1 in range(6)\n"
          "      block C_reindex_1(v0: 4 = ax0, v1: 6 = ax1)\n"
          "        C_reindex_1[v0, v1] = C[v0, v1]\n"
          "  for a in range(4)\n"
          "    for b in range(6)\n"
          "      block D(va: 4 = a, vb: 6 = b)\n"
          "        D[va, vb] = max(C_reindex_1[va, vb] + 1.0, 0.0)\n");
  moved_equal(&t);
  scheduled_end(&t);
}

/* A window over two iters gets a dimension for each; one that hangs over the
 * end is copied where there is something. */
static void test_window(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  int64_t n[2] = {6, 3};
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 6);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 6);
  ir_stmt b = scheduled_block(&t, "C", "SR", n);
  ir_expr at = ir_sub(p, ir_add(p, t.it[0], t.it[1]), ir_index(p, 1));
  ir_expr load = scheduled_load(&t, a, at, 0), zero;
  zero = ir_real(p, ir_at(p, load)->dtype, 0);
  load = ir_select(p, ir_binary(p, IR_LT, at, ir_index(p, 6)), load, zero);
  load = ir_select(p, ir_binary(p, IR_LE, ir_index(p, 0), at), load, zero);
  scheduled_store(&t, c, t.it[0], 0, load, true);
  scheduled_finish(&t);
  DO(&t, reindex, AT(block, b), SIDE(buffer, read, 0));
  moved_equal(&t);
  const char *text = scheduled_text(&t);
  assert_non_null(strstr(text, "alloc A_reindex: float32[6, 3]\n"));
  assert_non_null(strstr(text, "where 1 <= ax0 + ax1 && ax0 + ax1 < 7\n"));
  scheduled_end(&t);
}

/* What is made in a tile is copied there, and what is written in a tile too. */
static void test_tiles(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 18);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_LOCAL, 18);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 16);
  ir_stmt bb = moved_block(&t, "B", 18, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 16, c, 0, b, 2, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 4, 5));
  DO(&t, compute_at, AT(block, bb), AT(loop, scheduled_loop(&t, bc, 0)));
  DO(&t, parallel, AT(loop, scheduled_loop(&t, bc, 0)));
  DO(&t, reindex, AT(block, bb), SIDE(buffer, write, 0));
  moved_equal(&t);
  DO(&t, reindex, AT(block, bc), SIDE(buffer, read, 0));
  moved_equal(&t);
  DO(&t, reindex, AT(block, bc), SIDE(buffer, write, 0));
  moved_equal(&t);
  assert_int_equal(ir_st(&t.p, scheduled_loop(&t, bc, 0))->loop_kind,
                   IR_PARALLEL);
  assert_int_equal(scheduled_loop(&t, bc, 0),
                   scheduled_loop(&t, scheduled_get(&t, "B_reindex_1"), 0));
  scheduled_end(&t);
}

/* ---- refusals ----------------------------------------------------------- */

static void test_operands(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  scheduled_matmul(&t, 4, 6, 8);
  ir_stmt c = scheduled_get(&t, "C");
  REFUSED(&t, BUFFER_INDEX, reindex, AT(block, c), SIDE(buffer, read, 2));
  REFUSED(&t, BUFFER_SIDE_OPEN, reindex, AT(block, c), NUM(buffer, 0));
  REFUSED(&t, BUFFER_NAME, reindex, AT(block, c), STR(buffer, "X"));
  scheduled_end(&t);
}

/* Read at two places, and read where it is written. */
static void test_places(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 9);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 8);
  ir_stmt bb = moved_block(&t, "B", 8, b, 0, a, 1, a);
  int64_t n = 8;
  ir_stmt bu = scheduled_block(&t, "U", "S", &n);
  scheduled_store(&t, b, t.it[0], 0,
                  ir_binary(&t.p, IR_ADD, scheduled_load(&t, b, t.it[0], 0),
                            scheduled_load(&t, a, t.it[0], 0)),
                  false);
  ir_buf d = moved_buf(&t, "D", IR_ROLE_OUTPUT, 8);
  ir_stmt bd = moved_block(&t, "D", 8, d, 0, b, 0, 0);
  scheduled_finish(&t);
  REFUSED(&t, ACCESS_DIFFERS, reindex, AT(block, bb), SIDE(buffer, read, 0));
  assert_string_equal(scheduled_why(&t, "reindex"),
                      "reindex: block \"B\" must access buffer \"A\" with "
                      "one index expression that uses its iters only");
  REFUSED(&t, IN_PLACE, reindex, AT(block, bu), STR(buffer, "B"));
  assert_string_equal(scheduled_why(&t, "reindex"),
                      "reindex: block \"U\" writes buffer \"B\", which it "
                      "reads");
  REFUSED(&t, BLOCK_NOT_COMPLETE, reindex, AT(block, bb),
          SIDE(buffer, write, 0));
  REFUSED(&t, SEVERAL_WRITERS, reindex, AT(block, bd), SIDE(buffer, read, 0));
  scheduled_end(&t);
}

/* A block in the block, and loops in it that tell the place. */
static void test_inside(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_program *p = &t.p;
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 12);
  ir_buf b = moved_buf(&t, "B", IR_ROLE_OUTPUT, 12);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 12);
  ir_stmt bb = moved_block(&t, "B", 12, b, 0, a, 0, 0);
  ir_stmt bc = moved_block(&t, "C", 12, c, 0, a, 0, 0);
  ir_stmt outer = ir_block_new(p, ir_name(p, "outer"));
  ir_wrap(p, scheduled_loop(&t, bb, 0), outer);
  ir_block_find_regions(p, &t.scratch, outer);
  scheduled_finish(&t);
  REFUSED(&t, NOT_LEAF, reindex, AT(block, outer), SIDE(buffer, read, 0));
  assert_string_equal(scheduled_why(&t, "reindex"),
                      "reindex: block \"outer\" must be a leaf block, and "
                      "contains block \"B\"");
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 3, 4));
  DO(&t, read_at, AT(loop, scheduled_loop(&t, bc, 0)), AT(block, bc),
     NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  REFUSED(&t, ACCESS_DIFFERS, reindex, AT(block, t.out[0]),
          SIDE(buffer, read, 0));
  scheduled_end(&t);
}

/* A copy that leaves out what lies outside makes no value for that. */
static void test_conditional(void **state) {
  (void)state;
  scheduled t;
  scheduled_start(&t);
  ir_buf a = moved_buf(&t, "A", IR_ROLE_INPUT, 10);
  ir_buf c = moved_buf(&t, "C", IR_ROLE_OUTPUT, 10);
  ir_stmt bc = moved_block(&t, "C", 10, c, 0, a, 0, 0);
  scheduled_finish(&t);
  DO(&t, split, AT(loop, scheduled_loop(&t, bc, 0)), INTS(factors, 4, 4));
  DO(&t, read_at, AT(loop, scheduled_loop(&t, bc, 1)), AT(block, bc),
     NUM(read_buffer_index, 0), STR(storage_scope, "local"));
  REFUSED(&t, ACCESS_CONDITIONAL, reindex, AT(block, t.out[0]),
          SIDE(buffer, write, 0));
  assert_string_equal(scheduled_why(&t, "reindex"),
                      "reindex: block \"A_local\" writes buffer \"A_local\" "
                      "under a condition inside the block; only "
                      "unconditional stores can be remapped");
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reindex_matmul), cmocka_unit_test(test_window),
      cmocka_unit_test(test_tiles),          cmocka_unit_test(test_operands),
      cmocka_unit_test(test_places),         cmocka_unit_test(test_inside),
      cmocka_unit_test(test_conditional),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
