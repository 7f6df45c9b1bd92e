/* SPDX-License-Identifier: Apache-2.0
 * guard: asserts at replay that a sampled value is the one a sketch was
 * written for. */
#include "schedule/sig.h"

#define GUARD_SIG(F, S)                                          \
  F(S, IN, EXPR, var, REQ, "what was read: an integer variable") \
  F(S, ATTR, INT, value, REQ, "what it was then")

PRIM_DEFINE(
    guard, GUARD_SIG, .flags = SCH_HIDDEN,
    .summary = "Require that a variable has the value it had when it was read.",
    .rewrite = "",
    .details =
        "Recorded when a module reads a sampled variable (sch:get), because "
        "what\n"
        "the module did next may depend on it: another decision would need\n"
        "another trace, so a replay in which the value differs is refused "
        "here.\n",
    .refusals = SCH_REASONS(SCH_R_GUARD_DIFFERS),
    .example = "local u = sch:sample_categorical({ 0, 16 }, { 0.5, 0.5 },\n"
               "                                 { decision = 1 })\n"
               "sch:guard(u, 16)\n");

static bool guard_apply(sch_state *s, struct guard_args *a) {
  if (a->var != a->value)
    return sch_refuse(s, SCH_R_GUARD_DIFFERS, .n = {a->var, a->value});
  return true;
}
