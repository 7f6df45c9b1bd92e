/* SPDX-License-Identifier: Apache-2.0
 * The parts of evolutionary search: its state, mutations (mutate.c), and what
 * it does while the model knows nothing (blind.c). */
#ifndef SEARCH_STRATEGY_EVOLUTIONARY_H
#define SEARCH_STRATEGY_EVOLUTIONARY_H

#include "search/mutator/mutator.h"
#include "search/strategy/strategy.h"

/* Numbers of its options; those of the mutators' probabilities follow. */
enum {
  POPULATION_SIZE,
  INIT_MEASURED_RATIO,
  INIT_MIN_UNMEASURED,
  MAX_FAIL_COUNT,
  GENETIC_NUM_ITERS,
  GENETIC_MUTATE_PROB,
  GENETIC_CROSS_PROB,
  GENETIC_MAX_FAIL_COUNT,
  EPS_GREEDY,
  FIRST_MUTATOR
};

/* A mutator where it changes something, for one sketch. */
typedef struct evolution_mutator {
  double sum;                /* of probabilities, up to it */
  const uint32_t *weight;    /* of the instructions; NULL: a host's */
  search_trait trait;
  uint32_t host;             /* which of the session's */
} evolution_mutator;
typedef struct evolution_mutators {
  uint32_t n;
  evolution_mutator *v;
} evolution_mutators;

typedef struct evolution {
  const double *option;
  strategy_batch *batch;
  strategy_pool pool;        /* the generations of a round */
  strategy_pool best;
  strategy_top top;
  arena own;
  evolution_mutators *mutators; /* of each sketch; NULL: not yet found */
} evolution;

/* How to mutate a candidate, whose storage must outlive the order; unwinds. */
search_order evolution_mutation(evolution *e, tess_session *s,
                                const search_cand *a);
/* The mutators of the session's sketches; unwinds. */
void evolution_find_mutators(evolution *e, const tess_session *s);

/* A batch of children of the best measured, in no order, with draws. */
tess_status evolution_blind(evolution *e, tess_session *s, uint32_t n,
                            tess_candidate *out, uint32_t *got);
/* How many of n are to be drawn. */
uint32_t evolution_draws(const evolution *e, tess_session *s, uint32_t n);

#endif
