/* SPDX-License-Identifier: Apache-2.0
 * The stepper: forward, back, jumps, changes of a decision. */
#include "ir/query.h"
#include "support/program.h"
#include "support/test.h"
#include "support/trace.h"
#include "vm/step.h"

#include <math.h>

typedef struct fixture {
  test_heap mem;
  ir_program base;
  vm_sched s;
  vm_stepper st;
} fixture;

static tess_status step_build(void *ud) {
  fixture *f = ud;
  ir_program_init(&f->base, &f->mem.heap);
  test_matmul_relu(&f->base, 64, 32, 16);
  return TESS_OK;
}

static vm_rv step_must(test_call *c) {
  char why[512];
  vm_rv first = 0;
  if (test_end(c, &first, NULL) != TESS_OK)
    fail_msg("%s", test_why(c->s, why, sizeof why));
  return first;
}

static vm_rv step_tile(vm_sched *s, vm_rv loop) {
  test_call c = test_begin(s, "sample_perfect_tile");
  test_set_rv(&c, "loop", loop);
  test_set(&c, "n", vm_int(2));
  vm_rv v = step_must(&c);
  c = test_begin(s, "split");
  vm_value f[] = {vm_var(v), vm_var(v + 1)};
  test_set_rv(&c, "loop", loop);
  test_set(&c, "factors", vm_list(&s->draft, 2, f));
  return step_must(&c);
}

/* 1 get_block  2 get_loops  3 sample  4 split  5 sample  6 split  7 sample
 * 8 split, of the third one's inner loop by at most its extent */
static void step_start(fixture *f) {
  test_heap_start(&f->mem, 0);
  assert_int_equal(mem_protect(&f->mem.heap, step_build, f), TESS_OK);
  assert_int_equal(vm_sched_init(&f->s, &f->mem.heap, &f->base, 42), TESS_OK);
  uint32_t n;
  vm_sched *s = &f->s;
  vm_rv loops = test_loops(s, test_block(s, "C"), &n);
  test_call c = test_begin(s, "sample_perfect_tile");
  test_set_rv(&c, "loop", loops);
  test_set(&c, "n", vm_int(2));
  test_set(&c, "decision",
           vm_list(&s->draft, 2, (vm_value[]){vm_int(4), vm_int(16)}));
  vm_rv v = step_must(&c);
  c = test_begin(s, "split");
  vm_value two[] = {vm_var(v), vm_var(v + 1)};
  test_set_rv(&c, "loop", loops);
  test_set(&c, "factors", vm_list(&s->draft, 2, two));
  vm_rv inner = step_must(&c) + 1;
  step_tile(s, loops + 1);
  c = test_begin(s, "sample_perfect_tile");
  test_set_rv(&c, "loop", inner);
  test_set(&c, "n", vm_int(2));
  test_set(&c, "decision",
           vm_list(&s->draft, 2, (vm_value[]){vm_int(2), vm_int(8)}));
  v = step_must(&c);
  c = test_begin(s, "split");
  vm_value again[] = {vm_var(v), vm_var(v + 1)};
  test_set_rv(&c, "loop", inner);
  test_set(&c, "factors", vm_list(&s->draft, 2, again));
  step_must(&c);
  assert_int_equal(
      vm_stepper_init(&f->st, &f->mem.heap, &f->base, &s->trace, 0), TESS_OK);
}

static void step_end(fixture *f) {
  vm_stepper_free(&f->st);
  vm_sched_free(&f->s);
  ir_program_free(&f->base);
  test_heap_end(&f->mem);
}

static void step_text_of(const ir_program *p, strbuf *out) {
  ir_print_opts o = {.regions = true};
  str_clear(out);
  ir_print(p, &o, out);
}

