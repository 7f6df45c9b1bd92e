/* SPDX-License-Identifier: Apache-2.0
 * Gradient-boosted trees on per-store features, by XGBoost.  A candidate's
 * prediction is the sum over its stores, so gradients are ours:
 *
 *   "xgb"       squared error of the sum against the relative throughput y,
 *               weighted by y: gradient (s - y) y, hessian y for each of its
 *               rows (Ansor, OSDI 2020; MetaSchedule);
 *   "xgb_rank"  pairwise logistic loss within a workload (RankNet, Burges et
 *               al., ICML 2005; AutoTVM's "rank").
 *
 * Growing ends when the loss on candidates that are held out has not fallen
 * for a while, and the trees up to its least are used.  One thread, so that
 * sums do not depend on how many there are. */
#include "search/model/model.h"

#include "search/model/xgb_library.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  MAX_ROUNDS = 600,
  PATIENCE = 30,
  ROUNDS_UNTESTED = 60, /* where too few candidates are held out */
  LEAST = 8,            /* candidates to learn from */
  LEAST_HELD_OUT = 6,
  PARTNERS = 48 /* a candidate is compared with at most so many */
};

/* The candidates of one matrix. */
typedef struct part {
  uint32_t n, nrows;
  uint32_t *first; /* n + 1 */
  uint32_t *group;
  double *label, *sum;
  float *v;
  xgb_matrix m;
} part;

typedef struct trees {
  xgb_library x;
  xgb_booster booster;
  uint32_t width, rounds; /* trees that count */
} trees;

typedef struct growing {
  const model_data *d;
  model_fit *f;
  trees *t;
  part train, test;
  float *grad, *hess; /* by row of train */
  bool rank;
} growing;

static const feature_kind KIND = FEATURE_PER_STORE;

static tess_status failed(const trees *t, model_fit *f) {
  snprintf(f->why, sizeof f->why, "%s", t->x.get_last_error());
  return TESS_UNSUPPORTED;
}

/* ---- matrices ----------------------------------------------------------- */

static bool is_of(const model_data *d, uint32_t i, bool held_out) {
  return data_is_ok(d, i) && data_nrows(d, KIND, i) &&
         data_is_held_out(i) == held_out;
}

static void count_part(const model_data *d, bool held_out, part *p) {
  for (uint32_t i = 0; i < d->sample.n; i++) {
    if (!is_of(d, i, held_out)) continue;
    p->n++;
    p->nrows += data_nrows(d, KIND, i);
  }
}

static void fill_part(growing *g, bool held_out, bool all, part *p) {
  const model_data *d = g->d;
  arena *a = &g->f->a;
  uint32_t at = 0, row = 0, width = d->rows[KIND].width;
  *p = (part){0};
  count_part(d, held_out, p);
  if (all) count_part(d, !held_out, p);
  p->first = arena_array(a, uint32_t, p->n + 1);
  p->group = arena_array(a, uint32_t, p->n + 1);
  p->label = arena_array(a, double, p->n + 1);
  p->sum = arena_array(a, double, p->n + 1);
  p->v = arena_array(a, float, (size_t)p->nrows *width + 1);
  for (uint32_t i = 0; i < d->sample.n; i++) {
    if (!is_of(d, i, held_out) && !(all && is_of(d, i, !held_out))) continue;
    uint32_t n = data_nrows(d, KIND, i);
    p->first[at] = row;
    p->group[at] = d->sample.v[i].group;
    p->label[at++] = data_label(d, i);
    memcpy(p->v + (size_t)row * width, data_rows(d, KIND, i),
           (size_t)n * width * sizeof *p->v);
    row += n;
  }
  p->first[at] = row;
}

static tess_status make_matrix(growing *g, part *p) {
  if (!p->nrows) return TESS_OK;
  const trees *t = g->t;
  return t->x.matrix_new(p->v, p->nrows, t->width, NAN, &p->m) ? failed(t, g->f)
                                                               : TESS_OK;
}

/* ---- predictions -------------------------------------------------------- */

/* Sums over the rows of each of n candidates, by the first `rounds` trees (0:
 * all there are). */
static tess_status xgb_predict(const trees *t, xgb_matrix m, uint32_t rounds,
                               bool training, uint32_t n, const uint32_t *first,
                               double *sum) {
  char config[160];
  const uint64_t *shape;
  uint64_t dim;
  const float *out;
  snprintf(config, sizeof config,
           "{\"type\":1,\"training\":%s,\"iteration_begin\":0,"
           "\"iteration_end\":%u,\"strict_shape\":false}",
           training ? "true" : "false", rounds);
  if (t->x.predict(t->booster, m, config, &shape, &dim, &out))
    return TESS_UNSUPPORTED;
  for (uint32_t i = 0; i < n; i++) {
    sum[i] = 0;
    for (uint32_t k = first[i]; k < first[i + 1]; k++) sum[i] += out[k];
  }
  return TESS_OK;
}

