/* SPDX-License-Identifier: Apache-2.0
 * Values that scale when a running extreme changes: e^(x - m) for another m is
 * that times a power of e, and so are sums of such (Milakov and Gimelshein,
 * "Online normalizer calculation for softmax", 2018). */
#ifndef SCHEDULE_ANALYSIS_SCALING_H
#define SCHEDULE_ANALYSIS_SCALING_H

#include "schedule/sch.h"

/* An extreme is a maximum or minimum of which an iteration of a loop has found
 * a part. */
enum { SCH_RUNNING_MAX = 1, SCH_RUNNING_MIN = 2 };

typedef struct sch_scaling {
  sch_state *s;
  const uint8_t *running; /* by buffer: of which kind it is; 0: no extreme */
  /* By buffer that holds values which depend on extremes: the block that
   * makes it, 0: it holds none; where in the buffer a value goes and its
   * exponent, over the iters of that block. */
  ir_stmt *maker;
  ir_span *at;
  ir_expr *exponent;
} sch_scaling;

void sch_scaling_init(sch_scaling *x, sch_state *s, const uint8_t *running);
/* The exponent *h of what the block, over its iters, computes as e: a sum of
 * extremes and their opposites, such that e / exp(*h) is independent of
 * extremes; 0: e is.  An extreme that is a maximum is in it negatively and a
 * minimum positively, so that factors stay at or below 1.  false: refused. */
bool sch_scaling_of(sch_scaling *x, ir_stmt block, ir_expr e, ir_expr *h);
/* `buf`, which `maker` stores to at idx, has values with exponent h. */
void sch_scaling_note(sch_scaling *x, ir_stmt maker, ir_buf buf, ir_span idx,
                      ir_expr h);

#define SCH_SCALING_REASONS SCH_R_SCALES_NOT, SCH_R_SCALES_UP

#endif
