/* SPDX-License-Identifier: Apache-2.0
 * The strategy "genetic": a genetic algorithm on measured times, after
 * AutoTVM's tuner.  A generation is measured whole, but for what was measured
 * before; parents are drawn in proportion to throughput; a child has the
 * decisions of one up to a point and those of the other behind it, some drawn
 * anew; the elite goes on.  The model is not asked. */
#include "search/strategy/strategy.h"

#include <math.h>

enum { GENETIC_POPULATION, ELITE, MUTATION, GENETIC_OPTIONS };

typedef struct genetic {
  const double *option;
  strategy_batch *batch;
  strategy_pool gene; /* the generation; scores are throughputs */
  strategy_pool next;
  uint32_t used; /* of the generation: proposed, or known before */
} genetic;

typedef struct breeder {
  genetic *g;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
} breeder;

/* ---- parents ------------------------------------------------------------ */

/* 1 / seconds; 0 of what failed or is not measured. */
static double throughput(const tess_session *s, const search_cand *c) {
  uint32_t at = map_get(&s->known, c->hash);
  if (at == MAP_NONE || s->history.v[at].status != TESS_OK) return 0;
  return 1 / s->history.v[at].seconds;
}

static uint32_t pick_gene(breeder *x, const double *sum, uint32_t n) {
  double at = rng_unit(&x->s->random) * sum[n - 1];
  if (!(sum[n - 1] > 0)) return (uint32_t)rng_below(&x->s->random, n);
  uint32_t i = 0;
  while (i + 1 < n && sum[i] <= at) i++;
  return i;
}

/* ---- children ----------------------------------------------------------- */

/* One-point crossover: the decisions of a before the point, of b behind it;
 * each with some probability is left open, to be drawn. */
static search_order mix(breeder *x, const search_cand *a,
                        const search_cand *b) {
  arena *keep = &x->g->next.keep;
  vm_cursor at = {a->d, a->n, 0}, other = {b->d, b->n, 0};
  const int64_t *da, *db;
  uint32_t na, nb, entries = 0, k = 0;
  while (vm_cursor_next(&at, &na, &da)) entries++;
  uint32_t cut = (uint32_t)rng_below(&x->s->random, entries + 1);
  search_cand *c = arena_new(keep, search_cand);
  int64_t *d = arena_array(keep, int64_t, a->n + b->n + 1);
  at.at = 0;
  c->sketch = a->sketch;
  for (; vm_cursor_next(&at, &na, &da) && vm_cursor_next(&other, &nb, &db);
       k++) {
    const int64_t *from = k < cut ? da : db;
    uint32_t n = k < cut ? na : nb;
    if (rng_unit(&x->s->random) < x->g->option[MUTATION]) n = 0;
    d[c->n++] = n;
    memcpy(d + c->n, from, n * sizeof *d);
    c->n += n;
  }
  c->d = d;
  return (search_order){.how = SEARCH_REPAIR, .a = c};
}

/* Parents of one sketch are crossed; of others the first alone is mutated. */
static search_order order_child(breeder *x, const double *sum) {
  enum { TRIES = 8 };
  const strategy_pool *p = &x->g->gene;
  const search_cand *a = &p->c.v[pick_gene(x, sum, p->c.n)], *b = a;
  for (int k = 0; k < TRIES && (b == a || b->sketch != a->sketch); k++)
    b = &p->c.v[pick_gene(x, sum, p->c.n)];
  return mix(x, a, b->sketch == a->sketch ? b : a);
}

static tess_status breed_generation(breeder *x) {
  genetic *g = x->g;
  uint32_t size = (uint32_t)g->option[GENETIC_POPULATION], n = g->gene.c.n;
  uint32_t elite = (uint32_t)g->option[ELITE];
  for (uint32_t i = 0; i < n; i++)
    g->gene.score.v[i] = throughput(x->s, &g->gene.c.v[i]);
  pool_sort(&g->gene);
  pool_clear(&g->next);
  double *sum = arena_array(&g->next.keep, double, n);
  search_order *order = arena_array(&g->next.keep, search_order, size);
  for (uint32_t i = 0; i < n; i++)
    sum[i] = g->gene.score.v[i] + (i ? sum[i - 1] : 0);
  for (uint32_t i = 0; i < elite && i < n && i < size; i++)
    pool_add(&g->next, &g->gene.c.v[i], 0);
  uint32_t children = size - g->next.c.n;
  for (uint32_t i = 0; i < children; i++) order[i] = order_child(x, sum);
  tess_status st = pool_make(&g->next, x->s, children, order, NULL);
  strategy_pool other = g->gene;
  g->gene = g->next;
  g->next = other;
  g->used = 0;
  return st;
}