/* ---- objectives --------------------------------------------------------- */

static void squared_gradients(growing *g) {
  const part *p = &g->train;
  for (uint32_t i = 0; i < p->n; i++) {
    double y = p->label[i];
    for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
      g->grad[k] = (float)((p->sum[i] - y) * y);
      g->hess[k] = (float)y;
    }
  }
}

/* The k-th partner of candidate i: all of them where there are few. */
static uint32_t partner(const part *p, uint32_t i, uint32_t k) {
  if (p->n <= PARTNERS) return k;
  return (uint32_t)((i + 1 + (uint64_t)k * p->n / PARTNERS) % p->n);
}

static double logistic(double x) { return 1 / (1 + exp(-x)); }

static void rank_gradients(growing *g) {
  const part *p = &g->train;
  uint32_t partners = p->n < PARTNERS ? p->n : PARTNERS;
  for (uint32_t i = 0; i < p->n; i++) {
    double grad = 0, hess = 1e-6, pairs = 1e-9;
    for (uint32_t k = 0; k < partners; k++) {
      uint32_t j = partner(p, i, k);
      if (p->group[i] != p->group[j] || p->label[i] == p->label[j]) continue;
      double sign = p->label[i] > p->label[j] ? 1 : -1;
      double wrong = logistic(-sign * (p->sum[i] - p->sum[j]));
      grad -= sign * wrong;
      hess += wrong * (1 - wrong);
      pairs++;
    }
    for (uint32_t r = p->first[i]; r < p->first[i + 1]; r++) {
      g->grad[r] = (float)(grad / pairs);
      g->hess[r] = (float)(hess / pairs);
    }
  }
}

static double squared_loss(const part *p) {
  double sum = 0, weight = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    double off = p->sum[i] - p->label[i];
    sum += off * off * p->label[i];
    weight += p->label[i];
  }
  return weight > 0 ? sum / weight : 0;
}

static double rank_loss(const part *p) {
  double sum = 0, pairs = 0;
  for (uint32_t i = 0; i < p->n; i++)
    for (uint32_t j = 0; j < i; j++) {
      if (p->group[i] != p->group[j] || p->label[i] == p->label[j]) continue;
      double sign = p->label[i] > p->label[j] ? 1 : -1;
      sum += log1p(exp(-sign * (p->sum[i] - p->sum[j])));
      pairs++;
    }
  return pairs > 0 ? sum / pairs : 0;
}

/* ---- growing ------------------------------------------------------------ */

static tess_status set_params(const growing *g) {
  static const char *const params[][2] = {{"verbosity", "0"},
                                          {"nthread", "1"},
                                          {"seed", "43"},
                                          {"base_score", "0"},
                                          {"max_depth", "6"},
                                          {"gamma", "0.001"},
                                          {"min_child_weight", "0"},
                                          {"eta", "0.1"},
                                          {"colsample_bynode", "0.5"},
                                          {"lambda", "0.3"},
                                          {"tree_method", "hist"},
                                          {"max_bin", "64"}};
  for (size_t i = 0; i < sizeof params / sizeof *params; i++)
    if (g->t->x.set_param(g->t->booster, params[i][0], params[i][1]))
      return failed(g->t, g->f);
  return TESS_OK;
}

static tess_status boost(growing *g) {
  const trees *t = g->t;
  part *p = &g->train;
  if (xgb_predict(t, p->m, 0, true, p->n, p->first, p->sum))
    return failed(t, g->f);
  if (g->rank)
    rank_gradients(g);
  else
    squared_gradients(g);
  return t->x.boost_one(t->booster, p->m, g->grad, g->hess, p->nrows)
             ? failed(t, g->f)
             : TESS_OK;
}

/* Grows until what is held out is predicted no better; the rounds that did
 * best. */
static tess_status find_rounds(growing *g, uint32_t *best) {
  double least = INFINITY;
  part *p = &g->test;
  tess_status st = TESS_OK;
  for (uint32_t r = 1; r <= MAX_ROUNDS && r <= *best + PATIENCE; r++) {
    st = boost(g);
    if (st != TESS_OK) break;
    if (xgb_predict(g->t, p->m, 0, false, p->n, p->first, p->sum))
      return failed(g->t, g->f);
    double loss = g->rank ? rank_loss(p) : squared_loss(p);
    if (loss < least * (1 - 1e-6)) {
      least = loss;
      *best = r;
    }
  }
  return st;
}

static void close_part(const trees *t, part *p) {
  if (p->m) t->x.matrix_free(p->m);
  p->m = NULL;
}

static tess_status open_booster(growing *g) {
  trees *t = g->t;
  xgb_matrix both[2] = {g->train.m, g->test.m};
  if (t->booster) t->x.booster_free(t->booster);
  t->booster = NULL;
  if (t->x.booster_new(both, g->test.m ? 2 : 1, &t->booster))
    return failed(t, g->f);
  return set_params(g);
}

