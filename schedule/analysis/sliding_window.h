/* SPDX-License-Identifier: Apache-2.0
 * Sliding windows of a buffer, shifted by a loop around the producer. */
#ifndef SCHEDULE_ANALYSIS_SLIDING_WINDOW_H
#define SCHEDULE_ANALYSIS_SLIDING_WINDOW_H

#include "ir/edit.h"
#include "schedule/sch.h"

/* One dimension of the buffer is written at s(t) + a + others, where t is the
 * variable of `loop`, s grows by at most `step` from one iteration to the next
 * and never falls, and a runs from 0 below `size` in a loop further in. */
typedef struct sch_slide {
  ir_stmt loop, window; /* the loop of a */
  uint32_t dim;
  ir_expr index; /* over the loops */
  int64_t size, step;
} sch_slide;

/* Does the block's region `write` move so with the loop, and nothing else of
 * the block follow it?  Then what the block does at an a less than size - step
 * it does in the iteration before, too, at a greater a and with all else the
 * same.  Only loops may be between the two. */
bool sch_find_slide(sch_state *s, ir_stmt block, ir_region write, ir_stmt loop,
                    sch_slide *out);

#endif
