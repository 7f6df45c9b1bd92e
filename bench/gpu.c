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

static const char gpu_usage[] =
    "usage: gpu [--quick] [--trials N] [BATCHxMxNxK...] | "
    "gpu --bundle FOLDER [TARGET [COUNT]]";

static _Noreturn void refuse_argument(const char *what, const char *text) {
  bench_say("gpu: %s '%s'", what, text);
  bench_say("%s", gpu_usage);
  exit(2);
}

/* Digits alone, not all of them 0. */
static bool is_count(const char *text, size_t n) {
  size_t digits = strspn(text, "0123456789");
  return digits == n && n > 0 && n < 10 && strspn(text, "0") < n;
}

static bool is_shape(const char *text) {
  for (int i = 0; i < 4; i++) {
    size_t n = strcspn(text, "x");
    if (!is_count(text, n) || (text[n] == 'x') != (i < 3)) return false;
    text += n + 1;
  }
  return true;
}

static void add_shape(gpu_args *a, const char *text) {
  if (a->n == MOST_SHAPES) refuse_argument("too many shapes, at", text);
  a->shape[a->n++] = text;
}

static gpu_args parse_shapes(int argc, char **argv) {
  gpu_args a = {.trials = "256"};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      a.trials = "32";
      add_shape(&a, shapes[0]);
    } else if (!strcmp(argv[i], "--trials")) {
      a.trials = i + 1 < argc ? argv[++i] : "";
      if (!is_count(a.trials, strlen(a.trials)))
        refuse_argument("--trials takes a count, not", a.trials);
    } else if (argv[i][0] == '-') {
      refuse_argument("unknown option", argv[i]);
    } else if (is_shape(argv[i])) {
      add_shape(&a, argv[i]);
    } else {
      refuse_argument("a shape is BATCHxMxNxK, not", argv[i]);
    }
  }
  if (a.n) return a;
  a.n = sizeof shapes / sizeof *shapes;
  memcpy((void *)a.shape, (const void *)shapes, sizeof shapes);
  return a;
}

static int bundle_from(int argc, char **argv) {
  const char *machine = argc > 3 ? argv[3] : "cuda -arch=sm_80";
  const char *count = argc > 4 ? argv[4] : "16";
  if (argc < 3) refuse_argument("a folder is missing behind", argv[1]);
  if (argv[2][0] == '-')
    refuse_argument("--bundle takes a folder, not", argv[2]);
  if (!is_count(count, strlen(count)))
    refuse_argument("--bundle takes a count of candidates, not", count);
  if (argc > 5) refuse_argument("--bundle takes no further argument", argv[5]);
  return gpu_bundle(argv[2], machine, (unsigned)strtoul(count, NULL, 10));
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
  if (argc > 1 && !strcmp(argv[1], "--bundle")) return bundle_from(argc, argv);
  if (argc > 1 && !strcmp(argv[1], "--help")) {
    puts(gpu_usage);
    return 0;
  }
  gpu_args a = parse_shapes(argc, argv);
  if (cuda_count_devices()) return measure_here(&a);
  bench_say("gpu: there is no NVIDIA card on this machine");
  return 0;
}
