/* SPDX-License-Identifier: Apache-2.0
 * Batches that are drawn at random: where nothing is known yet, for the share
 * of epsilon-greedy, and where nothing better is new. */
#include "search/strategy/strategy.h"

/* In a small space most draws are duplicates, so several are made for each
 * proposal. */
enum { MOST_ROUNDS = 16 };

/* Decisions that an enumeration tries for a proposal, at most; more of them
 * where else there would be none, and the run might end. */
enum { TRIES = 64, TRIES_FOR_ANY = 16384 };

search_order strategy_draw(const tess_session *s, uint64_t i) {
  return (search_order){.how = SEARCH_DRAW,
                        .sketch = (int32_t)(i % s->nsketch)};
}

tess_status strategy_draws(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  tess_status st = TESS_OK;
  for (int k = 0; st == TESS_OK && k < MOST_ROUNDS && *got < n; k++) {
    for (uint32_t i = 0; i < n; i++)
      b->order[i] = strategy_draw(s, s->next + i);
    st = session_make(s, n, b->order, b->made);
    if (st == TESS_OK) *got = strategy_unique(b, s, n, n, out, *got);
  }
  if (st == TESS_OK && *got < n)
    batch_sweep(b, s, (uint64_t)TRIES * n, n, out, got);
  if (st == TESS_OK && n && !*got)
    batch_sweep(b, s, TRIES_FOR_ANY, 1, out, got);
  return st;
}

tess_status strategy_hints(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  tess_status st = TESS_OK;
  while (st == TESS_OK && s->hinted < s->hint.n && *got < n) {
    uint32_t left = s->hint.n - s->hinted, made = n - *got;
    if (made > left) made = left;
    for (uint32_t i = 0; i < made; i++)
      b->order[i] =
          (search_order){.how = SEARCH_REPAIR, .a = &s->hint.v[s->hinted + i]};
    s->hinted += made;
    st = session_make(s, made, b->order, b->made);
    if (st == TESS_OK) *got = strategy_unique(b, s, made, n, out, *got);
  }
  return st;
}
