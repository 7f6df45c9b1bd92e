/* SPDX-License-Identifier: Apache-2.0
 * guard_same: asserts at replay that two variables refer to the same loop or
 * block, or to two, as they did when a sketch was written. */
#include "schedule/sig.h"

#define GUARD_SAME_SIG(F, S)                                       \
  F(S, IN, NODE, first, REQ, "what was compared: a loop or block") \
  F(S, IN, NODE, second, REQ, "with another of that kind")         \
  F(S, ATTR, BOOL, same, REQ, "whether they were the same then")

PRIM_DEFINE(
    guard_same, GUARD_SAME_SIG, .flags = SCH_HIDDEN | SCH_TAKES_MARKS,
    .summary = "Require that two variables are the same loop or block, or not.",
    .rewrite = "",
    .details =
        "Recorded when a module compares two loops or blocks (a == b) of "
        "which\n"
        "one was found after something was sampled, because what the module "
        "did\n"
        "next may depend on it: a replay in which the answer is another one "
        "is\n"
        "refused here.\n",
    .refusals = SCH_REASONS(SCH_R_GUARD_SAME_DIFFERS),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "local again = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:guard_same(i, again, true)\n");

static bool guard_same_apply(sch_state *s, struct guard_same_args *a) {
  if ((a->first == a->second) != a->same)
    return sch_refuse(s, SCH_R_GUARD_SAME_DIFFERS,
                      .t = a->same ? "are two, and were one"
                                   : "are one, and were two");
  return true;
}
