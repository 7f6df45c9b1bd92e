/* SPDX-License-Identifier: Apache-2.0
 * The strategy "evolutionary": evolutionary search on the scores of the cost
 * model, after Ansor's and MetaSchedule's (whose names the options have).  The
 * first population are the best measured and draws; in each generation parents
 * are drawn in proportion to their scores and kept, mutated or crossed; the
 * best of all generations are proposed, and a share of the batch is drawn
 * (epsilon-greedy).  While the model knows nothing the best measured are the
 * parents of one generation (blind.c). */
#include "search/strategy/evolutionary.h"

#include <math.h>

/* One generation at work: its members are first .. end - 1 of the pool. */
typedef struct breeding {
  evolution *e;
  tess_session *s;
  uint32_t first, end;
  double *sum;           /* of fitness, up to each member */
  bool *once;            /* whether a member goes on as it is already */
  search_order *order;   /* of children to be made, */
  uint32_t *parent, *at; /*   their parents, and where they are then */
  uint32_t *kept, nkept; /* members that go on as they are */
} breeding;

/* ---- parents ------------------------------------------------------------ */

/* Fitness is the score above the worst's, and a little more, so that the worst
 * has a chance, too. */
static void sum_fitness(breeding *g) {
  const double little = 0.02; /* of the best's */
  const double *score = g->e->pool.score.v;
  double lo = INFINITY, hi = -INFINITY, sum = 0;
  for (uint32_t i = g->first; i < g->end; i++) {
    if (!isfinite(score[i])) continue;
    lo = fmin(lo, score[i]);
    hi = fmax(hi, score[i]);
  }
  double spread = hi > lo ? hi - lo : 1;
  for (uint32_t i = g->first; i < g->end; i++) {
    double x = isfinite(score[i]) ? (score[i] - lo) / spread : score[i] > 0;
    g->sum[i - g->first] = sum += x + little;
  }
}

