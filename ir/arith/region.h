/* SPDX-License-Identifier: Apache-2.0
 * Extents of regions: shared by region.c and the analyses of accesses. */
#ifndef IR_ARITH_REGION_H
#define IR_ARITH_REGION_H

#include "ir/arith/linear.h"
#include "ir/edit.h"

/* max - min + 1, folded if its range is one value. */
ir_expr arith_extent_of(ir_program *p, ir_expr min, ir_expr max);

#endif
