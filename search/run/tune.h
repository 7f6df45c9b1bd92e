/* SPDX-License-Identifier: Apache-2.0
 * Tuning: the measurer's interface, a run's setup and its result. */
#ifndef SEARCH_RUN_TUNE_H
#define SEARCH_RUN_TUNE_H

#include "measure/measure.h"
#include "search/database/database.h"
#include "search/model/object.h"
#include "search/candidate/session.h"
#include "search/space/space.h"

/* ---- measuring a batch (measurer.c) ------------------------------------- */

/* The result of measuring one candidate. */
typedef struct search_outcome {
  tess_status status;
  double seconds;            /* median; TESS_OK only */
  bool checked;              /* compared with the reference, and equal */
  uint64_t program_hash;     /* before it is measured: as the search knows it */
  double replay, lower, compile; /* seconds that building took, by step */
  double *sample;            /* of the outcome's heap */
  uint32_t nsample;
  strbuf message, code;
} search_outcome;

/* Measures trials, which are finished, in order; tests plug in recorded times.
 * `best` is the best time so far, 0 while there is none: faster candidates are
 * compared with the reference, the others need not be.  `done` is called with
 * each result, in order; if it returns non-zero the batch ends, and the
 * remaining outcomes are TESS_CANCELLED. */
typedef struct search_measurer {
  tess_status (*measure)(void *ud, tess_session *s, uint32_t n,
                         const search_trial *trial, double best,
                         search_outcome *out,
                         int (*done)(void *ud, uint32_t i), void *done_ud);
  /* Compares what the code computes with the reference: status, message and
   * `checked` of the outcome. */
  tess_status (*compare)(void *ud, const strbuf *code, search_outcome *out);
  /* Times the kernels interleaved; seconds[i] is +inf where one failed. */
  tess_status (*rematch)(void *ud, uint32_t n, const strbuf *const *code,
                         double *seconds);
  /* Seconds of the unscheduled program's one run, where that is clearly more
   * than `best`; else, and where it is not known, 0.  NULL: always 0. */
  double (*reference)(void *ud, double best);
  /* Gives the code of the unscheduled program where it may be as fast as
   * `best`; else the code stays empty.  NULL: it never does. */
  tess_status (*unscheduled)(void *ud, double best, strbuf *code);
  /* Notes about the reference, "" when there are none; NULL: never any. */
  const char *(*note)(void *ud);
  /* From now on, measure() calls f before it compiles candidates: so many of
   * so many are compiled; non-zero ends the batch.  f NULL: it does not.  NULL:
   * it never does. */
  void (*on_compile)(void *ud, int (*f)(void *f_ud, uint32_t built, uint32_t n),
                     void *f_ud);
  void (*free)(void *ud);
  void *ud;
} search_measurer;

tess_status measurer_open(tess_context *c, tess_program *p,
                          const char *target, const measure_policy *policy,
                          bool check_all, strbuf *inputs,
                          search_measurer *out);
/* The measurer over the option `measure` (objective.c). */
tess_status objective_open(tess_context *c, const tess_tune_options *o,
                           search_measurer *out);
/* The measurer over the options `fleet` and `fleet_key` (fleet.c), and what is
 * wrong with them. */
tess_status fleet_open(tess_context *c, tess_program *p, const char *target,
                       const measure_policy *policy,
                       const tess_tune_options *o, const strbuf *inputs,
                       search_measurer *out);
tess_status fleet_check(tess_context *c, const tess_tune_options *o);
/* The target of the key's devices. */
tess_status fleet_target(tess_context *c, const tess_tune_options *o,
                         tess_target **out);
void outcome_init(search_outcome *o, mem_heap *heap);
void outcome_free(search_outcome *o);

/* ---- results ------------------------------------------------------------ */

/* Where the time of a run went, in seconds. */
typedef struct tune_ledger {
  double sketches, propose, model, measure, database, total;
  double active; /* of the total, without waiting for other tasks */
} tune_ledger;

struct tess_result {
  tess_context *c;
  uint32_t refs;
  tess_result_info info;
  tess_trace *best;          /* NULL: nothing valid was found */
  tess_program *program;
  tess_target *target;
  uint32_t kernel_threads;   /* that the best was measured with */
  VEC(double) curve;
  VEC(tess_quality) quality;
  tess_model *model;         /* NULL: a custom one */
  strbuf funnel, ledger, classes, note;
  strbuf failure;            /* of the candidate that ended the run */
  bool exhausted;            /* the strategy had no more proposals */
  err_state broke;           /* the failure that ended the run; TESS_OK: none */
};

/* ---- the loop (tune.c) -------------------------------------------------- */

typedef struct tune_setup {
  tess_context *c;
  tess_program *program;
  tess_target *target;         /* NULL: none, where nothing is stored */
  uint32_t nsketch;
  tess_trace *const *sketch;
  const tess_tune_options *o;  /* complete: no defaults left open */
  const char *policy;
  search_measurer *measurer;
  double sketch_seconds;
  bool cancelled;            /* before there was a measurer */
  bool shares;               /* a budget with others: it is not told of here */
  thread_alarm *deadline;    /* set where the options have one; NULL: none */
  const measure_ledger *ledger;/* of its workers; NULL: none */
  search_memo *memo;         /* of earlier runs with the same sketches on one
                              * thread; NULL: none */
} tune_setup;

tess_status tune_run(const tune_setup *setup, tess_result **out);
tess_result *result_hold(tess_result *r); /* tess_result_free drops */
double tune_now(void);       /* monotonic seconds */

/* Texts of a result (report.c). */
void tune_report_ledger(const tune_ledger *l, const measure_ledger *m,
                        uint32_t trials, strbuf *out);
void tune_progress_line(const tess_progress *p, strbuf *out);
void tune_print_clock(double seconds, strbuf *out); /* "1:02:03" */

#endif
