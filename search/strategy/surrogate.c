/* SPDX-License-Identifier: Apache-2.0
 * Surrogates of Bayesian optimisation over decision vectors: a Gaussian process
 * by the plug-in search/gsl/, a random forest with the variance of its leaves,
 * as in scikit-optimize and ytopt, or both in turns while few are known.  What
 * failed teaches a classifier of its own, after BaCO (Hellsten et al., ASPLOS
 * 2023), and not the regressor. */
#include "base/hash.h"
#include "search/strategy/bayesian.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST = 4, TREES = 48, LEAF = 2, MOST = 400, BEST = 200 };
/* Of fitting the scales of a process, at first and then. */
enum { STEPS = 30, MORE_STEPS = 10 };
/* Successes up to which "auto" takes a process, too. */
enum { PROCESS = 100 };
/* Where a few have run, one or two that failed say too little. */
enum { FAILURES = 3 };

static const gsl_plugin *find_plugin(tess_context *c) {
  char why[256];
  const gsl_plugin *found = gsl_load(why);
  if (!found)
    ctx_warn(c, hash_bytes("gsl", 3),
             "no Gaussian process without the plug-in gsl.so (%s): the "
             "surrogate is a forest, and the search may need more trials; the "
             "option surrogate=forest says the same",
             why);
  return found;
}

tess_status surrogate_init(surrogate *g, tess_context *c, surrogate_kind kind) {
  *g = (surrogate){.kind = kind};
  arena_init(&g->a, &c->heap);
  if (kind == SURROGATE_GP)
    return gsl_need(c, "the surrogate \"gp\" of strategy 'bayesian'", &g->gsl);
  if (kind == SURROGATE_AUTO) g->gsl = find_plugin(c);
  if (!g->gsl) g->kind = SURROGATE_FOREST;
  return TESS_OK;
}

static void drop_process(surrogate *g) {
  if (g->gp) g->gsl->gp_free(g->gp);
  g->gp = NULL;
}

void surrogate_free(surrogate *g) {
  drop_process(g);
  if (g->a.heap) arena_free(&g->a);
}

/* ---- what is learnt from ------------------------------------------------ */

typedef struct lessons {
  uint32_t n, width;
  const float *const *row;
  const double *value;
} lessons;

static void find_columns(surrogate *g, const lessons *l) {
  uint32_t *column = arena_array(&g->a, uint32_t, l->width + 1);
  g->n = 0;
  for (uint32_t k = 0; k < l->width; k++)
    for (uint32_t i = 1; i < l->n; i++)
      if (l->row[i][k] != l->row[0][k]) {
        column[g->n++] = k;
        break;
      }
  g->column = column;
}

/* The cost of a process grows with the cube of its points: of many the best and
 * the newest are taken. */
static double least_value(surrogate *g, const lessons *l, uint32_t n) {
  if (n <= MOST) return -INFINITY;
  double *top = arena_array(&g->a, double, BEST);
  uint32_t have = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    double v = l->value[i];
    uint32_t at = have;
    if (isnan(v)) continue;
    while (at > 0 && top[at - 1] < v) at--;
    if (at == BEST) continue;
    if (have < BEST) have++;
    for (uint32_t k = have - 1; k > at; k--) top[k] = top[k - 1];
    top[at] = v;
  }
  return top[have - 1];
}

static void pick_columns(const surrogate *g, const float *row, double *out) {
  for (uint32_t k = 0; k < g->n; k++) out[k] = row[g->column[k]];
}

/* Scales are fitted anew, from what they were, for each tenth of the points
 * that is new: that takes most of the time. */
static void replace_process(surrogate *g, uint32_t n, const double *x,
                            const double *y) {
  bool goes_on = g->gp && g->dims == g->n;
  uint32_t steps = !goes_on                          ? STEPS
                   : n >= g->scaled + g->scaled / 10 ? MORE_STEPS
                                                     : 0;
  gsl_gp *gp =
      g->n ? g->gsl->gp_fit(n, g->n, x, y, goes_on ? g->gp : NULL, steps)
           : NULL;
  drop_process(g);
  g->gp = gp;
  g->dims = g->n;
  if (steps) g->scaled = n;
}

static bool fit_process(surrogate *g, const lessons *l, uint32_t n) {
  double *x = arena_array(&g->a, double, (size_t)l->n *(g->n + 1));
  double *y = arena_array(&g->a, double, l->n + 1);
  double least = least_value(g, l, n);
  uint32_t at = 0, newest = n - (MOST - BEST), number = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    if (isnan(l->value[i])) continue;
    bool used = n <= MOST || number >= newest || l->value[i] >= least;
    number++;
    if (!used || at == MOST) continue;
    pick_columns(g, l->row[i], x + (size_t)at * g->n);
    y[at++] = l->value[i];
  }
  replace_process(g, at, x, y);
  return g->gp != NULL;
}

static int ascending(const void *p, const void *q) {
  double a = *(const double *)p, b = *(const double *)q;
  return a < b ? -1 : a > b;
}

