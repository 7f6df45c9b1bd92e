/* SPDX-License-Identifier: Apache-2.0
 * Buffers that a block fills in the first iteration of a loop and renews, part
 * by part, in the others, as rolling_buffer makes them. */
#ifndef IR_ANALYSIS_LIFETIME_ROLLED_H
#define IR_ANALYSIS_LIFETIME_ROLLED_H

#include "ir/ir.h"

/* `meet` is the innermost statement around writer w and the reader r behind
 * it, `loop` that or a loop around it.  Do the iterations of the loop run in
 * order, and in the first one, each time that w runs at meet, does it write all
 * that r reads at the same iterations of what is between in any? */
bool ir_fills_in_first_iteration(ir_program *p, arena *scratch, ir_buf b,
                                 ir_stmt w,
                       ir_stmt r, ir_stmt meet, ir_stmt loop);

#endif
