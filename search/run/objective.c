/* SPDX-License-Identifier: Apache-2.0
 * The measurer over a host's function: what it gives is the time of a
 * candidate, and nothing is compiled or run.  For objectives other than time on
 * this machine, times that were recorded, and tests of strategies. */
#include "search/run/tune.h"

typedef struct objective {
  tess_context *c;
  const tess_tune_options *o;
} objective;

/* A time that is none is the host's fault and ends the run. */
static tess_status measure_one(objective *x, tess_session *s,
                               const search_cand *c, search_outcome *o) {
  tess_candidate asked;
  session_to_public(c, &asked);
  tess_status st = x->o->measure(x->o->measure_ud, s, &asked, &o->seconds);
  bool failed = st == TESS_BUILD_ERROR || st == TESS_LAUNCH_ERROR ||
                st == TESS_TIMEOUT || st == TESS_CRASHED ||
                st == TESS_WRONG_RESULT;
  if (st != TESS_OK && !failed)
    return session_blame(s, st, "the function 'measure'");
  bool possible =
      o->seconds >= database_least_time && o->seconds <= database_greatest_time;
  if (st == TESS_OK && !possible)
    return ctx_fail(x->c, TESS_INVALID,
                    "the function 'measure' gave %g, not a time in seconds "
                    "from %g to %.0f",
                    o->seconds, database_least_time, database_greatest_time);
  o->status = st;
  o->checked = st == TESS_OK;
  return TESS_OK;
}

static tess_status measure_by_host(void *ud, tess_session *s, uint32_t n,
                                   const search_trial *trial, double best,
                                   search_outcome *out,
                                   int (*done)(void *, uint32_t),
                                   void *done_ud) {
  tess_status st = TESS_OK;
  (void)best;
  for (uint32_t i = 0; i < n; i++) {
    st = measure_one(ud, s, &trial[i].c, &out[i]);
    if (st != TESS_OK || done(done_ud, i)) break;
  }
  return st == TESS_CANCELLED ? TESS_OK : st;
}

static tess_status compare_nothing(void *ud, const strbuf *code,
                                   search_outcome *o) {
  (void)ud, (void)code;
  o->status = TESS_OK;
  o->checked = true;
  return TESS_OK;
}

/* The times stand as they are. */
static tess_status rematch_nothing(void *ud, uint32_t n,
                                   const strbuf *const *code, double *seconds) {
  (void)ud, (void)n, (void)code, (void)seconds;
  return TESS_OK;
}

static void close_objective(void *ud) {
  objective *x = ud;
  mem_free(&x->c->heap, x, sizeof *x);
}

tess_status objective_open(tess_context *c, const tess_tune_options *o,
                           search_measurer *out) {
  objective *x = mem_try_resize(&c->heap, NULL, 0, sizeof *x);
  if (!x) return ctx_ran_out(c, mem_refusal(&c->heap), "measuring");
  *x = (objective){c, o};
  *out = (search_measurer){.measure = measure_by_host,
                           .compare = compare_nothing,
                           .rematch = rematch_nothing,
                           .free = close_objective,
                           .ud = x};
  return TESS_OK;
}
