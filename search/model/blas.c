/* SPDX-License-Identifier: Apache-2.0
 * Finding cblas, and what is done without it. */
#include "search/model/blas.h"

#include <dlfcn.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

static void find(void *lib, const char *name, void *to) {
  void *symbol = dlsym(lib, name);
  memcpy(to, &symbol, sizeof symbol);
}

void blas_open(blas *b, bool plain) {
  *b = (blas){0};
  if (plain) return;
  void *lib = dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lib) return;
  find(lib, "cblas_dgemm", &b->dgemm);
  find(lib, "openblas_get_num_threads", &b->get_threads);
  find(lib, "openblas_set_num_threads", &b->set_threads);
  dlclose(lib);
}

void blas_begin(blas *b) {
  if (!b->get_threads || !b->set_threads) return;
  b->before = b->get_threads();
  if (b->before != 1) b->set_threads(1);
}

void blas_end(blas *b) {
  if (b->get_threads && b->set_threads && b->before != 1)
    b->set_threads(b->before);
}

static void multiply(bool ta, bool tb, uint32_t m, uint32_t n, uint32_t k,
                     const double *A, const double *B, double *C) {
  for (uint32_t i = 0; i < m; i++)
    for (uint32_t l = 0; l < k; l++) {
      double a = A[ta ? (size_t)l * m + i : (size_t)i * k + l];
      double *c = C + (size_t)i * n;
      if (tb)
        for (uint32_t j = 0; j < n; j++) c[j] += a * B[(size_t)j * k + l];
      else
        for (uint32_t j = 0; j < n; j++) c[j] += a * B[(size_t)l * n + j];
    }
}

void blas_product(const blas *b, bool ta, bool tb, uint32_t m, uint32_t n,
                  uint32_t k, const double *A, const double *B, double beta,
                  double *C) {
  if (!m || !n) return;
  if (b->dgemm && k) {
    b->dgemm(ROW_MAJOR, ta ? TRANSPOSED : PLAIN, tb ? TRANSPOSED : PLAIN,
             (int)m, (int)n, (int)k, 1, A, (int)(ta ? m : k), B,
             (int)(tb ? k : n), beta, C, (int)n);
    return;
  }
  for (size_t i = 0; i < (size_t)m * n; i++) C[i] = beta == 0 ? 0 : beta * C[i];
  multiply(ta, tb, m, n, k, A, B, C);
}
