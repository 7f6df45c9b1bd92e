/* SPDX-License-Identifier: Apache-2.0
 * The trace machine: recording, replay, failures. */
#include "ir/edit.h"
#include "ir/query.h"
#include "support/program.h"
#include "support/recording.h"
#include "support/toy.h"

static void test_records_and_replays(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions made = {0}, kept = {0};
  recording_start(&f);
  recording_tile(&f.s);
  assert_int_equal(f.s.trace.inst.n, 6);
  assert_string_equal(f.s.trace.text.v + f.s.trace.inst.v[0].file, "test.lua");
  assert_int_equal(f.s.trace.inst.v[5].line, 7);
  vm_machine_init(&m, &f.mem.heap);
  vm_replay_opts o = {.source = VM_SAME};
  assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, &made), TESS_OK);
  assert_int_equal(recording_hash(&m.prog, &f.mem.heap),
                   recording_hash(&f.s.m.prog, &f.mem.heap));
  assert_false(recording_hash(&m.prog, &f.mem.heap) ==
               recording_hash(&f.base, &f.mem.heap));
  vm_get_decisions(&f.s.trace, &f.mem.heap, &kept);
  assert_int_equal(made.n, 4);
  assert_memory_equal(made.v, kept.v, kept.n * sizeof *kept.v);
  vec_free(&f.mem.heap, &made);
  vec_free(&f.mem.heap, &kept);
  vm_machine_free(&m);
  recording_end(&f);
}

/* Draws depend on the seed and the instruction's number alone. */
static void test_draws_are_streams(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions once = {0}, again = {0}, part = {0};
  recording_start(&f);
  recording_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  bool differ = false;
  for (uint64_t seed = 0; seed < 20; seed++) {
    vm_replay_opts o = {.source = VM_FRESH, .seed = seed};
    once.n = again.n = 0;
    assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, &once), TESS_OK);
    assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, &again), TESS_OK);
    assert_memory_equal(once.v, again.v, once.n * sizeof *once.v);
    differ = differ || once.v[1] != once.v[3];
    /* The second draw, with the first decision given, is the same. */
    int64_t given[] = {1, 4, 0};
    vm_replay_opts g = {
        .source = VM_GIVEN, .seed = seed, .given = given, .ngiven = 3};
    part.n = 0;
    assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &g, &part), TESS_OK);
    assert_int_equal(part.v[1], 4);
    assert_int_equal(part.v[3], once.v[3]);
  }
  assert_true(differ);
  vec_free(&f.mem.heap, &once);
  vec_free(&f.mem.heap, &again);
  vec_free(&f.mem.heap, &part);
  vm_machine_free(&m);
  recording_end(&f);
}

/* ---- failures roll back ------------------------------------------------- */

static void test_given_decisions(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  recording_start(&f);
  recording_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  recording_expect(&m, &f, (int64_t[]){1, 8, 1, 4}, 4, VM_GIVEN, TESS_OK,
                   VM_W_NONE, 0);
  recording_expect(&m, &f, (int64_t[]){1, 8, 1, 5}, 4, VM_GIVEN, TESS_REFUSED,
                   VM_W_UNFIT, 5);
  recording_expect(&m, &f, (int64_t[]){2, 8, 8, 1, 4}, 5, VM_GIVEN,
                   TESS_REFUSED, VM_W_NOT_ONE, 3);
  recording_expect(&m, &f, (int64_t[]){1, 8}, 2, VM_GIVEN, TESS_INVALID,
                   VM_W_FEW_DECISIONS, 5);
  recording_expect(&m, &f, (int64_t[]){1, 8, 1}, 3, VM_GIVEN, TESS_INVALID,
                   VM_W_FEW_DECISIONS, 5);
  recording_expect(&m, &f, (int64_t[]){1, 8, -1, 4}, 4, VM_GIVEN, TESS_INVALID,
                   VM_W_FEW_DECISIONS, 5);
  recording_expect(&m, &f, (int64_t[]){1, 8, 1, 4, 0}, 5, VM_GIVEN,
                   TESS_INVALID, VM_W_MANY_DECISIONS, 6);
  recording_expect(&m, &f, (int64_t[]){1, 8, 1, 5}, 4, VM_REPAIR, TESS_OK,
                   VM_W_NONE, 0);
  assert_int_equal(m.cell.v[9].i, 4);
  vm_machine_free(&m);
  recording_end(&f);
}

