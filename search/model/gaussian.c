/* SPDX-License-Identifier: Apache-2.0
 * The model "gp": a Gaussian process over the decisions of the newest
 * workload's candidates, of the logarithm of throughput, by the plug-in
 * search/gsl/. */
#include "search/model/gsl_library.h"
#include "search/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST = 4, MOST = 300, BEST = 150, STEPS = 30 };
static const feature_kind KIND = FEATURE_DECISIONS;

typedef struct process {
  const gsl_plugin *gsl;
  gsl_gp *gp;
  uint32_t width, n;
  const uint32_t *column; /* those that are not all the same */
} process;

static bool gaussian_is_lesson(const model_data *d, uint32_t i) {
  return data_is_ok(d, i) && data_nrows(d, KIND, i) &&
         d->sample.v[i].group == d->sample.v[d->sample.n - 1].group;
}

typedef struct ranked {
  double label;
  uint32_t i;
} ranked;

static int by_label(const void *p, const void *q) {
  const ranked *a = p, *b = q;
  if (a->label != b->label) return a->label > b->label ? -1 : 1;
  return a->i < b->i ? -1 : a->i > b->i;
}

static int by_index(const void *p, const void *q) {
  const ranked *a = p, *b = q;
  return a->i < b->i ? -1 : a->i > b->i;
}

/* All of them, or the best and of the others the newest; oldest first. */
static uint32_t gaussian_choose(const model_data *d, arena *a, ranked **out) {
  ranked *r = arena_array(a, ranked, d->sample.n + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->sample.n; i++)
    if (gaussian_is_lesson(d, i)) r[n++] = (ranked){data_label(d, i), i};
  *out = r;
  if (n <= MOST) return n;
  qsort(r, n, sizeof *r, by_label);
  qsort(r + BEST, n - BEST, sizeof *r, by_index);
  memmove(r + BEST, r + n - (MOST - BEST), (MOST - BEST) * sizeof *r);
  qsort(r, MOST, sizeof *r, by_index);
  return MOST;
}

static void find_columns(process *p, const model_data *d, arena *a, uint32_t n,
                         const ranked *r) {
  uint32_t *column = arena_array(a, uint32_t, p->width + 1);
  for (uint32_t c = 0; c < p->width; c++)
    for (uint32_t i = 1; i < n; i++)
      if (data_rows(d, KIND, r[i].i)[c] != data_rows(d, KIND, r[0].i)[c]) {
        column[p->n++] = c;
        break;
      }
  p->column = column;
}

static void pick_columns(const process *p, const float *row, double *out) {
  for (uint32_t k = 0; k < p->n; k++) out[k] = row[p->column[k]];
}

static tess_status gaussian_fit(const model_data *d, model_fit *f) {
  process *p = arena_new(&f->a, process);
  ranked *r;
  f->state = p;
  p->width = d->rows[KIND].width;
  p->gsl = gsl_load(f->why);
  if (!p->gsl) return TESS_UNSUPPORTED;
  uint32_t n = gaussian_choose(d, &f->a, &r);
  if (n < LEAST) return TESS_NOT_FOUND;
  find_columns(p, d, &f->a, n, r);
  double *x = arena_array(&f->a, double, (size_t)n * p->n + 1);
  double *y = arena_array(&f->a, double, n);
  for (uint32_t i = 0; i < n; i++) {
    pick_columns(p, data_rows(d, KIND, r[i].i), x + (size_t)i * p->n);
    y[i] = log2(r[i].label);
  }
  if (!p->n) return TESS_NOT_FOUND;
  p->gp = p->gsl->gp_fit(n, p->n, x, y, NULL, STEPS);
  return p->gp ? TESS_OK : TESS_NOT_FOUND;
}

static void gaussian_drop(model_fit *f) {
  process *p = f->state;
  if (p && p->gp) p->gsl->gp_free(p->gp);
  f->state = NULL;
}

enum { WIDEST = 1024 };

/* What does not replay is worst. */
static tess_status gaussian_score(const model_fit *f, uint32_t n,
                                  const search_rows *rows, double *mean,
                                  double *sd) {
  const process *p = f->state;
  const search_rows *r = &rows[KIND];
  double x[WIDEST], one, unsure;
  if (p->n > WIDEST || r->width != p->width) return TESS_INTERNAL;
  for (uint32_t i = 0; i < n; i++) {
    mean[i] = 0;
    if (sd) sd[i] = 0;
    if (r->first[i] == r->first[i + 1]) continue;
    pick_columns(p, r->v + (size_t)r->first[i] * r->width, x);
    p->gsl->gp_predict(p->gp, 1, x, &one, &unsure);
    mean[i] = exp2(one);
    if (sd) sd[i] = mean[i] * M_LN2 * unsure;
  }
  return TESS_OK;
}

static tess_status ready(tess_context *c) {
  const gsl_plugin *gsl;
  return gsl_need(c, "the cost model \"gp\"", &gsl);
}

const learner learner_gp = {.name = "gp",
                            .kinds = 1u << FEATURE_DECISIONS,
                            .ready = ready,
                            .fit = gaussian_fit,
                            .score = gaussian_score,
                            .drop = gaussian_drop,
                            .scaled = true};
