/* SPDX-License-Identifier: Apache-2.0
 * The list of built-in strategies, and batches: deduplication and ranking. */
#include "search/strategy/bayesian.h"
#include "search/strategy/process.h"

#include <math.h>
#include <stdlib.h>

const search_strategy *const search_strategies[] = {
    &search_strategy_evolutionary, &search_strategy_annealing,
    &search_strategy_bayesian,     &search_strategy_hybrid,
    &search_strategy_genetic,      &search_strategy_droplet,
    &search_strategy_grid,         &search_strategy_replay,
    &search_strategy_process};
const uint32_t search_nstrategies =
    sizeof search_strategies / sizeof *search_strategies;

void batch_init(strategy_batch *b, mem_heap *heap) {
  *b = (strategy_batch){.heap = heap};
  map_init(&b->taken, heap);
  arena_init(&b->scratch, heap);
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

void batch_free(strategy_batch *b) {
  release_batch(b);
  sweep_free(b->sweep);
  map_free(&b->taken);
  arena_free(&b->scratch);
}

void strategy_begin(strategy_batch *b, tess_session *s, uint32_t n) {
  map_clear(&b->taken);
  session_begin_batch(s);
  if (n <= b->cap) return;
  release_batch(b);
  b->cap = n;
  b->order = mem_resize(b->heap, NULL, 0, n * sizeof *b->order);
  b->made = mem_resize(b->heap, NULL, 0, n * sizeof *b->made);
  b->score = mem_resize(b->heap, NULL, 0, n * sizeof *b->score);
}

/* Valid, not measured, and not taken before in this batch. */
static bool is_fresh(strategy_batch *b, tess_session *s, const search_cand *c) {
  if (!c->d) return false;
  bool fresh = !session_knows(s, c) && map_get(&b->taken, c->hash) == MAP_NONE;
  if (fresh)
    map_put(&b->taken, c->hash, 1);
  else
    funnel_add(&s->total, &s->c->heap, FUNNEL_DUPLICATE, "", "", 0);
  return fresh;
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
static void sort_made(strategy_batch *b, uint32_t n) {
  ranked *r = arena_array(&b->scratch, ranked, n + 1);
  search_cand *copy = arena_array(&b->scratch, search_cand, n + 1);
  for (uint32_t i = 0; i < n; i++)
    r[i] = (ranked){b->score[i] == b->score[i] ? b->score[i] : -INFINITY, i};
  if (n) qsort(r, n, sizeof *r, by_score);
  memcpy(copy, b->made, n * sizeof *copy);
  for (uint32_t i = 0; i < n; i++) b->made[i] = copy[r[i].i];
}

tess_status strategy_rank(strategy_batch *b, tess_session *s, uint32_t *n) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < *n; i++)
    if (is_fresh(b, s, &b->made[i])) b->made[left++] = b->made[i];
  *n = left;
  arena_reset(&b->scratch);
  tess_candidate *c = arena_array(&b->scratch, tess_candidate, left + 1);
  for (uint32_t i = 0; i < left; i++) session_to_public(&b->made[i], &c[i]);
  tess_status st = tess_session_predict(s, left, c, b->score);
  if (st == TESS_OK) sort_made(b, left);
  return st;
}
