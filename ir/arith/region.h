/* SPDX-License-Identifier: Apache-2.0
 * What region.c and access.c share. */
#ifndef IR_ARITH_REGION_H
#define IR_ARITH_REGION_H

#include "ir/arith/linear.h"
#include "ir/edit.h"

/* max - min + 1, as a constant where it has one value. */
ir_expr arith_extent_of(ir_program *p, ir_expr min, ir_expr max);

#endif
