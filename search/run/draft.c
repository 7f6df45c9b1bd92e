/* SPDX-License-Identifier: Apache-2.0
 * The schedule that the cost model "analytic" prefers among some that are
 * drawn: what is taken where nothing is measured, and among the first trials
 * where the machine measures. */
#include "search/run/draft.h"
#include "search/run/loop.h"

/* They are drawn in rounds, until one brings no better. */
enum { ROUND = 64 };

/* The best so far by a model that is taught nothing. */
typedef struct preference {
  tess_session *s;
  tess_model *m;
  uint32_t drawn, draws;
  bool found; /* something valid was */
  search_cand best;
  double score;
} preference;

/* All sketches in turn. */
static tess_status draw_round(preference *p, search_cand made[ROUND],
                              uint32_t *n) {
  search_order order[ROUND];
  search_cand all[ROUND];
  *n = 0;
  for (uint32_t i = 0; i < ROUND; i++)
    order[i] = (search_order){.how = SEARCH_DRAW,
                              .sketch = (int32_t)(p->drawn++ % p->s->nsketch)};
  tess_status st = session_make(p->s, ROUND, order, all);
  for (uint32_t i = 0; st == TESS_OK && i < ROUND; i++)
    if (all[i].d) made[(*n)++] = all[i];
  return st;
}

static tess_status prefer_round(preference *p, bool *better) {
  search_cand made[ROUND];
  tess_candidate view[ROUND];
  double score[ROUND];
  uint32_t n;
  bool knows;
  *better = false;
  tess_status st = draw_round(p, made, &n);
  if (st != TESS_OK || !n) return st;
  for (uint32_t i = 0; i < n; i++) session_to_public(&made[i], &view[i]);
  st = model_predict(p->m, p->s, n, view, score, NULL, &knows);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    if (p->found && score[i] <= p->score) continue;
    p->score = score[i];
    p->best = made[i];
    *better = p->found = true;
  }
  return st;
}

/* The best of some that are drawn, if any is valid. */
static tess_status prefer(preference *p) {
  tess_cost_model unused;
  bool better = true;
  tess_status st = model_attach(p->m, p->s, &unused);
  while (st == TESS_OK && p->drawn < p->draws &&
         (better || !p->found || p->drawn < p->s->nsketch))
    st = prefer_round(p, &better);
  return st;
}

/* ---- in a session of its own -------------------------------------------- */

static tess_status prefer_in(tess_session *s, uint32_t draws, draft_taker *take,
                             void *ud) {
  preference p = {.s = s, .draws = draws};
  tess_status st = model_new(s->c, "analytic", &p.m);
  if (st == TESS_OK) st = prefer(&p);
  if (st == TESS_OK && p.found) st = take(ud, s, &p.best);
  tess_model_free(p.m);
  return st;
}

tess_status draft_make(const tune_setup *set, uint32_t draws, draft_taker *take,
                       void *ud) {
  tess_session s;
  mem_heap *h = &set->c->heap;
  size_t bytes = set->nsketch * sizeof(vm_trace *);
  const vm_trace **sketch = mem_try_resize(h, NULL, 0, bytes);
  if (!sketch) return ctx_ran_out(set->c, mem_refusal(h), "tuning");
  tess_status st = setup_session(set, &s, sketch);
  if (st == TESS_OK) st = prefer_in(&s, draws, take, ud);
  session_free(&s);
  mem_free(h, sketch, bytes);
  return st;
}

/* ---- a hint ------------------------------------------------------------- */

typedef struct hinting {
  tune *t;
  const search_cand *c;
} hinting;

static tess_status push_hint(void *ud) {
  const hinting *w = ud;
  tess_session *to = &w->t->s;
  search_cand copy = *w->c;
  int64_t *d = arena_array(&to->keep, int64_t, copy.n + 1);
  if (copy.n) memcpy(d, copy.d, copy.n * sizeof *d);
  copy.d = d;
  vec_push(&to->c->heap, &to->hint, copy);
  w->t->best.draft = copy.hash;
  return TESS_OK;
}

static tess_status give_hint(void *ud, tess_session *s, const search_cand *c) {
  hinting w = {ud, c};
  tess_status st = mem_protect(&w.t->c->heap, push_hint, &w);
  return st == TESS_OK ? st : ctx_ran_out(s->c, st, "tuning");
}

/* It knows nothing of what a function measures, and a host's strategy takes no
 * hints.  Runs of few trials, which are to be quick, draw less. */
tess_status tune_draft(tune *t) {
  const tess_tune_options *o = &t->set->o;
  enum { DRAWS_A_TRIAL = 32 };
  uint32_t draws = o->trials < DRAFT_DRAWS / DRAWS_A_TRIAL
                       ? DRAWS_A_TRIAL * o->trials
                       : DRAFT_DRAWS;
  if (!t->set->timed || o->custom_strategy) return TESS_OK;
  return draft_make(t->set, draws, give_hint, t);
}
