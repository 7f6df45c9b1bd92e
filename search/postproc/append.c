/* SPDX-License-Identifier: Apache-2.0
 * Postprocessors as the end of a sketch: primitives behind enter_postproc,
 * which each replay of a candidate runs, here and in workers, so that a trace
 * with decisions is the whole kernel. */
#include "search/postproc/postproc.h"

/* Those that there are, which are primitives of the same names. */
static const char *const names[] = {"disallow_dynamic_loop",
                                    "enter_postproc",
                                    "rewrite_cooperative_fetch",
                                    "rewrite_layout",
                                    "rewrite_parallel_vectorize_unroll",
                                    "rewrite_reduction_block",
                                    "rewrite_tensorize",
                                    "rewrite_unbound_block",
                                    "verify_chip_buffers",
                                    "verify_gpu_code"};

static bool is_postproc(const char *name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

uint32_t postproc_misfit(const vm_trace *t) {
  uint32_t k = 0;
  while (k < t->inst.n && is_postproc(t->inst.v[k].prim->name)) k++;
  return k;
}

void postproc_cut(vm_trace *t) {
  uint32_t k = vm_postproc_at(t);
  while (k < t->inst.n && is_postproc(t->inst.v[k].prim->name)) k++;
  vm_truncate(t, k);
}

static void append_call(vm_trace *t, const sch_prim *prim, const vm_trace *pool,
                        const vm_value *operand) {
  vm_failure why;
  vm_call c = {.prim = prim, .pool = pool, .operand = operand};
  vm_append(t, &c, 0, &why);
}

void postproc_append(vm_trace *t, const vm_trace *postprocs) {
  vm_value operand[VM_MAX_SPECS];
  const sch_prim *enter = sch_find_prim("enter_postproc");
  if (vm_postproc_at(t) < t->inst.n || !postprocs->inst.n) return;
  append_call(t, enter, postprocs, operand);
  for (uint32_t k = 0; k < postprocs->inst.n; k++) {
    const sch_prim *prim = postprocs->inst.v[k].prim;
    if (prim == enter) continue;
    for (uint32_t i = 0; i < prim->nspecs; i++)
      operand[i] = vm_operand(postprocs, k, i);
    append_call(t, prim, postprocs, operand);
  }
}
