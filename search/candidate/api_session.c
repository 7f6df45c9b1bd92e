/* SPDX-License-Identifier: Apache-2.0
 * The public functions for plugged-in strategies and models: tess_session_*. */
#include "base/hash.h"
#include "search/candidate/rows.h"

#include <inttypes.h>
#include <math.h>

uint32_t tess_session_nsketches(tess_session *s) { return s->nsketch; }

static tess_status make_candidate(tess_session *s, search_order o,
                                  tess_candidate *out) {
  search_cand c;
  tess_status st = session_make(s, 1, &o, &c);
  if (st != TESS_OK) return st;
  if (!c.d) return TESS_NOT_FOUND;
  session_to_public(&c, out);
  return TESS_OK;
}

static uint32_t count_sampling(const vm_trace *t) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < t->inst.n; k++) n += vm_samples(&t->inst.v[k]);
  return n;
}

/* Validates a decision vector: an entry, preceded by its length, for each
 * sampling instruction of the sketch, and nothing else. */
tess_status session_check_decisions(tess_session *s, const tess_candidate *c) {
  vm_cursor at = {c->decisions, c->ndecisions, 0};
  const int64_t *d;
  uint32_t n, entries = 0;
  if (c->sketch >= s->nsketch)
    return ctx_fail(s->c, TESS_INVALID,
                    "there are %u sketches; there is none "
                    "at %" PRIu64 ", counted from 1",
                    s->nsketch, (uint64_t)c->sketch + 1);
  if (c->ndecisions && !c->decisions)
    return ctx_fail(s->c, TESS_INVALID,
                    "the decisions of a candidate are NULL");
  while (at.at < at.n && vm_cursor_next(&at, &n, &d)) entries++;
  if (at.at < at.n)
    return ctx_fail(s->c, TESS_INVALID,
                    "the decisions of a candidate are %u "
                    "integers; the one at %u, %" PRId64 ", is not the length "
                    "of an entry",
                    at.n, at.at + 1, at.d[at.at]);
  uint32_t wanted = count_sampling(s->sketch[c->sketch]);
  if (entries == wanted) return TESS_OK;
  return ctx_fail(s->c, TESS_INVALID,
                  "a candidate of sketch %u, counted from 1, has %u decisions, "
                  "not %u",
                  c->sketch + 1, wanted, entries);
}

tess_status tess_session_draw(tess_session *s, tess_candidate *out) {
  return make_candidate(s, (search_order){.how = SEARCH_DRAW, .sketch = -1},
                        out);
}

tess_status tess_session_mutate(tess_session *s, const tess_candidate *parent,
                                tess_candidate *out) {
  tess_status st = session_check_decisions(s, parent);
  search_cand a = session_from_public(parent);
  return st != TESS_OK
             ? st
             : make_candidate(
                   s, (search_order){.how = SEARCH_MUTATE, .steps = 1, .a = &a},
                   out);
}

tess_status tess_session_cross(tess_session *s, const tess_candidate *a,
                               const tess_candidate *b, tess_candidate *out) {
  tess_status st = session_check_decisions(s, a);
  if (st == TESS_OK) st = session_check_decisions(s, b);
  search_cand x = session_from_public(a), y = session_from_public(b);
  if (st != TESS_OK) return st;
  if (a->sketch != b->sketch)
    return ctx_fail(s->c, TESS_INVALID,
                    "only candidates of one sketch can "
                    "be crossed");
  return make_candidate(
      s, (search_order){.how = SEARCH_CROSS, .a = &x, .b = &y}, out);
}

tess_status session_blame(tess_session *s, tess_status st, const char *who) {
  bool ours = st == TESS_OK || st == TESS_NOMEM || st == TESS_LIMIT ||
              st == TESS_CANCELLED || s->c->err.code == st;
  return ours ? st
              : ctx_fail(s->c, st, "%s failed: %s", who, err_status_text(st));
}

tess_status tess_session_fail(tess_session *s, tess_status status,
                              const char *why) {
  char line[sizeof s->c->err.message];
  err_one_line(why, line, sizeof line);
  return status == TESS_OK ? status : ctx_fail(s->c, status, "%s", line);
}

double tess_session_unit(tess_session *s) { return rng_unit(&s->random); }

/* Of a host's model; once for each run. */
static void warn_of_nans(tess_session *s, uint32_t n, const double *score) {
  uint32_t nans = 0;
  for (uint32_t i = 0; i < n; i++) nans += isnan(score[i]);
  if (nans)
    ctx_warn(s->c, hash_mix(s->seed, (uintptr_t)s),
             "the cost model's 'predict' gave %u scores that are NaN for %u "
             "candidates; such scores count as the worst",
             nans, n);
}

