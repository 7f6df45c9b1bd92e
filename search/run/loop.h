/* SPDX-License-Identifier: Apache-2.0
 * The state of one tuning run, shared by the loop (tune.c), the database's
 * records (records.c) and the finals (finals.c). */
#ifndef SEARCH_RUN_LOOP_H
#define SEARCH_RUN_LOOP_H

#include "search/run/tune.h"

#define TUNE_FINALISTS 4 /* candidates that are timed again */

enum {
  TUNE_CLASSES = 0 /* of results, a status each */
#define STATUS(name, value, text) +1
#include <tessera/status.def>
#undef STATUS
};

typedef struct finalist {
  uint32_t trial; /* index in the session's history */
  double seconds;
  strbuf code;
  bool recalled; /* from before the run was broken off: it has no code */
} finalist;

/* A stored result of this very run, from before it was broken off. */
typedef struct tune_past {
  search_trial trial;
  uint32_t round, slot, order; /* order: of storing */
  const char *message;         /* NULL: none */
} tune_past;

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
  int64_t flops;                /* of the program; counting may take long */
  uint32_t outdated;            /* records whose trace gives another program */
  uint32_t damaged;             /* records that cannot be read */
  uint32_t count[TUNE_CLASSES]; /* results of this run by class */
  char *message[TUNE_CLASSES];  /* the first of each class */
  tess_status first_failure;    /* its class; TESS_OK: none failed yet */
  double best_seconds;          /* of checked results; 0: there are none */
  double unscheduled;           /* seconds; 0: not known */
  double started;
  tune_ledger time;
  measure_ledger spent; /* by the pool for this run */
  tess_status search;   /* how the search has gone so far */
  tess_result *r;
  strbuf line;
  tess_status ended;   /* why it ended: OK, CANCELLED, ... */
  bool late;           /* the deadline ended it */
  search_trial *trial; /* the batch at work: first those that are measured, */
  search_outcome *out; /*   what came of these, */
  search_trial *equal; /*   then those of programs that are measured; */
  uint32_t nequal;     /*   how many there are of them, */
  uint32_t idle;       /*   and since something was to measure */
  tess_candidate *view; /* of the batch, for strategies, models and hosts */
  uint32_t batch, handled; /* its size; results handled so far */
  uint32_t nquality;       /* of the model's, stored */
  database_run_row run;
  uint32_t round, recalled; /* batches so far; trials that were stored */
  uint32_t first;           /* of the batch, that is measured */
  bool recalling;           /* stored results are being learned */
  bool past_lost;           /* not all of its results can be read */
  VEC(tune_past) past;      /* by round and slot */
  uint32_t past_at;
  VEC(search_cand) lent; /* decisions of other targets' or policies' records */
  uint32_t lent_at;      /* that are proposed next */
  double *predicted; /* of the batch, by the model; NAN: it knew nothing */
} tune;

/* ---- steps (tune.c) ----------------------------------------------------- */

/* Opens strategy, model and database, and observes earlier runs.  tune_end
 * follows, whatever this and the others return. */
tess_status tune_begin(tune *t, const tune_setup *setup);
/* One batch; false: the search has ended, `search` says how. */
bool tune_advance(tune *t);
/* Takes the deadline's alarm away, so that it does not disturb the finals. */
void tune_end_search(tune *t);
/* The finals; fills the result. */
tess_status tune_conclude(tune *t);
/* Frees the run; s: what the step before returned.  *out NULL unless OK. */
void tune_end(tune *t, tess_status s, tess_result **out);

/* Sets `ended` after tess_stop or when the deadline has passed. */
void tune_check_stop(tune *t);
/* Updates best_seconds with the time of a checked result. */
void tune_note_best(tune *t, double seconds);
/* Counts a result of this run by class and keeps the class's first message for
 * the funnel. */
tess_status tune_count_result(tune *t, const search_outcome *o);
/* Counts a trial and appends the best time so far to the curve. */
tess_status tune_count_trial(tune *t);

/* ---- equal programs (equal.c) ------------------------------------------- */

/* Sets apart those of the *n trials whose program was measured, or is that of
 * another one of them: they are t->equal then. */
void tune_part_equal(tune *t, uint32_t *n);
/* These learn the results, and follow the first *n of t->trial. */
tess_status tune_learn_equal(tune *t, uint32_t *n);

/* ---- records (records.c) ------------------------------------------------ */

/* Opens the database, where the options name one, and restores the history
 * from the records of earlier runs. */
tess_status tune_open_database(tune *t);
/* Stores the result of candidate i of the current batch. */
tess_status tune_store(tune *t, uint32_t i);
/* Updates the record of a candidate that was compared after it was stored. */
tess_status tune_store_compared(tune *t, uint32_t trial,
                                const search_outcome *o);
/* Stores how well the cost model predicted the batches since the last call. */
tess_status tune_store_quality(tune *t);
/* The trace of a trial, with its decisions, of its own. */
tess_status tune_decided(tune *t, search_trial trial, tess_trace **out);

/* Finds this workload's records of other targets or policies, whose decisions
 * are proposed before those of a built-in strategy (remeasure.c). */
tess_status tune_find_lent(tune *t);
/* Up to n of them as t->trial; *got 0: there are no more. */
tess_status tune_propose_lent(tune *t, uint32_t n, uint32_t *got);
/* Teaches the model what the database holds of other workloads, and gives the
 * session hints (transfer.c). */
tess_status tune_transfer(tune *t);

/* ---- taking a run up again (resume.c) ----------------------------------- */

/* Finds the run in the database that is this one, or makes it. */
tess_status tune_begin_run(tune *t);
tess_status tune_keep_past(tune *t, const database_record *r,
                           const search_trial *trial);
/* Enters a trial of an earlier run, or of this one, into the history. */
tess_status tune_learn_past(tune *t, const search_trial *x);
void tune_sort_past(tune *t);
/* Whether there are stored results of this run left; then, whether the n
 * proposals are those that were stored. */
bool tune_recalls(const tune *t);
bool tune_matches_past(const tune *t, uint32_t n);
/* Learns the stored results of the batch: of its first *known candidates. */
tess_status tune_recall(tune *t, uint32_t n, uint32_t *known);
tess_status tune_give_up_past(tune *t);
double tune_elapsed(const tune *t); /* seconds, over all parts of the run */
tess_status tune_store_run(tune *t, const char *ended);
/* Enters the result of candidate i of the batch into the funnel, the session's
 * history and the finals, and extends the curve. */
tess_status tune_learn_result(tune *t, uint32_t i, search_outcome *o);

/* ---- finals (finals.c) -------------------------------------------------- */

/* Records the failure (a full disk, no memory) that ends the run, which still
 * gives the best so far; the first one counts. */
void tune_abort(tune *t, tess_status s);

/* Makes a successful candidate a finalist if it is among the fastest, and then
 * takes its code over. */
void tune_enter_finals(tune *t, uint32_t trial, search_outcome *o);
/* Runs the finals and fills the result. */
tess_status tune_fill_result(tune *t);
/* 0: of no valid candidate, or of a program whose operations are not known. */
double tune_gflops(const tune *t, double seconds);

#endif
