/* SPDX-License-Identifier: Apache-2.0
 * The strategy "replay": random search; every candidate is sampled afresh. */
#include "search/strategy/strategy.h"

typedef struct replay {
  strategy_batch *batch;
} replay;

static tess_status replay_begin(void *state, tess_session *s,
                                const double *option, strategy_batch *b) {
  (void)s, (void)option;
  ((replay *)state)->batch = b;
  return TESS_OK;
}

static tess_status replay_propose(void *state, tess_session *s, uint32_t n,
                                  tess_candidate *out, uint32_t *got) {
  const replay *r = state;
  strategy_begin(r->batch, s, n);
  return strategy_draws(r->batch, s, n, out, got);
}

const search_strategy search_strategy_replay = {
    .name = "replay",
    .summary = "every candidate is drawn at random",
    .bytes = sizeof(replay),
    .begin = replay_begin,
    .propose = replay_propose};
