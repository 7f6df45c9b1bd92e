/* SPDX-License-Identifier: Apache-2.0
 * The state of one tuning run, shared by the loop (tune.c), the database's
 * records (records.c) and the finals (finals.c). */
#ifndef SEARCH_RUN_LOOP_H
#define SEARCH_RUN_LOOP_H

#include "search/run/tune.h"

#define TUNE_FINALISTS 4 /* candidates that are timed again */
#define TUNE_SEATS (TUNE_FINALISTS + 1) /* and the draft */

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

/* The best so far, which are timed again. */
typedef struct tune_best {
  finalist finalist[TUNE_SEATS]; /* best first, and the draft */
  uint32_t n;
  uint64_t draft;              /* hash of its candidate; 0: there is none */
  double seconds;              /* of checked results; 0: there are none */
  double unscheduled;          /* of the unscheduled program; 0: not known */
} tune_best;

typedef struct tune_budget {
  uint32_t limit, trials;      /* trials that there may be; so far */
  uint32_t before, recalled;   /* of them, from earlier runs and, of this one,
                                * from before it was broken off */
  uint32_t failed;
  uint32_t wasted;             /* of them, that were no candidates */
  uint32_t empty, idle;        /* batches in a row without a proposal; proposals
                                * of measured programs */
} tune_budget;

/* Results of this run by class, and the first message of each. */
typedef struct tune_results {
  uint32_t count[TUNE_CLASSES];
  char *message[TUNE_CLASSES];
  tess_status first_failure;   /* its class; TESS_OK: none failed yet */
} tune_results;

typedef struct tune_time {
  double started;
  tune_ledger ledger;
  measure_ledger pool;         /* what its workers spent for this run */
} tune_time;

typedef struct tune_status {
  tess_status search;          /* how the search has gone so far */
  tess_status ended;           /* why it ended: OK, CANCELLED, ... */
  bool late;                   /* the deadline ended it */
} tune_status;

typedef struct tune_batch {
  uint32_t round;              /* batches so far */
  search_trial *trial;         /* first those that are measured, */
  search_outcome *out;         /*   what came of these, */
  search_trial *equal;         /*   then those of programs that are measured; */
  uint32_t nequal;             /*   how many there are of them */
  tess_candidate *view;        /* for strategies, models and hosts */
  double *predicted;           /* by the model; NAN: it knew nothing */
  uint32_t first, handled;     /* that is measured; results handled so far */
} tune_batch;

/* The run in the database. */
typedef struct tune_records {
  database *db;                /* NULL: none */
  database_key key;
  database_run_row run;
  uint32_t outdated;           /* records whose trace gives another program */
  uint32_t damaged;            /* records that cannot be read */
  uint32_t nquality;           /* of the model's, stored */
} tune_records;

/* A stored result of this very run, from before it was broken off. */
typedef struct tune_stored {
  search_trial trial;
  uint32_t round, slot, order; /* order: of storing */
} tune_stored;

typedef struct tune_resume {
  VEC(tune_stored) trial;      /* by round and slot, */
  uint32_t at;                 /*   those from here on are to be learned */
  bool recalling;              /* they are being learned */
  bool lost;                   /* not all of them can be read */
} tune_resume;

/* Decisions of other targets' or policies' records. */
typedef struct tune_foreign {
  VEC(search_cand) c;
  uint32_t at;                 /* that are proposed next */
} tune_foreign;

typedef struct tune {
  const tune_setup *set;
  tess_context *c;
  int64_t flops;               /* of the program; counting may take long */
  const vm_trace **sketch;
  uint64_t *sketch_hash;
  tess_session s;
  tess_strategy strategy;
  tess_cost_model model;
  tess_result *r;
  tune_budget budget;
  tune_batch batch;
  tune_best best;
  tune_results results;
  tune_time time;
  tune_status status;
  tune_records records;
  tune_resume resume;
  tune_foreign foreign;
  strbuf line;                 /* of progress */
} tune;

/* ---- steps (tune.c) ----------------------------------------------------- */

/* Opens strategy, model and database, and observes earlier runs.  tune_end
 * follows, whatever this and the others return. */
tess_status tune_begin(tune *t, const tune_setup *setup);
/* One batch; false: the search has ended, `search` says how. */
bool tune_advance(tune *t);
/* What is taken without measuring, the draft, gets a trial beyond the budget
 * where the run had no batch, but records: it ends no slower than that. */
