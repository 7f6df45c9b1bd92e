/* SPDX-License-Identifier: Apache-2.0
 * What fails to compile or to run teaches a classifier of its own and not the
 * regressor, as in BaCO (Hellsten et al., ASPLOS 2023): a forest over the
 * decisions of the newest workload's candidates. */
#include "search/model/forest.h"
#include "search/model/object.h"

enum { TREES = 50, LEAF = 1, LEAST = 3 };
static const feature_kind KIND = FEATURE_DECISIONS;

static bool feasible_is_lesson(const model_data *d, uint32_t i) {
  return d->sample.v[i].group == d->sample.v[d->sample.n - 1].group &&
         data_nrows(d, KIND, i);
}

bool feasible_fit(const model_data *d, model_fit *f) {
  uint32_t count[2] = {0}, at = 0, width = d->rows[KIND].width;
  for (uint32_t i = 0; i < d->sample.n; i++)
    if (feasible_is_lesson(d, i)) count[data_is_ok(d, i)]++;
  if (count[0] < LEAST || count[1] < LEAST) return false;
  uint32_t n = count[0] + count[1];
  float *x = arena_array(&f->a, float, (size_t)n *width);
  double *y = arena_array(&f->a, double, n);
  for (uint32_t i = 0; i < d->sample.n; i++) {
    if (!feasible_is_lesson(d, i)) continue;
    memcpy(x + (size_t)at * width, data_rows(d, KIND, i), width * sizeof *x);
    y[at++] = data_is_ok(d, i);
  }
  forest_options o = {
      .trees = TREES, .leaf = LEAF, .share = 0.5, .seed = f->seed};
  f->state = forest_fit(&f->a, &o, n, width, x, y);
  return true;
}

double feasible_score(const model_fit *f, const search_rows *r, uint32_t i) {
  double mean, variance;
  if (r->first[i] == r->first[i + 1]) return 0;
  forest_predict(f->state, r->v + (size_t)r->first[i] * r->width, &mean,
                 &variance);
  return mean;
}
