/* SPDX-License-Identifier: Apache-2.0
 * Layout-free parameters: what transform_layout makes of them, and when that
 * becomes a function of its own. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/lower.h"
#include "support/moved.h"

/* C[i, j] = A[j, i] + B[i, j], B layout-free. */
static ir_stmt prepare_describe(scheduled *t, bool writes) {
  int64_t s[2] = {6, 4}, back[2] = {4, 6};
  scheduled_start(t);
  ir_buf a = scheduled_buf(t, "A", IR_ROLE_INPUT, 2, back);
  ir_buf b = scheduled_buf(t, "B", IR_ROLE_LAYOUT_FREE, 2, s);
  ir_buf c = scheduled_buf(t, "C", IR_ROLE_OUTPUT, 2, s);
  ir_expr *it = t->it;
  if (writes) {
    scheduled_block(t, "B", "SS", s);
    scheduled_store(t, b, it[0], it[1], scheduled_load(t, a, it[1], it[0]),
                    false);
  }
  ir_stmt block = scheduled_block(t, "C", "SS", s);
  ir_expr sum = ir_binary(&t->p, IR_ADD, scheduled_load(t, a, it[1], it[0]),
                          scheduled_load(t, b, it[0], it[1]));
  scheduled_store(t, c, it[0], it[1], sum, false);
  scheduled_finish(t);
  return block;
}

static bool splits(scheduled *t, lower_prepared *what) {
  ir_program p, convert;
  ir_program_init(&p, &t->heap.heap);
  ir_program_init(&convert, &t->heap.heap);
  ir_program_copy(&p, &t->p);
  bool is = lower_split_prepare(&p, &t->scratch, &convert, what);
  strbuf why;
  str_init(&why, &t->heap.heap);
  if (!ir_verify(&p, &t->scratch, &why) ||
      (is && !ir_verify(&convert, &t->scratch, &why)))
    fail_msg("%s", str_get(&why));
  if (is) {
    ir_span after = ir_entry(&convert)->params;
    assert_int_equal(after.n, 2 * what->n);
    assert_int_equal(ir_entry(&p)->params.n, ir_entry(&t->p)->params.n);
    for (uint32_t i = 0; i < what->n; i++)
      assert_int_equal(p.arg.v[ir_entry(&p)->params.at + what->param[i]],
                       convert.arg.v[after.at + 2 * i + 1]);
  }
  str_free(&why);
  ir_program_free(&convert);
  ir_program_free(&p);
  return is;
}

static void test_stage(void **state) {
  (void)state;
  scheduled t;
  lower_prepared what;
  ir_stmt c = prepare_describe(&t, false);
  assert_false(splits(&t, &what));
  DO(&t, transform_layout, AT(block, c), STR(buffer, "B"),
     STR(index_map, "(i, j) -> (j // 3, i, j % 3)"), NUM(pad_value, 9));
  scheduled_expect(
      &t, "main(A: float32[4, 6], B: layout_free float32[6, 4], "
          "C: out float32[6, 4])\n"
          "  alloc B_prepared: float32[2, 6, 3]\n"
          "  for ax0 in range(2)\n"
          "    for ax1 in range(6)\n"
          "      for ax2 in range(3)\n"
          "        block B_prepared_pad(\n"
          "            v0: 2 = ax0,\n"
          "            v1: 6 = ax1,\n"
          "            v2: 3 = ax2) {layout_prepare = 1}\n"
          "          where 4 <= ax2 + ax0 * 3\n"
          "          B_prepared[v0, v1, v2] = 9.0\n"
          "  for ax0 in range(6)\n"
          "    for ax1 in range(4)\n"
          "      block B_prepared(v0: 6 = ax0, v1: 4 = ax1) "
          "{layout_prepare = 1}\n"
          "        B_prepared[v1 // 3, v0, v1 % 3] = B[v0, v1]\n"
          "  for a in range(6)\n"
          "    for b in range(4)\n"
          "      block C(va: 6 = a, vb: 4 = b)\n"
          "        C[va, vb] = A[vb, va] + B_prepared[vb // 3, va, vb % 3]\n");
  moved_equal(&t);
  assert_true(splits(&t, &what));
  assert_int_equal(what.n, 1);
  assert_int_equal(what.param[0], 1);
  assert_int_equal(what.bytes[0], 2 * 6 * 3 * 4);
  /* Under a loop with others it is a stage like any other. */
  scheduled_end(&t);
  c = prepare_describe(&t, false);
  DO(&t, transform_layout, AT(block, c), STR(buffer, "B"),
     STR(index_map, "(i, j) -> (j, i)"));
  assert_true(splits(&t, &what));
  DO(&t, compute_at, AT(block, scheduled_get(&t, "B_prepared")),
     AT(loop, scheduled_loop(&t, c, 0)));
  assert_false(splits(&t, &what));
  moved_equal(&t);
  scheduled_end(&t);
}

static void test_prepare_refused(void **state) {
  (void)state;
  scheduled t;
  ir_stmt c = prepare_describe(&t, true);
  REFUSED(&t, INPUT_WRITTEN, transform_layout, AT(block, c), STR(buffer, "B"),
          STR(index_map, "(i, j) -> (j, i)"));
  scheduled_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stage),
      cmocka_unit_test(test_prepare_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
