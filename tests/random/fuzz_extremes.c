/* SPDX-License-Identifier: Apache-2.0
 * The random tester: loops that find extremes, and those after them that
 * depend on them, side by side once the loops around them are merged. */
#include "ir/query.h"
#include "schedule/sch.h"
#include "random/fuzz.h"

bool fuzz_finds_extreme(const ir_program *p, ir_stmt block) {
  ir_stmt store = ir_st(p, block)->body, scope = ir_scope_of(p, block);
  if (!sch_has_init(p, block) || !store || ir_st(p, store)->kind != IR_STORE)
    return false;
  const ir_node *n = ir_at(p, ir_st(p, store)->value);
  ir_buf buf = ir_st(p, store)->buf;
  if ((n->op != IR_MAX && n->op != IR_MIN) || !ir_is_float(n->dtype))
    return false;
  for (ir_stmt b = scope; (b = sch_next_child(p, b, scope));)
    if (b != block && sch_has_init(p, b) && sch_reads_buf(p, b, buf))
      return true;
  return false;
}

/* The last loop of a consumer of the block in focus; *outer: the one around
 * it, 0: none. */
static vm_rv dependent(fuzz *f, vm_rv *outer) {
  uint32_t n, k = 0;
  vm_rv b = fuzz_get(f, "get_consumers", vm_var(f->block), &n);
  vm_rv l = b ? fuzz_get(f, "get_loops", vm_var(b + fuzz_below(f, n)), &k) : 0;
  *outer = 0;
  for (uint32_t i = 0; l && i < k; i++) {
    ir_stmt s = fuzz_stmt(f, l + i);
    for (uint32_t m = 0; s && m < f->nloops; m++) {
      ir_stmt own = fuzz_stmt(f, f->loop[m]);
      if (own && ir_st(&f->s.m.prog, own)->next == s) return l + i;
    }
  }
  if (k > 1) *outer = l + (f->nloops < k ? f->nloops : k) - 2;
  return l ? l + k - 1 : 0;
}

/* The last loop of the block in focus, or one that stands right before a loop
 * of a consumer; where none does the loops around the last ones are merged. */
vm_value fuzz_extreme_loop(fuzz *f, const vm_value *v) {
  const ir_program *p = &f->s.m.prog;
  vm_rv outer;
  (void)v;
  if (!f->nloops || fuzz_below(f, 16) == 0) return vm_var(fuzz_any_loop(f));
  vm_rv next = dependent(f, &outer);
  if (outer && f->nloops > 1) {
    vm_value both[2] = {vm_var(f->loop[f->nloops - 2]), vm_var(outer)};
    vm_value to[VM_MAX_SPECS] = {{.tag = VM_NIL}};
    to[0] = vm_list(&f->pool, 2, both);
    (void)fuzz_call(f, sch_find_prim("merge"), to);
  }
  ir_stmt s = next ? fuzz_stmt(f, next) : 0;
  for (uint32_t m = 0; s && m < f->nloops; m++) {
    ir_stmt own = fuzz_stmt(f, f->loop[m]);
    if (own && ir_st(p, own)->next == s) return vm_var(f->loop[m]);
  }
  return vm_var(f->loop[f->nloops - 1]);
}

/* The loop after v[0]. */
vm_value fuzz_dependent_loop(fuzz *f, const vm_value *v) {
  ir_stmt first = v[0].tag == VM_RV ? fuzz_stmt(f, v[0].rv) : 0;
  vm_rv outer, next = first ? dependent(f, &outer) : 0;
  return vm_var(next ? next : fuzz_any_loop(f));
}
