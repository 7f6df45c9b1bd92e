/* SPDX-License-Identifier: Apache-2.0
 * Fuses two loops of which the second needs an extreme that the first finds:
 * sums of the second are scaled whenever the extreme changes. */
#ifndef SCHEDULE_REWRITE_ROLLING_UPDATE_H
#define SCHEDULE_REWRITE_ROLLING_UPDATE_H

#include "schedule/analysis/scaling.h"
#include "schedule/rewrite/init.h"

/* An extreme that is found: a reduction of the first loop. */
typedef struct sch_extreme {
  ir_stmt block;
  ir_buf buf, run; /* run: what it was in the last iteration, always finite */
  ir_span idx;
  ir_expr least; /* what it begins with, made finite */
  bool clamped;  /* it may be infinite */
  sch_init nest;
} sch_extreme;

/* A sum of the second loop that scales. */
typedef struct sch_rolled {
  ir_stmt block;
  ir_buf buf;
  ir_span idx;
  ir_expr exponent; /* over the iters of the block */
  sch_init nest;
} sch_rolled;

typedef struct sch_rolling {
  sch_state *s;
  ir_stmt first, second; /* the loops */
  uint32_t nextreme, nsum;
  sch_extreme *extreme;
  sch_rolled *sum;
} sch_rolling;

/* Once all is checked, and the second loop counts by the variable of the
 * first. */
void sch_rolling_make(sch_rolling *w);

#endif
