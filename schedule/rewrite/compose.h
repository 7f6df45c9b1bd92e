/* SPDX-License-Identifier: Apache-2.0
 * Composite primitives: a postprocessor is applied as a sequence of primitives,
 * with their checks, over the same state.
 *
 * A step that is refused leaves the program as it was before that step.  A
 * composite that is refused after some of its steps leaves it to the machine to
 * roll back (a replay gives its program up, a schedule has a checkpoint). */
#ifndef SCHEDULE_COMPOSE_H
#define SCHEDULE_COMPOSE_H

#include "schedule/sch.h"

bool sch_do_fuse(sch_state *s, uint32_t n, const ir_stmt *loops,
                 ir_stmt *fused);
/* `made`: n loops, outer first; a factor may be SCH_AUTO. */
bool sch_do_split(sch_state *s, ir_stmt loop, uint32_t n,
                  const int64_t *factors, ir_stmt *made);
bool sch_do_reorder(sch_state *s, uint32_t n, const ir_stmt *loops);
bool sch_do_bind(sch_state *s, ir_stmt loop, const char *axis);
bool sch_do_vectorize(sch_state *s, ir_stmt loop);
bool sch_do_parallel(sch_state *s, ir_stmt loop);
bool sch_do_add_unit_loop(sch_state *s, ir_stmt at, ir_stmt *loop);
bool sch_do_decompose_reduction(sch_state *s, ir_stmt block, ir_stmt loop,
                                ir_stmt *init);
bool sch_do_tensorize(sch_state *s, ir_stmt block, const char *intrin);
bool sch_do_transform_layout(sch_state *s, ir_stmt block, uint32_t read,
                             sch_map map);

/* Turns the refusal of a step into one of the composite, at a block that is
 * older than its steps.  Gives false. */
bool sch_step_refused(sch_state *s, ir_stmt block);

/* ---- what postprocessors ask -------------------------------------------- */

/* The integer annotation of that key; false: there is none. */
bool sch_anno_int(const ir_program *p, ir_stmt st, const char *key,
                  int64_t *value);
const char *sch_anno_text(const ir_program *p, ir_stmt st, const char *key);
/* The outermost thread loop around `st` (or st itself); 0: none. */
ir_stmt sch_kernel_of(const ir_program *p, ir_stmt st);
/* Greatest extent per axis of the loops in `kernel` that are bound to it; 0:
 * there is none.  Blocks that a warp runs make threadIdx.x a whole warp. */
void sch_thread_extents(const ir_program *p, ir_stmt kernel,
                        int64_t extent[IR_THREAD_COUNT]);
/* The blocks in program order that hold no other blocks; in scratch. */
sch_list sch_leaf_blocks(sch_state *s);

#endif
