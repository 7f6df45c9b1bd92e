/* SPDX-License-Identifier: Apache-2.0
 * Postprocessors: checks on a candidate's replayed program, in the order in
 * which they run. */
#include "search/search.h"

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

/* Rejects schedules that introduce a loop of non-constant extent. */
static bool static_loops(sch_state *s, const ir_program *given,
                         const char **why, int64_t *number) {
  ir_stmt loop = dynamic_loop(s->p);
  if (!loop || dynamic_loop(given)) return true;
  *why = "a loop's extent is not a constant";
  *number = loop;
  return false;
}

/* A vectorised loop of very many lanes takes LLVM seconds and gains
 * nothing: lowering cuts it, but the cut is better made by a schedule. */
#define MAX_LANES 1024
static bool vector_lanes(sch_state *s, const ir_program *given,
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

static const search_postproc all[] = {{"static_loops", static_loops},
                                      {"vector_lanes", vector_lanes}};
const search_postproc *const search_postprocs[] = {&all[0], &all[1]};
const uint32_t search_npostprocs =
    sizeof search_postprocs / sizeof *search_postprocs;