/* The best measured, what was good for other workloads, and draws. */
static tess_status begin_generation(breeder *x) {
  genetic *g = x->g;
  tess_session *s = x->s;
  uint32_t size = (uint32_t)g->option[GENETIC_POPULATION], n = 0;
  pool_clear(&g->gene);
  g->used = 0;
  uint32_t left = size - pool_add_measured(&g->gene, s, size);
  search_order *order = arena_array(&g->gene.keep, search_order, size);
  for (; n < left && s->hinted < s->hint.n; n++)
    order[n] =
        (search_order){.how = SEARCH_REPAIR, .a = &s->hint.v[s->hinted++]};
  for (uint32_t i = 0; n < left; i++, n++)
    order[n] = strategy_draw(s, s->next + i);
  return pool_make(&g->gene, s, n, order, NULL);
}

/* ---- proposals ---------------------------------------------------------- */

static void take_genes(breeder *x) {
  genetic *g = x->g;
  while (g->used < g->gene.c.n && *x->got < x->n) {
    const search_cand *c = &g->gene.c.v[g->used++];
    if (session_knows(x->s, c) ||
        map_get(&g->batch->taken, c->hash) != MAP_NONE)
      continue;
    map_put(&g->batch->taken, c->hash, 1);
    session_to_public(c, &x->out[(*x->got)++]);
  }
}

/* A generation is bred when the last one is measured; where several have
 * nothing new, draws are proposed. */
static tess_status propose_genes(breeder *x) {
  enum { TRIES = 4 };
  genetic *g = x->g;
  tess_status st = g->gene.c.n ? TESS_OK : begin_generation(x);
  if (st == TESS_OK) take_genes(x);
  for (int k = 0; st == TESS_OK && !*x->got && g->gene.c.n && k < TRIES; k++) {
    st = breed_generation(x);
    if (st == TESS_OK) take_genes(x);
  }
  session_begin_batch(x->s);
  return st == TESS_OK && !*x->got
             ? strategy_draws(g->batch, x->s, x->n, x->out, x->got)
             : st;
}

static tess_status genetic_propose(void *ud, tess_session *s, uint32_t n,
                                   tess_candidate *out, uint32_t *got) {
  genetic *g = ud;
  breeder x = {g, s, n, got, out};
  strategy_begin(g->batch, s, n);
  return propose_genes(&x);
}

/* ---- life --------------------------------------------------------------- */

static void genetic_end(void *state) {
  genetic *g = state;
  pool_free(&g->gene);
  pool_free(&g->next);
}

static tess_status genetic_begin(void *state, tess_session *s,
                                 const double *option, strategy_batch *b) {
  genetic *g = state;
  *g = (genetic){.option = option, .batch = b};
  pool_init(&g->gene, &s->c->heap);
  pool_init(&g->next, &s->c->heap);
  return TESS_OK;
}

static const search_option genetic_options[] = {
    {"population_size", "members of a generation", SEARCH_COUNT, 64, 2, 65536,
     NULL},
    {"elite_num", "the best of it, which go on as they are", SEARCH_COUNT, 3, 0,
     65536, NULL},
    {"mutation_prob", "how often a decision of a child is drawn anew",
     SEARCH_REAL, 0.1, 0, 1, NULL}};

const search_strategy search_strategy_genetic = {
    .name = "genetic",
    .summary = "a genetic algorithm on measured times",
    .bytes = sizeof(genetic),
    .begin = genetic_begin,
    .propose = genetic_propose,
    .end = genetic_end,
    .option = genetic_options,
    .noption = GENETIC_OPTIONS};
