/* SPDX-License-Identifier: Apache-2.0
 * Whether each element that is read was written by an instance that its own
 * coordinates name. */
#ifndef IR_ANALYSIS_LIFETIME_POINTWISE_H
#define IR_ANALYSIS_LIFETIME_POINTWISE_H

#include "ir/ir.h"

/* `lca` is the innermost statement around writer w and the later reader r.  In
 * one iteration of it, does each access of region `used`, by an instance of r,
 * have an instance of w that runs and writes the same element?  Both regions
 * are of one element, and w writes it unconditionally. */
bool ir_covers_pointwise(ir_program *p, arena *scratch, ir_stmt w,
                         ir_region made, ir_stmt r, ir_region used,
                         ir_stmt lca);

#endif
