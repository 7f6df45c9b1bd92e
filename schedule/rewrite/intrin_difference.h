/* SPDX-License-Identifier: Apache-2.0
 * What a block has otherwise than the description of a tensor intrinsic. */
#ifndef SCHEDULE_REWRITE_INTRIN_DIFFERENCE_H
#define SCHEDULE_REWRITE_INTRIN_DIFFERENCE_H

#include "schedule/sch.h"

/* What the two numbers of a difference are. */
typedef enum intrin_values {
  INTRIN_NO_VALUES,
  INTRIN_EXPRS,
  INTRIN_EXPR_TYPES,   /* of expressions */
  INTRIN_OPERATORS,    /* expressions, of other operators */
  INTRIN_BUFFER_TYPES,
  INTRIN_BUFFER_DIMS,
  INTRIN_BUFFER_SCOPES,
  INTRIN_BUFFERS,
  INTRIN_COUNTS,
  INTRIN_LOOP_KINDS,   /* statements */
  INTRIN_ITER_KINDS,   /* ir_iter_kind */
  INTRIN_STATEMENTS
} intrin_values;

typedef struct intrin_difference {
  const char *what;    /* NULL: none */
  ir_stmt where;
  intrin_values values;
  uint32_t described, found;
} intrin_difference;

/* Writes `"NAME": WHAT is .. in the description and .. in the block`; desc is
 * the function NAME.desc. */
void intrin_print_difference(const ir_program *p, uint32_t desc,
                             const intrin_difference *x, char *out, size_t n);

#endif
