/* SPDX-License-Identifier: Apache-2.0
 * knob: names a value of the schedule, for people. */
#include "schedule/sch.h"

#define KNOB_SIG(F, S)                                                         \
  F(S, ATTR, STR, name, REQ, "what it is called")                              \
  F(S, IN, VALUE, value, REQ,                                                  \
    "the value: a bool, a number, a text, a sampled integer or an expression " \
    "of such, or a list or dictionary of these")

PRIM_DEFINE(
    knob, KNOB_SIG, .flags = SCH_PURE | SCH_REMARK,
    .summary = "Name what was sampled or chosen.", .rewrite = "",
    .details =
        "1. The name is not empty.\n"
        "The program stays as it is, and so do the hash of the trace and what\n"
        "it equals. trace:params() gives the values by their names, those of\n"
        "sampled integers as they were decided; of two values of one name the\n"
        "later counts.\n",
    .refusals = SCH_REASONS(SCH_R_NAME_EMPTY),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "local i0, i1 = sch:sample_perfect_tile(i, { n = 2 })\n"
               "sch:split(i, { i0, i1 })\n"
               "sch:knob(\"tile_i\", { i0, i1 })\n");

static bool knob_apply(sch_state *s, struct knob_args *a) {
  return *a->name || sch_refuse(s, SCH_R_NAME_EMPTY);
}
