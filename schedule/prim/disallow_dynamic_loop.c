/* SPDX-License-Identifier: Apache-2.0
 * disallow_dynamic_loop: refuses programs with loops of non-constant extent. */
#include "ir/query.h"
#include "schedule/sch.h"

#define DISALLOW_DYNAMIC_LOOP_SIG(F, S)

PRIM_DEFINE(
    disallow_dynamic_loop, DISALLOW_DYNAMIC_LOOP_SIG,
    .summary = "Refuse loops whose extents are no constants.", .rewrite = "",
    .details = "A postprocessor, as MetaSchedule's DisallowDynamicLoop.\n"
               "1. The extents of all loops are constants.\n"
               "The program stays as it is.\n",
    .refusals = SCH_REASONS(SCH_R_LOOP_DYNAMIC),
    .example = "sch:disallow_dynamic_loop()\n");

static bool disallow_dynamic_loop_apply(sch_state *s,
                                        struct disallow_dynamic_loop_args *a) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  (void)a;
  for (ir_stmt t = root; t; t = ir_next(p, t, root)) {
    int64_t extent;
    if (ir_is_loop(p, t) && !ir_const_int(p, ir_st(p, t)->extent, &extent))
      return sch_refuse(s, SCH_R_LOOP_DYNAMIC, .s = {t});
  }
  return true;
}
