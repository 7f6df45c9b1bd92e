/* SPDX-License-Identifier: Apache-2.0
 * Measuring a batch of candidates: what all kinds of it have in common. */
#ifndef SEARCH_RUN_MEASURER_H
#define SEARCH_RUN_MEASURER_H

#include "base/clock.h"
#include "measure/measure.h"
#include "search/candidate/session.h"

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

#endif