/* A trace over another program, where a query returns more than recorded. */
static void test_other_outputs(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  uint32_t n;
  strbuf why;
  recording_start(&f);
  str_init(&why, &f.mem.heap);
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = recording_draw(&f.s, loops, 8);
  recording_split(&f.s, loops, v, v + 1);
  vm_machine_init(&m, &f.mem.heap);
  vm_replay_opts o = {.source = VM_SAME};
  recording_expect_over(&m, &f, &f.s.m.prog, &o, TESS_REFUSED,
                        VM_W_OTHER_OUTPUTS, 2);
  vm_failure_text(&m, &f.s.trace, &why);
  assert_non_null(strstr(str_get(&why), "4 results where the trace has 3"));
  str_free(&why);
  vm_machine_free(&m);
  recording_end(&f);
}

static void test_refused_changes_nothing(void **state) {
  (void)state;
  recording f;
  vm_sched was;
  char why[512];
  recording_start(&f);
  uint32_t n;
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  recording_copy(&f.s, &was);
  test_call c = test_begin_prim(&f.s, &sch_prim_toy_spoil);
  test_set_rv(&c, "loop", loops);
  assert_int_equal(test_end(&c, NULL, NULL), TESS_REFUSED);
  recording_same(&f.s, &was);
  assert_string_equal(test_why(&f.s, why, sizeof why),
                      "toy_spoil: loop i is not a serial loop");
  vm_sched_free(&was);
  recording_end(&f);
}

/* Expressions made by a refused call are rolled back; earlier ones stay. */
static void test_refused_is_forgotten(void **state) {
  (void)state;
  recording f;
  recording_start(&f);
  uint32_t n;
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  ir_program *p = &f.s.m.prog;
  uint32_t nodes = p->node.n, runs = p->arg.n;
  for (int k = 0; k < 3; k++) {
    test_call c = test_begin_prim(&f.s, &sch_prim_toy_spoil);
    test_set_rv(&c, "loop", loops);
    assert_int_equal(test_end(&c, NULL, NULL), TESS_REFUSED);
    assert_int_equal(p->node.n, nodes);
    assert_int_equal(p->arg.n, runs);
  }
  for (ir_expr e = 1; e < nodes; e++) assert_true(ir_node_is_consistent(p, e));
  assert_int_equal(ir_index(p, 7777), nodes);
  assert_int_equal(ir_index(p, 1234), nodes + 1);
  recording_end(&f);
}

static void test_can_changes_nothing(void **state) {
  (void)state;
  recording f;
  vm_sched was;
  recording_start(&f);
  uint32_t n;
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  recording_copy(&f.s, &was);
  test_call c = test_begin(&f.s, "split");
  vm_value two[] = {vm_int(8), vm_int(8)};
  test_set_rv(&c, "loop", loops);
  test_set(&c, "factors", vm_list(&f.s.draft, 2, two));
  vm_call call = {.prim = c.prim, .pool = &f.s.draft, .operand = c.operand};
  assert_int_equal(vm_sched_can(&f.s, &call), TESS_OK);
  recording_same(&f.s, &was);
  f.s.draft.val.v[0] = vm_int(3);
  assert_int_equal(vm_sched_can(&f.s, &call), TESS_REFUSED);
  assert_string_equal(vm_failure_reason(&f.s.m), "FACTOR_PRODUCT_SMALL");
  recording_same(&f.s, &was);
  vm_sched_free(&was);
  recording_end(&f);
}

typedef struct oom {
  recording f;
  vm_sched was;
  vm_rv loop;
  tess_status st;
} oom;

static tess_status split_once(void *ud) {
  oom *o = ud;
  vm_value two[] = {vm_int(8), vm_auto()};
  vm_value operand[VM_MAX_SPECS] = {vm_var(o->loop)};
  vm_call call = {.prim = sch_find_prim("split"),
                  .pool = &o->f.s.draft,
                  .operand = operand,
                  .file = "some/other.lua",
                  .line = 3};
  vm_rv first;
  uint32_t n;
  vm_trace_reset(&o->f.s.draft);
  operand[1] = vm_list(&o->f.s.draft, 2, two);
  o->st = vm_sched_call(&o->f.s, &call, &first, &n);
  return o->st;
}

