/* SPDX-License-Identifier: Apache-2.0
 * Makes the outermost loops of the unscheduled program parallel for the
 * reference, where their iterations do not conflict: each sum keeps its order,
 * and so every result its bits. */
#include "measure/externs.h"
#include "measure/worker/job_builder.h"

/* Calls the primitive, whose first operand is v; *first becomes its first
 * output.  Anything but OK: it was refused, or memory ran out. */
static tess_status call_primitive(vm_sched *s, const char *name, vm_value v,
                                  vm_rv *first, uint32_t *n) {
  vm_value operand[VM_MAX_SPECS];
  for (int i = 0; i < VM_MAX_SPECS; i++) operand[i] = vm_nil();
  operand[0] = v;
  vm_call c = {
      .prim = sch_find_prim(name), .pool = &s->draft, .operand = operand};
  *n = 0;
  return vm_sched_call(s, &c, first, n);
}

static tess_status parallelise_block(vm_sched *s, const char *name) {
  vm_rv first;
  uint32_t n;
  vm_value text = vm_str(&s->draft, name, strlen(name));
  tess_status st = call_primitive(s, "get_block", text, &first, &n);
  if (st == TESS_OK)
    st = call_primitive(s, "get_loops", vm_var(first), &first, &n);
  if (st == TESS_OK && n)
    st = call_primitive(s, "parallel", vm_var(first), &first, &n);
  return st == TESS_NOMEM || st == TESS_LIMIT ? st : TESS_OK;
}

/* Functions of the host's may have state, and are called one after another.
 * `s` is the caller's to free, also where this unwinds. */
tess_status job_parallelise(mem_heap *heap, const ir_program *p, vm_sched *s) {
  tess_status st = vm_sched_init(s, heap, p, 0);
  uint32_t n = externs_called(p) ? 0 : p->block.n;
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    const char *name = ir_text(p, p->block.v[i].name);
    if (strcmp(name, "root")) st = parallelise_block(s, name);
  }
  return st;
}
