/* SPDX-License-Identifier: Apache-2.0
 * The trace machine: calls, recording, replay, decisions, failures. */
#include "base/hash.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "support/program.h"
#include "support/test.h"
#include "support/toy.h"
#include "support/trace.h"
#include "vm/exec.h"
#include "vm/space.h"

#include <math.h>

/* A schedule of a 64 x 32 x 16 product. */
typedef struct fixture {
  test_heap mem;
  ir_program base;
  vm_sched s;
} fixture;

static tess_status machine_build(void *ud) {
  fixture *f = ud;
  ir_program_init(&f->base, &f->mem.heap);
  test_matmul_relu(&f->base, 64, 32, 16);
  return TESS_OK;
}

static void machine_start(fixture *f) {
  test_heap_start(&f->mem, 0);
  assert_int_equal(mem_protect(&f->mem.heap, machine_build, f), TESS_OK);
  assert_int_equal(vm_sched_init(&f->s, &f->mem.heap, &f->base, 42), TESS_OK);
}

static void machine_end(fixture *f) {
  vm_sched_free(&f->s);
  ir_program_free(&f->base);
  test_heap_end(&f->mem);
}

/* Draws a divisor of a loop; `d` 0: drawn. */
static vm_rv machine_draw(vm_sched *s, vm_rv loop, int64_t d) {
  test_call c = test_begin_prim(s, &sch_prim_toy_divisor);
  vm_rv first;
  test_set_rv(&c, "loop", loop);
  if (d) test_set(&c, "decision", vm_int(d));
  assert_int_equal(test_end(&c, &first, NULL), TESS_OK);
  return first;
}

static vm_rv split_by(vm_sched *s, vm_rv loop, vm_rv a, vm_rv b) {
  test_call c = test_begin(s, "split");
  vm_value f[] = {vm_var(a), vm_var(b)};
  vm_rv first;
  test_set_rv(&c, "loop", loop);
  test_set(&c, "factors", vm_list(&s->draft, 2, f));
  assert_int_equal(test_end(&c, &first, NULL), TESS_OK);
  return first;
}

/* Tiles i and j of the product by drawn divisors. */
static void machine_tile(vm_sched *s) {
  uint32_t n;
  vm_rv loops = test_loops(s, test_block(s, "C"), &n);
  assert_int_equal(n, 3);
  vm_rv v = machine_draw(s, loops, 0);
  split_by(s, loops, v, v + 1);
  v = machine_draw(s, loops + 1, 0);
  split_by(s, loops + 1, v, v + 1);
}

/* Hash of the printed program. */
static uint64_t hash(const ir_program *p, mem_heap *heap) {
  strbuf b;
  ir_print_opts o = {.regions = true};
  str_init(&b, heap);
  ir_print(p, &o, &b);
  uint64_t h = hash_bytes(str_get(&b), b.n);
  str_free(&b);
  return h;
}

static void test_records_and_replays(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions made = {0}, kept = {0};
  machine_start(&f);
  machine_tile(&f.s);
  assert_int_equal(f.s.trace.inst.n, 6);
  assert_string_equal(f.s.trace.text.v + f.s.trace.inst.v[0].file, "test.lua");
  assert_int_equal(f.s.trace.inst.v[5].line, 7);
  vm_machine_init(&m, &f.mem.heap);
  vm_replay_opts o = {.source = VM_SAME};
  assert_int_equal(vm_replay(&m, &f.base, &f.s.trace, &o, &made), TESS_OK);
  assert_int_equal(hash(&m.prog, &f.mem.heap), hash(&f.s.m.prog, &f.mem.heap));
  assert_false(hash(&m.prog, &f.mem.heap) == hash(&f.base, &f.mem.heap));
  vm_get_decisions(&f.s.trace, &f.mem.heap, &kept);
  assert_int_equal(made.n, 4);
  assert_memory_equal(made.v, kept.v, kept.n * sizeof *kept.v);
  vec_free(&f.mem.heap, &made);
  vec_free(&f.mem.heap, &kept);
  vm_machine_free(&m);
  machine_end(&f);
}

/* Draws depend on the seed and the instruction's number alone. */
static void test_draws_are_streams(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions once = {0}, again = {0}, part = {0};
  machine_start(&f);
  machine_tile(&f.s);
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
  machine_end(&f);
}

/* ---- failures roll back ------------------------------------------------- */

static void copy_state(const vm_sched *s, vm_sched *out) {
  assert_int_equal(vm_sched_copy(out, s->heap, s), TESS_OK);
}

#define SAME_TABLE(a, b)           \
  (assert_int_equal((a).n, (b).n), \
   (a).n ? assert_memory_equal((a).v, (b).v, (a).n * sizeof *(a).v) : (void)0)

