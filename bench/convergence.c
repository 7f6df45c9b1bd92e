/* SPDX-License-Identifier: Apache-2.0
 * Trials that search strategies need until the best candidate is within 5 % of
 * the best there is, on spaces that were measured whole (bench/convergence.lua
 * records them): times come from the record, so seeds cost nothing and the
 * same command gives the same numbers. */
#include "bench/support/bench.h"
#include "bench/support/table.h"

#include <getopt.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 16, MOST_SEEDS = 1024, MOST_SEARCHES = 32, FEW = 5 };
#define WITHIN 1.05

typedef struct plan {
  uint32_t trials, batch, seeds, threads;
  double seconds;                    /* of one search; then few seeds do */
  const char *search[MOST_SEARCHES]; /* "strategy" or "strategy/model" */
  uint32_t nsearch;
  const char *only; /* a workload; NULL: all */
} plan;

static const char *const every_search[] = {"replay", "evolutionary/forest",
                                           "bayesian", "hybrid/forest"};

static tess_context *context;

static _Noreturn void convergence_stop(const char *what) {
  bench_say("convergence: %s", what);
  exit(1);
}

/* ---- one run ------------------------------------------------------------ */

/* The number of the first trial with that time; trials + 1: none. */
static uint32_t first_below(const tess_result *r, double seconds,
                            uint32_t trials) {
  for (uint32_t i = 0; i < r->curve.n; i++)
    if (r->curve.v[i] <= seconds) return i + 1;
  return trials + 1;
}

/* Near its end a space has few points left that are new. */
static uint32_t most_trials(const table *t, const plan *p) {
  return t->n / 2 < p->trials ? t->n / 2 : p->trials;
}

/* A run ends when it has got there. */
typedef struct goal {
  double seconds;
} goal;

static int is_reached(void *ud, const tess_progress *p) {
  const goal *g = ud;
  return p->best_seconds <= g->seconds;
}

static uint32_t run_once(table *t, const plan *p, const char *search,
                         uint64_t seed) {
  tess_result *r;
  goal g = {WITHIN * t->best};
  tess_tune_options o = {.struct_size = sizeof o,
                         .trials = most_trials(t, p),
                         .batch = p->batch,
                         .seed = seed,
                         .threads = p->threads,
                         .kernel_threads = 1,
                         .progress = is_reached,
                         .progress_ud = &g};
  table_search(t, search, o, &r);
  uint32_t n = first_below(r, g.seconds, o.trials);
  tess_result_free(r);
  return n;
}

/* ---- many --------------------------------------------------------------- */

static int by_value(const void *p, const void *q) {
  double a = *(const double *)p, b = *(const double *)q;
  return a < b ? -1 : a > b;
}

/* Quantiles over the seeds; a run that did not get there counts as one trial
 * more than there were. */
static double try_search(table *t, const plan *p, const char *search) {
  static double trials[MOST_SEEDS];
  uint32_t reached = 0, n = 0;
  double start = bench_now(), sum = 0;
  while (n < p->seeds && (n < FEW || bench_now() - start < p->seconds)) {
    trials[n] = run_once(t, p, search, n + 1);
    reached += trials[n] <= most_trials(t, p);
    sum += trials[n++];
  }
  double seconds = (bench_now() - start) / n;
  qsort(trials, n, sizeof *trials, by_value);
  double median = bench_median(trials, n);
  double low = trials[n / 4], high = trials[n * 3 / 4];
  bench_say("%-10s %-28s %5.1f trials (quartiles %g to %g), mean %5.1f, "
            "%u of %u seeds; %.2f s a run",
            t->name, search, median, low, high, sum / n, reached, n, seconds);
  bench_figure("trials", median, "1",
               json_pack("{s:s, s:s, s:f, s:f, s:f, s:i, s:i, s:i}", "workload",
                         t->name, "search", search, "quartile1", low,
                         "quartile3", high, "mean", sum / n, "reached",
                         (int)reached, "seeds", (int)n, "batch",
                         (int)p->batch));
  return median;
}

