/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS as a peer: loaded at run time, never linked.
 *
 * Its kernels are selected when it is loaded, by the environment variable
 * OPENBLAS_CORETYPE (unset: by the processor).  openblas_best() tries them in
 * processes of their own. */
#ifndef BENCH_SUPPORT_OPENBLAS_H
#define BENCH_SUPPORT_OPENBLAS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct openblas {
  void *library;
  void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha,
                const float *a, int lda, const float *b, int ldb, float beta,
                float *c, int ldc);
  void (*set_threads)(int n);
  const char *core;          /* the kernels it uses, by its own name */
} openblas;

/* False: there is no OpenBLAS here. */
bool openblas_load(openblas *b);
/* C = A B for n x n matrices. */
void openblas_run(const openblas *b, int n, const float *a, const float *x,
                  float *c);
/* Seconds of each of `samples` runs, best first. */
void openblas_time(const openblas *b, int n, uint32_t threads,
                   double *seconds, uint32_t samples);

/* The value of OPENBLAS_CORETYPE whose sgemm is fastest at this size ("" for
 * unset), by running `self --probe` for each; see openblas_probe. */
const char *openblas_best(const char *self, int n, uint32_t threads);
/* The main of such a process: prints its GFLOP/s; the exit status. */
int openblas_probe(int n, uint32_t threads);

#endif