static void assert_same(const vm_sched *a, const vm_sched *b) {
  SAME_TABLE(a->trace.inst, b->trace.inst);
  SAME_TABLE(a->trace.val, b->trace.val);
  SAME_TABLE(a->trace.dec, b->trace.dec);
  SAME_TABLE(a->trace.rv, b->trace.rv);
  SAME_TABLE(a->trace.rv_inst, b->trace.rv_inst);
  SAME_TABLE(a->trace.text, b->trace.text);
  SAME_TABLE(a->m.cell, b->m.cell);
  SAME_TABLE(a->m.prog.node, b->m.prog.node);
  SAME_TABLE(a->m.prog.stmt, b->m.prog.stmt);
  SAME_TABLE(a->m.prog.block, b->m.prog.block);
  SAME_TABLE(a->m.prog.iter, b->m.prog.iter);
  SAME_TABLE(a->m.prog.arg, b->m.prog.arg);
  SAME_TABLE(a->m.prog.text, b->m.prog.text);
  SAME_TABLE(a->m.prog.value, b->m.prog.value);
  assert_int_equal(a->m.prog.edits, b->m.prog.edits);
}

/* Replays over the program; a refusal leaves that and the schedule
 * unchanged. */
static void expect_over(vm_machine *m, fixture *f, const ir_program *base,
                        const vm_replay_opts *o, tess_status st, vm_why why,
                        uint32_t inst) {
  vm_sched was;
  uint64_t before = hash(base, &f->mem.heap);
  copy_state(&f->s, &was);
  assert_int_equal(vm_replay(m, base, &f->s.trace, o, NULL), st);
  assert_int_equal(m->fail.why, why);
  if (why) assert_int_equal(m->fail.inst, inst);
  assert_same(&f->s, &was);
  assert_true(hash(base, &f->mem.heap) == before);
  if (st == TESS_REFUSED) test_shown(vm_failure_reason(m));
  vm_sched_free(&was);
}

static void machine_expect(vm_machine *m, fixture *f, const int64_t *d,
                           uint32_t n, vm_source source, tess_status st,
                           vm_why why, uint32_t inst) {
  vm_replay_opts o = {.source = source, .given = d, .ngiven = n};
  expect_over(m, f, &f->base, &o, st, why, inst);
}

static void test_given_decisions(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  machine_start(&f);
  machine_tile(&f.s);
  vm_machine_init(&m, &f.mem.heap);
  machine_expect(&m, &f, (int64_t[]){1, 8, 1, 4}, 4, VM_GIVEN, TESS_OK,
                 VM_W_NONE, 0);
  machine_expect(&m, &f, (int64_t[]){1, 8, 1, 5}, 4, VM_GIVEN, TESS_REFUSED,
                 VM_W_UNFIT, 5);
  machine_expect(&m, &f, (int64_t[]){2, 8, 8, 1, 4}, 5, VM_GIVEN, TESS_REFUSED,
                 VM_W_NOT_ONE, 3);
  machine_expect(&m, &f, (int64_t[]){1, 8}, 2, VM_GIVEN, TESS_INVALID,
                 VM_W_FEW_DECISIONS, 5);
  machine_expect(&m, &f, (int64_t[]){1, 8, 1}, 3, VM_GIVEN, TESS_INVALID,
                 VM_W_FEW_DECISIONS, 5);
  machine_expect(&m, &f, (int64_t[]){1, 8, -1, 4}, 4, VM_GIVEN, TESS_INVALID,
                 VM_W_FEW_DECISIONS, 5);
  machine_expect(&m, &f, (int64_t[]){1, 8, 1, 4, 0}, 5, VM_GIVEN, TESS_INVALID,
                 VM_W_MANY_DECISIONS, 6);
  machine_expect(&m, &f, (int64_t[]){1, 8, 1, 5}, 4, VM_REPAIR, TESS_OK,
                 VM_W_NONE, 0);
  assert_int_equal(m.cell.v[9].i, 4);
  vm_machine_free(&m);
  machine_end(&f);
}

/* A trace over another program, where a query returns more than recorded. */
static void test_other_outputs(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  uint32_t n;
  strbuf why;
  machine_start(&f);
  str_init(&why, &f.mem.heap);
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = machine_draw(&f.s, loops, 8);
  split_by(&f.s, loops, v, v + 1);
  vm_machine_init(&m, &f.mem.heap);
  vm_replay_opts o = {.source = VM_SAME};
  expect_over(&m, &f, &f.s.m.prog, &o, TESS_REFUSED, VM_W_OTHER_OUTPUTS, 2);
  vm_failure_text(&m, &f.s.trace, &why);
  assert_non_null(strstr(str_get(&why), "4 results where 3 were recorded"));
  str_free(&why);
  vm_machine_free(&m);
  machine_end(&f);
}

