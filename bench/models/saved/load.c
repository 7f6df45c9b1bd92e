/* SPDX-License-Identifier: Apache-2.0
 * A saved model: milliseconds to load it, megabytes that are resident then and
 * after the first run, and the median milliseconds of runs.
 *   cc -O2 -I FOLDER load.c -ldl -o load && ./load FOLDER/model.so SECONDS */
#include "model.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 1000, MOST_TENSORS = 256 };

typedef int32_t (*entry)(const void *const *, void *const *, void *,
                         const tess_runtime *);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double resident(void) {
  long all = 0, here = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f) return 0;
  if (fscanf(f, "%ld %ld", &all, &here) != 2) here = 0;
  fclose(f);
  return (double)here * (double)sysconf(_SC_PAGESIZE) * 1e-6;
}

static void make_tensors(void **data, const tess_saved_tensor *t, int n) {
  for (int i = 0; i < n; i++) {
    data[i] = malloc(t[i].bytes);
    memset(data[i], 0, t[i].bytes);
  }
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int n, char **arg) {
  static void *in[MOST_TENSORS], *out[MOST_TENSORS];
  static double times[MOST_RUNS];
  if (n < 3) return 2;
  double start = now();
  void *library = dlopen(arg[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  void *symbol = dlsym(library, "model");
  const uint64_t *memory = dlsym(library, "model_memory");
  const tess_saved_tensor *inputs = dlsym(library, "model_input");
  const tess_saved_tensor *outputs = dlsym(library, "model_output");
  double loaded = now() - start, before = resident();
  entry run;
  memcpy(&run, &symbol, sizeof run);
  make_tensors(in, inputs, model_inputs);
  make_tensors(out, outputs, model_outputs);
  void *arena = aligned_alloc(64, (*memory + 127) / 64 * 64);
  const void *const *given = (const void *const *)in;
  if (run(given, out, arena, NULL)) return 1;
  double after = resident(), until = now() + atof(arg[2]) * 1e3;
  int runs = 0;
  do {
    double t = now();
    run(given, out, arena, NULL);
    times[runs++] = now() - t;
  } while (runs < MOST_RUNS && now() < until);
  qsort(times, (size_t)runs, sizeof *times, by_size);
  printf("%.3f %.1f %.1f %.3f\n", loaded, before, after, times[runs / 2]);
  return 0;
}
