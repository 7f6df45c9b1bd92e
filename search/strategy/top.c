/* SPDX-License-Identifier: Apache-2.0
 * The best n of the candidates that a strategy saw: a bounded heap, the worst
 * at its root, without duplicates and without what was measured. */
#include "search/strategy/strategy.h"

void top_init(strategy_top *t, strategy_pool *of) {
  *t = (strategy_top){.of = of};
  map_init(&t->in, of->keep.heap);
}

void top_free(strategy_top *t) {
  if (!t->of) return;
  vec_free(t->of->keep.heap, &t->heap);
  map_free(&t->in);
}

void top_begin(strategy_top *t, uint32_t n) {
  pool_clear(t->of);
  map_clear(&t->in);
  t->heap.n = 0;
  t->n = n;
  t->changes = 0;
  vec_reserve(t->of->keep.heap, &t->heap, n);
  map_reserve(&t->in, n);
}

/* Of equal scores the later one is worse, so that the result does not depend
 * on the heap's shape. */
static bool is_worse(const strategy_top *t, uint32_t a, uint32_t b) {
  const double *score = t->of->score.v;
  return score[a] != score[b] ? score[a] < score[b] : a > b;
}

static void sift_up(strategy_top *t, uint32_t at) {
  uint32_t x = t->heap.v[at];
  for (; at > 0 && is_worse(t, x, t->heap.v[(at - 1) / 2]); at = (at - 1) / 2)
    t->heap.v[at] = t->heap.v[(at - 1) / 2];
  t->heap.v[at] = x;
}

static void sift_down(strategy_top *t, uint32_t at) {
  uint32_t x = t->heap.v[at], n = t->heap.n;
  for (;;) {
    uint32_t below = 2 * at + 1;
    if (below >= n) break;
    if (below + 1 < n && is_worse(t, t->heap.v[below + 1], t->heap.v[below]))
      below++;
    if (!is_worse(t, t->heap.v[below], x)) break;
    t->heap.v[at] = t->heap.v[below];
    at = below;
  }
  t->heap.v[at] = x;
}

void top_offer(strategy_top *t, const tess_session *s, const search_cand *c,
               double score) {
  strategy_pool *p = t->of;
  bool full = t->heap.n == t->n;
  if (!t->n || session_knows(s, c) || map_get(&t->in, c->hash) != MAP_NONE)
    return;
  if (full && score <= p->score.v[t->heap.v[0]]) return;
  pool_add(p, c, score);
  map_put(&t->in, c->hash, 0);
  t->changes++;
  if (!full) {
    vec_push(p->keep.heap, &t->heap, p->c.n - 1);
    sift_up(t, t->heap.n - 1);
    return;
  }
  map_remove(&t->in, p->c.v[t->heap.v[0]].hash);
  t->heap.v[0] = p->c.n - 1;
  sift_down(t, 0);
}

void top_end(strategy_top *t) {
  strategy_pool *p = t->of;
  uint32_t n = t->heap.n;
  search_cand *c = arena_array(&p->keep, search_cand, n + 1);
  double *score = arena_array(&p->keep, double, n + 1);
  for (uint32_t i = n; i-- > 0;) {
    c[i] = p->c.v[t->heap.v[0]];
    score[i] = p->score.v[t->heap.v[0]];
    t->heap.v[0] = t->heap.v[--t->heap.n];
    if (t->heap.n) sift_down(t, 0);
  }
  for (uint32_t i = 0; i < n; i++) {
    p->c.v[i] = c[i];
    p->score.v[i] = score[i];
  }
  p->c.n = p->score.n = n;
}
