/* SPDX-License-Identifier: Apache-2.0
 * The strategy "annealing": simulated annealing on the scores of the cost
 * model, after AutoTVM's tuner (Chen et al., "Learning to optimize tensor
 * programs", 2018).  Chains walk side by side and go on from plan to plan; the
 * best candidates that they came by are the plan, which is proposed from best
 * to worst, with a share of draws.  While the model knows nothing, batches are
 * drawn. */
#include "search/strategy/strategy.h"

#include <math.h>

enum {
  CHAINS,
  STEPS,
  EARLY_STOP,
  PLAN_SIZE,
  TEMPERATURE,
  END_TEMPERATURE,
  ANNEALING_MEASURED,
  ANNEALING_EPS,
  ANNEALING_OPTIONS
};

typedef struct annealing {
  const double *option;
  strategy_batch *batch;
  strategy_pool chain; /* where the chains stand */
  strategy_pool next;  /* and where they may go */
  strategy_pool spare;
  strategy_pool plan;
  strategy_top top;
  uint32_t used; /* of the plan */
} annealing;

/* One call at work. */
typedef struct walk {
  annealing *a;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
  double spread; /* of the chains' scores, in which Delta is counted */
} walk;

/* ---- chains ------------------------------------------------------------- */

/* The share that starts at the best measured, and new chains: draws. */
static tess_status fill_chains(walk *w) {
  enum { TRIES = 4 };
  annealing *a = w->a;
  strategy_pool *p = &a->spare;
  uint32_t size = (uint32_t)a->option[CHAINS];
  uint32_t best = (uint32_t)(size * a->option[ANNEALING_MEASURED]);
  tess_status st = TESS_OK;
  pool_clear(p);
  uint32_t measured = pool_add_measured(p, w->s, best);
  for (uint32_t i = measured; i < a->chain.c.n && p->c.n < size; i++)
    pool_add(p, &a->chain.c.v[i], 0);
  for (int k = 0; st == TESS_OK && k < TRIES && p->c.n < size; k++) {
    uint32_t n = size - p->c.n;
    search_order *order = arena_array(&p->keep, search_order, n);
    for (uint32_t i = 0; i < n; i++)
      order[i] = strategy_draw(w->s, w->s->next + i);
    st = pool_make(p, w->s, n, order, NULL);
  }
  strategy_pool other = a->chain;
  a->chain = *p;
  *p = other;
  return st;
}

static void offer_from(annealing *a, const tess_session *s,
                       const strategy_pool *p) {
  for (uint32_t i = 0; i < p->c.n; i++)
    top_offer(&a->top, s, &p->c.v[i], p->score.v[i]);
}

static double find_spread(const strategy_pool *p) {
  double sum = 0, square = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->c.n; i++) {
    if (!isfinite(p->score.v[i])) continue;
    sum += p->score.v[i];
    n++;
  }
  for (uint32_t i = 0; i < p->c.n; i++)
    if (isfinite(p->score.v[i]))
      square += (p->score.v[i] - sum / n) * (p->score.v[i] - sum / n);
  double spread = n ? sqrt(square / n) : 0;
  return spread > 0 ? spread : 1;
}

/* ---- steps -------------------------------------------------------------- */

static bool accepts(walk *w, double from, double to, double temperature) {
  double u = rng_unit(&w->s->random);
  if (!(to < from)) return true;
  return temperature > 0 && u < exp((to - from) / (w->spread * temperature));
}

/* Every chain tries a neighbour; those that accept theirs go there. */
static tess_status step_chains(walk *w, double temperature) {
  annealing *a = w->a;
  strategy_pool *p = &a->next;
  uint32_t n = a->chain.c.n;
  bool knows;
  pool_clear(p);
  search_order *order = arena_array(&p->keep, search_order, n + 1);
  uint32_t *at = arena_array(&p->keep, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++)
    order[i] =
        (search_order){.how = SEARCH_MUTATE, .steps = 1, .a = &a->chain.c.v[i]};
  tess_status st = pool_make(p, w->s, n, order, at);
  if (st == TESS_OK) st = pool_score(p, w->s, 0, &knows);
  if (st != TESS_OK) return st;
  offer_from(a, w->s, p);
  pool_clear(&a->spare);
  for (uint32_t i = 0; i < n; i++) {
    const strategy_pool *to = &a->chain;
    uint32_t k = i;
    if (at[i] != UINT32_MAX &&
        accepts(w, a->chain.score.v[i], p->score.v[at[i]], temperature)) {
      to = p;
      k = at[i];
    }
    pool_add(&a->spare, &to->c.v[k], to->score.v[k]);
  }
  strategy_pool other = a->chain;
  a->chain = a->spare;
  a->spare = other;
  return st;
}

/* The best of all that the chains come by, until nothing better was seen for
 * some steps. */
