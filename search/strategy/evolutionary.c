/* SPDX-License-Identifier: Apache-2.0
 * The strategy "evolutionary" (after Ansor's and MetaSchedule's, but with
 * measured fitness): each batch is bred from the best candidates measured so
 * far by mutating single decisions and crossing two of one sketch; several
 * times as many children are made as are wanted, and the cost model chooses
 * among them.  A share of every batch is drawn afresh (epsilon-greedy), so
 * that no part of the space is given up. */
#include "search/strategy/strategy.h"

enum {
  POPULATION = 32, /* of the best measured that breed */
  FIRST_DRAWS = 1, /* batches' worth of random ones before breeding */
  BROOD = 16,      /* children made for each that is wanted */
  MAX_STEPS = 4    /* neighbours in one mutation, at most */
};
/* Shares of 256. */
enum { EPSILON = 26, CROSSED = 51 };

/* Rank k breeds in proportion to 1 / (k + 1). */
static uint32_t pick(tess_session *s, const uint32_t *best, uint32_t n) {
  uint32_t weight[POPULATION];
  for (uint32_t k = 0; k < n; k++) weight[k] = (1u << 16) / (k + 1);
  return best[rng_weighted(&s->random, weight, n)];
}

/* Half take one step, a quarter two, and so on. */
static uint32_t steps(tess_session *s) {
  uint32_t k = 1;
  while (k < MAX_STEPS && rng_below(&s->random, 2)) k++;
  return k;
}

static search_order breed(tess_session *s, const uint32_t *best, uint32_t n) {
  const search_cand *a = &s->history.v[pick(s, best, n)].c;
  if (rng_below(&s->random, 256) < CROSSED)
    for (int tries = 0; tries < 8; tries++) {
      const search_cand *b = &s->history.v[pick(s, best, n)].c;
      if (b != a && b->sketch == a->sketch)
        return (search_order){.how = SEARCH_CROSS, .a = a, .b = b};
    }
  return (search_order){.how = SEARCH_MUTATE, .steps = steps(s), .a = a};
}

/* The sketches take turns, so that each is seen early. */
static search_order drawn(const tess_session *s, uint32_t i) {
  return (search_order){.how = SEARCH_DRAW,
                        .sketch = (int32_t)((s->next + i) % s->nsketch)};
}

/* Where too few children are new, the space is small or the best are bred
 * out: more are drawn, so that what nobody has seen is found. */
static tess_status fill_up(strategy_batch *b, tess_session *s, uint32_t n,
                           tess_candidate *out, uint32_t *got) {
  uint32_t made = n * BROOD;
  for (uint32_t i = 0; i < made; i++) b->order[i] = drawn(s, i);
  tess_status st = session_make(s, made, b->order, b->made);
  if (st == TESS_OK) *got = strategy_unique(b, s, made, n, out, *got);
  return st;
}

static tess_status propose(void *ud, tess_session *s, uint32_t n,
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
    b->order[i] = young || i < random ? drawn(s, i) : breed(s, best, nbest);
  st = session_make(s, made, b->order, b->made);
  if (st != TESS_OK) return st;
  /* The random ones come first and are not judged by the model. */
  *got = strategy_unique(b, s, random, n, out, 0);
  kept = made - random;
  memmove(b->made, b->made + random, kept * sizeof *b->made);
  st = strategy_rank(b, s, &kept);
  for (uint32_t i = 0; st == TESS_OK && i < kept && *got < n; i++)
    session_to_public(&b->made[i], &out[(*got)++]);
  return st == TESS_OK && *got < n ? fill_up(b, s, n, out, got) : st;
}

/* It observes nothing: the session remembers what was measured. */
static tess_status start(tess_session *s, tess_strategy *out) {
  *out = (tess_strategy){
      .name = "evolutionary", .propose = propose, .free = strategy_free};
  return strategy_new(s, &out->ud);
}

const search_strategy search_strategy_evolutionary = {
    "evolutionary", "the best measured so far are mutated and crossed", start};
