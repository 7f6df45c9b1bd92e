/* SPDX-License-Identifier: Apache-2.0
 * Decisions in a trace: guards of those that were read, what others there are,
 * and mutation. */
#include "support/recording.h"
#include "vm/space.h"

#include <math.h>

/* ---- guards ------------------------------------------------------------- */

#define SAME(table)                                    \
  (assert_int_equal(m.prog.table.n, f.base.table.n),   \
   assert_memory_equal(m.prog.table.v, f.base.table.v, \
                       f.base.table.n * sizeof *f.base.table.v))

static void test_guards(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_trace before;
  int64_t value;
  recording_start(&f);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = recording_draw(&f.s, l, 16);
  assert_int_equal(vm_sched_get_int(&f.s, v, &value), TESS_OK);
  assert_int_equal(f.s.trace.inst.n, 3);
  f.s.sketch = true;
  assert_int_equal(vm_sched_get_int(&f.s, v, &value), TESS_OK);
  assert_int_equal(vm_sched_get_int(&f.s, v, &value), TESS_OK);
  assert_int_equal(value, 16);
  assert_int_equal(f.s.trace.inst.n, 4);
  assert_int_equal(vm_sched_get_int(&f.s, l, &value), TESS_TYPE);
  assert_int_equal(vm_sched_get_int(&f.s, 999, &value), TESS_TYPE);
  vm_machine_init(&m, &f.mem.heap);
  vm_trace_init(&before, &f.mem.heap);
  vm_trace_copy(&before, &f.s.trace);
  recording_expect(&m, &f, (int64_t[]){1, 16}, 2, VM_GIVEN, TESS_OK, VM_W_NONE,
                   0);
  recording_expect(&m, &f, (int64_t[]){1, 8}, 2, VM_GIVEN, TESS_REFUSED,
                   VM_W_REFUSED, 4);
  assert_string_equal(vm_failure_reason(&m), "GUARD_DIFFERS");
  /* Neither the calls before nor the refusal changed anything. */
  assert_true(vm_trace_equal(&before, &f.s.trace));
  SAME(stmt), SAME(block), SAME(iter), SAME(region), SAME(var), SAME(buf);
  SAME(anno), SAME(node), SAME(arg), SAME(text);
  vm_trace_free(&before);
  vm_machine_free(&m);
  recording_end(&f);
}

#undef SAME

/* Loops that were found twice are the same; what was sampled before guards
 * that, once. */
static void test_same(void **state) {
  (void)state;
  recording f;
  bool same;
  uint32_t n;
  recording_start(&f);
  vm_rv b = test_block(&f.s, "C");
  vm_rv one = test_loops(&f.s, b, &n), two = test_loops(&f.s, b, &n);
  f.s.sketch = true;
  uint32_t before = f.s.trace.inst.n;
  assert_int_equal(vm_sched_same(&f.s, one + 1, two + 1, &same), TESS_OK);
  assert_true(same);
  assert_int_equal(vm_sched_same(&f.s, one, two + 1, &same), TESS_OK);
  assert_false(same);
  assert_int_equal(f.s.trace.inst.n, before);
  recording_draw(&f.s, one, 16);
  assert_int_equal(vm_sched_same(&f.s, one, two, &same), TESS_OK);
  assert_int_equal(f.s.trace.inst.n, before + 1);
  vm_rv late = test_loops(&f.s, b, &n);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(vm_sched_same(&f.s, late, two, &same), TESS_OK);
    assert_true(same);
    assert_int_equal(vm_sched_same(&f.s, one, late + 1, &same), TESS_OK);
    assert_false(same);
    assert_int_equal(f.s.trace.inst.n, before + 4);
  }
  test_call c = test_begin(&f.s, "guard_same");
  test_set_rv(&c, "first", one);
  test_set_rv(&c, "second", late + 1);
  test_set(&c, "same", vm_bool(true));
  assert_int_equal(test_end(&c, NULL, NULL), TESS_REFUSED);
  assert_string_equal(vm_failure_reason(&f.s.m), "GUARD_SAME_DIFFERS");
  recording_end(&f);
}

/* ---- the space of decisions --------------------------------------------- */