static void test_refused_changes_nothing(void **state) {
  (void)state;
  fixture f;
  vm_sched was;
  char why[512];
  machine_start(&f);
  uint32_t n;
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  copy_state(&f.s, &was);
  test_call c = test_begin_prim(&f.s, &sch_prim_toy_spoil);
  test_set_rv(&c, "loop", loops);
  assert_int_equal(test_end(&c, NULL, NULL), TESS_REFUSED);
  assert_same(&f.s, &was);
  assert_string_equal(test_why(&f.s, why, sizeof why),
                      "toy_spoil: loop i is not a serial loop");
  vm_sched_free(&was);
  machine_end(&f);
}

/* Expressions made by a refused call are rolled back; earlier ones stay. */
static void test_refused_is_forgotten(void **state) {
  (void)state;
  fixture f;
  machine_start(&f);
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
  machine_end(&f);
}

static void test_can_changes_nothing(void **state) {
  (void)state;
  fixture f;
  vm_sched was;
  machine_start(&f);
  uint32_t n;
  vm_rv loops = test_loops(&f.s, test_block(&f.s, "C"), &n);
  copy_state(&f.s, &was);
  test_call c = test_begin(&f.s, "split");
  vm_value two[] = {vm_int(8), vm_int(8)};
  test_set_rv(&c, "loop", loops);
  test_set(&c, "factors", vm_list(&f.s.draft, 2, two));
  vm_call call = {.prim = c.prim, .pool = &f.s.draft, .operand = c.operand};
  assert_int_equal(vm_sched_can(&f.s, &call), TESS_OK);
  assert_same(&f.s, &was);
  f.s.draft.val.v[0] = vm_int(3);
  assert_int_equal(vm_sched_can(&f.s, &call), TESS_REFUSED);
  assert_string_equal(vm_failure_reason(&f.s.m), "FACTOR_PRODUCT_SMALL");
  assert_same(&f.s, &was);
  vm_sched_free(&was);
  machine_end(&f);
}

typedef struct oom {
  fixture f;
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
  if (o->st == TESS_NOMEM) assert_same(&o->f.s, &o->was);
}

static void test_machine_each_allocation_failing(void **state) {
  (void)state;
  oom o;
  machine_start(&o.f);
  uint32_t n;
  o.loop = test_loops(&o.f.s, test_block(&o.f.s, "C"), &n);
  copy_state(&o.f.s, &o.was);
  assert_true(test_each_failure(&o.f.mem, split_once, after_split, &o) >= 1);
  assert_int_equal(o.f.s.trace.inst.n, 3);
  vm_sched_free(&o.was);
  machine_end(&o.f);
}

/* ---- calls refused before their primitive runs -------------------------- */

static void machine_refused(fixture *f, test_call *c, tess_status st,
                            const char *text) {
  char why[512];
  vm_sched was;
  copy_state(&f->s, &was);
  assert_int_equal(test_end(c, NULL, NULL), st);
  assert_string_equal(test_why(&f->s, why, sizeof why), text);
  assert_same(&f->s, &was);
  vm_sched_free(&was);
}

static void test_operand_errors(void **state) {
  (void)state;
  fixture f;
  machine_start(&f);
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
  machine_end(&f);
}

static void test_dead_handles(void **state) {
  (void)state;
  fixture f;
  machine_start(&f);
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
  machine_end(&f);
}

static void test_marks(void **state) {
  (void)state;
  fixture f;
  machine_start(&f);
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
  machine_end(&f);
}

static void test_decisions_by_hand(void **state) {
  (void)state;
  fixture f;
  machine_start(&f);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = machine_draw(&f.s, l, 16);
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
  machine_end(&f);
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
  fixture f;
  machine_start(&f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    test_call c = test_begin(&f.s, "guard");
    test_set(
        &c, "var",
        vm_op(&f.s.draft, cases[i].op, vm_int(cases[i].a), vm_int(cases[i].b)));
    test_set(&c, "value", vm_int(cases[i].is));
    assert_int_equal(test_end(&c, NULL, NULL), TESS_OK);
  }
  machine_end(&f);
}

/* ---- guards ------------------------------------------------------------- */

#define SAME(table)                                    \
  (assert_int_equal(m.prog.table.n, f.base.table.n),   \
   assert_memory_equal(m.prog.table.v, f.base.table.v, \
                       f.base.table.n * sizeof *f.base.table.v))

