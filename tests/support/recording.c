/* SPDX-License-Identifier: Apache-2.0
 * A schedule of a product that a trace machine records. */
#include "support/recording.h"

#include "base/hash.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "support/program.h"
#include "support/toy.h"

static tess_status build_product(void *ud) {
  recording *f = ud;
  ir_program_init(&f->base, &f->mem.heap);
  test_matmul_relu(&f->base, 64, 32, 16);
  return TESS_OK;
}

void recording_start(recording *f) {
  test_heap_start(&f->mem, 0);
  assert_int_equal(mem_protect(&f->mem.heap, build_product, f), TESS_OK);
  assert_int_equal(vm_sched_init(&f->s, &f->mem.heap, &f->base, 42), TESS_OK);
}

void recording_end(recording *f) {
  vm_sched_free(&f->s);
  ir_program_free(&f->base);
  test_heap_end(&f->mem);
}

vm_rv recording_draw(vm_sched *s, vm_rv loop, int64_t d) {
  test_call c = test_begin_prim(s, &sch_prim_toy_divisor);
  vm_rv first;
  test_set_rv(&c, "loop", loop);
  if (d) test_set(&c, "decision", vm_int(d));
  assert_int_equal(test_end(&c, &first, NULL), TESS_OK);
  return first;
}

vm_rv recording_split(vm_sched *s, vm_rv loop, vm_rv a, vm_rv b) {
  test_call c = test_begin(s, "split");
  vm_value f[] = {vm_var(a), vm_var(b)};
  vm_rv first;
  test_set_rv(&c, "loop", loop);
  test_set(&c, "factors", vm_list(&s->draft, 2, f));
  assert_int_equal(test_end(&c, &first, NULL), TESS_OK);
  return first;
}

void recording_tile(vm_sched *s) {
  uint32_t n;
  vm_rv loops = test_loops(s, test_block(s, "C"), &n);
  assert_int_equal(n, 3);
  vm_rv v = recording_draw(s, loops, 0);
  recording_split(s, loops, v, v + 1);
  v = recording_draw(s, loops + 1, 0);
  recording_split(s, loops + 1, v, v + 1);
}

uint64_t recording_hash(const ir_program *p, mem_heap *heap) {
  strbuf b;
  ir_print_opts o = {.regions = true};
  str_init(&b, heap);
  ir_print(p, &o, &b);
  uint64_t h = hash_bytes(str_get(&b), b.n);
  str_free(&b);
  return h;
}

void recording_copy(const vm_sched *s, vm_sched *out) {
  assert_int_equal(vm_sched_copy(out, s->heap, s), TESS_OK);
}

#define SAME_TABLE(a, b)           \
  (assert_int_equal((a).n, (b).n), \
   (a).n ? assert_memory_equal((a).v, (b).v, (a).n * sizeof *(a).v) : (void)0)

void recording_same(const vm_sched *a, const vm_sched *b) {
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

void recording_expect_over(vm_machine *m, recording *f, const ir_program *base,
                           const vm_replay_opts *o, tess_status st, vm_why why,
                           uint32_t inst) {
  vm_sched was;
  uint64_t before = recording_hash(base, &f->mem.heap);
  recording_copy(&f->s, &was);
  assert_int_equal(vm_replay(m, base, &f->s.trace, o, NULL), st);
  assert_int_equal(m->fail.why, why);
  if (why) assert_int_equal(m->fail.inst, inst);
  recording_same(&f->s, &was);
  assert_true(recording_hash(base, &f->mem.heap) == before);
  if (st == TESS_REFUSED) test_shown(vm_failure_reason(m));
  vm_sched_free(&was);
}

void recording_expect(vm_machine *m, recording *f, const int64_t *d, uint32_t n,
                      vm_source source, tess_status st, vm_why why,
                      uint32_t inst) {
  vm_replay_opts o = {.source = source, .given = d, .ngiven = n};
  recording_expect_over(m, f, &f->base, &o, st, why, inst);
}
