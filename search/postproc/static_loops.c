/* SPDX-License-Identifier: Apache-2.0
 * Rejects schedules that introduce a loop of non-constant extent. */
#include "search/postproc/check.h"

/* The first loop whose extent is not a constant; 0: all are. */
static ir_stmt dynamic_loop(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt t = root; t; t = ir_next(p, t, root)) {
    int64_t extent;
    if (ir_is_loop(p, t) && !ir_const_int(p, ir_st(p, t)->extent, &extent))
      return t;
  }
  return 0;
}

static bool has_static_loops(sch_state *s, const ir_program *given,
                             const char **why, int64_t *number) {
  ir_stmt loop = dynamic_loop(s->p);
  if (!loop || dynamic_loop(given)) return true;
  *why = "a loop's extent is not a constant";
  *number = loop;
  return false;
}

const search_postproc postproc_static_loops = {"static_loops",
                                               has_static_loops};
