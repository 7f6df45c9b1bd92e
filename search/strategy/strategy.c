/* SPDX-License-Identifier: Apache-2.0
 * The list of built-in strategies, and batches: deduplication and ranking. */
#include "search/strategy/bayesian.h"

#include <math.h>
#include <stdlib.h>

const search_strategy *const search_strategies[] = {
    &search_strategy_evolutionary, &search_strategy_annealing,
    &search_strategy_bayesian,     &search_strategy_hybrid,
    &search_strategy_genetic,      &search_strategy_droplet,
    &search_strategy_grid,         &search_strategy_replay};
const uint32_t search_nstrategies =
    sizeof search_strategies / sizeof *search_strategies;

static tess_status make_batch(void *ud) {
  strategy_batch **out = ((void **)ud)[1];
  mem_heap *h = ((void **)ud)[0];
  strategy_batch *b = mem_new(h, strategy_batch);
  *b = (strategy_batch){.heap = h};
  map_init(&b->taken, h);
  *out = b;
  return TESS_OK;
}

tess_status strategy_new(tess_session *s, void **out) {
  void *ud[2] = {&s->c->heap, out};
  *out = NULL;
  return mem_protect(&s->c->heap, make_batch, ud);
}

static void release_batch(strategy_batch *b) {
  mem_free(b->heap, b->order, b->cap * sizeof *b->order);
  mem_free(b->heap, b->made, b->cap * sizeof *b->made);
  mem_free(b->heap, b->score, b->cap * sizeof *b->score);
  b->order = NULL;
  b->made = NULL;
  b->score = NULL;
  b->cap = 0;
}

void strategy_free(void *ud) {
  strategy_batch *b = ud;
  if (!b) return;
  mem_heap *h = b->heap;
  release_batch(b);
  sweep_free(b->sweep);
  map_free(&b->taken);
  mem_free(h, b, sizeof *b);
}

tess_status strategy_begin(strategy_batch *b, tess_session *s, uint32_t n) {
  map_clear(&b->taken);
  session_begin_batch(s);
  if (n <= b->cap) return TESS_OK;
  release_batch(b);
  b->order = mem_try_resize(b->heap, NULL, 0, n * sizeof *b->order);
  b->made = mem_try_resize(b->heap, NULL, 0, n * sizeof *b->made);
  b->score = mem_try_resize(b->heap, NULL, 0, n * sizeof *b->score);
  if (b->order && b->made && b->score) {
    b->cap = n;
    return TESS_OK;
  }
  mem_free(b->heap, b->order, n * sizeof *b->order);
  mem_free(b->heap, b->made, n * sizeof *b->made);
  mem_free(b->heap, b->score, n * sizeof *b->score);
  b->order = NULL;
  b->made = NULL;
  b->score = NULL;
  return mem_refusal(b->heap);
}

typedef struct take_work {
  strategy_batch *b;
  tess_session *s;
  uint64_t hash;
  bool fresh;
} take_work;

static tess_status take_candidate(void *ud) {
  take_work *w = ud;
  w->fresh = map_get(&w->s->known, w->hash) == MAP_NONE &&
             map_get(&w->b->taken, w->hash) == MAP_NONE;
  if (w->fresh)
    map_put(&w->b->taken, w->hash, 1);
  else
    funnel_add(&w->s->total, &w->s->c->heap, FUNNEL_DUPLICATE, "", "", 0);
  return TESS_OK;
}

/* Valid, not measured, and not taken before in this batch. */
static bool is_fresh(strategy_batch *b, tess_session *s, const search_cand *c) {
  take_work w = {b, s, c->hash, false};
  if (!c->d) return false;
  return mem_protect(b->heap, take_candidate, &w) == TESS_OK && w.fresh;
}

uint32_t strategy_unique(strategy_batch *b, tess_session *s, uint32_t n,
                         uint32_t max, tess_candidate *out, uint32_t have) {
  for (uint32_t i = 0; i < n && have < max; i++)
    if (is_fresh(b, s, &b->made[i]))
      session_to_public(&b->made[i], &out[have++]);
  return have;
}

/* ---- ranking ------------------------------------------------------------ */

typedef struct ranked {
  double score;
  uint32_t i;
} ranked;

static int by_score(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

/* Scores that are no numbers count as worst. */
static tess_status sort_made(strategy_batch *b, arena *scratch, uint32_t n) {
  ranked *r = arena_array(scratch, ranked, n + 1);
  search_cand *copy = arena_array(scratch, search_cand, n + 1);
  for (uint32_t i = 0; i < n; i++)
    r[i] = (ranked){b->score[i] == b->score[i] ? b->score[i] : -INFINITY, i};
  if (n) qsort(r, n, sizeof *r, by_score);
  memcpy(copy, b->made, n * sizeof *copy);
  for (uint32_t i = 0; i < n; i++) b->made[i] = copy[r[i].i];
  return TESS_OK;
}

typedef struct rank_work {
  strategy_batch *b;
  tess_session *s;
  uint32_t n;
  arena scratch;
} rank_work;

static tess_status rank_batch(void *ud) {
  rank_work *w = ud;
  tess_candidate *c = arena_array(&w->scratch, tess_candidate, w->n + 1);
  for (uint32_t i = 0; i < w->n; i++) session_to_public(&w->b->made[i], &c[i]);
  tess_status st = tess_session_predict(w->s, w->n, c, w->b->score);
  return st == TESS_OK ? sort_made(w->b, &w->scratch, w->n) : st;
}

tess_status strategy_rank(strategy_batch *b, tess_session *s, uint32_t *n) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < *n; i++)
    if (is_fresh(b, s, &b->made[i])) b->made[left++] = b->made[i];
  rank_work w = {.b = b, .s = s, .n = left};
  arena_init(&w.scratch, b->heap);
  tess_status st = mem_protect(b->heap, rank_batch, &w);
  arena_free(&w.scratch);
  *n = left;
  return st;
}