/* What the best tenth of those that ran have at least, one of a few. */
static double tenth_of(surrogate *g, const lessons *l) {
  double *v = arena_array(&g->a, double, l->n + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->n; i++)
    if (!isnan(l->value[i])) v[n++] = l->value[i];
  qsort(v, n, sizeof *v, ascending);
  return v[(n - 1) * 9 / 10];
}

/* What failed is in no class of the best, and else not learnt from. */
static void fit_forest(surrogate *g, const lessons *l, uint64_t seed) {
  float *x = arena_array(&g->a, float, (size_t)l->n *(l->width + 1));
  double *y = arena_array(&g->a, double, l->n + 1);
  double tenth = g->classes ? tenth_of(g, l) : 0;
  uint32_t at = 0;
  for (uint32_t i = 0; i < l->n; i++) {
    if (isnan(l->value[i]) && !g->classes) continue;
    memcpy(x + (size_t)at * l->width, l->row[i], l->width * sizeof *x);
    y[at++] = g->classes ? l->value[i] >= tenth : l->value[i];
  }
  forest_options o = {.trees = TREES, .leaf = LEAF, .share = 1, .seed = seed};
  g->f = forest_fit(&g->a, &o, at, l->width, x, y);
}

static void fit_feasible(surrogate *g, const lessons *l, uint64_t seed) {
  float *x = arena_array(&g->a, float, (size_t)l->n *(l->width + 1));
  double *y = arena_array(&g->a, double, l->n + 1);
  for (uint32_t i = 0; i < l->n; i++) {
    memcpy(x + (size_t)i * l->width, l->row[i], l->width * sizeof *x);
    y[i] = !isnan(l->value[i]);
  }
  forest_options o = {
      .trees = TREES, .leaf = 1, .share = 0.5, .seed = seed + 1};
  g->runs = forest_fit(&g->a, &o, l->n, l->width, x, y);
}

static double mean_value(const lessons *l) {
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < l->n; i++)
    if (!isnan(l->value[i])) {
      sum += l->value[i];
      n++;
    }
  return n ? sum / n : 0;
}

/* While few have run the two take turns of four trials: each gets the other
 * away from where it is stuck. */
static bool asks_process(const surrogate *g, uint32_t n, uint32_t ran) {
  enum { TURN = 4 };
  return g->kind == SURROGATE_GP ||
         (g->kind == SURROGATE_AUTO && ran <= PROCESS && n / TURN % 2 == 0);
}

bool surrogate_fit(surrogate *g, uint32_t n, uint32_t width,
                   const float *const *row, const double *value,
                   uint64_t seed) {
  lessons l = {n, width, row, value};
  uint32_t failed = 0;
  arena_reset(&g->a);
  g->f = g->runs = NULL;
  for (uint32_t i = 0; i < n; i++) failed += isnan(value[i]);
  uint32_t ran = n - failed;
  bool knows = ran >= LEAST, by_process = asks_process(g, n, ran);
  if (!knows || (g->kind == SURROGATE_AUTO && ran > PROCESS)) drop_process(g);
  if (!knows && (!failed || failed == n)) return false;
  g->mean = mean_value(&l);
  find_columns(g, &l);
  bool tells = knows && !by_process && g->classes; /* what fails, too */
  if (!tells && failed >= (knows ? FAILURES : 1)) fit_feasible(g, &l, seed);
  if (!knows) return true;
  if (by_process) return fit_process(g, &l, ran);
  fit_forest(g, &l, seed);
  return true;
}

/* ---- asking ------------------------------------------------------------- */

enum { WIDEST = 1024 };

belief surrogate_ask(const surrogate *g, const float *row) {
  belief b = {.mean = g->mean, .sd = 1, .runs = 1};
  double x[WIDEST], variance;
  if (g->f) {
    forest_predict(g->f, row, &b.mean, &variance);
    b.sd = sqrt(fmax(0, variance));
  } else if (g->gp && g->n <= WIDEST) {
    pick_columns(g, row, x);
    g->gsl->gp_predict(g->gp, 1, x, &b.mean, &b.sd);
  }
  if (g->runs) forest_predict(g->runs, row, &b.runs, &variance);
  return b;
}

double surrogate_expect(const surrogate *g, const float *row) {
  surrogate process = *g;
  if (!g->gp) return surrogate_ask(g, row).mean;
  process.f = NULL;
  return g->dims == g->n ? surrogate_ask(&process, row).mean : NAN;
}

double surrogate_covary(const surrogate *g, arena *spare, const float *at,
                        uint32_t n, const float *const *row, double *out) {
  if (g->f || !g->gp) {
    memset(out, 0, n * sizeof *out);
    if (g->f) forest_covary(g->f, at, n, row, out);
    return 0;
  }
  double *x = arena_array(spare, double, ((size_t)n + 1) * (g->n + 1));
  for (uint32_t i = 0; i < n; i++)
    pick_columns(g, row[i], x + (size_t)i * g->n);
  pick_columns(g, at, x + (size_t)n * g->n);
  return g->gsl->gp_covariance(g->gp, x + (size_t)n * g->n, n, x, out);
}