tess_status tess_session_predict(tess_session *s, uint32_t n,
                                 const tess_candidate *c, double *score) {
  for (uint32_t i = 0; i < n; i++) {
    tess_status wrong = session_check_decisions(s, &c[i]);
    if (wrong != TESS_OK) return wrong;
  }
  tess_status st = s->model->predict(s->model->ud, s, n, c, score);
  if (st == TESS_OK && !s->learns) warn_of_nans(s, n, score);
  return session_blame(s, st, "the cost model's 'predict'");
}

int tess_session_seen(tess_session *s, const tess_candidate *c) {
  search_cand x = session_from_public(c);
  return session_knows(s, &x);
}

/* ---- the schedule of a candidate ---------------------------------------- */

tess_status tess_session_check(tess_session *s, const tess_candidate *c) {
  return session_check_decisions(s, c);
}

tess_status tess_session_trace(tess_session *s, const tess_candidate *c,
                               tess_trace **out) {
  tess_status st = session_check_decisions(s, c);
  const vm_trace *t;
  *out = NULL;
  if (st != TESS_OK) return st;
  search_cand own = session_from_public(c);
  st = session_finish(s, &own, &t);
  return st == TESS_OK ? session_decided(s, t, &own, out) : st;
}

tess_status tess_session_program(tess_session *s, const tess_candidate *c,
                                 tess_program **out) {
  tess_trace *t;
  tess_schedule *sch = NULL;
  *out = NULL;
  tess_status st = tess_session_trace(s, c, &t);
  if (st != TESS_OK) return st;
  st = tess_trace_replay(t, s->program, NULL, &sch);
  if (st == TESS_OK) st = tess_schedule_program(sch, out);
  tess_schedule_free(sch);
  tess_trace_free(t);
  return st;
}

/* ---- features ----------------------------------------------------------- */

static tess_status parse_kind(tess_session *s, const char *kind,
                              feature_kind *out) {
  if (feature_parse(kind, out)) return TESS_OK;
  return ctx_fail(s->c, TESS_INVALID,
                  "there are features 'per_store', 'context', 'tree' and "
                  "'decisions', not '%s'",
                  kind);
}

static tess_status find_rows(tess_session *s, feature_kind k, uint32_t n,
                             const tess_candidate *c, search_rows *out) {
  size_t bytes = (n + 1) * sizeof(search_cand);
  search_cand *own = mem_try_resize(&s->c->heap, NULL, 0, bytes);
  if (!own) return ctx_ran_out(s->c, mem_refusal(&s->c->heap), "features");
  for (uint32_t i = 0; i < n; i++) own[i] = session_from_public(&c[i]);
  tess_status st = session_rows(s, k, n, own, out);
  mem_free(&s->c->heap, own, bytes);
  return st == TESS_OK ? st : ctx_ran_out(s->c, st, "features");
}

/* Says why it does not: of one that replays, a postprocessor refused it. */
static tess_status say_no_features(tess_session *s, const tess_candidate *c,
                                   uint32_t i) {
  char why[sizeof s->c->err.message] = "a postprocessor refuses it";
  tess_program *p = NULL;
  tess_status st = tess_session_program(s, c, &p);
  tess_program_free(p);
  if (st == TESS_NOMEM || st == TESS_LIMIT) return st;
  if (st != TESS_OK) err_one_line(tess_error(s->c)->message, why, sizeof why);
  return ctx_fail(s->c, TESS_INVALID,
                  "candidate %u, counted from 1, does not replay: %s", i + 1,
                  why);
}

tess_status tess_session_features(tess_session *s, uint32_t n,
                                  const tess_candidate *c, const char *kind,
                                  tess_features *out) {
  feature_kind k;
  search_rows r;
  tess_status st = parse_kind(s, kind, &k);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++)
    st = session_check_decisions(s, &c[i]);
  if (st == TESS_OK) st = find_rows(s, k, n, c, &r);
  if (st != TESS_OK) return st;
  for (uint32_t i = 0; i < n; i++)
    if (r.first[i] == r.first[i + 1]) return say_no_features(s, &c[i], i);
  tess_features f = {.version = session_version(k),
                     .nrows = r.first[n],
                     .ncolumns = r.width,
                     .first = r.first,
                     .value = r.v};
  return ctx_give(s->c, tess_features, &f, out);
}

tess_status tess_session_column(tess_session *s, const char *kind,
                                uint32_t column, char name[TESS_MAX_COLUMN]) {
  feature_kind k;
  tess_status st = parse_kind(s, kind, &k);
  if (st == TESS_OK && k == FEATURE_DECISIONS) st = decisions_begin(s);
  if (st != TESS_OK) return st;
  if (column >= session_columns(s, k)) return TESS_NOT_FOUND;
  session_column(s, k, column, name);
  return TESS_OK;
}
