/* SPDX-License-Identifier: Apache-2.0
 * Runs of the search loop over a measurer that gives recorded times, and
 * their databases. */
#ifndef SUPPORT_RECORDED_H
#define SUPPORT_RECORDED_H

#include "search/run/tune.h"
#include "support/test.h"
#include "support/tiled.h"

/* Evolution, of what a checked build does in a second. */
#if TEST_CHECKED
#define EVOLUTIONARY "evolutionary:population_size=64,genetic_num_iters=2"
#else
#define EVOLUTIONARY "evolutionary"
#endif

/* A run over these sketches with a measurer of one's own, and its options. */
tune_setup recorded_setup(const tiled *t, const tess_tune_options *o,
                          const search_measurer *m);
tess_tune_options recorded_options(const char *strategy, uint32_t trials,
                                   uint64_t seed);
/* Of a measurer whose times are the same at once. */
tess_status recorded_rematch(void *ud, uint32_t n, const strbuf *const *code,
                             double *seconds);

typedef struct recorded {
  uint64_t order[4096];      /* hashes in the order of measuring */
  uint32_t n;
  uint32_t fail_every;       /* each k-th candidate fails; 0: none */
  tess_status fail_with;
  tess_status later;         /* of what is compared afterwards */
  uint32_t compared;         /* what was */
  uint64_t odd;              /* a candidate that takes odd_time; 0: none */
  double odd_time;
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
  bool timed;                /* as if a machine measured: there is a draft */
} recorded_run;

void recorded_start(recorded_run *f);
void recorded_start_with(recorded_run *f, const tess_options *options);
void recorded_end(recorded_run *f);
tess_status recorded_tune(recorded_run *f, tess_result **out);
/* The hash of the draft of such a run. */
uint64_t recorded_draft(recorded_run *f);

/* A path for a database of this process, where there is none yet. */
void recorded_database(char *path, size_t n);
void recorded_remove(const char *path);
/* How many records there are of which this, in SQL, holds. */
int recorded_count(const char *path, const char *what);
/* Runs a statement. */
void recorded_change(const char *path, const char *sql);

/* The number that the line of the text with `what` begins with; 0: none has. */
long recorded_line(const char *text, const char *what);
/* A progress function: stops at the first trial after *ud, a uint32_t. */
int recorded_stop(void *ud, const tess_progress *p);
/* A run that is so stopped. */
tess_result_info recorded_until(recorded_run *f, uint32_t limit,
                                tess_result **r);

#endif
