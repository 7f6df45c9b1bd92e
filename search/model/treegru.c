/* SPDX-License-Identifier: Apache-2.0
 * The model "treegru": a TreeGRU over loop trees, trained by Adam (Kingma and
 * Ba 2015) on the pairwise logistic rank loss within a workload. */
#include "search/model/gru.h"
#include "search/model/model.h"

#include "base/rng.h"
#include <math.h>

enum { LEAST = 8, BATCH = 32, STEPS = 160, PIECE = 128 };
static const double RATE = 4e-3, DECAY1 = 0.9, DECAY2 = 0.999;
static const feature_kind KIND = FEATURE_TREE;

typedef struct net {
  gru_shape shape;
  uint32_t width;
  double *weight, *shift, *scale;
} net;

typedef struct training {
  const model_data *d;
  model_fit *f;
  net *n;
  blas b;
  rng r;
  uint32_t nlesson, *lesson; /* samples to learn from, shuffled */
  double *gradient, *m, *v;
  uint32_t step;
} training;

static bool treegru_is_lesson(const model_data *d, uint32_t i) {
  return data_is_ok(d, i) && data_nrows(d, KIND, i);
}

/* ---- before training ---------------------------------------------------- */

/* Columns to a mean of 0 and a spread of 1. */
static void find_scale(training *t) {
  const model_data *d = t->d;
  uint32_t n = t->n->shape.input;
  for (uint32_t k = 0; k < n; k++) {
    double count = 0, sum = 0, square = 0;
    for (uint32_t i = 0; i < t->nlesson; i++) {
      const float *rows = data_rows(d, KIND, t->lesson[i]);
      for (uint32_t r = 0; r < data_nrows(d, KIND, t->lesson[i]); r++) {
        double x = rows[(size_t)r * t->n->width + k + 1];
        count++;
        sum += x;
        square += x * x;
      }
    }
    double mean = sum / count,
           spread = sqrt(fmax(0, square / count - mean * mean));
    t->n->shift[k] = mean;
    t->n->scale[k] = spread > 1e-6 ? 1 / spread : 0;
  }
}

/* Uniform, narrower where more is summed up (Glorot and Bengio 2010). */
static void draw_weights(training *t, uint32_t at, uint32_t n, uint32_t fan) {
  double most = sqrt(3.0 / fan);
  for (uint32_t i = 0; i < n; i++)
    t->n->weight[at + i] = most * (2 * rng_unit(&t->r) - 1);
}

static void begin_weights(training *t) {
  const gru_shape *s = &t->n->shape;
  const uint32_t S = GRU_STATE;
  draw_weights(t, s->embed, S * s->input, s->input);
  draw_weights(t, s->in, 3 * S * S, S);
  draw_weights(t, s->hidden, 3 * S * S, S);
  draw_weights(t, s->out, S, S);
}

static bool treegru_begin(training *t) {
  const model_data *d = t->d;
  arena *a = &t->f->a;
  net *n = t->n;
  n->width = d->rows[KIND].width;
  if (!n->width) return false;
  n->shape = gru_shape_of(n->width);
  t->lesson = arena_array(a, uint32_t, d->sample.n + 1);
  for (uint32_t i = 0; i < d->sample.n; i++)
    if (treegru_is_lesson(d, i)) t->lesson[t->nlesson++] = i;
  if (t->nlesson < LEAST) return false;
  n->shift = arena_array(a, double, n->shape.input);
  n->scale = arena_array(a, double, n->shape.input);
  n->weight = arena_zalloc(a, n->shape.n * sizeof(double));
  t->gradient = arena_array(a, double, n->shape.n);
  t->m = arena_zalloc(a, n->shape.n * sizeof(double));
  t->v = arena_zalloc(a, n->shape.n * sizeof(double));
  rng_init(&t->r, t->f->seed, 0x677275);
  find_scale(t);
  begin_weights(t);
  return true;
}

/* ---- steps -------------------------------------------------------------- */

/* Rows of some lessons, one after the other. */
static gru_trees trees_of(training *t, uint32_t n, const uint32_t *lesson) {
  const model_data *d = t->d;
  arena *a = &t->f->a;
  uint32_t rows = 0, *first = arena_array(a, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    first[i] = rows;
    rows += data_nrows(d, KIND, lesson[i]);
  }
  first[n] = rows;
  float *v = arena_array(a, float, (size_t)rows * t->n->width);
  for (uint32_t i = 0; i < n; i++)
    memcpy(v + (size_t)first[i] * t->n->width, data_rows(d, KIND, lesson[i]),
           (size_t)(first[i + 1] - first[i]) * t->n->width * sizeof *v);
  return (gru_trees){n, t->n->width, first, v};
}

