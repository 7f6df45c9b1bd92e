/* SPDX-License-Identifier: Apache-2.0
 * Data-dependent loop bounds and predicates: a primitive that reorders a nest,
 * or evaluates them elsewhere, must not move them across a write of what they
 * load. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

bool sch_reads_stay(sch_state *s, ir_stmt top, ir_expr e, ir_stmt reader) {
  ir_buf buf = 0;
  ir_stmt w = ir_first_clobber(s->p, top, e, &buf);
  return !w ||
         sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {w, reader}, .buf = buf);
}

uint32_t sch_deciding(const ir_program *p, ir_stmt t, ir_expr e[2]) {
  const ir_stmt_rec *r = ir_st(p, t);
  e[0] = e[1] = 0;
  switch ((ir_kind)r->kind) {
  case IR_LOOP: e[0] = r->lo, e[1] = r->extent; return 2;
  case IR_IF: e[0] = r->cond; return 1;
  case IR_LET: e[0] = r->let_value; return 1;
  case IR_BLOCK: e[0] = ir_blk(p, t)->pred; return e[0] != 0;
  default: return 0;
  }
}

bool sch_bounds_stay(sch_state *s, ir_stmt top) {
  const ir_program *p = s->p;
  bool block = ir_is_block(p, top);
  for (ir_stmt t = top; t; t = block ? 0 : sch_next_outside(p, t, top)) {
    ir_expr e[2];
    uint32_t n = sch_deciding(p, t, e);
    for (uint32_t i = 0; i < n; i++)
      if (!sch_reads_stay(s, top, e[i], t)) return false;
  }
  return true;
}
