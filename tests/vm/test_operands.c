/* SPDX-License-Identifier: Apache-2.0
 * Operands of calls of the trace machine: those that are refused before the
 * primitive runs, and arithmetic in them. */
#include "support/recording.h"
#include "support/toy.h"

/* ---- calls refused before their primitive runs -------------------------- */

static void machine_refused(recording *f, test_call *c, tess_status st,
                            const char *text) {
  char why[512];
  vm_sched was;
  recording_copy(&f->s, &was);
  assert_int_equal(test_end(c, NULL, NULL), st);
  assert_string_equal(test_why(&f->s, why, sizeof why), text);
  recording_same(&f->s, &was);
  vm_sched_free(&was);
}

static void test_operand_errors(void **state) {
  (void)state;
  recording f;
  recording_start(&f);
  uint32_t n;
  vm_rv b = test_block(&f.s, "C"), l = test_loops(&f.s, b, &n);
  vm_trace *d = &f.s.draft;
  test_call c = test_begin(&f.s, "split");
  machine_refused(&f, &c, TESS_INVALID,
                  "split: operand 'loop' is missing "
                  "(the loop to split)");
  test_set_rv(&c, "loop", b);
  machine_refused(&f, &c, TESS_TYPE,
                  "split: operand 'loop' must be a loop; b0 is a "
                  "block (the loop to split)");
  test_set_rv(&c, "loop", 99);
  machine_refused(&f, &c, TESS_INVALID,
                  "split: operand 'loop': there is no random variable 99 here");
  test_set_str(&c, "loop", "i");
  machine_refused(&f, &c, TESS_TYPE,
                  "split: operand 'loop' must be a loop, not a "
                  "string (the loop to split)");
  test_set_rv(&c, "loop", l);
  vm_value two[] = {vm_int(8), vm_bool(true)};
  test_set(&c, "factors", vm_list(d, 2, two));
  machine_refused(
      &f, &c, TESS_TYPE,
      "split: operand 'factors' must be a list of "
      "integers, integer variables or auto; element 2 is a boolean "
      "(extents of the new loops, outer first; one may be ts.auto)");
  vm_value x = vm_op(d, IR_MUL, vm_int(INT64_MAX), vm_int(2));
  test_set(&c, "factors", vm_list(d, 1, &x));
  machine_refused(&f, &c, TESS_INVALID,
                  "split: operand 'factors': its arithmetic leaves 64 bits");
  x = vm_op(d, IR_MOD, vm_int(1), vm_int(0));
  test_set(&c, "factors", vm_list(d, 1, &x));
  machine_refused(&f, &c, TESS_INVALID,
                  "split: operand 'factors' divides by zero");
  x = vm_op(d, IR_DIV, vm_int(INT64_MIN), vm_int(-1));
  test_set(&c, "factors", vm_list(d, 1, &x));
  machine_refused(&f, &c, TESS_INVALID,
                  "split: operand 'factors': its arithmetic leaves 64 bits");
  for (int i = 0; i < VM_MAX_DEPTH; i++) x = vm_op(d, IR_ADD, x, vm_int(1));
  test_set(&c, "factors", vm_list(d, 1, &x));
  machine_refused(&f, &c, TESS_LIMIT,
                  "split: operand 'factors' is nested more than 63 deep");
  c = test_begin(&f.s, "get_block");
  test_set(&c, "name", vm_str(d, "a\0b", 3));
  machine_refused(&f, &c, TESS_INVALID,
                  "get_block: operand 'name': text must be "
                  "UTF-8 without zero bytes");
  test_set_str(&c, "name", "\xc3\x28");
  machine_refused(&f, &c, TESS_INVALID,
                  "get_block: operand 'name': text must be "
                  "UTF-8 without zero bytes");
  recording_end(&f);
}

