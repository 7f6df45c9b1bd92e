/* SPDX-License-Identifier: Apache-2.0
 * Evolutionary search while the cost model knows nothing: the fitness of a
 * parent is its rank among the measured, and children are proposed in the order
 * in which they were made. */
#include "search/strategy/evolutionary.h"

enum {
  PARENTS = 32, /* best measured candidates that are parents */
  BROOD = 4,    /* children made per proposal; some are known already */
  MAX_STEPS = 4 /* decisions changed by one mutation, at most */
};

/* Rank k is a parent with probability proportional to 1 / (k + 1). */
static uint32_t pick_measured(tess_session *s, const uint32_t *best,
                              uint32_t n) {
  uint32_t weight[PARENTS];
  for (uint32_t k = 0; k < n; k++) weight[k] = (1u << 16) / (k + 1);
  return best[rng_weighted(&s->random, weight, n)];
}

/* Geometric: one step with probability 1/2, two with 1/4, ... */
static uint32_t draw_steps(tess_session *s) {
  uint32_t k = 1;
  while (k < MAX_STEPS && rng_below(&s->random, 2)) k++;
  return k;
}

static search_order breed(evolution *e, tess_session *s, const uint32_t *best,
                          uint32_t n) {
  const search_cand *a = &s->history.v[pick_measured(s, best, n)].c;
  if (rng_unit(&s->random) < 0.2)
    for (int tries = 0; tries < 8; tries++) {
      const search_cand *b = &s->history.v[pick_measured(s, best, n)].c;
      if (b != a && b->sketch == a->sketch)
        return (search_order){.how = SEARCH_CROSS, .a = a, .b = b};
    }
  search_order o = evolution_mutation(e, s, a);
  if (o.how == SEARCH_MUTATE && !o.trait) o.steps = draw_steps(s);
  if (o.steps > 1) o.weight = NULL; /* several steps: any decisions */
  return o;
}

tess_status evolution_blind(evolution *e, tess_session *s, uint32_t n,
                            tess_candidate *out, uint32_t *got) {
  strategy_batch *b = e->batch;
  uint32_t best[PARENTS], nbest = session_best(s, PARENTS, best);
  tess_status st = strategy_hints(b, s, n, out, got);
  if (st != TESS_OK || *got == n) return st;
  uint32_t draws = nbest ? evolution_draws(e, s, n) : n;
  uint32_t made = nbest ? n * BROOD : n;
  for (uint32_t i = 0; i < made; i++)
    b->order[i] =
        i < draws ? strategy_draw(s, s->next + i) : breed(e, s, best, nbest);
  if (s->broken != TESS_OK) return s->broken;
  st = session_make(s, made, b->order, b->made);
  if (st == TESS_OK) *got = strategy_unique(b, s, made, n, out, *got);
  return st == TESS_OK && *got < n ? strategy_draws(b, s, n, out, got) : st;
}
