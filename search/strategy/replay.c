/* SPDX-License-Identifier: Apache-2.0
 * The strategy "replay": random search; every candidate is sampled afresh. */
#include "search/strategy/strategy.h"

static tess_status replay_propose(void *ud, tess_session *s, uint32_t n,
                                  tess_candidate *out, uint32_t *got) {
  tess_status st = strategy_begin(ud, s, n);
  *got = 0;
  return st == TESS_OK ? strategy_draws(ud, s, n, out, got) : st;
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
