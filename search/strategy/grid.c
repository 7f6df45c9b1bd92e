/* SPDX-License-Identifier: Apache-2.0
 * The strategy "grid": the whole space in its fixed order (sweep.c). */
#include "search/strategy/strategy.h"

/* Decisions that are tried for a proposal, at most. */
enum { TRIES = 4096 };

typedef struct grid {
  strategy_batch *batch;
} grid;

static tess_status grid_begin(void *state, tess_session *s,
                              const double *option, strategy_batch *b) {
  (void)s, (void)option;
  ((grid *)state)->batch = b;
  return TESS_OK;
}

static tess_status grid_propose(void *state, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  const grid *g = state;
  strategy_begin(g->batch, s, n);
  batch_sweep(g->batch, s, (uint64_t)TRIES * n, n, out, got);
  return TESS_OK;
}

const search_strategy search_strategy_grid = {
    .name = "grid",
    .summary = "the decisions of each sketch in their fixed order",
    .bytes = sizeof(grid),
    .begin = grid_begin,
    .propose = grid_propose};