void tune_add_draft(tune *t);
/* Takes the deadline's alarm away, so that it does not disturb the finals. */
void tune_end_search(tune *t);
/* The finals; fills the result. */
tess_status tune_conclude(tune *t);
/* Frees the run; s: what the step before returned.  *out NULL unless OK. */
void tune_end(tune *t, tess_status s, tess_result **out);

/* Sets `status.ended` after tess_stop or when the deadline has passed. */
void tune_check_stop(tune *t);
/* Updates best.seconds with the time of a checked result. */
void tune_note_best(tune *t, double seconds);
/* Counts a result of this run by class and keeps the class's first message for
 * the funnel. */
tess_status tune_count_result(tune *t, const search_outcome *o);
/* Counts a trial and appends the best time so far to the curve. */
tess_status tune_count_trial(tune *t);

/* ---- progress (progress.c) ---------------------------------------------- */

/* After a trial; non-zero: the run ends. */
int tune_report_trial(tune *t, const search_outcome *o);
/* The measurer is about to compile: `built` of the batch's n are. */
int tune_report_compiling(void *ud, uint32_t built, uint32_t n);

/* ---- proposals (propose.c) ---------------------------------------------- */

/* Asks for up to n candidates, those to be measured as t->batch.trial; others
 * are equal to such. */
tess_status tune_propose(tune *t, uint32_t n, uint32_t *got);
/* The draft, where there is one and nothing is known of it, in the same way. */
tess_status tune_propose_draft(tune *t, uint32_t *got);

/* ---- equal programs (equal.c) ------------------------------------------- */

/* Sets apart those of the *n trials whose program was measured, or is that of
 * another one of them: they are t->batch.equal then. */
void tune_part_equal(tune *t, uint32_t *n);
/* These learn the results, and follow the first *n of t->batch.trial. */
tess_status tune_learn_equal(tune *t, uint32_t *n);

/* ---- records (records.c) ------------------------------------------------ */

/* Whether a process proposes (strategy "process"): it need not repeat what it
 * said before, and names schedules that the space does not have. */
bool tune_asks_outside(const tune *t);

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
/* Calls f(ud, q) at each row of a query, whose parameters are workload, target
 * and policy of the run and the last record from before it: a run that is taken
 * up again finds the same. */
tess_status tune_read_before(tune *t, const char *sql,
                             tess_status (*f)(void *ud, sqlite3_stmt *q),
                             void *ud);
/* The trace of a trial, with its decisions, of its own. */
tess_status tune_decided(tune *t, search_trial trial, tess_trace **out);

/* Finds this workload's records of other targets or policies, whose decisions
 * are proposed before those of a built-in strategy (remeasure.c). */
tess_status tune_find_foreign(tune *t);
/* Up to n of them as t->batch.trial; *got 0: there are no more. */
tess_status tune_propose_foreign(tune *t, uint32_t n, uint32_t *got);
/* Teaches the model what the database holds of other workloads, and gives the
 * session hints (transfer.c). */
tess_status tune_transfer(tune *t);
/* A hint without any database: the draft (draft.c). */
tess_status tune_draft(tune *t);

/* ---- taking a run up again (resume.c) ----------------------------------- */

/* Finds the run in the database that is this one, or makes it. */
tess_status tune_begin_run(tune *t);
tess_status tune_keep_stored(tune *t, const database_record *r,
                           const search_trial *trial);
/* Enters a trial of an earlier run, or of this one, into the history. */
tess_status tune_learn_stored(tune *t, const search_trial *x);
void tune_sort_stored(tune *t);
/* Whether there are stored results of this run left; then, whether the n
 * proposals are those that were stored. */
bool tune_recalls(const tune *t);
bool tune_matches_stored(const tune *t, uint32_t n);
/* Learns the stored results of the batch: of its first *known candidates. */
tess_status tune_recall(tune *t, uint32_t n, uint32_t *known);
tess_status tune_give_up_stored(tune *t);
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
/* Adds to the result's note; "" adds nothing. */
void tune_note(tune *t, const char *text);
/* What is to be said of the space (notes.c). */
void tune_note_space(tune *t);
/* Runs the finals and fills the result. */
tess_status tune_fill_result(tune *t);
/* 0: of no valid candidate, or of a program whose operations are not known. */
double tune_gflops(const tune *t, double seconds);

#endif
