/* SPDX-License-Identifier: Apache-2.0
 * The strategy "replay": random search; every candidate is sampled afresh. */
#include "search/strategy/strategy.h"

/* In a small space most samples are duplicates, so several are drawn for each
 * proposal. */
#define MAX_ROUNDS 16

static tess_status replay_propose(void *ud, tess_session *s, uint32_t n,
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

static tess_status replay_open(tess_session *s, const double *value,
                               tess_strategy *out) {
  (void)value;
  *out = (tess_strategy){
      .name = "replay", .propose = replay_propose, .free = strategy_free};
  return strategy_new(s, &out->ud);
}

const search_strategy search_strategy_replay = {
    .name = "replay",
    .summary = "every candidate is drawn at random",
    .open = replay_open};
