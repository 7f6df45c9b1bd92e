/* SPDX-License-Identifier: Apache-2.0
 * The operator suite, tuned, against the best of OpenBLAS, BLIS, libxsmm and
 * oneDNN, and against the naive loops by LLVM -O3.  Each row is tuned by
 * bench/suite.lua, then timed with its peers, interleaved in one process.
 *   suite [--quick] [--all] [--threads N] [--trials N] [--seed N]
 *         [--rows NAME,NAME..] [--results FILE]
 * Without --all of each operator shapes 1 and 3; with 0 trials what untuned
 * kernels run.  Rows that FILE has, with that many threads and trials, are not
 * measured again. */
#include "bench/suite/measure.h"
#include "bench/support/bench.h"
#include "bench/support/openblas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct plan {
  bool quick, all, has_trials;
  uint32_t threads, trials, seed;
  const char *rows, *results;
  char exe[2048], bin[2048];
} plan;

static int usage(void) {
  bench_say("usage: suite [--quick] [--all] [--threads N] [--trials N] "
            "[--seed N] [--rows NAME,..] [--results FILE]");
  return 2;
}

static bool parse_plan(plan *p, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    uint32_t n = value ? (uint32_t)strtoul(value, NULL, 10) : 0;
    if (!strcmp(argv[i], "--quick"))
      p->quick = true;
    else if (!strcmp(argv[i], "--all"))
      p->all = true;
    else if (value && !strcmp(argv[i], "--rows"))
      p->rows = argv[++i];
    else if (value && !strcmp(argv[i], "--results"))
      p->results = argv[++i];
    else if (n && !strcmp(argv[i], "--threads"))
      p->threads = n, i++;
    else if (value && *value >= '0' && *value <= '9' &&
             !strcmp(argv[i], "--trials"))
      p->trials = n, p->has_trials = true, i++;
    else if (n && !strcmp(argv[i], "--seed"))
      p->seed = n, i++;
    else
      return false;
  }
  if (!p->has_trials) p->trials = p->quick ? 32 : 512;
  if (!p->seed) p->seed = 1;
  if (!p->threads) p->threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
  return p->threads <= 1024;
}

/* ---- which rows --------------------------------------------------------- */

static bool is_named(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *s = list; s; s = strchr(s, ',')) {
    s += *s == ',';
    if (!strncmp(s, name, n) && (s[n] == ',' || !s[n])) return true;
  }
  return false;
}

static bool is_row_wanted(const plan *p, const char *name) {
  static const char *const quick =
      "C1D-3,C2D-3,DEP-1,GMM-3,TBG-1,CBR-3,NRM-3,SFM-1,sgemm-512,sgemm-1024";
  if (p->rows) return is_named(p->rows, name);
  if (p->quick) return is_named(quick, name);
  const char *shape = strrchr(name, '-');
  return p->all || !shape || shape[2] || (shape[1] != '2' && shape[1] != '4');
}

/* The row's line in the results, if it was measured under these conditions. */
static json_t *known(const plan *p, const char *name) {
  FILE *f = p->results ? fopen(p->results, "r") : NULL;
  json_t *found = NULL, *v;
  while (f && (v = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL))) {
    const char *row = json_string_value(json_object_get(v, "row"));
    bool same =
        row && !strcmp(row, name) &&
        json_integer_value(json_object_get(v, "threads")) == p->threads &&
        json_integer_value(json_object_get(v, "trials")) == p->trials;
    if (same && !found) found = json_incref(v);
    json_decref(v);
  }
  if (f) fclose(f);
  return found;
}

/* ---- one row ------------------------------------------------------------ */

static bool run_command(const char *line) {
  int st = system(line);
  if (WIFSIGNALED(st) && WTERMSIG(st) == SIGINT) exit(130);
  return st == 0;
}

/* A process of its own: what a library or a kernel breaks ends just the row. */
static json_t *measure_apart(const plan *p, const char *folder) {
  char line[8192];
  snprintf(line, sizeof line, "timeout -k 5 300 '%s' --measure '%s' %u", p->exe,
           folder, p->threads);
  FILE *f = popen(line, "r");
  json_t *v = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
  if (f) pclose(f);
  return v;
}

static void remove_folder(const char *folder) {
  static const char *const files[] = {"best.program", "row.json", "naive.ll",
                                      "naive.so"};
  char path[512];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    unlink(path);
  }
  rmdir(folder);
}

