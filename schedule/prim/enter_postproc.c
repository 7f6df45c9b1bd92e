/* SPDX-License-Identifier: Apache-2.0
 * enter_postproc: marks where postprocessing begins in a trace. */
#include "schedule/sig.h"

#define ENTER_POSTPROC_SIG(F, S)

PRIM_DEFINE(
    enter_postproc, ENTER_POSTPROC_SIG,
    .summary = "Mark where postprocessing begins.", .rewrite = "",
    .details =
        "What was recorded before it is the candidate that the search "
        "changes;\n"
        "what comes after it is made anew for each candidate, and is cut off\n"
        "when a trace goes back into the search.\n",
    .refusals = (const uint16_t[]){0}, .example = "sch:enter_postproc()\n");

static bool enter_postproc_apply(sch_state *s, struct enter_postproc_args *a) {
  (void)s, (void)a;
  return true;
}
