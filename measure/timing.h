/* SPDX-License-Identifier: Apache-2.0
 * Samples of run times, of several kernels interleaved. */
#ifndef MEASURE_TIMING_H
#define MEASURE_TIMING_H

#include "base/vec.h"
#include "measure/measure.h"

/* Runs it `runs` times; false: it failed. */
typedef struct timing_subject {
  bool (*run)(void *ud, uint64_t runs, double *seconds);
  void *ud;
  double estimate; /* seconds of a run, > 0 */
  bool alone;      /* one run a sample */
} timing_subject;

/* By which share the least of what is known of a kernel may be above the best's
 * time: [0] of its first launch, [k] of k samples; of more the last, in
 * proportion.  0: by any. */
enum { TIMING_STEPS = 8 };
typedef struct timing_margins {
  double v[TIMING_STEPS];
} timing_margins;

typedef struct timing_limits {
  double min_time;  /* of all samples together, at least; but subjects that
                     * are `alone` end at 10,000 samples */
  uint32_t repeats; /* samples, at least */
  double deadline;  /* clock_now() after which none is begun */
  double best;      /* seconds of a run that one must come near to be sampled
                     * on, by `margin`; 0: all are */
  timing_margins margin;
} timing_limits;

/* A run that lasts that long is not much longer for being the first: the
 * tensors are where the candidate before left them, the code and the threads
 * are not. */
#define TIMING_LONG 2e-3

/* How long the least of a kernel's n samples, 0: its first launch, may take
 * where it can well be the best: the more there are the less the least of them
 * is above what a run takes, so the nearer to the best it must be. */
double timing_longest(const timing_limits *l, uint32_t n);
bool timing_is_beaten(const timing_limits *l, uint32_t n, double least);

enum { TIMING_MAX = 64 }; /* subjects at once */

/* Adds samples to each out[i] (its sample and runs), round-robin over all n <=
 * TIMING_MAX subjects, until every one has enough; false: one failed. */
bool timing_take(mem_heap *heap, const timing_limits *l, uint32_t n,
                 const timing_subject *s, measure_result *const *out);
/* From the samples, of which there is at least one. */
void timing_summarize(mem_heap *heap, measure_result *r);

#endif
