/* SPDX-License-Identifier: Apache-2.0
 * Rejects vectorized loops of more than 1024 lanes, which take LLVM seconds and
 * gain nothing: lowering cuts them, but the cut is better made by a schedule.
 */
#include "search/postproc/check.h"

#define MAX_LANES 1024

static bool has_few_lanes(sch_state *s, const ir_program *given,
                          const char **why, int64_t *number) {
  (void)given;
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt t = root; t; t = ir_next(p, t, root)) {
    int64_t extent;
    if (!ir_is_loop(p, t) || ir_st(p, t)->loop_kind != IR_VECTORIZED ||
        !ir_const_int(p, ir_st(p, t)->extent, &extent) || extent <= MAX_LANES)
      continue;
    *why = "a vectorised loop has more than 1024 lanes";
    *number = extent;
    return false;
  }
  return true;
}

const search_postproc postproc_vector_lanes = {"vector_lanes", has_few_lanes};