/* How many points there are, and how many are good enough. */
static void describe(const table *t) {
  uint32_t good = 0, failed = 0;
  for (uint32_t i = 0; i < t->n; i++) {
    good += t->seconds[i] <= WITHIN * t->best;
    failed += !isfinite(t->seconds[i]);
  }
  bench_say("%s: %u points, %u failed, best %.4g s, %u within 5 %%", t->name,
            t->n, failed, t->best, good);
}

static void try_table(table *t, const plan *p) {
  describe(t);
  for (uint32_t i = 0; i < p->nsearch; i++) try_search(t, p, p->search[i]);
  if (t->missing)
    bench_say("%s: %u candidates were asked for that are not recorded", t->name,
              t->missing);
}

/* ---- options ------------------------------------------------------------ */

static const char *const help =
    "usage: convergence [--quick] [--seeds N] [--trials N] [--batch N]\n"
    "  [--seconds N] [--threads N] [--workload NAME]\n"
    "  [--search STRATEGY[/MODEL]]...\n"
    "Trials until within 5 % of the best of recorded spaces, by strategy and\n"
    "cost model; medians and quartiles over the seeds, at\n"
    "least 5, and no more once a search has taken --seconds (60).";

static uint32_t count_of(const char *text, uint32_t most) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (*end || n < 1 || n > most) convergence_stop(help);
  return (uint32_t)n;
}

static plan parse(int argc, char **argv) {
  static const struct option known[] = {
      {"quick", no_argument, NULL, 'q'},
      {"seeds", required_argument, NULL, 's'},
      {"trials", required_argument, NULL, 't'},
      {"batch", required_argument, NULL, 'b'},
      {"seconds", required_argument, NULL, 'l'},
      {"threads", required_argument, NULL, 'j'},
      {"workload", required_argument, NULL, 'w'},
      {"search", required_argument, NULL, 'x'},
      {"help", no_argument, NULL, 'h'},
      {0}};
  plan p = {
      .trials = 256, .batch = 32, .seeds = 30, .threads = 1, .seconds = 60};
  int c;
  while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) switch (c) {
    case 'q':
      p.seeds = 3;
      p.seconds = 1;
      break;
    case 's': p.seeds = count_of(optarg, MOST_SEEDS); break;
    case 't': p.trials = count_of(optarg, TESS_MAX_TRIALS); break;
    case 'b': p.batch = count_of(optarg, TESS_MAX_BATCH); break;
    case 'j': p.threads = count_of(optarg, TESS_MAX_THREADS); break;
    case 'l': p.seconds = count_of(optarg, 1u << 20); break;
    case 'w': p.only = optarg; break;
    case 'x':
      if (p.nsearch < MOST_SEARCHES) p.search[p.nsearch++] = optarg;
      break;
    case 'h': puts(help); exit(0);
    default: convergence_stop(help);
    }
  for (uint32_t i = 0;
       !p.nsearch && i < sizeof every_search / sizeof *every_search; i++)
    p.search[i] = every_search[i];
  if (!p.nsearch) p.nsearch = sizeof every_search / sizeof *every_search;
  return p;
}

int main(int argc, char **argv) {
  static table list[MOST_TABLES];
  plan p = parse(argc, argv);
  glob_t files;
  uint32_t n = 0, used = 0;
  if (tess_context_new(NULL, &context) != TESS_OK)
    convergence_stop("no context");
  if (glob(BENCH_SOURCE_DIR "/data/convergence/*.jsonl", 0, NULL, &files))
    convergence_stop("there are no recorded spaces");
  for (size_t i = 0; i < files.gl_pathc; i++)
    n = table_read(context, files.gl_pathv[i], list, n, MOST_TABLES);
  globfree(&files);
  for (uint32_t i = 0; i < n; i++) {
    if (p.only && strcmp(p.only, list[i].name)) continue;
    try_table(&list[i], &p);
    used++;
  }
  if (!used) convergence_stop("there is no recorded space of that name");
  for (uint32_t i = 0; i < n; i++) table_free(&list[i]);
  tess_context_free(context);
  return 0;
}
