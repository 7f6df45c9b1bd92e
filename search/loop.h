/* SPDX-License-Identifier: Apache-2.0
 * One run of the search loop: what the loop itself (tune.c), its dealings
 * with the database (records.c) and the end of the run (finals.c) share. */
#ifndef SEARCH_LOOP_H
#define SEARCH_LOOP_H

#include "search/tune.h"

#define TUNE_FINALISTS 4       /* that meet again */

enum {
  TUNE_CLASSES = 0             /* of results */
#define STATUS(name, value, text) + 1
#include <tessera/status.def>
#undef STATUS
};

typedef struct finalist {
  uint32_t trial;              /* index in the session's history */
  double seconds;
  strbuf code;
} finalist;

typedef struct tune {
  const tune_setup *set;
  tess_context *c;
  const vm_trace **sketch;
  uint64_t *sketch_hash;
  tess_session s;
  tess_strategy strategy;
  tess_cost_model model;
  database *db;
  database_key key;
  finalist best[TUNE_FINALISTS]; /* best first */
  uint32_t nbest, failed, trials, before, empty;
  uint32_t outdated;           /* records of what is another program now */
  uint32_t damaged;            /* and those that cannot be read */
  uint32_t count[TUNE_CLASSES];/* results of this run by class */
  char *said[TUNE_CLASSES];    /* the first message of each */
  double best_seconds;         /* of what was compared; 0: nothing was */
  double started;
  tune_ledger time;
  tess_result *r;
  strbuf line;
  tess_status ended;           /* why it ended: OK, CANCELLED, ... */
  bool late;                   /* since the deadline had passed */
  search_outcome *out;         /* of the batch at work */
  tess_candidate *proposed;
  uint32_t batch, first;       /* its size; trial number of its first */
} tune;

/* Ends the run if it was asked to, or its deadline has passed. */
void tune_heed_stop(tune *t);
/* What was compared with the reference took so long. */
void tune_note_best(tune *t, double seconds);
/* A result of this run, by its class, the first message of which is kept for
 * the funnel. */
tess_status tune_count_result(tune *t, const search_outcome *o);
/* One more trial is done: counts it, and the best so far becomes the curve's
 * next point. */
tess_status tune_count_trial(tune *t);

/* ---- records (records.c) ------------------------------------------------ */

/* Opens the database, where the options name one, and takes what earlier runs
 * found. */
tess_status tune_open_database(tune *t);
/* Stores candidate i of the batch at work. */
tess_status tune_store(tune *t, uint32_t i);
/* What comparing a candidate of the history said becomes part of its record. */
tess_status tune_store_compared(tune *t, uint32_t trial,
                                const search_outcome *o);
/* A sketch's trace with a candidate's decisions. */
tess_status tune_decided(tune *t, uint32_t sketch, uint32_t n,
                         const int64_t *d, tess_trace **out);

/* ---- the end (finals.c) ------------------------------------------------- */

/* A failure in the middle (a full disk, no memory) ends the run, which gives
 * what it found until then: the first one goes into the result. */
void tune_break_off(tune *t, tess_status s);

/* A candidate that ran enters the finals if it is among the best few, whose
 * code is kept; takes the code then. */
void tune_enter_finals(tune *t, uint32_t trial, search_outcome *o);
/* The best few meet again, and the winner goes into the result. */
tess_status tune_fill_result(tune *t);
double tune_gflops(const tune *t, double seconds);

#endif
