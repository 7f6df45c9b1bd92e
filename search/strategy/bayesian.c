/* SPDX-License-Identifier: Apache-2.0
 * The strategy "bayesian": Bayesian optimisation over decision vectors, with a
 * Gaussian process and expected improvement, or as ytopt with a random forest
 * and a confidence bound (Wu et al., 2023).  Batches are made by the kriging
 * believer (Ginsbourger et al., 2010), with the covariances between its trees
 * where the surrogate is a forest; the sketches are the arms of a bandit. */
#include "search/strategy/bayesian.h"

#include <math.h>

enum {
  FIRST_DRAWS = 128, /* for the pool; then as many as are new */
  PROMISING = 32     /* draws of which the best by the model is proposed */
};

/* ---- batches ------------------------------------------------------------ */

/* Gains that may be negative become positive, in the same order. */
static double positive(const bayes *b, double gain) {
  if (!bayes_bounds(b)) return gain;
  double x = gain - b->best;
  return x > 30 ? x : log1p(exp(x));
}

/* The candidates of a batch as they are taken from the sorted pool. */
typedef struct choosing {
  bayes *b;
  uint32_t m;         /* candidates in question */
  double *left;       /* gain of each; negative: it is taken */
  double **condition; /* of those taken: see believe() */
  uint32_t nconditions;
  const float **row;
} choosing;

/* Kriging believer: as if what the process expects had been measured at the
 * one taken, which leaves means as they are and takes from variances.  What it
 * takes at each candidate is the square of a column of an incomplete Cholesky
 * factor of the posterior covariance. */
static void believe(choosing *x, uint32_t taken) {
  bayes *b = x->b;
  bayes_point *p = b->pool.v;
  double *c = arena_array(&b->spare, double, x->m + 1);
  double noise =
      surrogate_covary(&b->g, &b->spare, p[taken].row, x->m, x->row, c);
  double sd = sqrt(p[taken].b.sd * p[taken].b.sd + noise);
  for (uint32_t k = 0; k < x->nconditions; k++) {
    const double *before = x->condition[k];
    for (uint32_t i = 0; i < x->m; i++) c[i] -= before[i] * before[taken];
  }
  for (uint32_t i = 0; i < x->m; i++) {
    c[i] = sd > 0 ? c[i] / sd : 0;
    p[i].b.sd = sqrt(fmax(0, p[i].b.sd * p[i].b.sd - c[i] * c[i]));
    if (x->left[i] >= 0) x->left[i] = positive(b, bayes_gain(b, &p[i].b));
  }
  x->condition[x->nconditions++] = c;
}

static void begin_choosing(choosing *x, bayes *b, uint32_t n) {
  enum { MANY = 2048 };
  *x = (choosing){.b = b, .m = b->pool.n < MANY ? b->pool.n : MANY};
  x->left = arena_array(&b->spare, double, x->m + 1);
  x->row = arena_array(&b->spare, const float *, x->m + 1);
  x->condition = arena_array(&b->spare, double *, n + 1);
  for (uint32_t i = 0; i < x->m; i++) {
    x->left[i] = positive(b, b->pool.v[i].gain);
    x->row[i] = b->pool.v[i].row;
  }
}

static uint32_t find_gainful(const choosing *x, uint32_t sketch) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < x->m; i++)
    if (x->left[i] >= 0 &&
        (sketch == BAYES_ANY || x->b->pool.v[i].c.sketch == sketch) &&
        (best == UINT32_MAX || x->left[i] > x->left[best]))
      best = i;
  return best;
}

/* The pool is sorted: the best of it first, the others by what is left of their
 * gains; the last one is of the sketch to be explored. */
static void choose(bayes *b, uint32_t n, uint32_t explored, tess_candidate *out,
                   uint32_t *got) {
  choosing x;
  begin_choosing(&x, b, n);
  while (*got < n) {
    uint32_t best = UINT32_MAX;
    if (*got + 1 == n && explored != BAYES_ANY)
      best = find_gainful(&x, explored);
    if (best == UINT32_MAX) best = find_gainful(&x, BAYES_ANY);
    if (best == UINT32_MAX) break;
    const bayes_point *p = &b->pool.v[best];
    x.left[best] = -1;
    map_put(&b->batch->taken, p->c.hash, 1);
    session_to_public(&p->c, &out[(*got)++]);
    if (*got == n) break;
    believe(&x, best);
  }
}

