/* SPDX-License-Identifier: Apache-2.0
 * Indices of windows: sums of multiples of iters. */
#ifndef SCHEDULE_ANALYSIS_WINDOW_H
#define SCHEDULE_ANALYSIS_WINDOW_H

#include "ir/query.h"
#include "schedule/sch.h"

/* The index takes values step * u of u from 0 below `old`, all of them unless
 * there are holes, and of some below `now` when the iters are longer. */
typedef struct sch_window {
  int64_t old, now, step;
  bool holes;
} sch_window;

/* Is the index a sum of positive multiples of some of these n iters, from 0?
 * to[i] is the new extent of iter i, 0: it stays; in the sum none but spatial
 * ones change. */
bool sch_window_of(const ir_program *p, ir_expr index, const ir_iter *it,
                   const ir_expr *to, uint32_t n, sch_window *out);

#endif
