/* SPDX-License-Identifier: Apache-2.0
 * The public functions for plugged-in strategies and models: tess_session_*. */
#include "search/search.h"

#include <inttypes.h>

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
static tess_status check_candidate(tess_session *s, const tess_candidate *c) {
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
  tess_status st = check_candidate(s, parent);
  search_cand a = session_from_public(parent);
  return st != TESS_OK
             ? st
             : make_candidate(
                   s, (search_order){.how = SEARCH_MUTATE, .steps = 1, .a = &a},
                   out);
}

tess_status tess_session_cross(tess_session *s, const tess_candidate *a,
                               const tess_candidate *b, tess_candidate *out) {
  tess_status st = check_candidate(s, a);
  if (st == TESS_OK) st = check_candidate(s, b);
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

double tess_session_unit(tess_session *s) { return rng_unit(&s->random); }

tess_status tess_session_predict(tess_session *s, uint32_t n,
                                 const tess_candidate *c, double *score) {
  for (uint32_t i = 0; i < n; i++) {
    tess_status wrong = check_candidate(s, &c[i]);
    if (wrong != TESS_OK) return wrong;
  }
  tess_status st = s->model->predict(s->model->ud, s, n, c, score);
  return session_blame(s, st, "the cost model's 'predict'");
}

int tess_session_seen(tess_session *s, const tess_candidate *c) {
  search_cand x = session_from_public(c);
  return session_knows(s, &x);
}
