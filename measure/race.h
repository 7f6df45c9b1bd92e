/* SPDX-License-Identifier: Apache-2.0
 * What the first samples say of a kernel's time on this machine, learnt from
 * the kernels of a task that were sampled whole. */
#ifndef MEASURE_RACE_H
#define MEASURE_RACE_H

#include "measure/timing.h"

enum { RACE_KEPT = 32 };

typedef struct race {
  uint32_t n; /* kernels so far, of which the last RACE_KEPT are kept */
  double above[RACE_KEPT][TIMING_STEPS]; /* by which share of the median the
                                          * least of so many samples was above
                                          * it; NAN: not known */
} race;

/* A kernel was sampled whole. */
void race_learn(race *r, const measure_result *whole);
/* How far above the best's time a kernel as fast as the best may seem: as far
 * as those before it did, and at most `most` of one sample, half of that of
 * two, a third of three..., which is also what holds while few are known. */
timing_margins race_margins(const race *r, double most);

#endif