/* ---- proposals ---------------------------------------------------------- */

typedef struct proposing {
  bayes *b;
  tess_session *s;
  uint32_t n, *got;
  tess_candidate *out;
} proposing;

/* Ranking takes all that it ranks; what is proposed stays so. */
static void forget_taken(strategy_batch *b, uint32_t n,
                         const tess_candidate *out) {
  map_clear(&b->taken);
  for (uint32_t i = 0; i < n; i++)
    map_put(&b->taken, session_from_public(&out[i]).hash, 1);
}

/* Before there is a surrogate: of the draws that a Gaussian process begins with
 * every second one is the best of several by what the model learnt from other
 * workloads.  A forest, which says less of what lies between its points, does
 * not get away from such a beginning: on recorded spaces it took twice as many
 * trials. */
static tess_status propose_first(proposing *w, uint32_t n) {
  strategy_batch *b = w->b->batch;
  uint32_t made = n / 2 * PROMISING;
  tess_status st = strategy_hints(b, w->s, (n + 1) / 2, w->out, w->got);
  bool trusts = w->b->g.kind != SURROGATE_FOREST;
  if (st == TESS_OK && trusts && session_model_knows(w->s)) {
    uint32_t most = *w->got + n / 2 < n ? *w->got + n / 2 : n;
    for (uint32_t i = 0; i < made; i++)
      b->order[i] = strategy_draw(w->s, w->s->next + i);
    st = session_make(w->s, made, b->order, b->made);
    if (st == TESS_OK) st = strategy_rank(b, w->s, &made);
    forget_taken(b, *w->got, w->out);
    if (st == TESS_OK)
      *w->got = strategy_unique(b, w->s, made, most, w->out, *w->got);
  }
  if (st == TESS_OK && w->b->option[BAYES_DESIGN] != BAYES_RANDOM)
    st = bayes_design(w->b, w->s, n, w->out, w->got);
  return st == TESS_OK ? strategy_draws(b, w->s, n, w->out, w->got) : st;
}

/* So that there is something to build at once. */
static uint32_t usual_batch(const bayes *b) {
  return b->option[BAYES_SURROGATE] == SURROGATE_GP ? 2 : 4;
}

/* Where nothing is built each is chosen by all before it while they are few; a
 * fit takes longer the more there are.  The first points are chosen by none,
 * and a process costs too much to be fitted for each. */
static uint32_t batch_now(const bayes *b, const tess_session *s) {
  enum { FEW = 100 };
  if (b->option[BAYES_BATCH]) return (uint32_t)b->option[BAYES_BATCH];
  uint32_t usual = usual_batch(b), few = 1 + s->history.n / FEW;
  bool cheap = b->option[BAYES_SURROGATE] != SURROGATE_GP && s->host.measures &&
               s->history.n >= b->option[BAYES_INITIAL];
  return cheap && few < usual ? few : usual;
}

/* One trial in four explores a sketch. */
static bool is_to_explore(const tess_session *s, uint32_t n) {
  enum { EVERY = 4 };
  return s->history.n % EVERY + n >= EVERY;
}

tess_status bayes_learn(bayes *b, tess_session *s, uint32_t n) {
  arena_reset(&b->spare);
  tess_status st = bayes_look(b, s);
  if (st != TESS_OK) return st;
  b->effort = fmin(1, (double)n / usual_batch(b));
  b->learnt = s->history.n;
  b->g.classes = b->option[BAYES_ACQUISITION] == BAYES_CLASS && !b->spent;
  b->fitted =
      surrogate_fit(&b->g, b->seen.n, b->width, b->seen.v, b->value.v, s->seed);
  return st;
}

static tess_status propose(proposing *w) {
  bayes *b = w->b;
  tess_session *s = w->s;
  tess_status st = bayes_learn(b, s, w->n);
  uint32_t initial = (uint32_t)b->option[BAYES_INITIAL], drawn = 0;
  if (st != TESS_OK) return st;
  if (s->history.n < initial) {
    uint32_t n = initial - s->history.n;
    return propose_first(w, n < w->n ? n : w->n);
  }
  for (uint32_t i = 0; i < w->n; i++)
    drawn += rng_unit(&s->random) < b->option[BAYES_EPS];
  if (b->fitted) {
    uint32_t explored =
        is_to_explore(s, w->n) ? bayes_explored(b, s) : BAYES_ANY;
    st = bayes_fill(b, s, explored);
    bayes_notice_spent(b);
    if (st == TESS_OK) choose(b, w->n - drawn, explored, w->out, w->got);
  }
  session_begin_batch(s);
  return st == TESS_OK && *w->got < w->n
             ? strategy_draws(b->batch, s, w->n, w->out, w->got)
             : st;
}

