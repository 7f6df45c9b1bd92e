/* SPDX-License-Identifier: Apache-2.0
 * Products of float16 matrices on the NVIDIA card of this machine, tuned by the
 * default space with tensor cores; where there is no card it says so in a line.
 *   gpu [--quick] */
#include "backends/cuda/cuda.h"
#include "bench/support/bench.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
  char command[4096];
  bench_options o = bench_parse(argc, argv, "float16 products on a GPU");
  if (!cuda_count_devices()) {
    bench_say("gpu: there is no NVIDIA card on this machine");
    return 0;
  }
  ssize_t n = readlink("/proc/self/exe", command, sizeof command - 32);
  if (n < 0) return 1;
  command[n] = '\0';
  strcpy(strrchr(command, '/'), "/../bin/tessera");
  execl(command, command, BENCH_SOURCE_DIR "/gpu.lua", o.quick ? "--quick" : "",
        (char *)NULL);
  bench_say("gpu: %s does not start", command);
  return 1;
}
