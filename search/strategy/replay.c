/* SPDX-License-Identifier: Apache-2.0
 * The strategy "replay": every candidate is drawn at random. */
#include "search/strategy/strategy.h"

/* In a small space most of what is drawn was there before. */
#define MAX_ROUNDS 16

static tess_status propose(void *ud, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  strategy_batch *b = ud;
  tess_status st = strategy_begin(b, s, n);
  *got = 0;
  for (uint32_t i = 0; st == TESS_OK && i < n; i++)
    b->order[i] = (search_order){.how = SEARCH_DRAW, .sketch = -1};
  for (int k = 0; st == TESS_OK && k < MAX_ROUNDS && *got < n; k++) {
    st = session_make(s, n, b->order, b->made);
    if (st == TESS_OK) *got = strategy_unique(b, s, n, n, out, *got);
  }
  return st;
}

static tess_status start(tess_session *s, tess_strategy *out) {
  *out = (tess_strategy){
      .name = "replay", .propose = propose, .free = strategy_free};
  return strategy_new(s, &out->ud);
}

const search_strategy search_strategy_replay = {
    "replay", "every candidate is drawn at random", start};
