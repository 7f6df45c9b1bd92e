/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of factorisations, triangular systems, sparse products, Fourier
 * transforms and stencils. */
#include "naive/naive.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Doolittle's: row by row of U, then column by column of L. */
static void lu(naive *x) {
  double *a = x->t[0].v;
  int64_t n = x->t[0].shape[0];
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) {
      for (int64_t k = 0; k < j; k++)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
      a[i * n + j] /= a[j * n + j];
    }
    for (int64_t j = i; j < n; j++)
      for (int64_t k = 0; k < i; k++)
        a[i * n + j] -= a[i * n + k] * a[k * n + j];
  }
}

static void cholesky(naive *x) {
  double *a = x->t[0].v;
  int64_t n = x->t[0].shape[0];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      double s = a[i * n + j];
      for (int64_t k = 0; k < j; k++) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? sqrt(s) : s / a[j * n + j];
    }
}

static void triangular_solve(naive *x) {
  double *a = x->t[0].v, *b = x->t[1].v;
  int64_t n = x->t[0].shape[0], m = x->t[1].shape[1];
  bool upper = naive_flag(x, "upper"), unit = naive_flag(x, "unit");
  for (int64_t s = 0; s < n; s++) {
    int64_t i = upper ? n - 1 - s : s;
    for (int64_t j = 0; j < m; j++) {
      for (int64_t k = upper ? i + 1 : 0; k < (upper ? n : i); k++)
        b[i * m + j] -= a[i * n + k] * b[k * m + j];
      if (!unit) b[i * m + j] /= a[i * n + i];
    }
  }
}

static void spmv(naive *x) {
  naive_tensor *v = &x->t[0], *c = &x->t[1], *r = &x->t[2], *in = &x->t[3],
               *y = &x->t[4];
  for (int64_t i = 0; i < y->n; i++) {
    y->v[i] = 0;
    for (int64_t p = (int64_t)r->v[i]; p < (int64_t)r->v[i + 1]; p++)
      y->v[i] += v->v[p] * in->v[(int64_t)c->v[p]];
  }
}

static void fft(naive *x) {
  naive_tensor *t = x->t;
  int64_t n = t->shape[1];
  double sign = naive_flag(x, "inverse") ? 1 : -1;
  for (int64_t i = 0; i < t->n; i++) {
    t[2].v[i] = t[3].v[i] = 0;
    for (int64_t j = 0; j < n; j++) {
      double a = sign * 2 * acos(-1) * (double)(i % n * j % n) / (double)n;
      double re = t[0].v[i / n * n + j], im = t[1].v[i / n * n + j];
      t[2].v[i] += re * cos(a) - im * sin(a);
      t[3].v[i] += re * sin(a) + im * cos(a);
    }
  }
}

/* ---- stencils ----------------------------------------------------------- */

/* The sum of the neighbours of element i; false on the border. */
static bool neighbours(const naive_tensor *t, const double *v, int64_t i,
                       double *sum) {
  int64_t a[NAIVE_DIM], step = 1;
  naive_indices(t, i, a);
  *sum = 0;
  for (uint32_t d = t->ndim; d-- > 0; step *= t->shape[d]) {
    if (a[d] == 0 || a[d] == t->shape[d] - 1) return false;
    *sum += v[i - step] + v[i + step];
  }
  return true;
}

static void linear_stencil(naive *x, bool heat) {
  naive_tensor *t = x->t, *y = &x->t[1];
  size_t bytes = (size_t)t->n * sizeof(double);
  double *old = malloc(bytes), sum, n = 2 * t->ndim;
  if (!old) abort();
  memcpy(y->v, t->v, bytes);
  for (int64_t s = 0; s < naive_int(x, "steps", 1); s++) {
    memcpy(old, y->v, bytes);
    for (int64_t i = 0; i < t->n; i++)
      if (neighbours(t, old, i, &sum))
        y->v[i] =
            heat ? old[i] + naive_real(x, "alpha", 0.125) * (sum - n * old[i])
                 : (old[i] + sum) / (n + 1);
  }
  free(old);
}

static void jacobi(naive *x) { linear_stencil(x, false); }
static void heat(naive *x) { linear_stencil(x, true); }

const naive_op naive_linear[] = {
    {"lu", lu},
    {"cholesky", cholesky},
    {"spmv", spmv},
    {"triangular_solve", triangular_solve},
    {"fft", fft},
    {"jacobi_2d", jacobi},
    {"jacobi_3d", jacobi},
    {"heat_2d", heat},
    {"heat_3d", heat},
    {NULL, NULL},
};
