/* SPDX-License-Identifier: Apache-2.0
 * Loading OpenBLAS and finding its fastest kernels. */
#include "bench/support/openblas.h"

#include "bench/support/bench.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Symbols of a library come as object pointers. */
static void *symbol(void *library, const char *name, void *function) {
  void *s = dlsym(library, name);
  memcpy(function, &s, sizeof s);
  return s;
}

bool openblas_load(openblas *b) {
  char *(*core)(void);
  memset(b, 0, sizeof *b);
  b->library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!b->library) return false;
  if (!symbol(b->library, "cblas_sgemm", &b->sgemm) ||
      !symbol(b->library, "openblas_set_num_threads", &b->set_threads))
    return false;
  b->core = symbol(b->library, "openblas_get_corename", &core) ? core() : "?";
  return true;
}

void openblas_run(const openblas *b, int n, const float *a, const float *x,
                  float *c) {
  b->sgemm(101, 111, 111, n, n, n, 1.0f, a, n, x, n, 0.0f, c, n);
}

static float *filled(int n) {
  size_t size = (size_t)n * (size_t)n;
  float *p = bench_alloc(size * sizeof *p);
  for (size_t i = 0; i < size; i++) p[i] = (float)(i % 13) * 0.125f;
  return p;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

void openblas_time(const openblas *b, int n, uint32_t threads, double *seconds,
                   uint32_t samples) {
  float *a = filled(n), *x = filled(n), *c = filled(n);
  b->set_threads((int)threads);
  openblas_run(b, n, a, x, c);
  for (uint32_t i = 0; i < samples; i++) {
    double start = bench_now();
    openblas_run(b, n, a, x, c);
    seconds[i] = bench_now() - start;
  }
  qsort(seconds, samples, sizeof *seconds, ascending);
  free(a);
  free(x);
  free(c);
}

int openblas_probe(int n, uint32_t threads) {
  openblas b;
  double s[20];
  if (!openblas_load(&b)) return 1;
  openblas_time(&b, n, threads, s, 20);
  printf("%.3f\n", 2.0 * n * n * n / s[0] * 1e-9);
  return 0;
}

const char *openblas_best(const char *self, int n, uint32_t threads) {
  static const char *const cores[] = {
      "", "Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids"};
  const char *best = "";
  double most = 0;
  for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
    char line[4096];
    double gflops = 0;
    snprintf(line, sizeof line, "%s%s '%s' --probe %d %u 2>/dev/null",
             *cores[i] ? "OPENBLAS_CORETYPE=" : "env -u OPENBLAS_CORETYPE",
             cores[i], self, n, threads);
    FILE *f = popen(line, "r");
    if (!f) continue;
    if (fscanf(f, "%lf", &gflops) != 1) gflops = 0;
    if (pclose(f) == 0 && gflops > most) {
      most = gflops;
      best = cores[i];
    }
  }
  return best;
}
