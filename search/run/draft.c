/* SPDX-License-Identifier: Apache-2.0
 * The schedule that the cost model "analytic" prefers among some that are
 * drawn: what is taken where nothing is measured, and among the first trials
 * where the machine measures. */
#include "search/run/draft.h"
#include "search/run/loop.h"

#include <math.h>

/* They are made in rounds: drawn until one brings no better, then neighbours
 * of the best until some have brought none. */
enum { ROUND = 64, TOP = 8, IDLE_ROUNDS = 2 };

/* The best so far by a model that is taught nothing. */
typedef struct preference {
  tess_session *s;
  tess_model *m;
  uint32_t made, most;
  uint32_t n; /* of those that follow, best first */
  search_cand top[TOP];
  double score[TOP];
} preference;

static void offer(preference *p, const search_cand *c, double score) {
  uint32_t at = p->n;
  for (uint32_t i = 0; i < p->n; i++)
    if (p->top[i].hash == c->hash) return;
  while (at > 0 && score > p->score[at - 1]) at--;
  if (at == TOP) return;
  p->n += p->n < TOP;
  for (uint32_t i = p->n - 1; i > at; i--) {
    p->top[i] = p->top[i - 1];
    p->score[i] = p->score[i - 1];
  }
  p->top[at] = *c;
  p->score[at] = score;
}

/* All sketches in turn. */
static search_order drawing(const preference *p, uint32_t i) {
  uint32_t sketch = (p->made + i) % p->s->nsketch;
  return (search_order){.how = SEARCH_DRAW, .sketch = (int32_t)sketch};
}

static search_order neighbouring(const preference *p, uint32_t i) {
  return (search_order){
      .how = SEARCH_MUTATE, .steps = 1 + i / p->n % 2, .a = &p->top[i % p->n]};
}

static tess_status make_round(preference *p, const search_order order[ROUND],
                              bool *better) {
  search_cand all[ROUND], made[ROUND];
  tess_candidate view[ROUND];
  double score[ROUND], before = p->n ? p->score[0] : -INFINITY;
  uint32_t n = 0;
  bool knows;
  *better = false;
  tess_status st = session_make(p->s, ROUND, order, all);
  p->made += ROUND;
  for (uint32_t i = 0; st == TESS_OK && i < ROUND; i++)
    if (all[i].d) made[n++] = all[i];
  if (st != TESS_OK || !n) return st;
  for (uint32_t i = 0; i < n; i++) session_to_public(&made[i], &view[i]);
  st = model_predict(p->m, p->s, n, view, score, NULL, &knows);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++)
    offer(p, &made[i], score[i]);
  *better = p->n && p->score[0] > before;
  return st;
}

static tess_status draw_some(preference *p) {
  search_order order[ROUND];
  bool better = true;
  tess_status st = TESS_OK;
  while (st == TESS_OK && p->made < p->most &&
         (better || !p->n || p->made < p->s->nsketch)) {
    for (uint32_t i = 0; i < ROUND; i++) order[i] = drawing(p, i);
    st = make_round(p, order, &better);
  }
  return st;
}

static tess_status climb(preference *p) {
  search_order order[ROUND];
  tess_status st = TESS_OK;
  for (uint32_t idle = 0;
       st == TESS_OK && p->n && idle < IDLE_ROUNDS && p->made < p->most;) {
    bool better;
    for (uint32_t i = 0; i < ROUND; i++) order[i] = neighbouring(p, i);
    st = make_round(p, order, &better);
    idle = better ? 0 : idle + 1;
  }
  return st;
}

/* The best of some that are made, if any is valid. */
static tess_status prefer(preference *p) {
  tess_cost_model unused;
  tess_status st = model_attach(p->m, p->s, &unused);
  if (st == TESS_OK) st = draw_some(p);
  return st == TESS_OK ? climb(p) : st;
}

/* ---- in a session of its own -------------------------------------------- */

static tess_status prefer_in(tess_session *s, uint32_t draws, draft_taker *take,
                             void *ud) {
  preference p = {.s = s, .most = draws};
  tess_status st = model_new(s->c, "analytic", &p.m);
  if (st == TESS_OK) st = prefer(&p);
  if (st == TESS_OK && p.n) st = take(ud, s, &p.top[0]);
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
