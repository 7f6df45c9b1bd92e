/* SPDX-License-Identifier: Apache-2.0
 * The model "forest": a random forest over a summary of the per-store
 * features, of the logarithm of throughput; it says how unsure it is. */
#include "search/model/forest.h"
#include "search/model/model.h"

#include <math.h>

enum { TREES = 100, LEAF = 3, LEAST = 6 };
static const feature_kind KIND = FEATURE_PER_STORE;

typedef struct wood {
  forest *f;
  uint32_t width; /* of the per-store rows */
} wood;

static bool random_forest_is_lesson(const model_data *d, uint32_t i) {
  return data_is_ok(d, i) && data_nrows(d, KIND, i);
}

static tess_status random_forest_fit(const model_data *d, model_fit *f) {
  wood *w = arena_new(&f->a, wood);
  uint32_t n = 0, at = 0;
  f->state = w;
  w->width = d->rows[KIND].width;
  for (uint32_t i = 0; i < d->sample.n; i++) n += random_forest_is_lesson(d, i);
  if (n < LEAST) return TESS_NOT_FOUND;
  uint32_t width = summary_width(w->width);
  float *x = arena_array(&f->a, float, (size_t)n *width);
  double *y = arena_array(&f->a, double, n);
  for (uint32_t i = 0; i < d->sample.n; i++) {
    if (!random_forest_is_lesson(d, i)) continue;
    summary_make(data_rows(d, KIND, i), data_nrows(d, KIND, i), w->width,
                 x + (size_t)at * width);
    y[at++] = log2(data_label(d, i));
  }
  forest_options o = {
      .trees = TREES, .leaf = LEAF, .share = 1.0 / 3, .seed = f->seed};
  w->f = forest_fit(&f->a, &o, n, width, x, y);
  return TESS_OK;
}

/* What is unsure of a logarithm is so of the throughput in proportion. */
static tess_status random_forest_score(const model_fit *f, uint32_t n,
                                       const search_rows *rows, double *mean,
                                       double *sd) {
  const wood *w = f->state;
  const search_rows *r = &rows[KIND];
  float row[2 * 512 + 1];
  if (w->width > 512) return TESS_INTERNAL;
  for (uint32_t i = 0; i < n; i++) {
    double y, variance;
    summary_make(r->v + (size_t)r->first[i] * r->width,
                 r->first[i + 1] - r->first[i], r->width, row);
    forest_predict(w->f, row, &y, &variance);
    mean[i] = exp2(y);
    if (sd) sd[i] = mean[i] * M_LN2 * sqrt(variance);
  }
  return TESS_OK;
}

static tess_status importance(const model_fit *f, uint32_t n, double *out) {
  const wood *w = f->state;
  double both[2 * 512 + 1] = {0};
  if (w->width > 512) return TESS_INTERNAL;
  forest_importance(w->f, both);
  for (uint32_t k = 0; k < w->width && k < n; k++)
    out[k] += both[k] + both[w->width + k];
  return TESS_OK;
}

const learner learner_forest = {.name = "forest",
                                .kinds = 1u << FEATURE_PER_STORE,
                                .fit = random_forest_fit,
                                .score = random_forest_score,
                                .importance = importance,
                                .scaled = true};