static void test_space(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_space sp = {0};
  vm_trace t;
  recording_start(&f);
  recording_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  vm_trace_init(&t, &f.mem.heap);
  const vm_trace *tr = &f.s.trace;
  assert_int_equal(vm_alternatives(&m, &f.base, tr, NULL, 2, 100, &sp),
                   TESS_OK);
  assert_int_equal(sp.count, 7);
  assert_int_equal(sp.n, 7);
  assert_int_equal(sp.width, 1);
  double sum = 0;
  for (uint32_t i = 0; i < sp.n; i++) {
    assert_int_equal(sp.decision.v[i], 1 << i);
    sum += exp(sp.logp.v[i]);
  }
  assert_true(fabs(sum - 1) < 1e-9);
  assert_int_equal(vm_alternatives(&m, &f.base, tr, NULL, 2, 3, &sp), TESS_OK);
  assert_int_equal(sp.n, 3);
  assert_int_equal(vm_alternatives(&m, &f.base, tr, NULL, 1, 3, &sp),
                   TESS_INVALID);
  int64_t d = 32;
  assert_int_equal(vm_with_decision(&t, &m, &f.base, tr, 2, 1, &d), TESS_OK);
  assert_int_equal(t.dec.v[t.inst.v[2].decision.at], 32);
  assert_false(vm_trace_equal(&t, tr) &&
               tr->dec.v[tr->inst.v[2].decision.at] != 32);
  d = 33;
  assert_int_equal(vm_with_decision(&t, &m, &f.base, tr, 2, 1, &d),
                   TESS_REFUSED);
  vm_space_free(&sp, &f.mem.heap);
  vm_trace_free(&t);
  vm_machine_free(&m);
  recording_end(&f);
}

static void test_mutate(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions made = {0}, was = {0};
  rng r;
  recording_start(&f);
  recording_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  vm_get_decisions(&f.s.trace, &f.mem.heap, &was);
  rng_init(&r, 1, 0);
  uint32_t moved[2] = {0};
  for (int i = 0; i < 200; i++) {
    vm_mutate_opts o = {.given = was.v, .ngiven = was.n};
    made.n = 0;
    assert_int_equal(vm_mutate(&m, &f.base, &f.s.trace, &r, &o, &made),
                     TESS_OK);
    assert_int_equal(made.n, 4);
    bool a = made.v[1] != was.v[1], b = made.v[3] != was.v[3];
    assert_true(a != b); /* exactly one */
    moved[b]++;
    vm_replay_opts again = {
        .source = VM_GIVEN, .given = made.v, .ngiven = made.n};
    assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &again, NULL), TESS_OK);
  }
  assert_true(moved[0] > 50 && moved[1] > 50);
  uint32_t weight[] = {1, 1, 0, 1, 5, 1};
  vm_mutate_opts second = {.weight = weight};
  made.n = 0;
  assert_int_equal(vm_mutate(&m, &f.base, &f.s.trace, &r, &second, &made),
                   TESS_OK);
  assert_int_equal(made.v[1], was.v[1]);
  weight[4] = 0;
  assert_int_equal(vm_mutate(&m, &f.base, &f.s.trace, &r, &second, &made),
                   TESS_NOT_FOUND);
  vec_free(&f.mem.heap, &made);
  vec_free(&f.mem.heap, &was);
  vm_machine_free(&m);
  recording_end(&f);
}

/* Draws a divisor of i, then one of the quotient: the second decision depends
 * on the first.  They are 1 and 64. */
static void draw_twice(recording *f) {
  uint32_t n;
  vm_rv loop = test_loops(&f->s, test_block(&f->s, "C"), &n);
  vm_rv v = recording_draw(&f->s, loop, 1);
  loop = recording_split(&f->s, loop, v, v + 1);
  recording_draw(&f->s, loop + 1, 64);
}

/* The decision behind the mutated one is repaired at once, not redrawn until it
 * happens to fit; but not where it must stay. */
static void test_mutate_mends(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions made = {0};
  rng r;
  uint32_t first[] = {0, 0, 1, 0, 0};
  const int64_t was[] = {1, 1, 1, 64};
  recording_start(&f);
  draw_twice(&f);
  assert_int_equal(f.s.trace.inst.n, 5);
  vm_machine_init(&m, &f.mem.heap);
  rng_init(&r, 1, 0);
  for (int i = 0; i < 40; i++) {
    vm_mutate_opts o = {.weight = first, .tries = 1, .exact = i % 2};
    if (i < 20) o.given = was, o.ngiven = 4; /* else as in the trace */
    made.n = 0;
    tess_status s = vm_mutate(&m, &f.base, &f.s.trace, &r, &o, &made);
    assert_int_equal(s, o.exact ? TESS_REFUSED : TESS_OK);
    assert_int_equal(m.fail.why, o.exact ? VM_W_UNFIT : VM_W_NONE);
    assert_int_equal(made.n, o.exact ? 0 : 4);
    if (o.exact) continue;
    assert_in_range(made.v[1], 2, 64);
    assert_int_equal(made.v[3], 64 / made.v[1]);
  }
  vec_free(&f.mem.heap, &made);
  vm_machine_free(&m);
  recording_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_guards),       cmocka_unit_test(test_same),
      cmocka_unit_test(test_space),        cmocka_unit_test(test_mutate),
      cmocka_unit_test(test_mutate_mends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