static void test_guards(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_trace before;
  int64_t value;
  machine_start(&f);
  uint32_t n;
  vm_rv l = test_loops(&f.s, test_block(&f.s, "C"), &n);
  vm_rv v = machine_draw(&f.s, l, 16);
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
  machine_expect(&m, &f, (int64_t[]){1, 16}, 2, VM_GIVEN, TESS_OK, VM_W_NONE,
                 0);
  machine_expect(&m, &f, (int64_t[]){1, 8}, 2, VM_GIVEN, TESS_REFUSED,
                 VM_W_REFUSED, 4);
  assert_string_equal(vm_failure_reason(&m), "GUARD_DIFFERS");
  /* Neither the calls before nor the refusal changed anything. */
  assert_true(vm_trace_equal(&before, &f.s.trace));
  SAME(stmt), SAME(block), SAME(iter), SAME(region), SAME(var), SAME(buf);
  SAME(anno), SAME(node), SAME(arg), SAME(text);
  vm_trace_free(&before);
  vm_machine_free(&m);
  machine_end(&f);
}

#undef SAME

/* Loops that were found twice are the same; what was sampled before guards
 * that, once. */
static void test_same(void **state) {
  (void)state;
  fixture f;
  bool same;
  uint32_t n;
  machine_start(&f);
  vm_rv b = test_block(&f.s, "C");
  vm_rv one = test_loops(&f.s, b, &n), two = test_loops(&f.s, b, &n);
  f.s.sketch = true;
  uint32_t before = f.s.trace.inst.n;
  assert_int_equal(vm_sched_same(&f.s, one + 1, two + 1, &same), TESS_OK);
  assert_true(same);
  assert_int_equal(vm_sched_same(&f.s, one, two + 1, &same), TESS_OK);
  assert_false(same);
  assert_int_equal(f.s.trace.inst.n, before);
  machine_draw(&f.s, one, 16);
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
  machine_end(&f);
}

/* ---- a warm machine does not allocate ----------------------------------- */

static void test_warm_replay_allocates_nothing(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions made = {0};
  machine_start(&f);
  machine_tile(&f.s);
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
  machine_end(&f);
}

static void test_parts(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions made = {0};
  vm_rv first;
  machine_start(&f);
  machine_tile(&f.s);
  uint64_t tiled = hash(&f.s.m.prog, &f.mem.heap);
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
  assert_int_equal(hash(&again.m.prog, &f.mem.heap), tiled);
  test_loops(&again, 1, &n); /* it still records */
  assert_int_equal(n, 5);
  vm_sched_free(&again);
  vec_free(&f.mem.heap, &made);
  vm_machine_free(&m);
  machine_end(&f);
}

/* ---- the space of decisions --------------------------------------------- */

static void test_space(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_space sp = {0};
  vm_trace t;
  double logp = 0;
  vm_numbers numbers = {0};
  machine_start(&f);
  machine_tile(&f.s);
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
  vm_replay_opts o = {.source = VM_SAME};
  assert_int_equal(vm_logp(&m, &f.base, tr, &o, &logp), TESS_OK);
  assert_true(fabs(logp + log(7) + log(6)) < 1e-9);
  assert_int_equal(vm_embed(&m, &f.base, &t, &o, &numbers), TESS_OK);
  assert_int_equal(numbers.n, 2);
  assert_true(numbers.v[0] == 5);
  vec_free(&f.mem.heap, &numbers);
  vm_space_free(&sp, &f.mem.heap);
  vm_trace_free(&t);
  vm_machine_free(&m);
  machine_end(&f);
}

static void test_mutate(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions made = {0}, was = {0};
  rng r;
  machine_start(&f);
  machine_tile(&f.s);
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
  machine_end(&f);
}

/* Draws a divisor of i, then one of the quotient: the second decision depends
 * on the first.  They are 1 and 64. */
static void draw_twice(fixture *f) {
  uint32_t n;
  vm_rv loop = test_loops(&f->s, test_block(&f->s, "C"), &n);
  vm_rv v = machine_draw(&f->s, loop, 1);
  loop = split_by(&f->s, loop, v, v + 1);
  machine_draw(&f->s, loop + 1, 64);
}

/* The decision behind the mutated one is repaired at once, not redrawn until it
 * happens to fit; but not where it must stay. */
static void test_mutate_mends(void **state) {
  (void)state;
  fixture f;
  vm_machine m;
  vm_decisions made = {0};
  rng r;
  uint32_t first[] = {0, 0, 1, 0, 0};
  const int64_t was[] = {1, 1, 1, 64};
  machine_start(&f);
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
  machine_end(&f);
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
      cmocka_unit_test(test_operand_errors),
      cmocka_unit_test(test_dead_handles),
      cmocka_unit_test(test_marks),
      cmocka_unit_test(test_decisions_by_hand),
      cmocka_unit_test(test_arithmetic),
      cmocka_unit_test(test_guards),
      cmocka_unit_test(test_same),
      cmocka_unit_test(test_warm_replay_allocates_nothing),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_space),
      cmocka_unit_test(test_mutate),
      cmocka_unit_test(test_mutate_mends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
