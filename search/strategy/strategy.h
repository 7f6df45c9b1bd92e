/* SPDX-License-Identifier: Apache-2.0
 * Shared by the built-in strategies: storage for the candidates of a batch,
 * deduplication, ranking by the cost model. */
#ifndef SEARCH_STRATEGY_STRATEGY_H
#define SEARCH_STRATEGY_STRATEGY_H

#include "search/search.h"

typedef struct strategy_batch {
  mem_heap *heap;
  search_order *order;
  search_cand *made;
  double *score;
  map taken;               /* hashes given out in this batch */
  uint32_t cap;            /* room for that many */
} strategy_batch;

tess_status strategy_new(tess_session *s, void **out);
void strategy_free(void *ud);
/* Room for n candidates; forgets what was taken. */
tess_status strategy_begin(strategy_batch *b, tess_session *s, uint32_t n);
/* Appends those of the n made, in order, that are valid, not measured and
 * not taken, to out[have ..max); returns how many there are then. */
uint32_t strategy_unique(strategy_batch *b, tess_session *s, uint32_t n,
                         uint32_t max, tess_candidate *out, uint32_t have);
/* made[] in descending order of the model's score (ties: as they were);
 * those that are invalid, known or twice are dropped; *n becomes what is
 * left. */
tess_status strategy_rank(strategy_batch *b, tess_session *s, uint32_t *n);

extern const search_strategy search_strategy_replay;
extern const search_strategy search_strategy_evolutionary;

#endif
