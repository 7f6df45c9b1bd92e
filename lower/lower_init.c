/* SPDX-License-Identifier: Apache-2.0
 * Lowers init statements of reductions that were not decomposed to a
 * conditional: every reduce iter of the block is at its lower bound. */
#include "ir/edit.h"
#include "lower/pass.h"

static ir_expr at_start(ir_program *p, ir_stmt block) {
  ir_expr cond = 0;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_iter r = p->iter.v[i];
    if (r.kind != IR_REDUCE) continue;
    ir_expr here = ir_binary(p, IR_EQ, ir_ref(p, r.var), r.lo);
    cond = cond ? ir_and(p, cond, here) : here;
  }
  return cond ? cond : ir_bool(p, true);
}

/* The init is nested in the allocations of the block. */
static ir_stmt inside_allocations(const ir_program *p, ir_stmt block) {
  ir_stmt s = block, body;
  while ((body = ir_st(p, s)->body) && ir_st(p, body)->kind == IR_ALLOCATE &&
         !ir_st(p, body)->next)
    s = body;
  return s;
}

LOWER_PASS(lower_init) {
  (void)scratch, (void)o, (void)e;
  LOWER_EACH(p, s) {
    if (!ir_is_block(p, s) || !ir_st(p, s)->alt) continue;
    ir_stmt cond = ir_if_new(p, at_start(p, s));
    while (ir_st(p, s)->alt) {
      ir_stmt child = ir_st(p, s)->alt;
      ir_detach(p, child);
      ir_append(p, cond, child);
    }
    ir_prepend(p, inside_allocations(p, s), cond);
  }
  return TESS_OK;
}
