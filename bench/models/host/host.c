/* SPDX-License-Identifier: Apache-2.0
 * A host of a saved model, for saved.lua and speed.lua.
 *   host MODEL.so NAME FOLDER OUT SECONDS: inputs are FOLDER/INPUT.npy; outputs
 *   go to OUT/OUTPUT.npy.
 * It runs for so many seconds, and at least five times, and prints milliseconds
 * to load the library, of the first run, the least and the median; then in MiB
 * what of the library is resident when it is loaded, and after the runs with
 * the memory that these compute in, and how much that is. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct tensor {
  const char *name, *dtype;
  int32_t ndim;
  const int64_t *shape;
  uint64_t bytes;
} tensor;
typedef int32_t (*model_fn)(const void *const *, void *const *, void *,
                            const void *);
enum { MOST = 256, RUNS = 5, MOST_RUNS = 10000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double resident_mib(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*s %ld", &pages) != 1) exit(3);
  fclose(f);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void *need(void *p, const char *what) {
  if (p) return p;
  fprintf(stderr, "%s: %s\n", what, dlerror());
  exit(3);
}

static void *symbol(void *so, const char *name, const char *what) {
  char text[256];
  snprintf(text, sizeof text, "%s%s", name, what);
  return need(dlsym(so, text), text);
}

static FILE *open_npy(const char *folder, const char *name, const char *mode) {
  char path[1024];
  int n = snprintf(path, sizeof path, "%s/", folder);
  snprintf(path + n, sizeof path - (size_t)n, "%s.npy", name);
  for (char *c = path + n; *c; c++)
    if (*c == '/') *c = '_';
  return need(fopen(path, mode), path);
}

/* Of a small header's file, as NumPy writes them. */
static void *load_npy(const char *folder, const tensor *t) {
  unsigned char head[10];
  char *data = malloc(t->bytes + 1);
  FILE *f = open_npy(folder, t->name, "r");
  if (fread(head, 1, 10, f) != 10 ||
      fseek(f, 10 + head[8] + 256 * head[9], SEEK_SET) ||
      fread(data, 1, t->bytes, f) != t->bytes)
    exit(3);
  fclose(f);
  return data;
}

static const char *numpy_name(const char *dtype) {
  static const char *const names[][2] = {{"float32", "<f4"}, {"float64", "<f8"},
                                         {"float16", "<f2"}, {"int64", "<i8"},
                                         {"int32", "<i4"},   {"int8", "|i1"},
                                         {"uint8", "|u1"},   {"bool", "|b1"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i][0], dtype)) return names[i][1];
  fprintf(stderr, "an output of %s\n", dtype);
  exit(3);
}

static void save_npy(const char *folder, const tensor *t, const void *data) {
  char head[512];
  int n = snprintf(head, sizeof head,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (",
                   numpy_name(t->dtype));
  for (int32_t d = 0; d < t->ndim; d++)
    n += snprintf(head + n, sizeof head - (size_t)n, "%lld,",
                  (long long)t->shape[d]);
  n += snprintf(head + n, sizeof head - (size_t)n, "), }");
  int whole = (10 + n + 1 + 63) / 64 * 64 - 10;
  FILE *f = open_npy(folder, t->name, "w");
  fprintf(f, "\x93NUMPY%c%c%c%c%-*s\n", 1, 0, whole & 255, whole >> 8,
          whole - 1, head);
  fwrite(data, 1, t->bytes, f);
  fclose(f);
}

static uint32_t count(const tensor *list) {
  uint32_t n = 0;
  while (list[n].name) n++;
  return n;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

int main(int argc, char **argv) {
  static double took[MOST_RUNS];
  if (argc != 6) return 2;
  double before = resident_mib(), start = now();
  void *so = need(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), argv[1]);
  model_fn run = (model_fn)(intptr_t)symbol(so, argv[2], "");
  double load = now() - start, loaded = resident_mib() - before;
  const tensor *in = symbol(so, argv[2], "_input"),
               *out = symbol(so, argv[2], "_output");
  uint64_t memory = *(const uint64_t *)symbol(so, argv[2], "_memory");
  uint32_t nin = count(in), nout = count(out);
  void *x[MOST], *y[MOST];
  double data = 0;
  for (uint32_t i = 0; i < nin; i++) x[i] = load_npy(argv[3], &in[i]);
  for (uint32_t i = 0; i < nout; i++) y[i] = malloc(out[i].bytes);
  for (uint32_t i = 0; i < nin; i++) data += (double)in[i].bytes;
  for (uint32_t i = 0; i < nout; i++) data += (double)out[i].bytes;
  void *arena = aligned_alloc(64, (memory + 64) / 64 * 64);
  double until = now() + atof(argv[5]);
  int n = 0;
  while (n < RUNS || (n < MOST_RUNS && now() < until)) {
    start = now();
    int32_t status = run((const void *const *)x, y, arena, NULL);
    took[n++] = now() - start;
    if (status) return fprintf(stderr, "it returned %d\n", status), 3;
  }
  double resident = resident_mib() - before - data / (1 << 20);
  double first = took[0];
  qsort(took, (size_t)n, sizeof *took, by_size);
  printf("%.3f %.3f %.3f %.3f %.2f %.2f %.2f\n", load * 1e3, first * 1e3,
         took[0] * 1e3, took[n / 2] * 1e3, loaded, resident,
         (double)memory / (1 << 20));
  for (uint32_t i = 0; i < nout; i++) save_npy(argv[4], &out[i], y[i]);
  return 0;
}
