/* SPDX-License-Identifier: Apache-2.0
 * Buffers that a block fills in the first iteration of a loop and renews, part
 * by part, in the others, as rolling_buffer makes them. */
#ifndef IR_LOWER_HOME_ROLLED_H
#define IR_LOWER_HOME_ROLLED_H

#include "ir/ir.h"

/* `meet` is the innermost statement around writer w and the reader r behind
 * it.  Is it a loop whose iterations run in order, in the first of which w
 * writes all that r reads in any? */
bool lower_fills_first(ir_program *p, arena *scratch, ir_buf b, ir_stmt w,
                       ir_stmt r, ir_stmt meet);

#endif