static json_t *measure_row(const plan *p, const char *name) {
  char folder[] = "/tmp/tessera-suite-XXXXXX", line[8192];
  if (!mkdtemp(folder)) return NULL;
  double start = bench_now();
  json_t *v = NULL;
  snprintf(line, sizeof line,
           "'%s/bin/tessera' '%s/suite.lua' '%s' '%s' %u %u %u", p->bin,
           BENCH_SOURCE_DIR, folder, name, p->threads, p->trials, p->seed);
  bool tuned = run_command(line);
  double seconds = bench_now() - start;
  snprintf(line, sizeof line,
           "clang-19 -w -O3 -march=native -shared -fPIC -o '%s/naive.so' "
           "-x ir '%s/naive.ll' 2>/dev/null",
           folder, folder);
  if (tuned && !run_command(line))
    bench_say("suite: clang-19 is not there: no naive loops");
  if (tuned) v = measure_apart(p, folder);
  remove_folder(folder);
  if (!v) {
    bench_say("suite: %s could not be measured", name);
    return NULL;
  }
  json_object_update_new(v,
                         json_pack("{s:s, s:i, s:i, s:i, s:f}", "row", name,
                                   "threads", p->threads, "trials", p->trials,
                                   "seed", p->seed, "tuning_seconds", seconds));
  FILE *f = p->results ? fopen(p->results, "a") : NULL;
  if (f) {
    json_dumpf(v, f, JSON_COMPACT);
    fputc('\n', f);
    fclose(f);
  }
  return v;
}

/* ---- the table ---------------------------------------------------------- */

typedef struct means {
  double peers, products, naive; /* sums of logarithms; products: no norms,
                                  * of which a library has a product */
  double least;
  uint32_t npeers, nproducts, nnaive;
} means;

static void add_ratio(means *m, const char *row, double ratio) {
  m->peers += log(ratio);
  m->npeers++;
  if (!strncmp(row, "NRM", 3)) return;
  m->products += log(ratio);
  m->nproducts++;
  m->least = fmin(m->least, ratio);
}

static void print_row(json_t *v, means *m) {
  const char *row = json_string_value(json_object_get(v, "row")), *name;
  const char *best = "none";
  double ours = json_number_value(json_object_get(v, "ours")), peer = INFINITY;
  double naive = json_number_value(json_object_get(v, "naive"));
  json_t *t;
  json_object_foreach (json_object_get(v, "peers"), name, t) {
    if (json_number_value(t) < peer) best = name, peer = json_number_value(t);
  }
  json_t *keys = json_pack("{s:s, s:s}", "row", row, "peer", best);
  bool has_peer = isfinite(peer);
  bench_say("%-14s %10.4f ms  %-8s %10.4f ms  ratio %5.2f  naive %8.1f", row,
            1e3 * ours, best, has_peer ? 1e3 * peer : 0,
            has_peer ? peer / ours : 0, naive / ours);
  if (has_peer) {
    bench_figure("ours_vs_best_peer", peer / ours, "1", json_incref(keys));
    add_ratio(m, row, peer / ours);
  }
  if (naive > 0) {
    bench_figure("ours_vs_naive", naive / ours, "1", json_incref(keys));
    m->naive += log(naive / ours);
    m->nnaive++;
  }
  json_decref(keys);
}

static int run_suite(const plan *p) {
  char line[8192], name[64];
  means m = {.least = INFINITY};
  snprintf(line, sizeof line, "'%s/bin/tessera' '%s/suite.lua' --rows", p->bin,
           BENCH_SOURCE_DIR);
  FILE *f = popen(line, "r");
  uint32_t failed = 0, wanted = 0;
  while (f && fscanf(f, "%63s", name) == 1) {
    if (!is_row_wanted(p, name)) continue;
    wanted++;
    json_t *v = known(p, name);
    if (!v) v = measure_row(p, name);
    if (v) print_row(v, &m);
    failed += !v;
    json_decref(v);
  }
  if (f) pclose(f);
  if (!wanted)
    bench_say("suite: there is no row '%s'; tessera bench/suite.lua --rows "
              "lists them",
              p->rows ? p->rows : "");
  if (m.npeers)
    bench_figure("mean_vs_best_peer", exp(m.peers / m.npeers), "1",
                 json_pack("{s:i}", "rows", (int)m.npeers));
  if (m.nproducts) {
    bench_figure("mean_without_norms", exp(m.products / m.nproducts), "1",
                 json_pack("{s:i}", "rows", (int)m.nproducts));
    bench_figure("least_without_norms", m.least, "1", json_object());
  }
  if (m.nnaive)
    bench_figure("mean_vs_naive", exp(m.naive / m.nnaive), "1",
                 json_pack("{s:i}", "rows", (int)m.nnaive));
  return failed || !wanted;
}

int main(int argc, char **argv) {
  if (argc == 4 && !strcmp(argv[1], "--probe"))
    return openblas_probe(atoi(argv[2]), (uint32_t)atoi(argv[3]));
  if (argc == 4 && !strcmp(argv[1], "--measure"))
    return suite_measure(argv[2], (uint32_t)atoi(argv[3]));
  plan p = {0};
  if (!parse_plan(&p, argc, argv)) return usage();
  ssize_t n = readlink("/proc/self/exe", p.exe, sizeof p.exe - 1);
  if (n < 0) return 1;
  p.exe[n] = '\0';
  memcpy(p.bin, p.exe, sizeof p.bin);
  for (int up = 0; up < 2; up++) *strrchr(p.bin, '/') = '\0';
  bench_clear_peers();
  const char *core = openblas_best(p.exe, 1024, p.threads);
  if (*core) setenv("OPENBLAS_CORETYPE", core, 1);
  char number[16];
  snprintf(number, sizeof number, "%u", p.threads);
  setenv("OMP_NUM_THREADS", number, 1);
  bench_tell_peers();
  return run_suite(&p);
}