static uint32_t pick_parent(breeding *g) {
  uint32_t lo = 0, hi = g->end - g->first - 1;
  double at = rng_unit(&g->s->random) * g->sum[hi];
  while (lo < hi) {
    uint32_t mid = (lo + hi) / 2;
    if (g->sum[mid] <= at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return g->first + lo;
}

/* ---- children ----------------------------------------------------------- */

static search_order cross_order(breeding *g, uint32_t parent) {
  const search_cand *c = g->e->pool.c.v, *a = &c[parent];
  for (int tries = 0; tries < 8; tries++) {
    const search_cand *b = &c[pick_parent(g)];
    if (b->hash != a->hash && b->sketch == a->sketch)
      return (search_order){.how = SEARCH_CROSS, .a = a, .b = b};
  }
  return evolution_mutation(g->e, g->s, a);
}

/* A child that is to be made so, or a parent that goes on as it is, which each
 * does once in a generation. */
static void choose_child(breeding *g, uint32_t *made) {
  const double *o = g->e->option;
  double at = rng_unit(&g->s->random);
  uint32_t parent = pick_parent(g);
  bool *once = &g->once[parent - g->first];
  bool crosses = at >= o[GENETIC_MUTATE_PROB] &&
                 at < o[GENETIC_MUTATE_PROB] + o[GENETIC_CROSS_PROB];
  if (at >= o[GENETIC_MUTATE_PROB] && !crosses && !*once) {
    *once = true;
    g->kept[g->nkept++] = parent;
    return;
  }
  g->order[*made] =
      crosses ? cross_order(g, parent)
              : evolution_mutation(g->e, g->s, &g->e->pool.c.v[parent]);
  g->parent[(*made)++] = parent;
}

/* Makes n children; how many could not be made. */
static tess_status make_children(breeding *g, uint32_t *n) {
  uint32_t made = 0, failed = 0;
  for (uint32_t i = 0; i < *n; i++) choose_child(g, &made);
  if (g->s->broken != TESS_OK) return g->s->broken;
  tess_status st = pool_make(&g->e->pool, g->s, made, g->order, g->at);
  for (uint32_t i = 0; st == TESS_OK && i < made; i++)
    if (g->at[i] == UINT32_MAX) g->parent[failed++] = g->parent[i];
  *n = failed;
  return st;
}

/* The next generation, with scores; where children cannot be made their last
 * parents go on. */
static tess_status next_generation(breeding *g) {
  strategy_pool *p = &g->e->pool;
  uint32_t n = (uint32_t)g->e->option[POPULATION_SIZE], from = p->c.n;
  int tries = 1 + (int)g->e->option[GENETIC_MAX_FAIL_COUNT];
  tess_status st = TESS_OK;
  bool knows;
  sum_fitness(g);
  memset(g->once, 0, (g->end - g->first) * sizeof *g->once);
  g->nkept = 0;
  while (st == TESS_OK && n && tries--) st = make_children(g, &n);
  if (st == TESS_OK) st = pool_score(p, g->s, from, &knows);
  for (uint32_t i = 0; i < n; i++) g->kept[g->nkept++] = g->parent[i];
  for (uint32_t i = 0; st == TESS_OK && i < g->nkept; i++) {
    search_cand c = p->c.v[g->kept[i]];
    pool_add(p, &c, p->score.v[g->kept[i]]);
  }
  g->first = from;
  g->end = p->c.n;
  return st;
}

/* ---- a round ------------------------------------------------------------ */

/* What was good for other workloads, once. */
static tess_status add_hints(breeding *g) {
  tess_session *s = g->s;
  uint32_t n = 0;
  while (s->hinted < s->hint.n && n < g->e->option[POPULATION_SIZE])
    g->order[n++] =
        (search_order){.how = SEARCH_REPAIR, .a = &s->hint.v[s->hinted++]};
  return n ? pool_make(&g->e->pool, s, n, g->order, NULL) : TESS_OK;
}

/* The best measured, hints, and draws: rounds of as many until there are
 * enough. */
static tess_status first_population(breeding *g) {
  evolution *e = g->e;
  const double *o = e->option;
  uint32_t size = (uint32_t)o[POPULATION_SIZE];
  uint32_t measured = pool_add_measured(
      &e->pool, g->s, (uint32_t)(size * o[INIT_MEASURED_RATIO]));
  uint32_t wanted = size - measured, least = (uint32_t)o[INIT_MIN_UNMEASURED];
  if (wanted < least) wanted = least;
  tess_status hints = add_hints(g);
  if (hints != TESS_OK) return hints;
  measured = e->pool.c.n;
  for (int fails = 0; fails < (int)o[MAX_FAIL_COUNT];) {
    uint32_t before = e->pool.c.n;
    for (uint32_t i = 0; i < wanted; i++)
      g->order[i] = strategy_draw(g->s, g->s->next + i);
    tess_status st = pool_make(&e->pool, g->s, wanted, g->order, NULL);
    if (st != TESS_OK) return st;
    if (e->pool.c.n >= measured + least) break;
    if (e->pool.c.n == before) fails++;
  }
  g->first = 0;
  g->end = e->pool.c.n;
  return TESS_OK;
}

static void offer_all(const breeding *g) {
  const strategy_pool *p = &g->e->pool;
  for (uint32_t i = g->first; i < g->end; i++)
    top_offer(&g->e->top, g->s, &p->c.v[i], p->score.v[i]);
}

static void begin_round(breeding *g, uint32_t n) {
  evolution *e = g->e;
  const double *o = e->option;
  /* Rounds of draws add up to less than two of them. */
  uint32_t size = (uint32_t)o[POPULATION_SIZE],
           most = 3 * (size + (uint32_t)o[INIT_MIN_UNMEASURED]);
  pool_clear(&e->pool);
  top_begin(&e->top, n);
  g->sum = arena_array(&e->pool.keep, double, most);
  g->once = arena_array(&e->pool.keep, bool, most);
  g->order = arena_array(&e->pool.keep, search_order, most);
  g->parent = arena_array(&e->pool.keep, uint32_t, most);
  g->at = arena_array(&e->pool.keep, uint32_t, most);
  g->kept = arena_array(&e->pool.keep, uint32_t, most);
}

/* Leaves the best n of all generations in e->best. */
static tess_status evolve(breeding *g, uint32_t n) {
  evolution *e = g->e;
  bool knows;
  begin_round(g, n);
  tess_status st = first_population(g);
  if (st == TESS_OK) st = pool_score(&e->pool, g->s, 0, &knows);
  for (int k = 0; st == TESS_OK && g->end > g->first; k++) {
    offer_all(g);
    if (k == (int)e->option[GENETIC_NUM_ITERS]) break;
    st = next_generation(g);
  }
  top_end(&e->top);
  return st;
}

/* ---- proposals ---------------------------------------------------------- */

uint32_t evolution_draws(const evolution *e, tess_session *s, uint32_t n) {
  double wanted = n * e->option[EPS_GREEDY];
  uint32_t whole = (uint32_t)wanted;
  return whole + (rng_unit(&s->random) < wanted - whole);
}

/* The best of the model's, then draws. */
static tess_status propose_best(evolution *e, tess_session *s, uint32_t n,
                                tess_candidate *out, uint32_t *got) {
  breeding g = {.e = e, .s = s};
  uint32_t draws = evolution_draws(e, s, n);
  tess_status st = evolve(&g, n - draws);
  if (st != TESS_OK) return st;
  strategy_pool *best = &e->best;
  for (uint32_t i = 0; i < best->c.n; i++) {
    map_put(&e->batch->taken, best->c.v[i].hash, 1);
    session_to_public(&best->c.v[i], &out[(*got)++]);
  }
  session_begin_batch(s);
  return *got < n ? strategy_draws(e->batch, s, n, out, got) : st;
}

static tess_status evolutionary_propose(void *ud, tess_session *s, uint32_t n,
                                        tess_candidate *out, uint32_t *got) {
  evolution *e = ud;
  strategy_begin(e->batch, s, 4 * n);
  pool_clear(&e->pool);
  evolution_find_mutators(e, s);
  return session_model_knows(s) ? propose_best(e, s, n, out, got)
                                : evolution_blind(e, s, n, out, got);
}

/* ---- life --------------------------------------------------------------- */

static void evolutionary_end(void *state) {
  evolution *e = state;
  top_free(&e->top);
  pool_free(&e->pool);
  pool_free(&e->best);
  arena_free(&e->own);
}

static tess_status evolutionary_begin(void *state, tess_session *s,
                                      const double *option, strategy_batch *b) {
  evolution *e = state;
  mem_heap *h = &s->c->heap;
  *e = (evolution){.option = option, .batch = b};
  pool_init(&e->pool, h);
  pool_init(&e->best, h);
  top_init(&e->top, &e->best);
  arena_init(&e->own, h);
  return TESS_OK;
}

#define MUTATOR(NAME, PROBABILITY, TRAIT, HELP) \
  {"mutate_" #NAME,                             \
   "how often, up to a factor: " HELP,          \
   SEARCH_REAL,                                 \
   PROBABILITY,                                 \
   0,                                           \
   1e6,                                         \
   NULL},

static const search_option evolutionary_options[] = {
    {"population_size", "members of a generation", SEARCH_COUNT, 512, 1, 65536,
     NULL},
    {"init_measured_ratio",
     "share of the first generation that are the best measured", SEARCH_REAL,
     0.2, 0, 1, NULL},
    {"init_min_unmeasured", "how many of it are drawn, at least", SEARCH_COUNT,
     50, 1, 65536, NULL},
    {"max_fail_count", "rounds of draws without a valid one that end it",
     SEARCH_COUNT, 5, 1, 1000, NULL},
    {"genetic_num_iters", "generations that follow", SEARCH_COUNT, 4, 0, 1000,
     NULL},
    {"genetic_mutate_prob", "how often a child is mutated", SEARCH_REAL, 0.85,
     0, 1, NULL},
    {"genetic_cross_prob",
     "how often it has two parents; else one goes on as it is", SEARCH_REAL,
     0.1, 0, 1, NULL},
    {"genetic_max_fail_count", "tries to make a child after the first",
     SEARCH_COUNT, 10, 0, 1000, NULL},
    {"eps_greedy", "share of a batch that is drawn", SEARCH_REAL, 0.05, 0, 1,
     NULL},
#include "search/mutator/mutators.def"
};
#undef MUTATOR

const search_strategy search_strategy_evolutionary = {
    .name = "evolutionary",
    .summary = "generations of mutation and crossover, on the model's scores",
    .bytes = sizeof(evolution),
    .begin = evolutionary_begin,
    .propose = evolutionary_propose,
    .end = evolutionary_end,
    .option = evolutionary_options,
    .noption = sizeof evolutionary_options / sizeof *evolutionary_options};
