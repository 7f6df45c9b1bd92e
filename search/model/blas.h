/* SPDX-License-Identifier: Apache-2.0
 * Matrix products: cblas of the system's libblas.so.3, on one thread, where it
 * is there; else plain loops. */
#ifndef SEARCH_MODEL_BLAS_H
#define SEARCH_MODEL_BLAS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct blas {
  void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha,
                const double *a, int lda, const double *b, int ldb, double beta,
                double *c, int ldc); /* NULL: plain loops */
  int (*get_threads)(void);  /* of OpenBLAS; NULL: it is another */
  void (*set_threads)(int n);
  int before;
} blas;

/* plain: whatever there is, loops. */
void blas_open(blas *b, bool plain);
/* Around products: the library's threads are one, and what they were. */
void blas_begin(blas *b);
void blas_end(blas *b);
/* C[m, n] = A[m, k] B[k, n] + beta C, row by row; A is stored as [k, m] where
 * ta, B as [n, k] where tb. */
void blas_product(const blas *b, bool ta, bool tb, uint32_t m, uint32_t n,
                  uint32_t k, const double *A, const double *B, double beta,
                  double *C);

#endif
