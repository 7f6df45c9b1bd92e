/* SPDX-License-Identifier: Apache-2.0
 * The random tester: primitives that may change what is computed, or are not
 * for people to call.  They are called such that they change nothing, or must
 * be refused. */
#include "random/fuzz.h"

#include "schedule/sch.h"

#include <string.h>

static vm_value unsafe_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

/* A region that is larger than need be does no harm where it is read. */
vm_value fuzz_read_side(fuzz *f, const vm_value *v) {
  ir_stmt b = fuzz_stmt(f, f->block);
  uint32_t n = b ? ir_blk(&f->s.m.prog, b)->reads.n : 0;
  vm_value x[2] = {unsafe_text(f, "read"), vm_int(n ? fuzz_below(f, n) : 0)};
  (void)v;
  return vm_list(&f->pool, 2, x);
}

vm_value fuzz_unfit_dtype(fuzz *f, const vm_value *v) {
  (void)v;
  return unsafe_text(f, fuzz_below(f, 2) ? "float32x4" : "handle");
}

/* Neither side, or one of which nothing is hidden that there is. */
vm_value fuzz_no_side(fuzz *f, const vm_value *v) {
  static const char *const sides[] = {"read", "write", "both"};
  (void)v;
  return unsafe_text(f, sides[fuzz_below(f, 3)]);
}

vm_value fuzz_no_regions(fuzz *f, const vm_value *v) {
  vm_value x = vm_int(fuzz_below(f, 2) ? 99 : -1);
  (void)v;
  return vm_list(&f->pool, fuzz_below(f, 3) == 0, &x);
}

/* ---- what is hidden ----------------------------------------------------- */

static bool can(fuzz *f, vm_sched *s, const char *prim, vm_value first) {
  vm_value v[VM_MAX_SPECS] = {first, vm_int(0)};
  vm_call c = {.prim = sch_find_prim(prim), .pool = &f->pool, .operand = v};
  if (vm_sched_can(s, &c) == TESS_OK) return true;
  if (s->m.fail.why == VM_W_REFUSED)
    f->counts.reason[s->m.state.refusal.reason]++;
  return false;
}

/* A block whose first region on a side is hidden, in a copy of the schedule. */
static bool hide(fuzz *f, vm_sched *s, vm_value block, const char *side) {
  vm_value v[VM_MAX_SPECS] = {block, unsafe_text(f, side), vm_int(0)};
  vm_call c = {.prim = sch_find_prim("unsafe_hide_buffer_access"),
               .pool = &f->pool,
               .operand = v};
  vm_rv first;
  uint32_t n;
  v[2] = vm_list(&f->pool, 1, &v[2]);
  if (vm_sched_copy(s, &f->heap, &f->s)) return false;
  return vm_sched_call(s, &c, &first, &n) == TESS_OK;
}

/* It is not inlined then, nor factored. */
void fuzz_try_hidden(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_sched s = {.heap = NULL};
  bool write = fuzz_below(f, 2);
  (void)first, (void)n;
  if (v[0].rv == f->block && hide(f, &s, v[0], write ? "write" : "read")) {
    const char *taken = NULL;
    if (write && can(f, &s, "compute_inline", v[0])) taken = "compute_inline";
    for (uint32_t i = 0; !write && i < f->nloops; i++)
      if (can(f, &s, "rfactor", vm_var(f->loop[i]))) taken = "rfactor";
    if (taken)
      fuzz_wrong(f, "%s was accepted, and a block hides what it %s", taken,
                 write ? "writes" : "reads");
  }
  if (s.heap) vm_sched_free(&s);
}

/* ---- guards ------------------------------------------------------------- */

vm_value fuzz_known_int(fuzz *f, const vm_value *v) {
  vm_rv any = fuzz_any_int(f);
  (void)v;
  return any ? vm_var(any) : vm_int(1);
}

vm_value fuzz_its_value(fuzz *f, const vm_value *v) {
  int64_t x = 1;
  if (v[0].tag == VM_RV && vm_sched_get_int(&f->s, v[0].rv, &x)) x = 1;
  return vm_int(x);
}
