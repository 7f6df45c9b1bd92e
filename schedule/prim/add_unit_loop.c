/* SPDX-License-Identifier: Apache-2.0
 * add_unit_loop: wraps a block or loop in a loop of extent 1. */
#include "ir/edit.h"
#include "schedule/sch.h"

#define ADD_UNIT_LOOP_SIG(F, S)                                     \
  F(S, IN, NODE, block_or_loop, REQ, "what the loop is put around") \
  F(S, OUT, LOOP, new_loop, REQ, "the new loop")

PRIM_DEFINE(add_unit_loop, ADD_UNIT_LOOP_SIG,
            .summary = "Put a loop of one iteration around a block or loop.",
            .rewrite = "S   ->   for u in 1: S",
            .details = "1. It is not the outermost block of the function.\n",
            .refusals = SCH_REASONS(SCH_R_BLOCK_IS_ROOT),
            .example = "local b = sch:get_block(\"C\")\n"
                       "local u = sch:add_unit_loop(b)\n");

static bool add_unit_loop_apply(sch_state *s, struct add_unit_loop_args *a) {
  ir_program *p = s->p;
  if (!ir_st(p, a->block_or_loop)->parent)
    return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {a->block_or_loop});
  ir_var v = ir_var_new(p, IR_VAR_LOOP, ir_name(p, "u"), IR_INDEX, 0, 0);
  a->new_loop = ir_loop_new(p, v, ir_index(p, 0), ir_index(p, 1), IR_SERIAL);
  ir_wrap(p, a->block_or_loop, a->new_loop);
  return true;
}
