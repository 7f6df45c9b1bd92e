/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what is said of a finished schedule and matters when it
 * is lowered.  Loops that hold several statements become pipelines of stages,
 * and loops around others virtual threads.  It is said at the end, since most
 * primitives leave such loops alone. */
#include "ir/query.h"
#include "random/fuzz.h"

#include <string.h>

static vm_value stages_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

static bool is_staged(const ir_program *p, ir_stmt s) {
  return ir_is_loop(p, s) && ir_anno_get(p, s, "software_pipeline_stage");
}

/* It runs several stages: once lowered it is prologue, loop and epilogue. */
static bool is_pipeline(const ir_program *p, ir_stmt s) {
  const ir_anno *a =
      ir_is_loop(p, s) ? ir_anno_get(p, s, "software_pipeline_stage") : NULL;
  const ir_value v = a ? p->value.v[a->val] : (ir_value){.tag = IR_VAL_INT};
  for (uint32_t i = 0; v.tag == IR_VAL_LIST && i < v.n; i++)
    if (p->value.v[p->arg.v[v.at + i]].i > 0) return true;
  return false;
}

/* A copy by way of registers, which loads and stores. */
static bool has_local_stage(const ir_program *p, ir_stmt s) {
  return ir_is_block(p, s) && ir_anno_get(p, s, "auto_copy") &&
         ir_anno_get(p, s, "local_stage");
}

/* Statements of the loop once those in it are lowered. */
static uint32_t count_statements(const ir_program *p, ir_stmt loop) {
  uint32_t n = 0;
  for (ir_stmt s = ir_st(p, loop)->body; s; s = ir_st(p, s)->next)
    n += is_pipeline(p, s) ? 3 : has_local_stage(p, s) ? 2 : 1;
  return n;
}

static bool may_have_stages(const ir_program *p, ir_stmt s) {
  if (!ir_is_loop(p, s) || is_staged(p, s)) return false;
  ir_loop_kind kind = (ir_loop_kind)ir_st(p, s)->loop_kind;
  uint32_t n = count_statements(p, s);
  return (kind == IR_SERIAL || kind == IR_UNROLLED) && n > 1 &&
         n <= FUZZ_MAX_LIST;
}

static bool may_be_threads(const ir_program *p, ir_stmt s) {
  int64_t n = 0;
  return ir_is_loop(p, s) && ir_st(p, s)->loop_kind == IR_SERIAL &&
         !ir_st(p, s)->anno && ir_const_int(p, ir_st(p, s)->extent, &n) &&
         n > 1 && n <= 8;
}

/* One of the loops that `may`, as a variable, with its block in focus; 0. */
static vm_rv find_loop(fuzz *f, bool (*may)(const ir_program *p, ir_stmt s)) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt root = ir_entry(p)->root, found = 0, block = 0;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (may(p, s) && fuzz_below(f, ++n) == 0) found = s;
  for (ir_stmt s = found; s && !block; s = ir_next(p, s, found))
    if (ir_is_block(p, s)) block = s;
  if (!block) return 0;
  fuzz_focus_on(f, block);
  for (uint32_t i = 0; i < f->nloops; i++)
    if (fuzz_stmt(f, f->loop[i]) == found) return f->loop[i];
  return 0;
}

static bool annotate(fuzz *f, vm_rv loop, const char *key, uint32_t n,
                     const vm_value *list) {
  vm_value to[VM_MAX_SPECS] = {vm_var(loop), stages_text(f, key),
                               vm_list(&f->pool, n, list)};
  return fuzz_call(f, sch_find_prim("annotate"), to) == TESS_OK;
}

/* Stages that mostly rise, in an order that mostly stays; or where each has a
 * statement, the later one first. */
static void stage(fuzz *f, vm_rv loop) {
  vm_value at[FUZZ_MAX_LIST], order[FUZZ_MAX_LIST];
  ir_stmt s = fuzz_stmt(f, loop);
  uint32_t n = count_statements(&f->s.m.prog, s), last = 0;
  bool any = fuzz_below(f, 8) == 0, back = fuzz_below(f, 3) == 0;
  for (uint32_t i = 0; i < n; i++) {
    last = back ? i : any ? fuzz_below(f, 3) : last + (i && fuzz_below(f, 2));
    at[i] = vm_int(last);
    order[i] = vm_int(back ? n - 1 - i : i);
  }
  if (fuzz_below(f, 8) == 0) {
    uint32_t i = fuzz_below(f, n), k = fuzz_below(f, n);
    vm_value t = order[i];
    order[i] = order[k], order[k] = t;
  }
  if (!annotate(f, loop, "software_pipeline_stage", n, at)) return;
  (void)annotate(f, loop, "software_pipeline_order", n, order);
  if (fuzz_below(f, 3) == 0)
    (void)annotate(f, loop, "software_pipeline_async_stages", 1, at);
}

static void make_threads(fuzz *f, vm_rv loop) {
  static const char *const axes[] = {"vthread.x", "vthread.y"};
  vm_value to[VM_MAX_SPECS] = {vm_var(loop),
                               stages_text(f, axes[fuzz_below(f, 2)])};
  (void)fuzz_call(f, sch_find_prim("bind"), to);
}

void fuzz_stage(fuzz *f) {
  vm_rv loop;
  /* What cannot be lowered so is not compiled, of which there are few. */
  uint32_t what = fuzz_below(f, fuzz_is_compiled(f) ? 16 : 8);
  vm_trace_reset(&f->pool);
  for (uint32_t k = 1 + fuzz_below(f, 2); what < 2 && k > 0; k--)
    if ((loop = find_loop(f, may_be_threads))) make_threads(f, loop);
  for (uint32_t k = 1 + fuzz_below(f, 2); what > 0 && what < 4 && k > 0; k--)
    if ((loop = find_loop(f, may_have_stages))) stage(f, loop);
}
