/* SPDX-License-Identifier: Apache-2.0
 * The clock that everything here is timed by. */
#ifndef MEASURE_CLOCK_H
#define MEASURE_CLOCK_H

#include <time.h>

/* Seconds since some moment; never goes back. */
static inline double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
