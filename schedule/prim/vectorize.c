/* SPDX-License-Identifier: Apache-2.0
 * vectorize: makes the iterations of a loop the lanes of vector operations. */
#include "schedule/sch.h"

#define VECTORIZE_SIG(F, S) F(S, IN, LOOP, loop, REQ, "the loop")

PRIM_DEFINE(
    vectorize, VECTORIZE_SIG,
    .summary = "Run the iterations of a loop as lanes of vectors.",
    .rewrite = "for i in e: S   ->   vectorized i in e: S",
    .details =
        "1. The extent is a constant.\n"
        "2. The iters that the loop drives, in all blocks below, are spatial.\n"
        "3. No two iterations conflict on an element, but\n"
        "   in buffers private to an iteration; nor do bounds and\n"
        "   predicates read what other iterations write.\n"
        "4. Below it are only loops and blocks, and conditions on indices.\n"
        "5. The loop is neither parallel nor bound, which would be lost.\n"
        "A loop of one iteration may always be vectorized.\n",
    .refusals = SCH_REASONS(SCH_R_LOOP_KIND, SCH_R_NOT_STATIC,
                            SCH_RACE_REASONS),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:vectorize(j)\n");

static bool vectorize_apply(sch_state *s, struct vectorize_args *a) {
  int64_t extent;
  if (!sch_loop_takes_kind(s, a->loop, IR_VECTORIZED)) return false;
  if (!ir_const_int(s->p, ir_st(s->p, a->loop)->extent, &extent))
    return sch_refuse(s, SCH_R_NOT_STATIC, .s = {a->loop});
  if (!sch_iterations_free(s, a->loop, -1, 0, NULL)) return false;
  sch_set_loop_kind(s, a->loop, IR_VECTORIZED, 0);
  return true;
}
