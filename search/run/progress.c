/* SPDX-License-Identifier: Apache-2.0
 * Tells the host how far a run is: after each trial, and before candidates are
 * compiled. */
#include "search/run/loop.h"

#include <math.h>

/* Seconds that the trials left will take at the rate of this run's.  The first
 * few also pay for starting workers and for the reference, and say nothing of
 * how long the others take. */
static double estimate_left(const tune *t, double elapsed) {
  enum { FEW = 8 };
  uint32_t done = t->budget.trials - t->budget.before - t->budget.recalled,
           left = t->budget.limit - t->budget.trials;
  if (left == 0) return 0;
  return done >= FEW ? elapsed / done * left : INFINITY;
}

static tess_progress progress_so_far(const tune *t) {
  double elapsed = clock_now() - t->time.started;
  return (tess_progress){.struct_size = sizeof(tess_progress),
                         .trials = t->budget.trials,
                         .max_trials = t->budget.limit,
                         .failed = t->budget.failed,
                         .best_seconds =
                             t->best.seconds > 0 ? t->best.seconds : INFINITY,
                         .gflops = tune_gflops(t, t->best.seconds),
                         .elapsed = elapsed,
                         .eta = estimate_left(t, elapsed),
                         .seconds = INFINITY};
}

/* Calls the host's progress function; non-zero: the run ends. */
static int report_progress(tune *t, tess_progress *p) {
  const tess_tune_options *o = &t->set->o;
  tune_check_stop(t);
  if (o->progress) {
    str_clear(&t->line);
    tune_progress_line(p, &t->line);
    p->text = str_or(&t->line, "");
    if (o->progress(o->progress_ud, p)) t->status.ended = TESS_CANCELLED;
  }
  return t->status.ended != TESS_OK;
}

int tune_report_compiling(void *ud, uint32_t built, uint32_t n) {
  tune *t = ud;
  tess_progress p = progress_so_far(t);
  p.compiled = built;
  p.compiling = n;
  return report_progress(t, &p);
}

int tune_report_trial(tune *t, const search_outcome *o) {
  tess_progress p = progress_so_far(t);
  p.status = o->status;
  if (o->status == TESS_OK) p.seconds = o->seconds;
  return report_progress(t, &p);
}