/* Early stopping on a test set gives the number of rounds; then as many rounds
 * on all samples. */
static tess_status xgb_grow(growing *g) {
  uint32_t best = 0;
  tess_status st = make_matrix(g, &g->train);
  if (st == TESS_OK) st = make_matrix(g, &g->test);
  if (st == TESS_OK) st = open_booster(g);
  if (st == TESS_OK && g->test.n) st = find_rounds(g, &best);
  close_part(g->t, &g->train);
  close_part(g->t, &g->test);
  if (st != TESS_OK) return st;
  g->t->rounds = g->test.n ? (best ? best : 1) : ROUNDS_UNTESTED;
  fill_part(g, false, true, &g->train);
  g->test = (part){0};
  st = make_matrix(g, &g->train);
  if (st == TESS_OK) st = open_booster(g);
  for (uint32_t r = 0; st == TESS_OK && r < g->t->rounds; r++) st = boost(g);
  close_part(g->t, &g->train);
  return st;
}

static void xgb_drop(model_fit *f) {
  trees *t = f->state;
  if (t && t->booster) t->x.booster_free(t->booster);
  f->state = NULL;
}

static tess_status fit_trees(const model_data *d, model_fit *f, bool rank) {
  trees *t = arena_new(&f->a, trees);
  f->state = t;
  growing g = {.d = d, .f = f, .t = t, .rank = rank};
  t->width = d->rows[KIND].width;
  if (!xgb_load(&t->x, f->why)) return TESS_UNSUPPORTED;
  t->x.set_global_config("{\"verbosity\":0}");
  fill_part(&g, true, false, &g.test);
  bool tested = g.test.n >= LEAST_HELD_OUT;
  fill_part(&g, false, !tested, &g.train);
  if (!tested) g.test = (part){0};
  if (g.train.n < LEAST) return TESS_NOT_FOUND;
  uint32_t rows = g.train.nrows + (tested ? g.test.nrows : 0);
  g.grad = arena_array(&f->a, float, rows);
  g.hess = arena_array(&f->a, float, rows);
  return xgb_grow(&g);
}

static tess_status fit_sum(const model_data *d, model_fit *f) {
  return fit_trees(d, f, false);
}

static tess_status fit_rank(const model_data *d, model_fit *f) {
  return fit_trees(d, f, true);
}

/* ---- asking ------------------------------------------------------------- */

static tess_status xgb_score(const model_fit *f, uint32_t n,
                             const search_rows *rows, double *mean,
                             double *sd) {
  const trees *t = f->state;
  const search_rows *r = &rows[KIND];
  xgb_matrix m;
  if (sd) memset(sd, 0, n * sizeof *sd);
  memset(mean, 0, n * sizeof *mean);
  if (!r->first[n]) return TESS_OK;
  t->x.set_global_config("{\"verbosity\":0}");
  if (t->x.matrix_new(r->v, r->first[n], r->width, NAN, &m))
    return TESS_UNSUPPORTED;
  tess_status st = xgb_predict(t, m, t->rounds, false, n, r->first, mean);
  t->x.matrix_free(m);
  return st;
}

/* The gain of splits by a column, by its name "f12". */
static tess_status importance(const model_fit *f, uint32_t n, double *out) {
  const trees *t = f->state;
  uint64_t count, dim;
  const uint64_t *shape;
  const char **names;
  const float *gain;
  if (t->x.feature_score(t->booster, "{\"importance_type\":\"total_gain\"}",
                         &count, &names, &dim, &shape, &gain))
    return TESS_UNSUPPORTED;
  for (uint64_t i = 0; i < count; i++) {
    unsigned long at = strtoul(names[i] + 1, NULL, 10);
    if (at < n) out[at] += gain[i];
  }
  return TESS_OK;
}

static tess_status ready(tess_context *c) {
  xgb_library x;
  char why[256];
  if (xgb_load(&x, why)) return TESS_OK;
  return ctx_fail(c, TESS_UNSUPPORTED,
                  "the cost models \"xgb\" and \"xgb_rank\" need libxgboost "
                  "(Debian: libxgboost0): %s",
                  why);
}

const learner learner_xgb = {.name = "xgb",
                             .kinds = 1u << FEATURE_PER_STORE,
                             .ready = ready,
                             .fit = fit_sum,
                             .score = xgb_score,
                             .drop = xgb_drop,
                             .importance = importance,
                             .scaled = true};

const learner learner_xgb_rank = {.name = "xgb_rank",
                                  .kinds = 1u << FEATURE_PER_STORE,
                                  .ready = ready,
                                  .fit = fit_rank,
                                  .score = xgb_score,
                                  .drop = xgb_drop,
                                  .importance = importance};
