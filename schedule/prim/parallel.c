/* SPDX-License-Identifier: Apache-2.0
 * parallel: runs the iterations of a loop on several cores. */
#include "schedule/sch.h"

#define PARALLEL_SIG(F, S) F(S, IN, LOOP, loop, REQ, "the loop")

PRIM_DEFINE(
    parallel, PARALLEL_SIG,
    .summary = "Run the iterations of a loop in parallel.",
    .rewrite = "for i in e: S   ->   parallel i in e: S",
    .details =
        "1. The iters that the loop drives, in all blocks below, are spatial;\n"
        "   or it only determines, by what is in memory, where one that\n"
        "   reduces begins, as the rows of a sparse matrix do.\n"
        "2. No two iterations conflict on an element, but\n"
        "   in buffers private to an iteration; nor do bounds and\n"
        "   predicates read what other iterations write.\n"
        "3. Below it are only loops and blocks, and conditions on indices.\n"
        "4. The loop is neither vectorized nor bound, which would be lost.\n"
        "A loop of one iteration may always be parallel.\n",
    .refusals = SCH_REASONS(SCH_R_LOOP_KIND, SCH_RACE_REASONS),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:parallel(i)\n");

static bool parallel_apply(sch_state *s, struct parallel_args *a) {
  if (!sch_loop_takes_kind(s, a->loop, IR_PARALLEL)) return false;
  if (!sch_iterations_free(s, a->loop, -1, 0, NULL)) return false;
  sch_set_loop_kind(s, a->loop, IR_PARALLEL, 0);
  return true;
}
