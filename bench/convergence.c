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
#include <unistd.h>
#ifdef BENCH_GSL
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#endif

enum { MOST_TABLES = 16, MOST_SEEDS = 1024, MOST_SEARCHES = 32, FEW = 5 };
#define WITHIN 1.05

typedef struct plan {
  uint32_t trials, batch, seeds, threads;
  double seconds;                    /* of one search; then few seeds do */
  const char *search[MOST_SEARCHES]; /* "strategy" or "strategy/model" */
  uint32_t nsearch;
  const char *only; /* a workload; NULL: all */
  bool transfers;   /* models begin with what the other workloads taught */
  bool ends;        /* what runs end with, and not when they get there */
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

static tess_result *run_once(table *t, const plan *p, const char *search,
                             uint64_t seed, tess_model *model) {
  tess_result *r;
  goal g = {p->ends ? 0 : WITHIN * t->best};
  tess_tune_options o = {.struct_size = sizeof o,
                         .trials = most_trials(t, p),
                         .batch = p->batch,
                         .seed = seed,
                         .threads = p->threads,
                         .kernel_threads = 1,
                         .model = model,
                         .progress = is_reached,
                         .progress_ud = &g};
  table_search(t, search, o, &r);
  return r;
}

/* Trials until it got there; or what it ended with, in times the best. */
static double find_figure(table *t, const plan *p, const char *search,
                          uint64_t seed, const char *taught) {
  tess_model *model = NULL;
  if (taught && tess_model_load(context, taught, &model) != TESS_OK)
    convergence_stop(tess_error(context)->message);
  tess_result *r = run_once(t, p, search, seed, model);
  double figure = p->ends ? r->curve.v[r->curve.n - 1] / t->best
                          : first_below(r, WITHIN * t->best, most_trials(t, p));
  tess_result_free(r);
  tess_model_free(model);
  return figure;
}

/* ---- what the other workloads teach ------------------------------------- */

enum { TAUGHT = 256 }; /* candidates of each, drawn */

static table tables[MOST_TABLES];
static uint32_t ntables;

static void convergence_must(tess_status s) {
  if (s != TESS_OK) convergence_stop(tess_error(context)->message);
}

static void teach_one(tess_model *m, const table *t) {
  static tess_candidate c[TAUGHT];
  const vm_trace *sketch[TABLE_SKETCHES];
  tess_session s;
  tess_cost_model f;
  uint32_t n = 0, left = t->n;
  rng r;
  rng_init(&r, 1, t->n);
  for (uint32_t i = 0; i < t->nsketch; i++) sketch[i] = &t->sketch[i]->t;
  convergence_must(
      session_init(&s, context, &t->p->p, t->nsketch, sketch, 1, 1));
  convergence_must(model_attach(m, &s, &f));
  for (uint32_t i = 0; i < t->n && n < TAUGHT; i++, left--) {
    if (rng_below(&r, left) >= TAUGHT - n) continue;
    session_to_public(&t->cand[i], &c[n]);
    c[n].seconds = t->seconds[i];
    c[n++].status = isfinite(t->seconds[i]) ? TESS_OK : TESS_BUILD_ERROR;
  }
  convergence_must(f.update(f.ud, &s, n, c));
  model_wait(m);
  session_free(&s);
}

/* A model of the search's kind that knows all workloads but one, in a file. */
static void teach_others(const table *t, const char *search, char *path) {
  const char *slash = strchr(search, '/');
  tess_model *m;
  int fd = mkstemp(path);
  if (fd < 0) convergence_stop("there is no room for a model");
  close(fd);
  convergence_must(tess_model_new(context, slash ? slash + 1 : "forest", &m));
  for (uint32_t i = 0; i < ntables; i++)
    if (&tables[i] != t) teach_one(m, &tables[i]);
  convergence_must(tess_model_save(m, path));
  tess_model_free(m);
}

/* ---- many --------------------------------------------------------------- */

static int by_value(const void *p, const void *q) {
  double a = *(const double *)p, b = *(const double *)q;
  return a < b ? -1 : a > b;
}

/* Quantiles over the seeds. */
typedef struct spread {
  double median, low, high, mean, worst;
  uint32_t n, reached; /* seeds, and those that got within 5 % */
} spread;

static spread measure_spread(double *v, uint32_t n, double enough) {
  spread s = {.n = n};
  for (uint32_t i = 0; i < n; i++) {
    s.mean += v[i] / n;
    s.reached += v[i] <= enough;
  }
  qsort(v, n, sizeof *v, by_value);
  s.median = bench_median(v, n);
  s.low = v[n / 4];
  s.high = v[n * 3 / 4];
  s.worst = v[n - 1];
  return s;
}

static const char *figure_of(const plan *p) {
  return p->ends ? "best_after" : "trials_to_within_5pct";
}

/* STRATEGY[/MODEL] in members of their own. */
static json_t *describe_search(const table *t, const plan *p,
                               const char *search) {
  const char *slash = strchr(search, '/');
  int n = slash ? (int)(slash - search) : (int)strlen(search);
  return json_pack("{s:s, s:s%, s:s, s:i, s:b, s:i}", "workload", t->name,
                   "strategy", search, (size_t)n, "model",
                   slash ? slash + 1 : "", "trials", (int)most_trials(t, p),
                   "transfer", (int)p->transfers, "batch", (int)p->batch);
}

static void report_seed(const table *t, const plan *p, const char *search,
                        uint64_t seed, double figure) {
  json_t *of = describe_search(t, p, search);
  json_object_set_new(of, "seed", json_integer((json_int_t)seed));
  bench_figure(figure_of(p), figure, "1", of);
}

static void report(const table *t, const plan *p, const char *search,
                   const spread *s, double seconds) {
  json_t *of = describe_search(t, p, search);
  bench_say("%-10s %-28s %5.4g %s (quartiles %.4g to %.4g, worst %.4g), mean "
            "%5.4g, %u of %u seeds within 5 %%; %.2f s a run",
            t->name, search, s->median, p->ends ? "x best" : "trials", s->low,
            s->high, s->worst, s->mean, s->reached, s->n, seconds);
  json_object_update_new(of, json_pack("{s:s, s:f, s:f, s:f, s:f, s:i, s:i}",
                                       "statistic", "median", "quartile1",
                                       s->low, "quartile3", s->high, "worst",
                                       s->worst, "mean", s->mean, "reached",
                                       (int)s->reached, "seeds", (int)s->n));
  bench_figure(figure_of(p), s->median, "1", of);
}

/* Two-sided p-value of Student's t-test, equal variances: 1 where one has fewer
 * than 2 values, NAN without GSL. */
static double t_test(uint32_t na, const double *a, uint32_t nb,
                     const double *b) {
#ifdef BENCH_GSL
  if (na < 2 || nb < 2) return 1;
  double t = fabs(gsl_stats_ttest(a, 1, na, b, 1, nb));
  if (isnan(t)) return 1; /* both all the same, and alike */
  return 2 * gsl_cdf_tdist_Q(t, (double)na + nb - 2);
#else
  (void)na, (void)a, (void)nb, (void)b;
  return NAN;
#endif
}

/* Whether its mean is that of the table's first search; without GSL nothing is
 * said. */
static void compare_with_first(const table *t, const plan *p,
                               const char *search, uint32_t n,
                               const double *figure) {
  static double first[MOST_SEEDS];
  static uint32_t nfirst;
  if (search == p->search[0]) {
    memcpy(first, figure, n * sizeof *figure);
    nfirst = n;
    return;
  }
  double chance = t_test(nfirst, first, n, figure);
  if (!isnan(chance)) {
    json_t *of = describe_search(t, p, search);
    json_object_set_new(of, "against", json_string(p->search[0]));
    bench_figure("p_value", chance, "1", of);
  }
}

/* A run that did not get there counts as one trial more than there were. */
static void try_search(table *t, const plan *p, const char *search) {
  static double figure[MOST_SEEDS];
  char path[] = "/tmp/tessera-model-XXXXXX";
  uint32_t n = 0;
  if (p->transfers) teach_others(t, search, path);
  double start = bench_now();
  while (n < p->seeds && (n < FEW || bench_now() - start < p->seconds)) {
    figure[n] = find_figure(t, p, search, n + 1, p->transfers ? path : NULL);
    n++;
    report_seed(t, p, search, n, figure[n - 1]);
  }
  if (p->transfers) remove(path);
  double seconds = (bench_now() - start) / n;
  spread s = measure_spread(figure, n, p->ends ? WITHIN : most_trials(t, p));
  report(t, p, search, &s, seconds);
  compare_with_first(t, p, search, n, figure);
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
    "  [--search STRATEGY[/MODEL]]... [--transfer] [--final]\n"
    "Trials until within 5 % of the best of recorded spaces, by strategy and\n"
    "cost model: of each seed, and medians and quartiles over --seeds (30),\n"
    "of which only the first 5 are tried once a search took --seconds (60).\n"
    "--transfer: models begin with 256 candidates of each other space;\n"
    "--final: what runs end with, in times the best of the space.";

static _Noreturn void refuse_options(void) {
  fprintf(stderr, "%s\n", help);
  exit(2);
}

static uint32_t count_of(const char *option, const char *text, uint32_t most) {
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  if (!*end && n >= 1 && n <= most) return (uint32_t)n;
  bench_say("convergence: --%s takes a number from 1 to %u, not '%s'", option,
            most, text);
  refuse_options();
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
      {"transfer", no_argument, NULL, 'r'},
      {"final", no_argument, NULL, 'f'},
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
    case 's': p.seeds = count_of("seeds", optarg, MOST_SEEDS); break;
    case 't': p.trials = count_of("trials", optarg, TESS_MAX_TRIALS); break;
    case 'b': p.batch = count_of("batch", optarg, TESS_MAX_BATCH); break;
    case 'j': p.threads = count_of("threads", optarg, TESS_MAX_THREADS); break;
    case 'l': p.seconds = count_of("seconds", optarg, 1u << 20); break;
    case 'w': p.only = optarg; break;
    case 'x':
      if (p.nsearch == MOST_SEARCHES) convergence_stop("too many searches");
      p.search[p.nsearch++] = optarg;
      break;
    case 'r': p.transfers = true; break;
    case 'f': p.ends = true; break;
    case 'h': puts(help); exit(0);
    default: refuse_options();
    }
  if (optind < argc) {
    bench_say("convergence: unknown argument '%s'", argv[optind]);
    refuse_options();
  }
  for (uint32_t i = 0;
       !p.nsearch && i < sizeof every_search / sizeof *every_search; i++)
    p.search[i] = every_search[i];
  if (!p.nsearch) p.nsearch = sizeof every_search / sizeof *every_search;
  return p;
}

static _Noreturn void name_workloads(const plan *p, const table *list,
                                     uint32_t n) {
  char text[512];
  int at = snprintf(text, sizeof text,
                    "there is no recorded space '%.40s'; "
                    "there are",
                    p->only);
  for (uint32_t i = 0; i < n && at < (int)sizeof text; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s %s", i ? "," : "",
                   list[i].name);
  convergence_stop(text);
}

int main(int argc, char **argv) {
  table *list = tables;
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
  ntables = n;
  for (uint32_t i = 0; i < n; i++) {
    if (p.only && strcmp(p.only, list[i].name)) continue;
    try_table(&list[i], &p);
    used++;
  }
  if (!used) name_workloads(&p, list, n);
  for (uint32_t i = 0; i < n; i++) table_free(&list[i]);
  tess_context_free(context);
  return 0;
}