static void test_dead_handles(void **state) {
  (void)state;
  recording f;
  recording_start(&f);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  test_split(&f.s, l, 2, (int64_t[]){8, 0});
  vm_value two[] = {vm_int(8), vm_auto()};
  test_call c = test_begin(&f.s, "split");
  test_set_rv(&c, "loop", l);
  test_set(&c, "factors", vm_list(&f.s.draft, 2, two));
  machine_refused(&f, &c, TESS_DEAD,
                  "split: operand 'loop': l1 refers to nothing "
                  "any more: instruction 3 (split) removed it");
  assert_int_equal(vm_sched_stmt(&f.s, l), 0);
  assert_int_not_equal(vm_sched_stmt(&f.s, l + 1), 0);
  recording_end(&f);
}

static void test_marks(void **state) {
  (void)state;
  recording f;
  recording_start(&f);
  vm_rv mark;
  test_call c = test_begin_prim(&f.s, &sch_prim_toy_mark);
  test_set_rv(&c, "block", test_block(&f.s, "C"));
  vm_trace_reset(&f.s.draft);
  test_set(&c, "in_line", vm_bool(true));
  assert_int_equal(test_end(&c, &mark, NULL), TESS_OK);
  assert_int_equal(vm_sched_stmt(&f.s, mark), SCH_INLINE_MARK);
  c = test_begin(&f.s, "split");
  vm_value one = vm_int(64);
  test_set_rv(&c, "loop", mark);
  test_set(&c, "factors", vm_list(&f.s.draft, 1, &one));
  machine_refused(&f, &c, TESS_REFUSED,
                  "split: operand 'loop': l1 is the mark "
                  "'inline', and no loop");
  recording_end(&f);
}

static void test_decisions_by_hand(void **state) {
  (void)state;
  recording f;
  recording_start(&f);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = recording_draw(&f.s, l, 16);
  assert_int_equal(f.s.m.cell.v[v].i, 16);
  assert_int_equal(f.s.m.cell.v[v + 1].i, 4);
  test_call c = test_begin_prim(&f.s, &sch_prim_toy_divisor);
  test_set_rv(&c, "loop", l);
  test_set(&c, "decision", vm_int(5));
  machine_refused(&f, &c, TESS_REFUSED,
                  "toy_divisor: decision {5} does not fit: it "
                  "is not among the 7 there are for `for i in range(64)`");
  test_set(&c, "decision", vm_str(&f.s.draft, "x", 1));
  machine_refused(&f, &c, TESS_TYPE,
                  "toy_divisor: operand 'decision' must be an "
                  "integer, not a string (the divisor)");
  recording_end(&f);
}

static void test_arithmetic(void **state) {
  (void)state;
  static const struct {
    ir_op op;
    int64_t a, b, is;
  } cases[] = {
      {IR_ADD, 3, 4, 7},   {IR_SUB, 3, 4, -1},         {IR_MUL, -3, 4, -12},
      {IR_DIV, 7, 2, 3},   {IR_DIV, -7, 2, -4},        {IR_DIV, 7, -2, -4},
      {IR_MOD, 7, 2, 1},   {IR_MOD, -7, 2, 1},         {IR_MOD, 7, -2, -1},
      {IR_DIV, 5, -1, -5}, {IR_MOD, INT64_MIN, -1, 0}, {IR_MIN, 3, 4, 3},
      {IR_MAX, 3, 4, 4}};
  recording f;
  recording_start(&f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_call c = test_begin(&f.s, "guard");
    test_set(
        &c, "var",
        vm_op(&f.s.draft, cases[i].op, vm_int(cases[i].a), vm_int(cases[i].b)));
    test_set(&c, "value", vm_int(cases[i].is));
    assert_int_equal(test_end(&c, NULL, NULL), TESS_OK);
  }
  recording_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operand_errors),
      cmocka_unit_test(test_dead_handles),
      cmocka_unit_test(test_marks),
      cmocka_unit_test(test_decisions_by_hand),
      cmocka_unit_test(test_arithmetic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
