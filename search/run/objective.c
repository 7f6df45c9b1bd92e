/* SPDX-License-Identifier: Apache-2.0
 * The measurer over a host's function: what it gives is the time of a
 * candidate, and nothing is compiled or run.  For objectives other than time on
 * this machine, times that were recorded, and tests of strategies.
 *
 * The least of many noisy readings is a lucky one (the winner's curse), so a
 * candidate that is the best so far is asked about again, and so are the
 * finalists: medians count.  A function that gives the same time again is
 * exact, and not asked twice any more. */
#include "search/run/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct objective {
  tess_context *c;
  const tess_tune_options *o;
  tess_session *s;
  bool exact, noisy; /* as its second readings were; neither: not known yet */
} objective;

/* ---- one reading -------------------------------------------------------- */

/* A time that is none is the host's fault and ends the run. */
static tess_status read_time(const objective *x, const search_cand *c,
                             tess_status *status, double *seconds) {
  tess_candidate asked;
  session_to_public(c, &asked);
  tess_status st = x->o->measure(x->o->measure_ud, x->s, &asked, seconds);
  bool failed = st == TESS_BUILD_ERROR || st == TESS_LAUNCH_ERROR ||
                st == TESS_TIMEOUT || st == TESS_CRASHED ||
                st == TESS_WRONG_RESULT;
  if (st != TESS_OK && !failed)
    return session_blame(x->s, st, "the function 'measure'");
  bool possible =
      *seconds >= database_least_time && *seconds <= database_greatest_time;
  if (st == TESS_OK && !possible)
    return ctx_fail(x->c, TESS_INVALID,
                    "the function 'measure' gave %g, not a time in seconds "
                    "from %g to %.0f",
                    *seconds, database_least_time, database_greatest_time);
  *status = st;
  return TESS_OK;
}

static double median_of_three(const double *t) {
  return fmax(fmin(t[0], t[1]), fmin(fmax(t[0], t[1]), t[2]));
}

static void learn_noise(objective *x, double once, double again) {
  if (once != again)
    x->noisy = true;
  else if (!x->noisy)
    x->exact = true;
}

/* A failure behind a time that was read is a passing one. */
static tess_status read_again(objective *x, const search_cand *c,
                              search_outcome *o) {
  double t[3] = {o->seconds};
  tess_status ran = TESS_OK;
  for (int i = 1; i < 3 && !x->exact; i++) {
    tess_status st = read_time(x, c, &ran, &t[i]);
    if (st != TESS_OK || ran != TESS_OK) return st;
    learn_noise(x, t[0], t[i]);
  }
  if (!x->exact) o->seconds = median_of_three(t);
  return TESS_OK;
}

/* ---- a batch ------------------------------------------------------------ */

/* What a finalist is asked about again by. */
static tess_status keep_candidate(const search_cand *c, strbuf *code) {
  str_write(code, (const char *)&c->sketch, sizeof c->sketch);
  str_write(code, (const char *)c->d, c->n * sizeof *c->d);
  return str_status(code);
}

static tess_status measure_one(objective *x, const search_cand *c, double best,
                               search_outcome *o) {
  tess_status st = read_time(x, c, &o->status, &o->seconds);
  if (st == TESS_OK && o->status == TESS_OK && (best == 0 || o->seconds < best))
    st = read_again(x, c, o);
  o->checked = o->status == TESS_OK;
  return st == TESS_OK ? keep_candidate(c, &o->code) : st;
}

static tess_status measure_by_host(void *ud, tess_session *s, uint32_t n,
                                   const search_trial *trial, double best,
                                   search_outcome *out,
                                   int (*done)(void *, uint32_t),
                                   void *done_ud) {
  objective *x = ud;
  tess_status st = TESS_OK;
  x->s = s;
  for (uint32_t i = 0; i < n; i++) {
    st = measure_one(x, &trial[i].c, best, &out[i]);
    if (out[i].checked && (best == 0 || out[i].seconds < best))
      best = out[i].seconds;
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

/* ---- finals ------------------------------------------------------------- */

enum { READINGS = 9 };

static int by_time(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* A candidate of the text that keep_candidate() wrote. */
static search_cand kept_candidate(const strbuf *code, int64_t *d) {
  search_cand c = {.d = d};
  memcpy(&c.sketch, code->v, sizeof c.sketch);
  c.n = (uint32_t)((code->n - sizeof c.sketch) / sizeof *d);
  memcpy(d, code->v + sizeof c.sketch, c.n * sizeof *d);
  c.hash = search_hash(c.sketch, c.n, d);
  return c;
}

/* The median of new readings; INFINITY where one fails. */
static tess_status read_often(const objective *x, const strbuf *code,
                              double *seconds) {
  int64_t *d = mem_try_resize(&x->c->heap, NULL, 0, code->n);
  double t[READINGS];
  tess_status st = d ? TESS_OK : mem_refusal(&x->c->heap), ran = TESS_OK;
  if (!d) return st;
  search_cand c = kept_candidate(code, d);
  for (int i = 0; i < READINGS && st == TESS_OK && ran == TESS_OK; i++)
    st = read_time(x, &c, &ran, &t[i]);
  mem_free(&x->c->heap, d, code->n);
  if (st != TESS_OK) return st;
  if (ran == TESS_OK) qsort(t, READINGS, sizeof *t, by_time);
  *seconds = ran == TESS_OK ? t[READINGS / 2] : INFINITY;
  return TESS_OK;
}

/* The readings that made them finalists do not count: they were lucky ones. */
static tess_status rematch_by_host(void *ud, uint32_t n,
                                   const strbuf *const *code, double *seconds) {
  const objective *x = ud;
  tess_status st = TESS_OK;
  for (uint32_t i = 0; i < n && st == TESS_OK && x->noisy; i++)
    st = read_often(x, code[i], &seconds[i]);
  return st;
}

static void close_objective(void *ud) {
  objective *x = ud;
  mem_free(&x->c->heap, x, sizeof *x);
}

tess_status objective_open(tess_context *c, const tess_tune_options *o,
                           search_measurer *out) {
  objective *x = mem_try_resize(&c->heap, NULL, 0, sizeof *x);
  if (!x) return ctx_ran_out(c, mem_refusal(&c->heap), "measuring");
  *x = (objective){.c = c, .o = o};
  *out = (search_measurer){.measure = measure_by_host,
                           .compare = compare_nothing,
                           .rematch = rematch_by_host,
                           .free = close_objective,
                           .ud = x};
  return TESS_OK;
}
