/* SPDX-License-Identifier: Apache-2.0
 * Rolled (circular) buffers, as rolling_buffer makes them. */
#ifndef SCHEDULE_ANALYSIS_ROLLED_H
#define SCHEDULE_ANALYSIS_ROLLED_H

#include "schedule/sch.h"

/* The writer runs where a is less than `from` in the first iteration of the
 * loop only; a is the variable of `window`. */
typedef struct sch_skip {
  ir_stmt loop, window;
  int64_t from;
} sch_skip;

enum { SCH_MOST_SKIPS = 8 };
typedef struct sch_rolled {
  ir_stmt writer;
  ir_buf buf;
  int64_t size; /* after so many it wraps around, 0: it does not, */
  uint32_t dim; /* in this dimension */
  uint32_t n;
  sch_skip skip[SCH_MOST_SKIPS];
} sch_rolled;

/* Lets the only writer of `buf` in the scope write all of each window again,
 * and makes the buffer so long that none need share elements; what was undone
 * is *out.  false: it does not look rolled, or not all of this can be undone;
 * the program is then half changed. */
bool sch_straighten(sch_state *s, ir_stmt scope, ir_buf buf, sch_rolled *out);

#endif
