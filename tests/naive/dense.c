/* SPDX-License-Identifier: Apache-2.0
 * Plain loops of products of matrices and of attention. */
#include "naive/naive.h"
#include <math.h>
#include <stdlib.h>

/* sum over k of a[i, k] b[k, j] of two matrices, given transposed or not. */
static double dot(const double *a, const double *b, bool ta, bool tb, int64_t m,
                  int64_t n, int64_t k, int64_t i, int64_t j) {
  double s = 0;
  for (int64_t l = 0; l < k; l++)
    s += a[ta ? l * m + i : i * k + l] * b[tb ? j * k + l : l * n + j];
  return s;
}

static void products(naive *x, bool ta, bool tb) {
  naive_tensor *y = &x->t[x->n - 1];
  int64_t m = naive_int(x, "m", 0), n = naive_int(x, "n", 0),
          k = naive_int(x, "k", 0);
  for (int64_t b = 0; b < naive_int(x, "b", 1); b++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double s = dot(x->t[0].v + b * m * k, x->t[1].v + b * k * n, ta, tb, m,
                       n, k, i, j);
        y->v[(b * m + i) * n + j] = naive_epilogue(x, s, j, 2);
      }
}

static void batch_matmul(naive *x) {
  products(x, naive_flag(x, "trans_a"), naive_flag(x, "trans_b"));
}

/* Where the matrix of an operand begins for that of the result at index `at`
 * of its batches, which are broadcast. */
static const double *matrix_of(const naive_tensor *t, const naive_tensor *y,
                               const int64_t *at) {
  int64_t i = 0, skip = y->ndim - t->ndim;
  for (int64_t d = 0; d + 2 < t->ndim; d++)
    i = i * t->shape[d] + (t->shape[d] == 1 ? 0 : at[d + skip]);
  return t->v + i * t->shape[t->ndim - 2] * t->shape[t->ndim - 1];
}

static void matmul(naive *x) {
  naive_tensor *a = &x->t[0], *b = &x->t[1], *y = &x->t[x->n - 1];
  bool ta = naive_flag(x, "trans_a"), tb = naive_flag(x, "trans_b");
  int64_t m = y->shape[y->ndim - 2], n = y->shape[y->ndim - 1];
  int64_t k = a->shape[a->ndim - (ta ? 2 : 1)];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t at[NAIVE_DIM];
    naive_indices(y, i, at);
    double s = dot(matrix_of(a, y, at), matrix_of(b, y, at), ta, tb, m, n, k,
                   at[y->ndim - 2], at[y->ndim - 1]);
    y->v[i] = naive_epilogue(x, s, at[y->ndim - 1], 2);
  }
}

/* A bias is left out only where that is said. */
static void dense(naive *x) {
  const naive_tensor *a = &x->t[0], *w = &x->t[1], *y = &x->t[x->n - 1];
  const double *bias = naive_denied(x, "bias") ? NULL : x->t[2].v;
  int64_t m = y->shape[0], n = y->shape[1], k = a->shape[1];
  for (int64_t i = 0; i < y->n; i++) {
    double s = dot(a->v, w->v, false, true, m, n, k, i / n, i % n);
    y->v[i] = naive_activated(x, s + (bias ? bias[i % n] : 0));
  }
}

static void gemm(naive *x) {
  naive_tensor *c = &x->t[2], *y = &x->t[x->n - 1];
  batch_matmul(x);
  for (int64_t i = 0; i < y->n; i++) {
    y->v[i] *= naive_real(x, "alpha", 1);
    if (naive_denied(x, "add")) continue;
    int64_t at[NAIVE_DIM], from = 0, skip = y->ndim - c->ndim;
    naive_indices(y, i, at);
    for (int64_t d = 0; d < c->ndim; d++)
      from = from * c->shape[d] + (c->shape[d] == 1 ? 0 : at[d + skip]);
    y->v[i] += naive_real(x, "beta", 1) * c->v[from];
  }
}

static void transpose_batch_matmul(naive *x) {
  naive_tensor *q = &x->t[0], *v = &x->t[1], *y = &x->t[2];
  for (int64_t i = 0; i < y->n; i++) {
    int64_t at[NAIVE_DIM];
    naive_indices(y, i, at);
    y->v[i] = 0;
    for (int64_t k = 0; k < q->shape[3]; k++)
      y->v[i] += AT(q, at[0], at[2], at[1], k) * AT(v, at[0], at[3], at[1], k);
  }
}

/* The 3mm of PolyBench. */
static void three_products(naive *x) {
  naive_tensor *a = &x->t[0], *b = &x->t[1], *c = &x->t[2], *d = &x->t[3],
               *g = &x->t[4];
  int64_t ni = a->shape[0], nk = a->shape[1], nj = b->shape[1],
          nm = c->shape[1], nl = d->shape[1];
  double *e = calloc((size_t)(ni * nj), sizeof *e);
  double *f = calloc((size_t)(nj * nl), sizeof *f);
  if (!e || !f) abort();
  for (int64_t i = 0; i < ni * nj; i++)
    e[i] = dot(a->v, b->v, false, false, ni, nj, nk, i / nj, i % nj);
  for (int64_t i = 0; i < nj * nl; i++)
    f[i] = dot(c->v, d->v, false, false, nj, nl, nm, i / nl, i % nl);
  for (int64_t i = 0; i < ni * nl; i++)
    g->v[i] = dot(e, f, false, false, ni, nl, nj, i / nl, i % nl);
  free(e);
  free(f);
}

/* One query against all keys. */
static void attend(const naive *x, int64_t b, int64_t h, int64_t i) {
  const naive_tensor *q = &x->t[0], *k = &x->t[1], *v = &x->t[2];
  bool mask = naive_flag(x, "mask");
  const naive_tensor *y = &x->t[mask ? 4 : 3];
  int64_t m = q->shape[2], n = k->shape[2], d = q->shape[3];
  double scale = naive_real(x, "scale", 1 / sqrt((double)d)), sum = 0;
  for (int64_t c = 0; c < y->shape[3]; c++) AT(y, b, h, i, c) = 0;
  for (int64_t j = 0; j < n; j++) {
    double s = 0;
    for (int64_t c = 0; c < d; c++) s += AT(q, b, h, i, c) * AT(k, b, h, j, c);
    s *= scale;
    if (mask) s += AT(&x->t[3], i, j);
    if (naive_flag(x, "causal") && j > i + n - m) continue;
    sum += exp(s);
    for (int64_t c = 0; c < y->shape[3]; c++)
      AT(y, b, h, i, c) += exp(s) * AT(v, b, h, j, c);
  }
  for (int64_t c = 0; c < y->shape[3]; c++) AT(y, b, h, i, c) /= sum;
}

static void attention(naive *x) {
  const int64_t *n = x->t[0].shape;
  for (int64_t b = 0; b < n[0]; b++)
    for (int64_t h = 0; h < n[1]; h++)
      for (int64_t i = 0; i < n[2]; i++) attend(x, b, h, i);
}

const naive_op naive_dense[] = {
    {"matmul", matmul},
    {"dense", dense},
    {"gemm", gemm},
    {"batch_matmul", batch_matmul},
    {"transpose_batch_matmul", transpose_batch_matmul},
    {"3mm", three_products},
    {"attention", attention},
    {NULL, NULL},
};
