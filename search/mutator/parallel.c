/* SPDX-License-Identifier: Apache-2.0
 * mutate_parallel: changes a decision such that parallel loops have another
 * number of iterations.  MetaSchedule's changes the number in an annotation
 * that a postprocessor reads; here the loops are in the trace, and their
 * extents follow from tiles. */
#include "search/mutator/mutator.h"

#include "base/hash.h"
#include "ir/query.h"

bool mutator_parallel(const vm_trace *t, uint32_t k) {
  return vm_samples(&t->inst.v[k]);
}

static uint64_t add_extents(const ir_program *p, ir_stmt first, uint64_t h) {
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) {
    const ir_stmt_rec *x = ir_st(p, s);
    int64_t n = 0;
    if (x->kind == IR_LOOP && x->loop_kind == IR_PARALLEL) {
      ir_const_int(p, x->extent, &n);
      h = hash_mix(h, (uint64_t)n);
    }
    h = add_extents(p, x->body, h);
    h = add_extents(p, x->alt, h);
  }
  return h;
}

/* Extents of all parallel loops, in the order of the program. */
uint64_t mutator_parallel_extents(const ir_program *p) {
  return add_extents(p, ir_entry(p)->root, 0);
}
