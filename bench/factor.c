/* SPDX-License-Identifier: Apache-2.0
 * LU and Cholesky factorisation, scheduled by hand (examples/lu_cholesky.lua),
 * against the unscheduled programs and against OpenBLAS's LAPACK, whose results
 * they must equal.  Runs of the three are interleaved, and the best of each
 * counts.
 *   factor [--quick] [--threads N] */
#include "bench/support/bench.h"
#include "vm/object.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 2000, ROUNDS = 7, QUICK_ROUNDS = 2 };

typedef struct lapack {
  void (*getrf)(const int *m, const int *n, double *a, const int *lda,
                int *pivots, int *info);
  void (*potrf)(const char *half, const int *n, double *a, const int *lda,
                int *info, size_t len);
  void (*set_threads)(int n);
} lapack;

typedef struct duel {
  tess_context *c;
  tess_target *target;
  lapack l;
  bool cholesky;
  uint32_t threads;
  tess_tensor *a;
  double *first, *want; /* the matrix, and LAPACK's factors of it */
  int *pivots;
} duel;

static void fail_factor(const char *what, tess_context *c) {
  bench_say("factor: %s%s%s", what, c ? ": " : "",
            c ? tess_error(c)->message : "");
  exit(1);
}

static void check_factor(duel *d, tess_status s) {
  if (s != TESS_OK) fail_factor("failed", d->c);
}

/* Symbols of a library come as object pointers. */
static bool symbol(void *library, const char *name, void *function) {
  void *s = dlsym(library, name);
  memcpy(function, &s, sizeof s);
  return s != NULL;
}

static void load_lapack(lapack *l) {
  void *so = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!so || !symbol(so, "dgetrf_", &l->getrf) ||
      !symbol(so, "dpotrf_", &l->potrf) ||
      !symbol(so, "openblas_set_num_threads", &l->set_threads))
    fail_factor("libopenblas.so.0, with LAPACK, is not installed", NULL);
}

/* ---- the programs ------------------------------------------------------- */

static void write_programs(const char *folder) {
  char exe[2048], line[8192];
  ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (len < 0) fail_factor("where is this program?", NULL);
  exe[len] = '\0';
  for (int up = 0; up < 2; up++) *strrchr(exe, '/') = '\0';
  snprintf(line, sizeof line, "'%s/bin/tessera' '%s/factor.lua' '%s' %d", exe,
           BENCH_SOURCE_DIR, folder, N);
  if (system(line) != 0) fail_factor("the programs could not be written", NULL);
}

static tess_kernel *kernel_of(duel *d, const char *folder, const char *name,
                              const char *how) {
  char path[256];
  tess_program *p;
  tess_kernel *k;
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, how);
  check_factor(d, tess_program_load(d->c, path, &p));
  unlink(path);
  check_factor(d, tess_build(p, d->target, &k));
  tess_program_free(p);
  return k;
}

/* ---- running ------------------------------------------------------------ */

/* Symmetric, so that row-major is column-major, and diagonally dominant, so
 * that there is no pivoting. */
static void fill_dominant(double *a) {
  uint64_t x = 1;
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      a[i * N + j] = a[j * N + i] = (double)(x >> 40) / (1 << 24);
    }
    a[i * N + i] = N;
  }
}

static double run_lapack(duel *d) {
  const int n = N;
  int info = 0;
  memcpy(d->want, d->first, sizeof(double) * N * N);
  double start = bench_now();
  if (d->cholesky)
    d->l.potrf("L", &n, d->want, &n, &info, 1);
  else
    d->l.getrf(&n, &n, d->want, &n, d->pivots, &info);
  double t = bench_now() - start;
  if (info) fail_factor("LAPACK could not do it", NULL);
  return t;
}

static double run_kernel(duel *d, tess_kernel *k) {
  memcpy(tess_tensor_data(d->a), d->first, sizeof(double) * N * N);
  double start = bench_now();
  check_factor(d, tess_kernel_run(k, 1, &d->a));
  return bench_now() - start;
}

/* The maximal difference to LAPACK's factors, which are column-major, relative
 * to the diagonal. */
static double max_difference(const duel *d) {
  const double *a = tess_tensor_data(d->a);
  double most = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < (d->cholesky ? i + 1 : N); j++)
      most = fmax(most, fabs(a[i * N + j] - d->want[j * N + i]));
  return most / fabs(d->want[0]);
}

static void compare_times(duel *d, const char *name, tess_kernel *plain,
                          tess_kernel *scheduled, int rounds) {
  double p = INFINITY, s = INFINITY, l = INFINITY;
  char figure[64];
  for (int i = 0; i < rounds; i++) {
    l = fmin(l, run_lapack(d));
    usleep(20000); /* let idle threads stop spinning */
    s = fmin(s, run_kernel(d, scheduled));
    usleep(20000);
    double off = max_difference(d);
    if (!(off < 1e-10)) {
      bench_say("factor: %s differs from LAPACK's by %g", name, off);
      exit(1);
    }
  }
  p = run_kernel(d, plain);
  if (!(max_difference(d) < 1e-10))
    fail_factor("the plain program is wrong", NULL);
  bench_say("%s: %.4g s plain, %.4g s scheduled, %.4g s LAPACK", name, p, s, l);
  snprintf(figure, sizeof figure, "%s_speedup", name);
  bench_figure(figure, p / s, "1",
               json_pack("{s:i, s:i, s:f, s:f}", "n", N, "threads",
                         (int)d->threads, "plain_s", p, "scheduled_s", s));
  snprintf(figure, sizeof figure, "%s_vs_openblas", name);
  bench_figure(figure, l / s, "1",
               json_pack("{s:i, s:i, s:f, s:f}", "n", N, "threads",
                         (int)d->threads, "openblas_s", l, "scheduled_s", s));
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(argc, argv, "LU and Cholesky factorisation");
  static const char *const names[] = {"lu", "cholesky"};
  char folder[] = "/tmp/tessera-factor-XXXXXX", text[64];
  duel d = {.threads = o.threads ? o.threads
                                 : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
  bench_clear_peers();
  bench_tell_peers();
  load_lapack(&d.l);
  d.l.set_threads((int)d.threads);
  if (!mkdtemp(folder)) fail_factor("no temporary folder", NULL);
  write_programs(folder);
  if (tess_context_new(NULL, &d.c) != TESS_OK) fail_factor("no context", NULL);
  snprintf(text, sizeof text, "llvm -num-cores=%u", d.threads);
  check_factor(&d, tess_target_new(d.c, text, &d.target));
  check_factor(&d, tess_tensor_new(d.c, (tess_dtype){TESS_DTYPE_FLOAT, 64, 1},
                                   2, (int64_t[]){N, N}, "zeros", 0, &d.a));
  d.first = bench_alloc(sizeof(double) * N * N);
  d.want = bench_alloc(sizeof(double) * N * N);
  d.pivots = malloc(sizeof(int) * N);
  if (!d.pivots) fail_factor("no memory", NULL);
  fill_dominant(d.first);
  for (int i = 0; i < 2; i++) {
    d.cholesky = i == 1;
    tess_kernel *plain = kernel_of(&d, folder, names[i], "plain");
    tess_kernel *fast = kernel_of(&d, folder, names[i], "scheduled");
    compare_times(&d, names[i], plain, fast, o.quick ? QUICK_ROUNDS : ROUNDS);
    tess_kernel_free(plain);
    tess_kernel_free(fast);
  }
  rmdir(folder);
  free(d.first);
  free(d.want);
  free(d.pivots);
  return 0;
}
