/* SPDX-License-Identifier: Apache-2.0
 * Pools: candidates that a strategy keeps, with the scores that the cost model
 * gave them. */
#include "search/strategy/strategy.h"

#include <math.h>
#include <stdlib.h>

void pool_init(strategy_pool *p, mem_heap *heap) {
  *p = (strategy_pool){0};
  arena_init(&p->keep, heap);
}

void pool_free(strategy_pool *p) {
  if (!p->keep.heap) return;
  vec_free(p->keep.heap, &p->c);
  vec_free(p->keep.heap, &p->score);
  vec_free(p->keep.heap, &p->order);
  arena_free(&p->keep);
}

void pool_clear(strategy_pool *p) {
  p->c.n = p->score.n = 0;
  arena_reset(&p->keep);
}

void pool_add(strategy_pool *p, const search_cand *c, double score) {
  search_cand copy = *c;
  int64_t *d = arena_array(&p->keep, int64_t, c->n + 1);
  if (c->n) memcpy(d, c->d, c->n * sizeof *d);
  copy.d = d;
  vec_push(p->keep.heap, &p->c, copy);
  vec_push(p->keep.heap, &p->score, score);
}

tess_status pool_make(strategy_pool *p, tess_session *s, uint32_t n,
                      const search_order *order, uint32_t *at) {
  search_cand *made = arena_array(&p->keep, search_cand, n + 1);
  session_begin_batch(s);
  tess_status st = session_make(s, n, order, made);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    if (at) at[i] = made[i].d ? p->c.n : UINT32_MAX;
    if (made[i].d) pool_add(p, &made[i], 0);
  }
  return st;
}

/* ---- scores ------------------------------------------------------------- */

tess_status pool_score(strategy_pool *p, tess_session *s, uint32_t from,
                       bool *knows) {
  uint32_t n = p->c.n - from;
  arena_mark mark = arena_get_mark(&p->keep);
  tess_candidate *c = arena_array(&p->keep, tess_candidate, n + 1);
  double *sd = arena_array(&p->keep, double, n + 1);
  double *mean = p->score.v + from;
  for (uint32_t i = 0; i < n; i++) session_to_public(&p->c.v[from + i], &c[i]);
  tess_status st = session_predict_spread(s, n, c, mean, sd, knows);
  for (uint32_t i = 0; st == TESS_OK && i < n; i++)
    if (isnan(mean[i])) mean[i] = -INFINITY;
  arena_reset_to(&p->keep, mark);
  return st;
}

typedef struct ranked {
  double score;
  uint32_t i;
} ranked;

static int by_rank(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

void pool_sort(strategy_pool *p) {
  uint32_t n = p->c.n;
  if (!n) return;
  arena_mark mark = arena_get_mark(&p->keep);
  ranked *r = arena_array(&p->keep, ranked, n);
  search_cand *copy = arena_array(&p->keep, search_cand, n);
  memcpy(copy, p->c.v, n * sizeof *copy);
  for (uint32_t i = 0; i < n; i++) r[i] = (ranked){p->score.v[i], i};
  qsort(r, n, sizeof *r, by_rank);
  for (uint32_t i = 0; i < n; i++) {
    p->c.v[i] = copy[r[i].i];
    p->score.v[i] = r[i].score;
  }
  arena_reset_to(&p->keep, mark);
}

/* ---- what was measured -------------------------------------------------- */

uint32_t pool_add_measured(strategy_pool *p, const tess_session *s,
                           uint32_t n) {
  if (n > s->history.n) n = s->history.n;
  uint32_t *best = arena_array(&p->keep, uint32_t, n + 1);
  n = session_best(s, n, best);
  for (uint32_t i = 0; i < n; i++) pool_add(p, &s->history.v[best[i]].c, 0);
  return n;
}