static void test_there_and_back(void **state) {
  (void)state;
  enum { N = 8 };
  fixture f;
  strbuf at[N + 1], now;
  step_start(&f);
  str_init(&now, &f.mem.heap);
  for (uint32_t k = 0; k <= N; k++) {
    str_init(&at[k], &f.mem.heap);
    assert_int_equal(vm_stepper_goto(&f.st, k), TESS_OK);
    assert_int_equal(f.st.at, k);
    step_text_of(&f.st.m.prog, &at[k]);
  }
  assert_int_equal(vm_stepper_goto(&f.st, N + 1), TESS_NOT_FOUND);
  assert_int_equal(f.st.at, N);
  step_text_of(&f.s.m.prog, &now);
  assert_string_equal(str_get(&now), str_get(&at[N]));
  for (uint32_t k = N + 1; k-- > 0;) {
    assert_int_equal(vm_stepper_goto(&f.st, k), TESS_OK);
    step_text_of(&f.st.m.prog, &now);
    assert_string_equal(str_get(&now), str_get(&at[k]));
  }
  static const uint32_t jumps[] = {6, 1, 8, 3, 3, 0, 7, 2, 5, 4};
  for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
    assert_int_equal(vm_stepper_goto(&f.st, jumps[i]), TESS_OK);
    step_text_of(&f.st.m.prog, &now);
    assert_string_equal(str_get(&now), str_get(&at[jumps[i]]));
  }
  for (uint32_t k = 0; k <= N; k++) str_free(&at[k]);
  str_free(&now);
  step_end(&f);
}

static void test_changes(void **state) {
  (void)state;
  fixture f;
  vm_marks marks = {0};
  strbuf text;
  step_start(&f);
  str_init(&text, &f.mem.heap);
  assert_int_equal(vm_stepper_goto(&f.st, 3), TESS_OK);
  assert_int_equal(vm_stepper_changes(&f.st, &marks), TESS_OK);
  for (uint32_t s = 0; s < marks.n; s++) assert_int_equal(marks.v[s], 0);
  marks.n = 0;
  assert_int_equal(vm_stepper_goto(&f.st, 4), TESS_OK);
  assert_int_equal(vm_stepper_changes(&f.st, &marks), TESS_OK);
  uint32_t changed = 0, loops = 0;
  for (uint32_t s = 0; s < marks.n; s++) {
    changed += marks.v[s];
    loops += marks.v[s] && ir_is_loop(&f.st.m.prog, s);
  }
  assert_int_equal(loops, 3); /* both new ones, and j below them */
  assert_true(changed >= 4);  /* and the block's binding */
  assert_int_equal(vm_stepper_print(&f.st, &text), TESS_OK);
  assert_non_null(strstr(str_get(&text), "gone:\n  - "));
  vec_free(&f.mem.heap, &marks);
  str_free(&text);
  step_end(&f);
}

static void test_alternatives(void **state) {
  (void)state;
  fixture f;
  vm_space sp = {0};
  step_start(&f);
  assert_int_equal(vm_stepper_goto(&f.st, 7), TESS_OK);
  assert_int_equal(vm_stepper_alternatives(&f.st, 100, &sp), TESS_OK);
  assert_int_equal(sp.count, 5); /* of 16 in two, at most 16 inside */
  assert_int_equal(sp.width, 2);
  double sum = 0;
  for (uint32_t i = 0; i < sp.n; i++) {
    assert_int_equal(sp.decision.v[2 * i] * sp.decision.v[2 * i + 1], 16);
    sum += exp(sp.logp.v[i]);
  }
  assert_true(fabs(sum - 1) < 1e-9);
  assert_int_equal(vm_stepper_goto(&f.st, 8), TESS_OK);
  assert_int_equal(vm_stepper_alternatives(&f.st, 100, &sp), TESS_NOT_FOUND);
  assert_string_equal(str_get(&f.st.why), "split: takes no decision");
  assert_int_equal(vm_stepper_goto(&f.st, 0), TESS_OK);
  assert_int_equal(vm_stepper_alternatives(&f.st, 100, &sp), TESS_NOT_FOUND);
  assert_string_equal(str_get(&f.st.why), "nothing has been run yet");
  vm_space_free(&sp, &f.mem.heap);
  step_end(&f);
}

