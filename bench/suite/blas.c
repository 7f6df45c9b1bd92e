/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS, BLIS and libxsmm as peers of products, norms and factorisations. */
#include "bench/support/bench.h"
#include "bench/suite/peer.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef struct blas {
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha,
                const float *a, int lda, const float *b, int ldb, float beta,
                float *c, int ldc);
  void (*sgemv)(int order, int ta, int m, int n, float alpha, const float *a,
                int lda, const float *x, int x_step, float beta, float *y,
                int y_step);
  void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha,
                const double *a, int lda, const double *b, int ldb, double beta,
                double *c, int ldc);
  float (*snrm2)(int n, const float *x, int step);
  void (*getrf)(const int *m, const int *n, double *a, const int *lda,
                int *pivots, int *info);
  void (*potrf)(const char *half, const int *n, double *a, const int *lda,
                int *info, size_t len);
} blas;

/* Symbols of a library come as object pointers. */
static bool blas_symbol(void *library, const char *name, void *function) {
  void *s = dlsym(library, name);
  memcpy(function, &s, sizeof s);
  return s != NULL;
}

static bool blas_open(blas *b, const char *const *names, const char *threads,
                      uint32_t n) {
  void *so = NULL;
  *b = (blas){0};
  for (; *names && !so; names++) so = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  if (!so || !blas_symbol(so, "cblas_sgemm", &b->sgemm)) return false;
  blas_symbol(so, "cblas_sgemv", &b->sgemv);
  blas_symbol(so, "cblas_dgemm", &b->dgemm);
  blas_symbol(so, "cblas_snrm2", &b->snrm2);
  blas_symbol(so, "dgetrf_", &b->getrf);
  blas_symbol(so, "dpotrf_", &b->potrf);
  void (*set)(long) = NULL;
  if (blas_symbol(so, threads, &set)) set((long)n);
  return true;
}

/* ---- calls -------------------------------------------------------------- */

typedef struct job {
  blas b;
  row r;
  int batch, m, n, k, heads;
  bool trans_b;
  void *more; /* intermediate results, pivots */
} job;

static void run_sgemm(void *self) {
  const job *j = self;
  const float *a = j->r.data[0], *x = j->r.data[1];
  float *c = j->r.out;
  for (int i = 0; i < j->batch; i++)
    j->b.sgemm(ROW_MAJOR, PLAIN, PLAIN, j->m, j->n, j->k, 1,
               a + i * j->m * j->k, j->k, x + i * j->k * j->n, j->n, 0,
               c + i * j->m * j->n, j->n);
}

static void run_gemm(void *self) {
  const job *j = self;
  j->b.sgemm(ROW_MAJOR, PLAIN, j->trans_b ? TRANSPOSED : PLAIN, j->m, j->n,
             j->k, 1, j->r.data[0], j->k, j->r.data[1],
             j->trans_b ? j->k : j->n, 0, j->r.out, j->n);
}

/* One row times a matrix, which is what a library has for a matrix and a
 * vector; or a matrix times one column. */
static void run_sgemv(void *self) {
  const job *j = self;
  bool is_row = j->m == 1, across = is_row && !j->trans_b;
  int columns = across ? j->n : j->k;
  j->b.sgemv(ROW_MAJOR, across ? TRANSPOSED : PLAIN,
             across   ? j->k
             : is_row ? j->n
                      : j->m,
             columns, 1, j->r.data[is_row], columns, j->r.data[!is_row], 1, 0,
             j->r.out, 1);
}

/* Heads lie beside each other in the rows of both factors. */
static void run_heads(void *self) {
  const job *j = self;
  const float *q = j->r.data[0], *v = j->r.data[1];
  float *c = j->r.out;
  int row_size = j->heads * j->k;
  for (int b = 0; b < j->batch; b++)
    for (int h = 0; h < j->heads; h++)
      j->b.sgemm(ROW_MAJOR, PLAIN, TRANSPOSED, j->m, j->n, j->k, 1,
                 q + b * j->m * row_size + h * j->k, row_size,
                 v + b * j->n * row_size + h * j->k, row_size, 0,
                 c + (b * j->heads + h) * j->m * j->n, j->n);
}

static void run_norm(void *self) {
  const job *j = self;
  const float *x = j->r.data[0];
  for (int i = 0; i < j->batch; i++)
    ((float *)j->r.out)[i] = j->b.snrm2(j->n, x + (size_t)i * (size_t)j->n, 1);
}

/* 3mm of PolyBench, LARGE: G = (A B) (C D). */
static void run_3mm(void *self) {
  enum { NI = 800, NJ = 900, NK = 1000, NL = 1100, NM = 1200 };
  const job *j = self;
  double *e = j->more, *f = e + NI * NJ;
  void *const *in = j->r.data;
  j->b.dgemm(ROW_MAJOR, PLAIN, PLAIN, NI, NJ, NK, 1, in[0], NK, in[1], NJ, 0, e,
             NJ);
  j->b.dgemm(ROW_MAJOR, PLAIN, PLAIN, NJ, NL, NM, 1, in[2], NM, in[3], NL, 0, f,
             NL);
  j->b.dgemm(ROW_MAJOR, PLAIN, PLAIN, NI, NL, NJ, 1, e, NJ, f, NL, 0, j->r.out,
             NL);
}

