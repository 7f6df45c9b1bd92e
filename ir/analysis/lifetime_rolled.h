/* SPDX-License-Identifier: Apache-2.0
 * Buffers that a block fills in the first iteration of a loop and updates, part
 * by part, in the others, as made by rolling_buffer. */
#ifndef IR_ANALYSIS_LIFETIME_ROLLED_H
#define IR_ANALYSIS_LIFETIME_ROLLED_H

#include "ir/ir.h"

/* `lca` is the innermost statement around writer w and the later reader r,
 * `loop` that or a loop around it.  Are the iterations of the loop serial, and
 * must w in the first one, each time that it runs at lca, write all that r
 * reads at the same iterations of the loops in between in any iteration? */
bool ir_fills_in_first_iteration(ir_program *p, arena *scratch, ir_buf b,
                                 ir_stmt w, ir_stmt r, ir_stmt lca,
                                 ir_stmt loop);

#endif