static void test_decide(void **state) {
  (void)state;
  fixture f;
  strbuf before, now;
  uint32_t invalid;
  step_start(&f);
  str_init(&before, &f.mem.heap);
  str_init(&now, &f.mem.heap);
  assert_int_equal(vm_stepper_goto(&f.st, 7), TESS_OK);
  step_text_of(&f.st.m.prog, &before);
  int64_t unfit[] = {3, 5};
  assert_int_equal(vm_stepper_decide(&f.st, 2, unfit, &invalid), TESS_INVALID);
  assert_int_equal(invalid, 0);
  assert_string_equal(
      str_get(&f.st.why),
      "sample_perfect_tile: decision {3, "
      "5} does not fit: the factors multiply to 15, and the extent of loop i_1 "
      "is 16");
  step_text_of(&f.st.m.prog, &now);
  assert_string_equal(str_get(&before), str_get(&now));
  int64_t fits[] = {16, 1};
  assert_int_equal(vm_stepper_decide(&f.st, 2, fits, &invalid), TESS_OK);
  assert_int_equal(f.st.at, 7);
  assert_int_equal(vm_stepper_goto(&f.st, 8), TESS_OK);
  assert_int_equal(f.st.t.dec.v[f.st.t.inst.v[6].decision.at], 16);
  /* A change further up: the last sample no longer fits. */
  assert_int_equal(vm_stepper_goto(&f.st, 3), TESS_OK);
  int64_t up[] = {8, 8};
  assert_int_equal(vm_stepper_decide(&f.st, 2, up, &invalid), TESS_REFUSED);
  assert_int_equal(invalid, 7);
  assert_string_equal(
      str_get(&f.st.why),
      "sample_perfect_tile: decision {16, "
      "1} does not fit: the factors multiply to 16, and the extent of loop i_1 "
      "is 8");
  assert_int_equal(f.st.at, 3);
  assert_int_equal(vm_stepper_goto(&f.st, 8), TESS_REFUSED);
  assert_int_equal(f.st.at, 6);
  int64_t back[] = {4, 16};
  assert_int_equal(vm_stepper_goto(&f.st, 3), TESS_OK);
  assert_int_equal(vm_stepper_decide(&f.st, 2, back, &invalid), TESS_OK);
  assert_int_equal(vm_stepper_goto(&f.st, 8), TESS_OK);
  str_free(&before);
  str_free(&now);
  step_end(&f);
}

/* Open decisions of a sketch are recorded as the stepper passes them. */
static void test_sketch(void **state) {
  (void)state;
  fixture f;
  strbuf once, again;
  step_start(&f);
  str_init(&once, &f.mem.heap);
  str_init(&again, &f.mem.heap);
  vm_open_decisions(&f.s.trace);
  vm_stepper st;
  assert_int_equal(vm_stepper_init(&st, &f.mem.heap, &f.base, &f.s.trace, 3),
                   TESS_OK);
  assert_int_equal(vm_stepper_goto(&st, 8), TESS_OK);
  for (uint32_t k = 0; k < 8; k++) assert_false(st.t.inst.v[k].open);
  step_text_of(&st.m.prog, &once);
  assert_int_equal(vm_stepper_goto(&st, 0), TESS_OK);
  assert_int_equal(vm_stepper_goto(&st, 8), TESS_OK);
  step_text_of(&st.m.prog, &again);
  assert_string_equal(str_get(&once), str_get(&again));
  vm_stepper_free(&st);
  str_free(&once);
  str_free(&again);
  step_end(&f);
}

typedef struct walk {
  fixture f;
  vm_stepper st;
} walk;

static tess_status walk_about(void *ud) {
  walk *w = ud;
  static const uint32_t stops[] = {4, 8, 2, 7, 0};
  tess_status st =
      vm_stepper_init(&w->st, &w->f.mem.heap, &w->f.base, &w->f.s.trace, 0);
  if (st != TESS_OK) return st;
  for (size_t i = 0; st == TESS_OK && i < sizeof stops / sizeof *stops; i++)
    st = vm_stepper_goto(&w->st, stops[i]);
  vm_stepper_free(&w->st);
  return st;
}

static void test_step_each_allocation_failing(void **state) {
  (void)state;
  walk w;
  step_start(&w.f);
  assert_true(test_each_failure(&w.f.mem, walk_about, NULL, &w) > 10);
  step_end(&w.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_and_back),
      cmocka_unit_test(test_changes),
      cmocka_unit_test(test_alternatives),
      cmocka_unit_test(test_decide),
      cmocka_unit_test(test_sketch),
      cmocka_unit_test(test_step_each_allocation_failing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
