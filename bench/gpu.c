/* SPDX-License-Identifier: Apache-2.0
 * Products of float16 matrices on NVIDIA cards, beside cuBLAS.
 *   gpu [--quick] [--trials N] [BATCHxMxNxK...]
 *                           tuned on the card of this machine, by the default
 *                           space with tensor cores, and the best timed in
 *                           turns with cuBLAS; square ones and those of BERT's
 *                           layers; where there is no card it says so in a line
 *   gpu --bundle FOLDER [TARGET [COUNT]]
 *                           COUNT candidates of each size for a card elsewhere:
 *                           `sh FOLDER/run.sh` there times them, and cuBLAS */
#include "backends/cuda/cuda.h"
#include "bench/gpu/bundle.h"
#include "bench/support/bench.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SHAPES = 64 };

/* Squares; then a sequence of 512 in BERT-base: projections, the two layers
 * of the feed-forward part, scores and values of 12 heads. */
static const char *const shapes[] = {"1x1024x1024x1024", "1x2048x2048x2048",
                                     "1x4096x4096x4096", "1x512x768x768",
                                     "1x512x3072x768",   "1x512x768x3072",
                                     "12x512x512x64",    "12x512x64x512"};

typedef struct gpu_args {
  const char *trials;
  int n;
  const char *shape[MOST_SHAPES];
} gpu_args;

static gpu_args parse_shapes(int argc, char **argv) {
  gpu_args a = {.trials = "256"};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      a.trials = "32";
      a.shape[a.n++] = shapes[0];
    } else if (!strcmp(argv[i], "--trials") && i + 1 < argc) {
      a.trials = argv[++i];
    } else if (a.n < MOST_SHAPES) {
      a.shape[a.n++] = argv[i];
    }
  }
  if (a.n) return a;
  a.n = sizeof shapes / sizeof *shapes;
  memcpy((void *)a.shape, (const void *)shapes, sizeof shapes);
  return a;
}

/* The exit status, or 1. */
static int run_program(const char *const *argv) {
  fflush(stdout);
  pid_t pid = fork();
  if (!pid) {
    execv(argv[0], (char **)(uintptr_t)argv);
    _exit(127);
  }
  int status = 1;
  if (pid < 0 || waitpid(pid, &status, 0) < 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int tune_here(const gpu_args *a, const char *folder) {
  const char *argv[MOST_SHAPES + 5] = {BENCH_BINARY_DIR "/../bin/tessera",
                                       BENCH_SOURCE_DIR "/gpu/tune.lua", folder,
                                       a->trials};
  memcpy((void *)&argv[4], (const void *)a->shape,
         (size_t)a->n * sizeof *a->shape);
  int rc = run_program(argv);
  if (rc) bench_say("gpu: tuning ends with status %d", rc);
  return rc;
}

static int compare_here(const char *folder) {
  char pattern[512];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/*.launch", folder);
  if (glob(pattern, 0, NULL, &found)) return 1;
  const char **argv = calloc(found.gl_pathc + 2, sizeof *argv);
  int rc = 1;
  if (argv) {
    argv[0] = BENCH_BINARY_DIR "/gpu-run";
    memcpy((void *)&argv[1], (const void *)found.gl_pathv,
           found.gl_pathc * sizeof *argv);
    rc = run_program(argv);
  }
  free((void *)argv);
  globfree(&found);
  return rc;
}

static int measure_here(const gpu_args *a) {
  char folder[] = "/tmp/tessera-gpu-XXXXXX", command[64];
  if (!mkdtemp(folder)) return 1;
  int rc = tune_here(a, folder);
  if (!rc) rc = gpu_bundle_folder(folder, "cuda");
  if (!rc) rc = compare_here(folder);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) ? 1 : rc;
}

int main(int argc, char **argv) {
  if (argc > 2 && !strcmp(argv[1], "--bundle"))
    return gpu_bundle(argv[2], argc > 3 ? argv[3] : "cuda -arch=sm_80",
                      argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 16);
  if (argc > 1 && !strcmp(argv[1], "--help")) {
    bench_say("gpu [--quick] [--trials N] [BATCHxMxNxK...] | "
              "gpu --bundle FOLDER [TARGET [COUNT]]");
    return 0;
  }
  gpu_args a = parse_shapes(argc, argv);
  if (cuda_count_devices()) return measure_here(&a);
  bench_say("gpu: there is no NVIDIA card on this machine");
  return 0;
}
