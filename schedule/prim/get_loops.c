/* SPDX-License-Identifier: Apache-2.0
 * get_loops: the loops around a block in its scope, outer first. */
#include "schedule/sch.h"

#define GET_LOOPS_SIG(F, S)                \
  F(S, IN, BLOCK, block, REQ, "the block") \
  F(S, OUT, LOOPS, loops, REQ, "the loops around it, outer first")

PRIM_DEFINE(get_loops, GET_LOOPS_SIG, .flags = SCH_PURE,
            .summary = "Get the loops around a block, outer first.",
            .rewrite = "",
            .details = "Goes up to the block that it is in, and not further.\n",
            .refusals = (const uint16_t[]){0},
            .example = "local b = sch:get_block(\"C\")\n"
                       "local i, j = sch:get_loops(b)\n");

static bool get_loops_apply(sch_state *s, struct get_loops_args *a) {
  a->loops = sch_loops_of(s, a->block);
  return true;
}
