/* SPDX-License-Identifier: Apache-2.0
 * unroll: marks a loop to be unrolled. */
#include "schedule/sch.h"

#define UNROLL_SIG(F, S) F(S, IN, LOOP, loop, REQ, "the loop")

PRIM_DEFINE(
    unroll, UNROLL_SIG,
    .summary = "Write a loop out, iteration after iteration.",
    .rewrite = "for i in e: S   ->   unrolled i in e: S",
    .details =
        "1. The loop is neither parallel, vectorized nor bound, which would\n"
        "   be lost.\n"
        "A loop of more than 8,192 iterations, or that would become more than\n"
        "about 32,768 instructions, stays a loop when it is lowered.\n",
    .refusals = SCH_REASONS(SCH_R_LOOP_KIND),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:unroll(j)\n");

static bool unroll_apply(sch_state *s, struct unroll_args *a) {
  if (!sch_loop_takes_kind(s, a->loop, IR_UNROLLED)) return false;
  sch_set_loop_kind(s, a->loop, IR_UNROLLED, 0);
  return true;
}
