/* SPDX-License-Identifier: Apache-2.0
 * Chooses what the cost model "analytic" takes things to cost, by measured
 * candidates (bench/drafts.lua, bench/record.lua), on one thread:
 *   analytic [--steps N] [--seed N] [--each] [FILE..]
 * Begins with the numbers in use, keeps changes that serve three programs of
 * four, and says what they do for the fourth, too.  Without steps it only
 * judges.  Loss is by how much slower than the best what the model prefers is,
 * of a third of a program's candidates, of all, and by how it orders them. */
#include "bench/support/bench.h"
#include "bench/support/table.h"

#include "search/model/analytic.h"
#include "search/model/object.h"
#include "search/postproc/postproc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROGRAMS = 256, MOST_CANDIDATES = 4096, PARTS = 40 };

typedef struct workload {
  table t;
  search_rows rows[FEATURE_KINDS];
  uint32_t npart, *part; /* PARTS random thirds, one after the other */
} workload;

typedef struct verdict {
  double part, all, rank; /* what is preferred ÷ the best; 0 to 1 */
} verdict;

/* Where the sets were recorded. */
static const model_machine zen4 = {1, 16, 32, {32 << 10, 1 << 20, 32 << 20}};
static tess_context *context;
static workload work[MOST_PROGRAMS];
static uint32_t nwork;
static model_fit fit;

static _Noreturn void stop(const char *what) {
  bench_say("analytic: %s", what);
  exit(1);
}

static void must(tess_status s) {
  if (s != TESS_OK) stop(tess_error(context)->message);
}

/* ---- what was measured -------------------------------------------------- */

static void keep_rows(search_rows *to, const search_rows *r) {
  size_t numbers = (size_t)r->first[r->n] * r->width;
  uint32_t *first = malloc((r->n + 1) * sizeof *first);
  float *v = malloc((numbers + 1) * sizeof *v);
  if (!first || !v) stop("no memory");
  *to = *r;
  to->first = memcpy(first, r->first, (r->n + 1) * sizeof *first);
  to->v = memcpy(v, r->v, numbers * sizeof *v);
}

/* As in a run, sketches end with the target's postprocessors. */
static void make_rows(workload *w, tess_target *target) {
  const vm_trace *t[TABLE_SKETCHES];
  tess_session s;
  search_rows r;
  vm_trace post;
  vm_trace_init(&post, &w->t.heap);
  postproc_default(&post, target, &w->t.p->p);
  for (uint32_t i = 0; i < w->t.nsketch; i++) {
    postproc_append(&w->t.sketch[i]->t, &post);
    t[i] = &w->t.sketch[i]->t;
  }
  must(session_init(&s, context, &w->t.p->p, w->t.nsketch, t, 1, 1));
  must(session_rows(&s, FEATURE_TRAFFIC, w->t.n, w->t.cand, &r));
  keep_rows(&w->rows[FEATURE_TRAFFIC], &r);
  session_free(&s);
  vm_trace_free(&post);
}

static void choose_parts(workload *w, uint32_t seed) {
  rng r;
  rng_init(&r, seed, 0);
  w->npart = w->t.n / 3 + 1;
  w->part = malloc(PARTS * w->npart * sizeof *w->part);
  if (!w->part) stop("no memory");
  for (uint32_t i = 0; i < PARTS * w->npart; i++)
    w->part[i] = (uint32_t)rng_below(&r, w->t.n);
}

static void read_file(const char *path, tess_target *target) {
  static table list[MOST_PROGRAMS];
  uint32_t n = table_read(context, path, list, 0, MOST_PROGRAMS - nwork);
  for (uint32_t i = 0; i < n; i++) {
    if (list[i].n > MOST_CANDIDATES) stop("a program has too many candidates");
    if (!list[i].n || !isfinite(list[i].best)) continue;
    workload *w = &work[nwork++];
    w->t = list[i];
    make_rows(w, target);
    choose_parts(w, nwork);
  }
}

/* ---- the loss ----------------------------------------------------------- */

/* Pairs of candidates up to four times the best that are in the right order. */
static double ranked(const table *t, const double *score) {
  uint32_t right = 0, all = 0;
  for (uint32_t i = 0; i < t->n; i++)
    for (uint32_t k = 0; k < i; k++) {
      double a = t->seconds[i], b = t->seconds[k];
      if (fmax(a, b) > 4 * t->best || a == b) continue;
      all++;
      right += (a < b) == (score[i] > score[k]);
    }
  return all ? (double)right / all : 1;
}

static double preferred(const table *t, const double *score,
                        const uint32_t *list, uint32_t n) {
  uint32_t best = list ? list[0] : 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = list ? list[i] : i;
    if (score[at] > score[best]) best = at;
  }
  return fmin(t->seconds[best], 100 * t->best);
}

static double least(const table *t, const uint32_t *list, uint32_t n) {
  double x = INFINITY;
  for (uint32_t i = 0; i < n; i++) x = fmin(x, t->seconds[list[i]]);
  return fmin(x, 100 * t->best);
}

