/* SPDX-License-Identifier: Apache-2.0
 * The comparison of ytopt's TVM benchmark (Wu et al., 2023), LARGE: the best
 * kernel and the process time after 100 evaluations, by tuner; as published,
 * over the points that its spaces effectively have (bench/ytopt.lua), and
 * corrected: factorisations that are factorisations, all parameters alive, and
 * tuners that get to train.  Times come from records, so that all runs see the
 * same machine. */
#include "bench/support/bench.h"
#include "bench/support/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVALUATIONS = 100, SEEDS = 30, QUICK_SEEDS = 3 };
#define CUT_OFF 10

/* A tuner of the comparison by the strategy that does the same. */
typedef struct tuner {
  const char *name, *search;
  uint32_t trials, batch;
} tuner;

#define YTOPT                                                                \
  {                                                                          \
    "ytopt", "bayesian:surrogate=forest,acquisition=lcb,kappa=1.96,batch=1", \
        EVALUATIONS, 1                                                       \
  }

/* AutoTVM's genetic tuner has a population of 100, so that it never breeds, and
 * its XGBoost tuner ended after 56 trials, before its model is trained: that is
 * when 64 are known. */
static const tuner published[] = {
    YTOPT,
    {"AutoTVM random", "replay", EVALUATIONS, 8},
    {"AutoTVM grid", "grid", EVALUATIONS, 8},
    {"AutoTVM GA", "genetic:population_size=100", EVALUATIONS, 8},
    {"AutoTVM XGB", "annealing:plan_size=64/xgb_rank", 56, 64}};

static const tuner corrected[] = {
    YTOPT,
    {"AutoTVM random", "replay", EVALUATIONS, 8},
    {"AutoTVM grid", "grid", EVALUATIONS, 8},
    {"AutoTVM GA", "genetic:population_size=16", EVALUATIONS, 16},
    {"AutoTVM XGB", "annealing:plan_size=16/xgb_rank", EVALUATIONS, 16},
    {"Tessera", "hybrid/forest", EVALUATIONS, 32},
    {"Tessera, Gaussian process", "bayesian", EVALUATIONS, 32}};

/* A kernel of the comparison, in each of its two forms. */
typedef struct kernel {
  const char *name, *published, *corrected;
  uint32_t points; /* of the published form */
} kernel;

static const kernel kernels[] = {
    {"3mm", "ytopt/3mm", "convergence/3mm", 540},
    {"LU", "ytopt/product", "convergence/lu", 400},
    {"Cholesky", "ytopt/product", "convergence/cholesky", 400}};

static tess_context *context;

static _Noreturn void ytopt_stop(const char *what) {
  bench_say("ytopt: %s", what);
  exit(1);
}

typedef struct outcome {
  double best[SEEDS];    /* of the kernel, in seconds */
  double process[SEEDS]; /* running kernels, and the tuner's own */
  double own[SEEDS];     /* the last of these, of the processor */
} outcome;

/* Processor time of all threads, which other processes do not lengthen. */
static double own_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tune_once(table *t, const tuner *x, uint64_t seed, outcome *o,
                      uint32_t at) {
  tess_result *r;
  tess_tune_options options = {.struct_size = sizeof options,
                               .trials = x->trials,
                               .batch = x->batch,
                               .seed = seed,
                               .threads = 1,
                               .kernel_threads = 1};
  t->cut_off = CUT_OFF;
  t->ran = 0;
  double start = own_seconds();
  table_search(t, x->search, options, &r);
  o->own[at] = own_seconds() - start;
  o->best[at] = r->curve.n ? r->curve.v[r->curve.n - 1] : INFINITY;
  o->process[at] = t->ran + o->own[at];
  tess_result_free(r);
}

static void report_tuner(const char *form, const kernel *k, const table *t,
                         const tuner *x, outcome *o, uint32_t seeds) {
  double best = bench_median(o->best, seeds);
  double low = o->best[seeds / 4], high = o->best[seeds * 3 / 4];
  double process = bench_median(o->process, seeds);
  double own = bench_median(o->own, seeds);
  bench_say("%-9s %-8s %-26s kernel %.4g s (quartiles %.4g to %.4g, %.2f of "
            "the best), process %.4g s (own %.2g s)",
            form, k->name, x->name, best, low, high, best / t->best, process,
            own);
  json_t *of = json_pack(
      "{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:i}", "form", form, "kernel",
      k->name, "tuner", x->name, "quartile1", low, "quartile3", high, "of_best",
      best / t->best, "process_s", process, "own_s", own, "seeds", (int)seeds);
  bench_figure("kernel_s", best, "s", of);
}

/* points: that there should be, at least. */
static void compare_tuners(const char *form, const kernel *k, const char *file,
                           uint32_t points, const tuner *list, uint32_t n,
                           uint32_t seeds) {
  static table t;
  char path[512];
  snprintf(path, sizeof path, "%s/data/%s.jsonl", BENCH_SOURCE_DIR, file);
  if (access(path, R_OK)) {
    bench_say("%s %s: left out, %s is not recorded", form, k->name, path);
    return;
  }
  if (table_read(context, path, &t, 0, 1) != 1) ytopt_stop("a record is empty");
  if (t.n < points) {
    bench_say("%s %s: left out, %u of %u points are recorded", form, k->name,
              t.n, points);
    table_free(&t);
    return;
  }
  double slow = 0;
  for (uint32_t i = 0; i < t.n; i++) slow += t.seconds[i] > CUT_OFF * t.best;
  bench_say("%s %s: %u points, %g slower than %d times the best, %.4g s", form,
            k->name, t.n, slow, CUT_OFF, t.best);
  for (uint32_t i = 0; i < n; i++) {
    outcome o;
    for (uint32_t s = 0; s < seeds; s++) tune_once(&t, &list[i], s + 1, &o, s);
    report_tuner(form, k, &t, &list[i], &o, seeds);
  }
  if (t.missing) ytopt_stop("candidates were asked for that are not recorded");
  table_free(&t);
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(
      argc, argv, "ytopt's comparison of tuners, as published and corrected");
  uint32_t seeds = o.quick ? QUICK_SEEDS : SEEDS;
  if (tess_context_new(NULL, &context) != TESS_OK) ytopt_stop("no context");
  for (uint32_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
    const kernel *x = &kernels[k];
    compare_tuners("published", x, x->published, x->points, published,
                   sizeof published / sizeof *published, seeds);
    compare_tuners("corrected", x, x->corrected, 1, corrected,
                   sizeof corrected / sizeof *corrected, seeds);
  }
  tess_context_free(context);
  return 0;
}
