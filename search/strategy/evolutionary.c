/* SPDX-License-Identifier: Apache-2.0
 * The strategy "evolutionary": evolutionary search after Ansor's and
 * MetaSchedule's, with measured times as fitness.  Offspring of the best
 * measured candidates (mutation of single decisions, crossover within a sketch)
 * are ranked by the cost model; a share of every batch is sampled at random
 * (epsilon-greedy). */
#include "search/strategy/strategy.h"

enum {
  POPULATION = 32, /* best measured candidates that are parents */
  FIRST_DRAWS = 1, /* random batches before the first generation */
  BROOD = 16,      /* offspring made per proposal */
  MAX_STEPS = 4    /* decisions changed by one mutation, at most */
};
/* Shares of 256. */
enum { EPSILON = 26, CROSSED = 51 };

/* Rank k is a parent with probability proportional to 1 / (k + 1). */
static uint32_t pick_parent(tess_session *s, const uint32_t *best, uint32_t n) {
  uint32_t weight[POPULATION];
  for (uint32_t k = 0; k < n; k++) weight[k] = (1u << 16) / (k + 1);
  return best[rng_weighted(&s->random, weight, n)];
}

/* Geometric: one step with probability 1/2, two with 1/4, ... */
static uint32_t draw_steps(tess_session *s) {
  uint32_t k = 1;
  while (k < MAX_STEPS && rng_below(&s->random, 2)) k++;
  return k;
}

static search_order breed(tess_session *s, const uint32_t *best, uint32_t n) {
  const search_cand *a = &s->history.v[pick_parent(s, best, n)].c;
  if (rng_below(&s->random, 256) < CROSSED)
    for (int tries = 0; tries < 8; tries++) {
      const search_cand *b = &s->history.v[pick_parent(s, best, n)].c;
      if (b != a && b->sketch == a->sketch)
        return (search_order){.how = SEARCH_CROSS, .a = a, .b = b};
    }
  return (search_order){.how = SEARCH_MUTATE, .steps = draw_steps(s), .a = a};
}

/* Round-robin over the sketches, so that each is sampled early. */
static search_order draw_order(const tess_session *s, uint32_t i) {
  return (search_order){.how = SEARCH_DRAW,
                        .sketch = (int32_t)((s->next + i) % s->nsketch)};
}

/* Completes a batch with random samples when too few offspring are new: the
 * space is small, or the neighbourhood of the best is exhausted. */
static tess_status fill_up(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  uint32_t made = n * BROOD;
  for (uint32_t i = 0; i < made; i++) b->order[i] = draw_order(s, i);
  tess_status st = session_make(s, made, b->order, b->made);
  if (st == TESS_OK) *got = strategy_unique(b, s, made, n, out, *got);
  return st;
}

static tess_status evolutionary_propose(void *ud, tess_session *s, uint32_t n,
                                        tess_candidate *out, uint32_t *got) {
  strategy_batch *b = ud;
  uint32_t best[POPULATION], nbest = session_best(s, POPULATION, best);
  uint32_t made = n * BROOD, kept, random = 0;
  tess_status st = strategy_begin(b, s, made);
  *got = 0;
  if (st != TESS_OK) return st;
  bool young = !nbest || s->history.n < FIRST_DRAWS * n;
  if (!young)
    for (uint32_t i = 0; i < n; i++)
      random += rng_below(&s->random, 256) < EPSILON;
  for (uint32_t i = 0; i < made; i++)
    b->order[i] =
        young || i < random ? draw_order(s, i) : breed(s, best, nbest);
  st = session_make(s, made, b->order, b->made);
  if (st != TESS_OK) return st;
  /* The random ones come first and are not ranked by the model. */
  *got = strategy_unique(b, s, random, n, out, 0);
  kept = made - random;
  memmove(b->made, b->made + random, kept * sizeof *b->made);
  st = strategy_rank(b, s, &kept);
  for (uint32_t i = 0; st == TESS_OK && i < kept && *got < n; i++)
    session_to_public(&b->made[i], &out[(*got)++]);
  return st == TESS_OK && *got < n ? fill_up(b, s, n, out, got) : st;
}

/* It observes nothing: the session remembers what was measured. */
static tess_status evolutionary_open(tess_session *s, tess_strategy *out) {
  *out = (tess_strategy){.name = "evolutionary",
                         .propose = evolutionary_propose,
                         .free = strategy_free};
  return strategy_new(s, &out->ud);
}

const search_strategy search_strategy_evolutionary = {
    "evolutionary", "the best measured so far are mutated and crossed",
    evolutionary_open};