static tess_status bayesian_propose(void *ud, tess_session *s, uint32_t n,
                                    tess_candidate *out, uint32_t *got) {
  bayes *b = ud;
  uint32_t most = batch_now(b, s);
  proposing w = {b, s, n < most ? n : most, got, out};
  strategy_begin(b->batch, s, PROMISING * w.n);
  return propose(&w);
}

/* ---- life --------------------------------------------------------------- */

static void bayesian_end(void *state) {
  bayes *b = state;
  sweep_free(b->sweep);
  surrogate_free(&b->g);
  vec_free(b->heap, &b->seen);
  vec_free(b->heap, &b->value);
  vec_free(b->heap, &b->pool);
  map_free(&b->in);
  pool_free(&b->near);
  arena_free(&b->rows);
  arena_free(&b->keep);
  arena_free(&b->spare);
}

static tess_status bayesian_begin(void *state, tess_session *s,
                                  const double *value, strategy_batch *batch) {
  bayes *b = state;
  mem_heap *h = &s->c->heap;
  *b = (bayes){
      .heap = h, .batch = batch, .fresh = 1, .climbed = 1, .last = FIRST_DRAWS};
  arena_init(&b->rows, h);
  arena_init(&b->keep, h);
  arena_init(&b->spare, h);
  map_init(&b->in, h);
  pool_init(&b->near, h);
  memcpy(b->option, value, sizeof b->option);
  bool quasi =
      value[BAYES_DESIGN] == BAYES_SOBOL || value[BAYES_DESIGN] == BAYES_HALTON;
  tess_status st =
      quasi ? gsl_need(s->c, "a quasi-random design", &b->gsl) : TESS_OK;
  if (st == TESS_OK)
    st =
        surrogate_init(&b->g, s->c, (surrogate_kind)b->option[BAYES_SURROGATE]);
  return st;
}

const search_option bayes_options[BAYES_OPTIONS] = {
    {"batch",
     "candidates of a batch, at most; 0: 2 of a Gaussian process, 4 "
     "else, or where a function measures 1 and 1 more for each hundred "
     "measured",
     SEARCH_COUNT, 0, 0, 4096, NULL},
    {"initial", "points before there is a surrogate", SEARCH_COUNT, 8, 1, 65536,
     NULL},
    {"surrogate",
     "a Gaussian process, a random forest, or where there is the plug-in both "
     "in turns while few are measured",
     SEARCH_WORD, SURROGATE_GP, 0, 0, "auto|gp|forest"},
    {"acquisition",
     "expected improvement; a confidence bound; or of a forest one of the "
     "probability to be in the best tenth",
     SEARCH_WORD, BAYES_EI, 0, 0, "ei|lcb|class"},
    {"kappa", "standard deviations of the confidence bound", SEARCH_REAL, 1.96,
     0, 1e6, NULL},
    {"pool", "candidates that are looked at for a batch", SEARCH_COUNT, 1024,
     16, 1u << 20, NULL},
    {"climbs", "rounds of steps aside from the best of them", SEARCH_COUNT, 4,
     0, 1000, NULL},
    {"eps_greedy", "share of a batch that is drawn", SEARCH_REAL, 0, 0, 1,
     NULL},
    {"design",
     "first points: of draws those with few decisions in common, or those "
     "nearest to quasi-random points; or draws",
     SEARCH_WORD, BAYES_LEVELS, 0, 0, "levels|sobol|halton|random"}};

const search_strategy search_strategy_bayesian = {
    .name = "bayesian",
    .summary = "Bayesian optimisation on decisions",
    .bytes = sizeof(bayes),
    .begin = bayesian_begin,
    .propose = bayesian_propose,
    .end = bayesian_end,
    .option = bayes_options,
    .noption = BAYES_OPTIONS};
