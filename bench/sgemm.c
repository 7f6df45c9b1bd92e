/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS's sgemm at one size, with the fastest of its kernels:
 *   sgemm [--quick] [--threads N] [--n N] */
#include "bench/support/bench.h"
#include "bench/support/openblas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int measure_sgemm(int n, uint32_t threads) {
  openblas b;
  double s[40];
  if (!openblas_load(&b)) {
    bench_say("sgemm: libopenblas.so.0 is not installed");
    return 1;
  }
  openblas_time(&b, n, threads, s, 40);
  double flops = 2.0 * n * n * n;
  bench_figure("openblas_gflops", flops / s[0] * 1e-9, "GFLOP/s",
               json_pack("{s:i, s:i, s:s, s:f}", "n", n, "threads", threads,
                         "core", b.core, "median", flops / s[20] * 1e-9));
  return 0;
}

int main(int argc, char **argv) {
  int n = 1024;
  uint32_t threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
  bool chosen = false;
  if (argc == 4 && !strcmp(argv[1], "--probe"))
    return openblas_probe(atoi(argv[2]), (uint32_t)atoi(argv[3]));
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) continue;
    if (!strcmp(argv[i], "--chosen"))
      chosen = true;
    else if (!strcmp(argv[i], "--n") && i + 1 < argc)
      n = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = (uint32_t)atoi(argv[++i]);
    else {
      bench_say("usage: sgemm [--quick] [--threads N] [--n N]");
      return 2;
    }
  }
  if (n < 1 || n > 16384 || threads < 1 || threads > 1024) {
    bench_say("sgemm: --n takes 1 to 16384, --threads 1 to 1024");
    return 2;
  }
  if (chosen) return measure_sgemm(n, threads);
  char exe[4096], number[2][16];
  ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (len < 0) return 1;
  exe[len] = '\0';
  bench_clear_peers();
  const char *core = openblas_best(exe, n, threads);
  if (*core) setenv("OPENBLAS_CORETYPE", core, 1);
  bench_tell_peers();
  snprintf(number[0], sizeof number[0], "%d", n);
  snprintf(number[1], sizeof number[1], "%u", threads);
  execl(exe, exe, "--chosen", "--n", number[0], "--threads", number[1],
        (char *)NULL);
  return 1;
}
