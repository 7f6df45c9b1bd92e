/* SPDX-License-Identifier: Apache-2.0
 * rfactor: the block of partial results and the one that combines them. */
#ifndef SCHEDULE_REWRITE_RFACTOR_H
#define SCHEDULE_REWRITE_RFACTOR_H

#include "schedule/sch.h"

/* What the block that adds up has no copy of, among a loop's `drives`. */
enum { SCH_RFACTOR_DROPPED = 128 };

typedef struct sch_rfactor {
  sch_state *s;
  ir_stmt block, loop, scope;
  sch_list loops;  /* around the block */
  uint32_t shared; /* the first so many stay around the block and others, which
                    * use its result: the partial ones are made before them */
  uint8_t *drives; /* by variable: bits of kinds of iters, or DROPPED */
  ir_iter *along;  /* by loop: an iter of rf, where `bind` is set */
  uint32_t axis;
  int64_t extent;
  uint32_t nout;  /* results */
  ir_stmt *store; /* of the init, one a result */
  ir_buf *part;   /* their partial results: made here, */
  ir_stmt rf;     /* and so are their block */
  ir_var rf_axis; /* and its iter that numbers them */
} sch_rfactor;

/* What the update of the block combines with its results, one a result; false:
 * it is not written as its reducer is (rfactor_operand.c). */
bool sch_rfactor_operands(const sch_rfactor *w, ir_expr *out);
/* Makes both, once all that may be refused was asked. */
void sch_rfactor_make(sch_rfactor *w);

#endif
