/* SPDX-License-Identifier: Apache-2.0
 * Tuning: a run of a setup, and its result. */
#ifndef SEARCH_RUN_TUNE_H
#define SEARCH_RUN_TUNE_H

#include "search/database/database.h"
#include "search/model/object.h"
#include "search/run/setup.h"

/* ---- results ------------------------------------------------------------ */

/* Where the time of a run went, in seconds. */
typedef struct tune_ledger {
  double sketches, propose, model, measure, database, total;
  double process; /* that proposes, and was waited for */
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

/* ---- the run (tune.c) --------------------------------------------------- */

tess_status tune_run(const tune_setup *set, tess_result **out);
/* What is known without measuring; the setup is begun (frozen.c). */
tess_status tune_frozen(tune_setup *set, tess_result **out);
tess_result *result_hold(tess_result *r); /* tess_result_free drops */

/* Texts of a result (report.c). */
void tune_report_ledger(const tune_ledger *l, const measure_ledger *m,
                        uint32_t trials, strbuf *out);
void tune_progress_line(const tess_progress *p, strbuf *out);
void tune_print_clock(double seconds, strbuf *out); /* "1:02:03" */

#endif
