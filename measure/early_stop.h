/* SPDX-License-Identifier: Apache-2.0
 * When the timing of a kernel may stop early: what the first samples say of its
 * time on this machine, learnt from the kernels of a task that were sampled
 * whole. */
#ifndef MEASURE_EARLY_STOP_H
#define MEASURE_EARLY_STOP_H

#include "measure/timing.h"

enum { EARLY_STOP_KEPT = 32 };

typedef struct early_stop {
  uint32_t n; /* kernels so far, of which the last EARLY_STOP_KEPT are kept */
  /* By which share of the median the least of so many samples was above it;
   * NAN: not known. */
  double above[EARLY_STOP_KEPT][TIMING_STEPS];
} early_stop;

/* A kernel was sampled whole. */
void early_stop_learn(early_stop *r, const measure_result *whole);
/* How far above the best's time a kernel as fast as the best may seem: as far
 * as those before it did, and at most `most` of one sample, half of that of
 * two, a third of three..., which is also what holds while few are known. */
timing_margins early_stop_margins(const early_stop *r, double most);

#endif