static verdict judge(const workload *w, const analytic_costs *v) {
  static double score[MOST_CANDIDATES];
  const table *t = &w->t;
  verdict out = {0};
  analytic_score_by(v, &fit, t->n, w->rows, score);
  for (uint32_t i = 0; i < PARTS; i++) {
    const uint32_t *part = w->part + i * w->npart;
    out.part +=
        log(preferred(t, score, part, w->npart) / least(t, part, w->npart));
  }
  out.part = exp(out.part / PARTS);
  out.all = preferred(t, score, NULL, t->n) / t->best;
  out.rank = ranked(t, score);
  return out;
}

static double loss_of(verdict v) {
  return log(v.part) + 0.5 * log(v.all) + 0.3 * (1 - v.rank);
}

static bool is_judged(uint32_t i) { return i % 4 == 3; }

/* The mean over those that are judged, or those that are not. */
static double loss(const analytic_costs *v, bool judged) {
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < nwork; i++) {
    if (is_judged(i) != judged) continue;
    sum += loss_of(judge(&work[i], v));
    n++;
  }
  return n ? sum / n : 0;
}

/* ---- choosing ----------------------------------------------------------- */

static const char *const names[] = {
#define COST_NAME(name, value) #name,
    ANALYTIC_COSTS(COST_NAME)
#undef COST_NAME
};
enum { NCOSTS = sizeof names / sizeof *names };

/* One to three of them become larger or smaller by a third or so.  What other
 * threads cost is not seen on one. */
static void vary(analytic_costs *v, rng *r) {
  double *x = (double *)v;
  for (uint64_t n = 1 + rng_below(r, 3); n > 0; n--) {
    uint64_t i = rng_below(r, NCOSTS);
    x[i] *= exp(rng_unit(r) + rng_unit(r) - 1);
  }
}

static void choose(analytic_costs *v, uint32_t steps, uint32_t seed) {
  double now = loss(v, false);
  rng r;
  rng_init(&r, seed, 1);
  for (uint32_t i = 0; i < steps; i++) {
    analytic_costs other = *v;
    vary(&other, &r);
    double then = loss(&other, false);
    if (then >= now) continue;
    now = then;
    *v = other;
  }
}

/* ---- what is told ------------------------------------------------------- */

static void say_each(const analytic_costs *v) {
  for (uint32_t i = 0; i < nwork; i++) {
    verdict d = judge(&work[i], v);
    bench_say("%-32s %3u candidates, best %9.4f ms: preferred of a third "
              "%5.2f, of all %5.2f, order %.2f",
              work[i].t.name, work[i].t.n, 1e3 * work[i].t.best, d.part, d.all,
              d.rank);
  }
}

static void say_means(const char *when, const analytic_costs *v) {
  double sum[3] = {0};
  for (uint32_t i = 0; i < nwork; i++) {
    verdict d = judge(&work[i], v);
    sum[0] += log(d.part), sum[1] += log(d.all), sum[2] += d.rank;
  }
  json_t *more =
      json_pack("{s:s, s:f, s:f, s:f, s:f}", "costs", when, "part",
                exp(sum[0] / nwork), "all", exp(sum[1] / nwork), "order",
                sum[2] / nwork, "loss_of_others", loss(v, true));
  bench_figure("analytic_loss", loss(v, false), "1", more);
}

static int analytic_usage(void) {
  bench_say("usage: analytic [--steps N] [--seed N] [--each] [FILE..]");
  return 2;
}

int main(int argc, char **argv) {
  uint32_t steps = 0, seed = 1;
  bool each = false;
  tess_target *target;
  if (tess_context_new(NULL, &context) != TESS_OK) stop("no context");
  must(tess_target_new(context, "llvm", &target));
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    uint32_t n = (uint32_t)strtoul(value, NULL, 10);
    if (!strcmp(argv[i], "--each"))
      each = true;
    else if (n && !strcmp(argv[i], "--steps"))
      steps = n, i++;
    else if (n && !strcmp(argv[i], "--seed"))
      seed = n, i++;
    else if (argv[i][0] == '-')
      return analytic_usage();
    else
      read_file(argv[i], target);
  }
  if (!nwork) read_file(BENCH_SOURCE_DIR "/data/drafts.jsonl.gz", target);
  fit = (model_fit){.machine = zen4};
  mem_heap_init(&fit.heap, mem_default_allocator, 0);
  arena_init(&fit.a, &fit.heap);
  must(learner_analytic.fit(NULL, &fit));
  analytic_costs v = analytic_usual;
  say_means("in use", &v);
  if (steps) {
    choose(&v, steps, seed);
    say_means("chosen", &v);
    for (uint32_t i = 0; i < NCOSTS; i++)
      printf("%-10s %.3g\n", names[i], ((const double *)&v)[i]);
  }
  if (each) say_each(&v);
  return 0;
}