static void after_split(void *ud) {
  oom *o = ud;
  if (o->st == TESS_NOMEM) recording_same(&o->f.s, &o->was);
}

static void test_machine_each_allocation_failing(void **state) {
  (void)state;
  oom o;
  recording_start(&o.f);
  uint32_t n;
  o.loop = test_loops(&o.f.s, test_block(&o.f.s, "C"), &n);
  recording_copy(&o.f.s, &o.was);
  assert_true(test_each_failure(&o.f.mem, split_once, after_split, &o) >= 1);
  assert_int_equal(o.f.s.trace.inst.n, 3);
  vm_sched_free(&o.was);
  recording_end(&o.f);
}

/* ---- a warm machine does not allocate ----------------------------------- */

static void test_warm_replay_allocates_nothing(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions made = {0};
  recording_start(&f);
  recording_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  uint64_t calls = 0;
  for (uint64_t seed = 0; seed < 600; seed++) {
    vm_replay_opts o = {.source = VM_FRESH, .seed = seed % 200};
    if (seed == 400) calls = f.mem.heap.calls;
    made.n = 0;
    assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, &made), TESS_OK);
  }
  /* A checked build calls ir_verify, which allocates its message. */
  if (!TESS_CHECKED) assert_int_equal(f.mem.heap.calls, calls);
  vec_free(&f.mem.heap, &made);
  vm_machine_free(&m);
  recording_end(&f);
}

static void test_parts(void **state) {
  (void)state;
  recording f;
  vm_machine m;
  vm_decisions made = {0};
  vm_rv first;
  recording_start(&f);
  recording_tile(&f.s);
  uint64_t tiled = recording_hash(&f.s.m.prog, &f.mem.heap);
  test_call c = test_begin(&f.s, "enter_postproc");
  assert_int_equal(test_end(&c, &first, NULL), TESS_OK);
  uint32_t n;
  test_loops(&f.s, test_block(&f.s, "D"), &n);
  assert_int_equal(vm_postproc_at(&f.s.trace), 6);
  vm_machine_init(&m, &f.mem.heap);
  vm_replay_opts o = {.source = VM_SAME, .no_postproc = true};
  assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, NULL), TESS_OK);
  assert_int_equal(m.at, 6);
  /* Stopped after the first tile, then continued. */
  int64_t given[] = {1, 8, 1, 4};
  vm_replay_opts head = {
      .source = VM_GIVEN, .given = given, .ngiven = 4, .stop = 4};
  assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &head, &made), TESS_OK);
  assert_int_equal(made.n, 2);
  vm_replay_opts tail = {
      .source = VM_GIVEN, .given = given, .ngiven = 4, .start = 4};
  assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &tail, &made), TESS_OK);
  assert_int_equal(made.n, 4);
  vm_sched again;
  vm_replay_opts same = {.source = VM_SAME, .no_postproc = true};
  assert_int_equal(
      vm_sched_replay(&again, &f.mem.heap, &f.base, &f.s.trace, &same),
      TESS_OK);
  assert_int_equal(again.trace.inst.n, 6);
  assert_int_equal(recording_hash(&again.m.prog, &f.mem.heap), tiled);
  test_loops(&again, 1, &n); /* it still records */
  assert_int_equal(n, 5);
  vm_sched_free(&again);
  vec_free(&f.mem.heap, &made);
  vm_machine_free(&m);
  recording_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_records_and_replays),
      cmocka_unit_test(test_draws_are_streams),
      cmocka_unit_test(test_given_decisions),
      cmocka_unit_test(test_other_outputs),
      cmocka_unit_test(test_refused_changes_nothing),
      cmocka_unit_test(test_refused_is_forgotten),
      cmocka_unit_test(test_can_changes_nothing),
      cmocka_unit_test(test_machine_each_allocation_failing),
      cmocka_unit_test(test_warm_replay_allocates_nothing),
      cmocka_unit_test(test_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