/* Derivatives of the mean over pairs of log(1 + exp(-(better - worse))). */
static void rank_slopes(const training *t, uint32_t n, const uint32_t *lesson,
                        const double *score, double *slope) {
  double pairs = 0;
  memset(slope, 0, n * sizeof *slope);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < i; j++) {
      const model_data *d = t->d;
      double yi = data_label(d, lesson[i]), yj = data_label(d, lesson[j]);
      if (d->sample.v[lesson[i]].group != d->sample.v[lesson[j]].group ||
          yi == yj)
        continue;
      double sign = yi > yj ? 1 : -1;
      double wrong = 1 / (1 + exp(sign * (score[i] - score[j])));
      slope[i] -= sign * wrong;
      slope[j] += sign * wrong;
      pairs++;
    }
  for (uint32_t i = 0; i < n && pairs > 0; i++) slope[i] /= pairs;
}

static void adam(training *t) {
  net *n = t->n;
  t->step++;
  double rate = RATE * (1 - (double)t->step / (STEPS + 1));
  double c1 = 1 - pow(DECAY1, t->step), c2 = 1 - pow(DECAY2, t->step);
  for (uint32_t i = 0; i < n->shape.n; i++) {
    double g = t->gradient[i];
    t->m[i] = DECAY1 * t->m[i] + (1 - DECAY1) * g;
    t->v[i] = DECAY2 * t->v[i] + (1 - DECAY2) * g * g;
    n->weight[i] -= rate * (t->m[i] / c1) / (sqrt(t->v[i] / c2) + 1e-8);
  }
}

/* Of BATCH lessons that stand at the front after some shuffling. */
static void take_step(training *t) {
  arena_mark mark = arena_get_mark(&t->f->a);
  double score[BATCH], slope[BATCH];
  uint32_t n = t->nlesson < BATCH ? t->nlesson : BATCH;
  gru_batch g;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = i + (uint32_t)rng_below(&t->r, t->nlesson - i);
    uint32_t x = t->lesson[k];
    t->lesson[k] = t->lesson[i];
    t->lesson[i] = x;
  }
  gru_trees trees = trees_of(t, n, t->lesson);
  gru_begin(&g, &t->f->a, &t->b, &trees, t->n->shift, t->n->scale);
  gru_forward(&g, t->n->weight, score);
  rank_slopes(t, n, t->lesson, score, slope);
  memset(t->gradient, 0, t->n->shape.n * sizeof(double));
  gru_backward(&g, t->n->weight, slope, t->gradient);
  adam(t);
  arena_reset_to(&t->f->a, mark);
}

static tess_status treegru_fit(const model_data *d, model_fit *f) {
  training t = {.d = d, .f = f};
  f->state = t.n = arena_new(&f->a, net);
  if (!treegru_begin(&t)) return TESS_NOT_FOUND;
  blas_open(&t.b, false);
  blas_begin(&t.b);
  for (int i = 0; i < STEPS; i++) take_step(&t);
  blas_end(&t.b);
  return TESS_OK;
}

/* ---- asking ------------------------------------------------------------- */

typedef struct asking {
  const net *n;
  gru_trees t;
  blas b;
  arena a;
  double *score;
} asking;

static tess_status ask(void *ud) {
  asking *w = ud;
  gru_batch g;
  gru_begin(&g, &w->a, &w->b, &w->t, w->n->shift, w->n->scale);
  gru_forward(&g, w->n->weight, w->score);
  arena_reset(&w->a);
  return TESS_OK;
}

static tess_status treegru_score(const model_fit *f, uint32_t n,
                                 const search_rows *rows, double *mean,
                                 double *sd) {
  const search_rows *r = &rows[KIND];
  mem_heap heap;
  tess_status st = TESS_OK;
  asking w = {.n = f->state};
  if (sd) memset(sd, 0, n * sizeof *sd);
  if (r->width != w.n->width) return TESS_INTERNAL;
  mem_heap_init(&heap, f->heap.alloc, f->heap.cap);
  arena_init(&w.a, &heap);
  blas_open(&w.b, false);
  blas_begin(&w.b);
  for (uint32_t at = 0; at < n && st == TESS_OK; at += PIECE) {
    uint32_t some = n - at < PIECE ? n - at : PIECE, first[PIECE + 1];
    for (uint32_t i = 0; i <= some; i++)
      first[i] = r->first[at + i] - r->first[at];
    w.t = (gru_trees){some, r->width, first,
                      r->v + (size_t)r->first[at] * r->width};
    w.score = mean + at;
    st = mem_protect(&heap, ask, &w);
  }
  blas_end(&w.b);
  arena_free(&w.a);
  return st;
}

const learner learner_treegru = {.name = "treegru",
                                 .kinds = 1u << FEATURE_TREE,
                                 .fit = treegru_fit,
                                 .score = treegru_score};
