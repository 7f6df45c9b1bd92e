/* SPDX-License-Identifier: Apache-2.0
 * Runs of the search loop over a measurer that gives recorded times, and
 * their databases. */
#ifndef SUPPORT_RECORDED_H
#define SUPPORT_RECORDED_H

#include "search/tune.h"
#include "support/tiled.h"

typedef struct recorded {
  uint64_t order[4096];      /* hashes in the order of measuring */
  uint32_t n;
  uint32_t fail_every;       /* each k-th candidate fails; 0: none */
  tess_status fail_with;
  tess_status later;         /* of what is compared afterwards */
  uint32_t compared;         /* what was */
  bool delays;
  unsigned chance;
} recorded;

/* A function of the candidate's hash, which is what its code is. */
double recorded_time(uint64_t hash);

typedef struct recorded_run {
  tiled t;
  recorded r;
  search_measurer m;
  tess_tune_options o;
} recorded_run;

void recorded_start(recorded_run *f);
void recorded_start_with(recorded_run *f, const tess_options *options);
void recorded_end(recorded_run *f);
tess_status recorded_tune(recorded_run *f, tess_result **out);

/* A path for a database of this process, where there is none yet. */
void recorded_database(char *path, size_t n);
void recorded_remove(const char *path);

#endif