static tess_status make_plan(walk *w) {
  annealing *a = w->a;
  const double *o = a->option;
  uint32_t steps = (uint32_t)o[STEPS], idle = 0;
  uint32_t size = (uint32_t)o[PLAN_SIZE];
  bool knows;
  top_begin(&a->top, size > w->n ? size : w->n);
  a->used = 0;
  tess_status st = fill_chains(w);
  if (st == TESS_OK) st = pool_score(&a->chain, w->s, 0, &knows);
  w->spread = find_spread(&a->chain);
  if (st == TESS_OK) offer_from(a, w->s, &a->chain);
  for (uint32_t k = 0; st == TESS_OK && a->chain.c.n && k < steps; k++) {
    double t = o[TEMPERATURE] + (o[END_TEMPERATURE] - o[TEMPERATURE]) * k /
                                    (steps > 1 ? steps - 1 : 1);
    uint64_t before = a->top.changes;
    if (thread_flag_is_raised(&w->s->c->stop)) break;
    st = step_chains(w, t);
    idle = a->top.changes > before ? 0 : idle + 1;
    if (idle >= (uint32_t)o[EARLY_STOP]) break;
  }
  top_end(&a->top);
  return st;
}

/* ---- proposals ---------------------------------------------------------- */

/* From the plan's best on, without what was measured since. */
static void take_from_plan(walk *w, uint32_t until) {
  annealing *a = w->a;
  while (a->used < a->plan.c.n && *w->got < until) {
    const search_cand *c = &a->plan.c.v[a->used++];
    if (session_knows(w->s, c)) continue;
    map_put(&a->batch->taken, c->hash, 1);
    session_to_public(c, &w->out[(*w->got)++]);
  }
}

static tess_status propose_plan(walk *w) {
  annealing *a = w->a;
  double draws = w->n * a->option[ANNEALING_EPS];
  uint32_t whole = (uint32_t)draws;
  whole += rng_unit(&w->s->random) < draws - whole;
  tess_status st = TESS_OK;
  if (session_model_knows(w->s)) {
    uint32_t left = a->plan.c.n - a->used;
    bool small = left < w->n || !(a->option[PLAN_SIZE] > w->n);
    if (small) st = make_plan(w);
    if (st == TESS_OK) take_from_plan(w, w->n - whole);
  }
  session_begin_batch(w->s);
  if (st == TESS_OK) st = strategy_hints(a->batch, w->s, w->n, w->out, w->got);
  return st == TESS_OK && *w->got < w->n
             ? strategy_draws(a->batch, w->s, w->n, w->out, w->got)
             : st;
}

static tess_status annealing_propose(void *ud, tess_session *s, uint32_t n,
                                     tess_candidate *out, uint32_t *got) {
  annealing *a = ud;
  walk w = {.a = a, .s = s, .n = n, .got = got, .out = out};
  strategy_begin(a->batch, s, n);
  return propose_plan(&w);
}

/* ---- life --------------------------------------------------------------- */

static void annealing_end(void *state) {
  annealing *a = state;
  top_free(&a->top);
  pool_free(&a->chain);
  pool_free(&a->next);
  pool_free(&a->spare);
  pool_free(&a->plan);
}

static tess_status annealing_begin(void *state, tess_session *s,
                                   const double *option, strategy_batch *b) {
  annealing *a = state;
  mem_heap *h = &s->c->heap;
  *a = (annealing){.option = option, .batch = b};
  pool_init(&a->chain, h);
  pool_init(&a->next, h);
  pool_init(&a->spare, h);
  pool_init(&a->plan, h);
  top_init(&a->top, &a->plan);
  return TESS_OK;
}

static const search_option annealing_options[] = {
    {"chains", "how many walk side by side", SEARCH_COUNT, 128, 1, 65536, NULL},
    {"steps", "steps of a chain for a plan, at most", SEARCH_COUNT, 100, 1,
     1000000, NULL},
    {"early_stop", "steps without a better candidate that end it", SEARCH_COUNT,
     20, 1, 1000000, NULL},
    {"plan_size",
     "candidates of a plan, of which the best are proposed; a batch at least",
     SEARCH_COUNT, 1, 1, 65536, NULL},
    {"temperature", "at the first step, in spreads of the chains' scores",
     SEARCH_REAL, 1, 0, 1e6, NULL},
    {"end_temperature", "at the last", SEARCH_REAL, 0, 0, 1e6, NULL},
    {"init_measured_ratio",
     "share of the chains that begin at the best measured", SEARCH_REAL, 0.25,
     0, 1, NULL},
    {"eps_greedy", "share of a batch that is drawn", SEARCH_REAL, 0.05, 0, 1,
     NULL}};

const search_strategy search_strategy_annealing = {
    .name = "annealing",
    .summary = "chains of simulated annealing on the model's scores",
    .bytes = sizeof(annealing),
    .begin = annealing_begin,
    .propose = annealing_propose,
    .end = annealing_end,
    .option = annealing_options,
    .noption = ANNEALING_OPTIONS};
