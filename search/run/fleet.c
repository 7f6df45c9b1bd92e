/* SPDX-License-Identifier: Apache-2.0
 * The measurer over a fleet: candidates are built and run by its agents.  What
 * stands for a candidate's code is what names it to the fleet, so that no
 * object code travels here. */
#include "fleet/session.h"
#include "search/run/tune.h"

#include <math.h>
#include <string.h>

typedef struct fleet_measuring {
  tess_context *c;
  fleet_session *session;
} fleet_measuring;

/* ---- options ------------------------------------------------------------ */

/* It stands in a policy's text. */
static bool is_key(const char *s) {
  static const char of[] = "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return *s && strspn(s, of) == strlen(s);
}

tess_status fleet_check(tess_context *c, const tess_tune_options *o) {
  if (!o->fleet != !o->fleet_key)
    return ctx_fail(c, TESS_INVALID,
                    "the options 'fleet' and 'key' go together, and '%s' is "
                    "missing",
                    o->fleet ? "key" : "fleet");
  if (!o->fleet) return TESS_OK;
  if (o->measure)
    return ctx_fail(c, TESS_INVALID,
                    "of the options 'fleet' and 'measure' there may be one");
  if (!is_key(o->fleet_key))
    return ctx_fail(c, TESS_INVALID,
                    "option 'key' is '%.60s'; a key consists of letters, "
                    "digits, '_', '.' and '-'",
                    o->fleet_key);
  return TESS_OK;
}

tess_status fleet_target(tess_context *c, const tess_tune_options *o,
                         tess_target **out) {
  strbuf text;
  str_init(&text, &c->heap);
  tess_status s = fleet_check(c, o);
  if (s == TESS_OK)
    s = fleet_find_target(&c->heap, o->fleet, o->fleet_key, &text, &c->err);
  if (s == TESS_OK) s = str_status(&text);
  if (s == TESS_OK) s = tess_target_new(c, str_get(&text), out);
  str_free(&text);
  return s;
}

/* ---- measuring ---------------------------------------------------------- */

typedef struct handing {
  search_outcome *out;
  int (*done)(void *ud, uint32_t i);
  void *done_ud;
} handing;

static void take_text(strbuf *to, const strbuf *from) {
  str_clear(to);
  str_write(to, from->v, from->n);
}

static int hand_result(void *ud, uint32_t i, fleet_result *r) {
  const handing *w = ud;
  search_outcome *o = &w->out[i];
  o->status = r->status;
  o->seconds = r->seconds;
  o->checked = r->checked;
  if (r->program_hash) o->program_hash = r->program_hash;
  o->replay = r->replay;
  o->lower = r->lower;
  o->compile = r->compile;
  o->sample = r->sample; /* taken over */
  o->nsample = r->nsample;
  r->sample = NULL;
  r->nsample = 0;
  take_text(&o->message, &r->message);
  take_text(&o->code, &r->code);
  return w->done(w->done_ud, i);
}

static void list_for_fleet(uint32_t n, const search_trial *trial,
                           fleet_candidate *out) {
  for (uint32_t i = 0; i < n; i++)
    out[i] = (fleet_candidate){
        .decisions = trial[i].c.d, .n = trial[i].c.n, .trace = trial[i].trace};
}

static tess_status measure_by_fleet(void *ud, tess_session *s, uint32_t n,
                                    const search_trial *trial, double best,
                                    search_outcome *out,
                                    int (*done)(void *, uint32_t),
                                    void *done_ud) {
  fleet_measuring *m = ud;
  mem_heap *h = &m->c->heap;
  size_t size = n * sizeof(fleet_candidate);
  handing w = {out, done, done_ud};
  fleet_candidate *list = mem_try_resize(h, NULL, 0, size);
  tess_status st = list ? TESS_OK : mem_refusal(h);
  (void)s;
  if (list) list_for_fleet(n, trial, list);
  if (st == TESS_OK)
    st = fleet_session_measure(m->session, FLEET_MEASURE, n, list, best,
                               &m->c->stop, hand_result, &w, &m->c->err);
  if (list) mem_free(h, list, size);
  return st == TESS_CANCELLED ? TESS_OK : st;
}

static int take_comparison(void *ud, uint32_t i, fleet_result *r) {
  search_outcome *o = ud;
  (void)i;
  o->status = r->status;
  o->checked = r->checked;
  take_text(&o->message, &r->message);
  return 0;
}

static tess_status compare_by_fleet(void *ud, const strbuf *code,
                                    search_outcome *o) {
  fleet_measuring *m = ud;
  fleet_candidate c = {.code = code};
  tess_status s =
      fleet_session_measure(m->session, FLEET_COMPARE, 1, &c, 0, &m->c->stop,
                            take_comparison, o, &m->c->err);
  return s == TESS_CANCELLED ? TESS_OK : s;
}

static int take_seconds(void *ud, uint32_t i, fleet_result *r) {
  double *seconds = ud;
  if (r->status == TESS_OK) seconds[i] = r->seconds;
  return 0;
}

static tess_status rematch_by_fleet(void *ud, uint32_t n,
                                    const strbuf *const *code,
                                    double *seconds) {
  fleet_measuring *m = ud;
  fleet_candidate c[FLEET_MOST_JOBS];
  for (uint32_t i = 0; i < n; i++) {
    c[i] = (fleet_candidate){.code = code[i]};
    seconds[i] = INFINITY;
  }
  tess_status s =
      fleet_session_measure(m->session, FLEET_REMATCH, n, c, 0, &m->c->stop,
                            take_seconds, seconds, &m->c->err);
  return s == TESS_CANCELLED ? TESS_OK : s;
}

static const char *note_of_fleet(void *ud) {
  return fleet_session_note(((fleet_measuring *)ud)->session);
}

static void close_fleet(void *ud) {
  fleet_measuring *m = ud;
  fleet_session_close(m->session);
  mem_free(&m->c->heap, m, sizeof *m);
}

tess_status fleet_open(tess_context *c, tess_program *p, const char *target,
                       const measure_policy *policy, const tess_tune_options *o,
                       const strbuf *inputs, search_measurer *out) {
  fleet_measuring *m = mem_try_resize(&c->heap, NULL, 0, sizeof *m);
  if (!m) return ctx_ran_out(c, mem_refusal(&c->heap), "measuring");
  *m = (fleet_measuring){.c = c};
  tess_status s = fleet_session_open(
      &c->heap, o->fleet, o->fleet_key, tess_program_name(p), &p->p, target,
      policy, o->check != 0, inputs, &m->session, &c->err);
  if (s != TESS_OK) {
    mem_free(&c->heap, m, sizeof *m);
    return s;
  }
  *out = (search_measurer){.measure = measure_by_fleet,
                           .compare = compare_by_fleet,
                           .rematch = rematch_by_fleet,
                           .note = note_of_fleet,
                           .free = close_fleet,
                           .ud = m};
  return TESS_OK;
}
