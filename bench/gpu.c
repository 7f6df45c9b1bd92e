/* SPDX-License-Identifier: Apache-2.0
 * Products of float16 matrices on NVIDIA cards.
 *   gpu [--quick]           tuned on the card of this machine, by the default
 *                           space with tensor cores; where there is none it
 *                           says so in a line
 *   gpu --bundle FOLDER [TARGET [COUNT]]
 *                           COUNT candidates of each size for a card elsewhere:
 *                           `sh FOLDER/run.sh` there times them, and cuBLAS */
#include "backends/cuda/cuda.h"
#include "bench/gpu/bundle.h"
#include "bench/support/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int tune_here(bool quick) {
  char command[4096];
  ssize_t n = readlink("/proc/self/exe", command, sizeof command - 32);
  if (n < 0) return 1;
  command[n] = '\0';
  strcpy(strrchr(command, '/'), "/../bin/tessera");
  execl(command, command, BENCH_SOURCE_DIR "/gpu/tune.lua",
        quick ? "--quick" : "", (char *)NULL);
  bench_say("gpu: %s does not start", command);
  return 1;
}

int main(int argc, char **argv) {
  if (argc > 2 && !strcmp(argv[1], "--bundle"))
    return gpu_bundle(argv[2], argc > 3 ? argv[3] : "cuda -arch=sm_80",
                      argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 16);
  bench_options o = bench_parse(argc, argv, "float16 products on a GPU");
  if (cuda_count_devices()) return tune_here(o.quick);
  bench_say("gpu: there is no NVIDIA card on this machine");
  return 0;
}
