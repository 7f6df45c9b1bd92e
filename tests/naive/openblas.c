/* SPDX-License-Identifier: Apache-2.0
 * The same operators by OpenBLAS and its LAPACK, in double; it is loaded when
 * it is used. */
#include "naive/naive.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
enum { UPPER = 121, LOWER = 122, NON_UNIT = 131, UNIT = 132, LEFT = 141 };

static void *blas_symbol(const char *name) {
  static void *library;
  if (!library) {
    void (*set_threads)(int);
    library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    void *s = dlsym(library, "openblas_set_num_threads");
    memcpy(&set_threads, &s, sizeof s);
    if (s) set_threads(1);
  }
  return dlsym(library, name);
}

/* C = A B of plain or transposed matrices in row-major order. */
static bool blas_product(bool ta, bool tb, int m, int n, int k, const double *a,
                         const double *b, double *c) {
  void (*gemm)(int, int, int, int, int, int, double, const double *, int,
               const double *, int, double, double *, int);
  void *s = blas_symbol("cblas_dgemm");
  if (!s) return false;
  memcpy(&gemm, &s, sizeof s);
  gemm(ROW_MAJOR, ta ? TRANSPOSED : PLAIN, tb ? TRANSPOSED : PLAIN, m, n, k, 1,
       a, ta ? m : k, b, tb ? k : n, 0, c, n);
  return true;
}

static bool blas_products(naive *x, bool ta, bool tb) {
  naive_tensor *y = &x->t[x->n - 1];
  int m = (int)naive_int(x, "m", 0), n = (int)naive_int(x, "n", 0),
      k = (int)naive_int(x, "k", 0);
  for (int b = 0; b < (int)naive_int(x, "b", 1); b++)
    if (!blas_product(ta, tb, m, n, k, x->t[0].v + b * m * k,
                      x->t[1].v + b * k * n, y->v + b * m * n))
      return false;
  return true;
}

static bool blas_matmul(naive *x) {
  naive_tensor *y = &x->t[x->n - 1];
  if (!blas_products(x, naive_flag(x, "trans_a"), naive_flag(x, "trans_b")))
    return false;
  for (int64_t i = 0; i < y->n; i++)
    y->v[i] = naive_epilogue(x, y->v[i], i % y->shape[y->ndim - 1], 2);
  return true;
}

static bool blas_gemm(naive *x) {
  naive_tensor *y = &x->t[x->n - 1];
  if (!blas_products(x, naive_flag(x, "trans_a"), naive_flag(x, "trans_b")))
    return false;
  for (int64_t i = 0; i < y->n; i++)
    y->v[i] = naive_real(x, "alpha", 1) * y->v[i] +
              naive_real(x, "beta", 1) * x->t[2].v[i];
  return true;
}

/* The 3mm of PolyBench. */
static bool blas_three_products(naive *x) {
  const naive_tensor *t = x->t;
  int ni = (int)t[0].shape[0], nk = (int)t[0].shape[1], nj = (int)t[1].shape[1],
      nm = (int)t[2].shape[1], nl = (int)t[3].shape[1];
  double *e = calloc((size_t)ni * (size_t)nj, sizeof *e);
  double *f = calloc((size_t)nj * (size_t)nl, sizeof *f);
  if (!e || !f) abort();
  bool ok = blas_product(false, false, ni, nj, nk, t[0].v, t[1].v, e) &&
            blas_product(false, false, nj, nl, nm, t[2].v, t[3].v, f) &&
            blas_product(false, false, ni, nl, nj, e, f, t[4].v);
  free(e);
  free(f);
  return ok;
}

static bool blas_solve(naive *x) {
  void (*trsm)(int, int, int, int, int, int, int, double, const double *, int,
               double *, int);
  void *s = blas_symbol("cblas_dtrsm");
  int n = (int)x->t[0].shape[0], m = (int)x->t[1].shape[1];
  if (!s) return false;
  memcpy(&trsm, &s, sizeof s);
  trsm(ROW_MAJOR, LEFT, naive_flag(x, "upper") ? UPPER : LOWER, PLAIN,
       naive_flag(x, "unit") ? UNIT : NON_UNIT, n, m, 1, x->t[0].v, n,
       x->t[1].v, m);
  return true;
}

/* In LAPACK's order of columns the lower half is the upper one. */
static bool lapack_cholesky(naive *x) {
  void (*potrf)(const char *, const int *, double *, const int *, int *,
                size_t);
  void *s = blas_symbol("dpotrf_");
  int n = (int)x->t[0].shape[0], info = 1;
  if (!s) return false;
  memcpy(&potrf, &s, sizeof s);
  potrf("U", &n, x->t[0].v, &n, &info, 1);
  return info == 0;
}

/* The matrix is symmetric, so that what comes is transposed, and dominated by
 * its diagonal, so that nothing is pivoted. */
static bool lapack_lu(naive *x) {
  void (*getrf)(const int *, const int *, double *, const int *, int *, int *);
  void *s = blas_symbol("dgetrf_");
  int n = (int)x->t[0].shape[0], info = 1, *pivots;
  double *a = x->t[0].v;
  if (!s) return false;
  memcpy(&getrf, &s, sizeof s);
  pivots = calloc((size_t)n, sizeof *pivots);
  if (!pivots) abort();
  getrf(&n, &n, a, &n, pivots, &info);
  free(pivots);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++) {
      double v = a[i * n + j];
      a[i * n + j] = a[j * n + i];
      a[j * n + i] = v;
    }
  return info == 0;
}

static const struct {
  const char *name;
  bool (*run)(naive *x);
} peers[] = {
    {"matmul", blas_matmul},       {"batch_matmul", blas_matmul},
    {"gemm", blas_gemm},           {"triangular_solve", blas_solve},
    {"cholesky", lapack_cholesky}, {"lu", lapack_lu},
    {"3mm", blas_three_products},
};

/* What broadcasts, BLAS has not. */
static bool broadcasts(const char *name, const naive *x) {
  if (!strcmp(name, "gemm")) return x->n != 4 || x->t[2].n != x->t[3].n;
  return naive_length(x, "batch") || naive_length(x, "batch_b");
}

bool naive_openblas(const char *name, naive *x, bool *ok) {
  if (broadcasts(name, x)) return false;
  for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
    if (!strcmp(peers[i].name, name)) {
      *ok = peers[i].run(x);
      return true;
    }
  return false;
}
