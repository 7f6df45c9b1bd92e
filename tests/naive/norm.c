/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of normalisation and softmax. */
#include "naive/naive.h"
#include <math.h>

/* Rows of n elements at distance `step`, from element `from` on. */
typedef struct row {
  int64_t from, step, n;
} row;

static double mean(const double *v, row r) {
  double s = 0;
  for (int64_t i = 0; i < r.n; i++) s += v[r.from + i * r.step];
  return s / (double)r.n;
}

/* The mean of the squares of the distances to m. */
static double spread(const double *v, row r, double m) {
  double s = 0;
  for (int64_t i = 0; i < r.n; i++) s += pow(v[r.from + i * r.step] - m, 2);
  return s / (double)r.n;
}

static void layer(naive *x, bool center) {
  naive_tensor *t = x->t, *y = &x->t[x->n - 1];
  uint32_t first = naive_axis(x, "axis", t->ndim, -1);
  double eps = naive_real(x, "eps", 1e-5);
  int64_t n = 1;
  for (uint32_t d = first; d < t->ndim; d++) n *= t->shape[d];
  bool with_bias = center && !naive_denied(x, "bias");
  const double *w = naive_denied(x, "weight") ? NULL : x->t[1].v;
  const double *b = with_bias ? x->t[x->n - 2].v : NULL;
  for (int64_t i = 0; i < t->n; i++) {
    row r = {i / n * n, 1, n};
    double m = center ? mean(t->v, r) : 0;
    y->v[i] = (t->v[i] - m) / sqrt(spread(t->v, r, m) + eps);
    if (w) y->v[i] *= w[i % n];
    if (b) y->v[i] += b[i % n];
  }
}

static void layer_norm(naive *x) { layer(x, true); }
static void rms_norm(naive *x) { layer(x, false); }

static void batch_norm(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[5];
  bool last = naive_is(x, "layout", "channels_last");
  double eps = naive_real(x, "eps", 1e-5);
  for (int64_t i = 0; i < t->n; i++) {
    int64_t a[NAIVE_DIM];
    naive_indices(t, i, a);
    int64_t c = a[last ? t->ndim - 1 : 1];
    y->v[i] =
        (t->v[i] - t[3].v[c]) / sqrt(t[4].v[c] + eps) * t[1].v[c] + t[2].v[c];
  }
}

static void group_norm(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[3];
  int64_t c = t->shape[1], l = t->shape[2], g = c / naive_int(x, "groups", 1);
  for (int64_t i = 0; i < t->n; i++) {
    row r = {i / (g * l) * g * l, 1, g * l};
    double m = mean(t->v, r);
    double v = spread(t->v, r, m) + naive_real(x, "eps", 1e-5);
    y->v[i] = (t->v[i] - m) / sqrt(v) * t[1].v[i / l % c] + t[2].v[i / l % c];
  }
}

static row row_of(const naive_tensor *t, uint32_t axis, int64_t i) {
  int64_t step = 1;
  for (uint32_t d = axis + 1; d < t->ndim; d++) step *= t->shape[d];
  int64_t n = t->shape[axis];
  return (row){i - i / step % n * step, step, n};
}

static void soft(naive *x, bool log_of) {
  naive_tensor *t = x->t, *y = &x->t[1];
  for (int64_t i = 0; i < t->n; i++) {
    row r = row_of(t, naive_axis(x, "axis", t->ndim, -1), i);
    double s = 0;
    for (int64_t k = 0; k < r.n; k++) s += exp(t->v[r.from + k * r.step]);
    y->v[i] = log_of ? t->v[i] - log(s) : exp(t->v[i]) / s;
  }
}

static void softmax(naive *x) { soft(x, false); }
static void log_softmax(naive *x) { soft(x, true); }

static void norm(naive *x) {
  naive_tensor *t = x->t, *y = &x->t[1];
  int64_t n = t->shape[1] * t->shape[2];
  for (int64_t b = 0; b < y->n; b++)
    y->v[b] = sqrt((double)n * spread(t->v, (row){b * n, 1, n}, 0));
}

const naive_op naive_norm[] = {
    {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"batch_norm", batch_norm},
    {"group_norm", group_norm},
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"norm", norm},
    {NULL, NULL},
};