static void run_lu(void *self) {
  job *j = self;
  int info;
  j->b.getrf(&j->n, &j->n, j->r.out, &j->n, j->more, &info);
}

static void run_cholesky(void *self) {
  job *j = self;
  int info;
  j->b.potrf("L", &j->n, j->r.out, &j->n, &info, 1);
}

/* ---- rows --------------------------------------------------------------- */

static int of(const row *r, const char *name, int otherwise) {
  return (int)row_number(r, name, otherwise);
}

/* What computes the row; NULL: nothing in a BLAS does. */
static void (*blas_function(job *j))(void *) {
  const char *op = j->r.operator;
  const row *r = &j->r;
  j->batch = of(r, "b", 1);
  if (!strcmp(op, "matmul") || !strcmp(op, "batch_matmul")) {
    j->m = of(r, "m", 1), j->n = of(r, "n", 1), j->k = of(r, "k", 1);
    j->trans_b = json_is_true(json_object_get(r->options, "trans_b"));
    if (*op == 'b') return run_sgemm;
    return j->b.sgemv && (j->m == 1 || j->n == 1) ? run_sgemv : run_gemm;
  } else if (!strcmp(op, "transpose_batch_matmul")) {
    j->m = j->n = of(r, "seq", 1);
    j->k = of(r, "dim", 1), j->heads = of(r, "heads", 1);
    return run_heads;
  } else if (!strcmp(op, "norm")) {
    j->n = of(r, "m", 1) * of(r, "n", 1);
    return j->b.snrm2 ? run_norm : NULL;
  } else if (!strcmp(op, "3mm") && j->b.dgemm) {
    j->more = bench_alloc(sizeof(double) * (800 * 900 + 900 * 1100));
    return run_3mm;
  } else if (!strcmp(op, "lu") || !strcmp(op, "cholesky")) {
    j->n = of(r, "n", 1);
    j->more = malloc(sizeof(int) * (size_t)j->n);
    if (*op == 'l') return j->b.getrf ? run_lu : NULL;
    return j->b.potrf ? run_cholesky : NULL;
  }
  return NULL;
}

static uint32_t blas_add(const row *r, const char *name,
                         const char *const *files, const char *threads,
                         peer *list) {
  job *j = calloc(1, sizeof *j);
  j->r = *r;
  if (!blas_open(&j->b, files, threads, r->threads)) return 0;
  void (*run)(void *) = blas_function(j);
  if (!run) return 0;
  *list = (peer){name, run, j, true};
  return 1;
}

/* libxsmm has kernels of one thread for products of up to 64 x 64 x 64,
 * column-major: larger ones are made of those. */
#ifdef BENCH_LIBXSMM
void libxsmm_sgemm(const char *ta, const char *tb, const int *m, const int *n,
                   const int *k, const float *alpha, const float *a,
                   const int *lda, const float *b, const int *ldb,
                   const float *beta, float *c, const int *ldc);

static void run_xsmm(void *self) {
  enum { STEP = 64 };
  const job *j = self;
  const float one = 1, *a = j->r.data[0], *x = j->r.data[1];
  float *c = j->r.out;
  for (int i = 0; i < j->m; i += STEP)
    for (int n = 0; n < j->n; n += STEP)
      for (int k = 0; k < j->k; k += STEP) {
        const float beta = k ? 1 : 0;
        int rows = j->m - i < STEP ? j->m - i : STEP;
        int columns = j->n - n < STEP ? j->n - n : STEP;
        int inner = j->k - k < STEP ? j->k - k : STEP;
        libxsmm_sgemm("N", "N", &columns, &rows, &inner, &one, x + k * j->n + n,
                      &j->n, a + i * j->k + k, &j->k, &beta, c + i * j->n + n,
                      &j->n);
      }
}

static uint32_t xsmm_add(const row *r, peer *list) {
  if (strcmp(r->operator, "batch_matmul") || of(r, "m", 1) > 512) return 0;
  job *j = calloc(1, sizeof *j);
  j->r = *r;
  j->m = of(r, "m", 1), j->n = of(r, "n", 1), j->k = of(r, "k", 1);
  *list = (peer){"libxsmm", run_xsmm, j, true};
  return 1;
}
#else
static uint32_t xsmm_add(const row *r, peer *list) {
  (void)r, (void)list;
  return 0;
}
#endif

uint32_t blas_peers(const row *r, peer *list) {
  uint32_t n = 0;
  n += blas_add(r, "OpenBLAS", (const char *[]){"libopenblas.so.0", NULL},
                "openblas_set_num_threads", list + n);
  n += blas_add(r, "BLIS",
                (const char *[]){"/usr/lib/x86_64-linux-gnu/blis-openmp/"
                                 "libblis.so.4",
                                 "libblis.so.4", NULL},
                "bli_thread_set_num_threads", list + n);
  return n + xsmm_add(r, list + n);
}
