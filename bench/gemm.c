/* SPDX-License-Identifier: Apache-2.0
 * A tuned matrix product against OpenBLAS's sgemm: the default space, 256
 * trials, five seeds; runs of the two are interleaved, and the best samples of
 * both are compared.  OpenBLAS uses the fastest of its kernels for this
 * machine, which is determined in processes of their own before this one
 * re-executes itself.
 *   gemm [--quick] [--threads N] */
#include "bench/support/bench.h"
#include "bench/support/openblas.h"
#include "bench/support/sketches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 1024, SEEDS = 5, ROUNDS = 10 };

typedef struct duel {
  sketches s;
  openblas blas;
  uint32_t threads;
  tess_tensor *a, *b, *c, *want;
} duel;

static void check_status(duel *d, tess_status s) {
  if (s == TESS_OK) return;
  bench_say("gemm: %s", tess_error(d->s.c)->message);
  exit(1);
}

static tess_tensor *new_matrix(duel *d, const char *fill, uint64_t seed) {
  tess_tensor *t;
  check_status(d, tess_tensor_new(d->s.c, (tess_dtype){TESS_DTYPE_FLOAT, 32, 1},
                                  2, (int64_t[]){N, N}, fill, seed, &t));
  return t;
}

static tess_kernel *gemm_tune(duel *d, uint64_t seed, uint32_t trials) {
  tess_space *space;
  tess_target *target;
  tess_result *r;
  tess_kernel *k;
  tess_result_info info = TESS_INIT(tess_result_info);
  char text[64];
  snprintf(text, sizeof text, "llvm -num-cores=%u", d->threads);
  check_status(d, tess_target_new(d->s.c, text, &target));
  check_status(d, tess_space_traces(d->s.c, d->s.n, d->s.sketch, &space));
  tess_tune_options o = {.struct_size = sizeof o,
                         .trials = trials,
                         .seed = seed,
                         .kernel_threads = d->threads};
  check_status(d, tess_tune(d->s.p, target, space, &o, &r));
  check_status(d, tess_result_get(r, &info));
  bench_say("seed %llu: %.1f GFLOP/s after %u trials\n%s",
            (unsigned long long)seed, info.gflops, info.trials, info.ledger);
  check_status(d, tess_result_kernel(r, &k));
  tess_result_free(r);
  tess_space_free(space);
  tess_target_free(target);
  return k;
}

/* The best of each over interleaved rounds, GFLOP/s; checks that the results
 * agree. */
static void fight(duel *d, tess_kernel *k, double *ours, double *blas) {
  const float *a = tess_tensor_data(d->a), *b = tess_tensor_data(d->b);
  tess_tensor *args[3] = {d->a, d->b, d->c};
  double best = INFINITY, peer = INFINITY, abs, rel;
  for (int i = 0; i < ROUNDS; i++) {
    tess_timing t = TESS_INIT(tess_timing);
    usleep(20000); /* let idle threads stop spinning */
    check_status(d, tess_kernel_time(k, 3, args, 0.05, &t));
    best = fmin(best, t.min);
    usleep(20000);
    openblas_run(&d->blas, N, a, b, tess_tensor_data(d->want));
    for (int r = 0; r < 10; r++) {
      double start = bench_now();
      openblas_run(&d->blas, N, a, b, tess_tensor_data(d->want));
      peer = fmin(peer, bench_now() - start);
    }
  }
  check_status(d, tess_kernel_run(k, 3, args));
  check_status(d, tess_tensor_compare(d->c, d->want, &abs, &rel));
  if (!(rel < 1e-4)) {
    bench_say("gemm: the results differ by %g", rel);
    exit(1);
  }
  *ours = 2.0 * N * N * N / best * 1e-9;
  *blas = 2.0 * N * N * N / peer * 1e-9;
}

/* The machine's peak on that many threads, by the bench beside this one; 0:
 * that is not built. */
static double peak_gflops(uint32_t threads) {
  char exe[2048], line[4096];
  double most = 0;
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n < 0) return 0;
  exe[n] = '\0';
  *strrchr(exe, '/') = '\0';
  snprintf(line, sizeof line, "'%s/peak' --quick --threads %u 2>/dev/null", exe,
           threads);
  FILE *f = popen(line, "r");
  while (f && fgets(line, sizeof line, f)) {
    json_t *v = json_loads(line, 0, NULL);
    const char *figure = json_string_value(json_object_get(v, "figure"));
    double value = json_number_value(json_object_get(v, "value"));
    json_int_t of = json_integer_value(json_object_get(v, "threads"));
    if (figure && !strcmp(figure, "fma_peak_gflops") && of == threads &&
        value > most)
      most = value;
    json_decref(v);
  }
  if (f) pclose(f);
  return most;
}

static json_t *keys(const duel *d) {
  return json_pack("{s:i, s:i, s:s}", "n", N, "threads", d->threads, "core",
                   d->blas.core);
}

static int bench_size(uint32_t threads, bool quick) {
  duel d = {.threads = threads};
  double ours[SEEDS], blas[SEEDS], ratio[SEEDS];
  int seeds = quick ? 1 : SEEDS;
  if (!openblas_load(&d.blas)) {
    bench_say("gemm: libopenblas.so.0 is not installed");
    return 1;
  }
  d.blas.set_threads((int)threads);
  sketches_load(&d.s, BENCH_SOURCE_DIR, "default", N);
  d.a = new_matrix(&d, "random", 1);
  d.b = new_matrix(&d, "random", 2);
  d.c = new_matrix(&d, "zeros", 0);
  d.want = new_matrix(&d, "zeros", 0);
  for (int i = 0; i < seeds; i++) {
    tess_kernel *k = gemm_tune(&d, (uint64_t)i + 1, quick ? 64 : 256);
    fight(&d, k, &ours[i], &blas[i]);
    ratio[i] = ours[i] / blas[i];
    bench_say("seed %d: %.1f against %.1f GFLOP/s: %.2f", i + 1, ours[i],
              blas[i], ratio[i]);
    tess_kernel_free(k);
  }
  bench_figure("tuned_gflops", bench_median(ours, (uint32_t)seeds), "GFLOP/s",
               keys(&d));
  bench_figure("openblas_gflops", bench_median(blas, (uint32_t)seeds),
               "GFLOP/s", keys(&d));
  bench_figure("tuned_vs_openblas", bench_median(ratio, (uint32_t)seeds), "1",
               keys(&d));
  double peak = peak_gflops(threads);
  if (peak > 0)
    bench_figure("tuned_vs_peak", bench_median(ours, (uint32_t)seeds) / peak,
                 "1", keys(&d));
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--probe"))
    return openblas_probe(atoi(argv[2]), (uint32_t)atoi(argv[3]));
  bool settled = argc > 1 && !strcmp(argv[1], "--settled");
  bench_options o = bench_parse(argc - settled, argv + settled,
                                "a tuned matrix product against OpenBLAS");
  uint32_t threads =
      o.threads ? o.threads : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
  if (settled) return bench_size(threads, o.quick);
  char exe[4096], number[16];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n < 0) return 1;
  exe[n] = '\0';
  bench_clear_peers();
  const char *core = openblas_best(exe, N, threads);
  if (*core) setenv("OPENBLAS_CORETYPE", core, 1);
  bench_tell_peers();
  snprintf(number, sizeof number, "%u", threads);
  execl(exe, exe, "--settled", "--threads", number, o.quick ? "--quick" : NULL,
        (char *)NULL);
  return 1;
}
