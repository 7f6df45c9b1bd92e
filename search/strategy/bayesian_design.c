/* SPDX-License-Identifier: Apache-2.0
 * Initial designs of Bayesian optimisation: of several draws that which has the
 * fewest decisions, and pairs of decisions, in common with what is there, as an
 * orthogonal array has each pair of levels equally often (Hedayat, Sloane and
 * Stufken 1999).  Levels are counted, not distances: points far from each other
 * would be the corners of a space of tiles, where little is fast. */
#include "search/strategy/bayesian.h"

/* How many decisions two candidates of a sketch share. */
static uint32_t count_shared(const search_cand *a, const search_cand *b) {
  vm_cursor x = {a->d, a->n, 0}, y = {b->d, b->n, 0};
  const int64_t *p, *q;
  uint32_t np, nq, shared = 0;
  while (vm_cursor_next(&x, &np, &p) && vm_cursor_next(&y, &nq, &q))
    shared += np == nq && !memcmp(p, q, np * sizeof *p);
  return shared;
}

/* Levels and pairs of levels in common, the sketch being one of them. */
static uint64_t overlap(const search_cand *a, const search_cand *b) {
  if (a->sketch != b->sketch) return 0;
  uint64_t n = 1 + count_shared(a, b);
  return n * (n + 1) / 2;
}

/* Chooses from the n made, of which those taken have no decisions any more. */
static uint32_t choose_apart(uint32_t n, const search_cand *made,
                             const uint64_t *cost) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < n; i++)
    if (made[i].d && (best == UINT32_MAX || cost[i] < cost[best])) best = i;
  return best;
}

static void add_costs(uint32_t n, const search_cand *made, uint64_t *cost,
                      const search_cand *there) {
  for (uint32_t i = 0; i < n; i++)
    if (made[i].d && there->d) cost[i] += overlap(&made[i], there);
}

static bool is_undesigned(const bayes *b, const tess_session *s,
                          const search_cand *c) {
  return c->d && !session_knows(s, c) &&
         map_get(&b->batch->taken, c->hash) == MAP_NONE;
}

static void give_designed(bayes *b, const search_cand *c, tess_candidate *out,
                          uint32_t *got) {
  map_put(&b->batch->taken, c->hash, 1);
  session_to_public(c, &out[(*got)++]);
}

/* The sequence goes on from batch to batch. */
static tess_status design_near(bayes *b, tess_session *s, uint32_t count,
                               search_cand *made, uint32_t n,
                               tess_candidate *out, uint32_t *got) {
  uint32_t left = 0, *at = arena_array(&b->spare, uint32_t, n + 1);
  search_rows r;
  for (uint32_t i = 0; i < count; i++)
    if (made[i].d) made[left++] = made[i];
  tess_status st = session_rows(s, FEATURE_DECISIONS, left, made, &r);
  if (st != TESS_OK) return st;
  gsl_sequence kind =
      b->option[BAYES_DESIGN] == BAYES_SOBOL ? GSL_SOBOL : GSL_HALTON;
  uint32_t k = bayes_nearest(b, kind, s->history.n + *got, &r, n - *got, at);
  for (uint32_t i = 0; i < k; i++)
    if (is_undesigned(b, s, &made[at[i]]))
      give_designed(b, &made[at[i]], out, got);
  return TESS_OK;
}

static void design_apart(bayes *b, const tess_session *s, uint32_t count,
                         search_cand *made, uint32_t n, tess_candidate *out,
                         uint32_t *got) {
  uint64_t *cost = arena_zalloc(&b->spare, (count + 1) * sizeof *cost);
  for (uint32_t i = 0; i < s->history.n; i++)
    add_costs(count, made, cost, &s->history.v[i].c);
  for (uint32_t i = 0; i < *got; i++) {
    search_cand c = session_from_public(&out[i]);
    add_costs(count, made, cost, &c);
  }
  while (*got < n) {
    uint32_t at = choose_apart(count, made, cost);
    if (at == UINT32_MAX) break;
    search_cand c = made[at];
    made[at].d = NULL;
    if (!is_undesigned(b, s, &c)) continue;
    give_designed(b, &c, out, got);
    add_costs(count, made, cost, &c);
  }
}

tess_status bayes_design(bayes *b, tess_session *s, uint32_t n,
                         tess_candidate *out, uint32_t *got) {
  uint32_t count = *got < n ? BAYES_DRAWS * (n - *got) : 0;
  search_order *order = arena_array(&b->spare, search_order, count + 1);
  search_cand *made = arena_array(&b->spare, search_cand, count + 1);
  for (uint32_t i = 0; i < count; i++) order[i] = strategy_draw(s, s->next + i);
  tess_status st = session_make(s, count, order, made);
  if (st != TESS_OK) return st;
  for (uint32_t i = 0; i < count; i++)
    if (!is_undesigned(b, s, &made[i])) made[i].d = NULL;
  if (b->option[BAYES_DESIGN] != BAYES_LEVELS)
    return design_near(b, s, count, made, n, out, got);
  design_apart(b, s, count, made, n, out, got);
  return TESS_OK;
}
