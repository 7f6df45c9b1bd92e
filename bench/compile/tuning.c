/* SPDX-License-Identifier: Apache-2.0
 * Building candidates as a tuning run does: by its workers, while others are
 * timed, candidates that the strategy prefers. */
#include "compile/tuning.h"

#include "search/work.h"
#include "support/bench.h"
#include "support/sketches.h"

#include <stdlib.h>

enum { MOST = 4096 };

static search_measurer inner;
static double all[MOST], replay[MOST], lower[MOST], compile[MOST];
static uint32_t n;

static tess_status watch_measure(void *ud, tess_session *s, uint32_t count,
                                 const search_cand *c, double best,
                                 search_outcome *out,
                                 int (*done)(void *, uint32_t), void *done_ud) {
  tess_status st = inner.measure(ud, s, count, c, best, out, done, done_ud);
  for (uint32_t i = 0; i < count && n < MOST; i++) {
    const search_outcome *o = &out[i];
    double sum = o->replay + o->lower + o->compile;
    if (sum <= 0) continue;
    replay[n] = 1e3 * o->replay;
    lower[n] = 1e3 * o->lower;
    compile[n] = 1e3 * o->compile;
    all[n++] = 1e3 * sum;
  }
  return st;
}

static void report_builds(uint32_t threads) {
  double median = bench_median(all, n); /* sorts them */
  const struct {
    const char *name;
    double value;
  } figures[] = {{"min", all[0]},
                 {"median", median},
                 {"p90", all[n * 9 / 10]},
                 {"max", all[n - 1]}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    bench_figure("build_ms", figures[i].value, "ms",
                 json_pack("{s:s, s:s, s:i, s:i}", "workload", "tuning_1024",
                           "statistic", figures[i].name, "candidates", (int)n,
                           "threads", (int)threads));
  bench_say("%-24s median %.1f ms (replay %.1f, lowering %.1f, LLVM %.1f), "
            "90 %% within %.1f, most %.1f",
            "tuning_1024", median, bench_median(replay, n),
            bench_median(lower, n), bench_median(compile, n), figures[2].value,
            figures[3].value);
}

static tess_status run_tuning(tune_work *w, const tess_tune_options *o,
                              tess_result **r) {
  tune_setup setup;
  tess_status s = work_begin(w, o);
  if (s == TESS_OK) s = work_prepare(w, &setup);
  if (s != TESS_OK) return s;
  inner = w->measurer;
  search_measurer mine = w->measurer;
  mine.measure = watch_measure;
  setup.measurer = &mine;
  return tune_run(&setup, r);
}

bool tuning_measure(uint32_t trials, uint32_t threads) {
  sketches k;
  tess_space *space = NULL;
  tess_result *r = NULL;
  sketches_load_named(&k, BENCH_SOURCE_DIR, "default", "GMM-4");
  tess_tune_options o = TESS_INIT(tess_tune_options);
  o.trials = trials;
  o.seed = 1;
  o.kernel_threads = threads;
  tess_status s = tess_space_traces(k.c, k.n, k.sketch, &space);
  tune_work w = {.p = k.p, .space = space};
  ctx_begin_work(k.c);
  if (s == TESS_OK) s = run_tuning(&w, &o, &r);
  ctx_end_work(k.c);
  if (s == TESS_OK && n)
    report_builds(threads);
  else
    bench_say("tuning: %s", tess_error(k.c)->message);
  tess_result_free(r);
  work_end(&w);
  tess_space_free(space);
  sketches_free(&k);
  return s == TESS_OK && n;
}
