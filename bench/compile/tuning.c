/* SPDX-License-Identifier: Apache-2.0
 * Building candidates as a tuning run does: by its workers, while others are
 * timed, candidates that the strategy prefers; then the same ones again in this
 * process, one after the other, for the stages and the processor's time. */
#include "compile/tuning.h"

#include "backends/llvm/llvm.h"
#include "lower/lower.h"
#include "search/run/tune.h"
#include "support/bench.h"
#include "support/sketches.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096 };

static search_measurer inner;
static double all[MOST], replay[MOST], lower[MOST], compile[MOST];
static uint32_t n;

/* The candidates that were built. */
static struct {
  const vm_trace *trace;
  int64_t *d;
  uint32_t n;
} built[MOST];

static void keep_candidate(const vm_trace *t, const search_cand *c) {
  size_t bytes = (c->n + 1) * sizeof *c->d;
  built[n].trace = t;
  built[n].n = c->n;
  built[n].d = malloc(bytes);
  if (!built[n].d) exit(1);
  memcpy(built[n].d, c->d, c->n * sizeof *c->d);
}

static tess_status watch_measure(void *ud, tess_session *s, uint32_t count,
                                 const search_trial *trial, double best,
                                 search_outcome *out,
                                 int (*done)(void *, uint32_t), void *done_ud) {
  tess_status st = inner.measure(ud, s, count, trial, best, out, done, done_ud);
  for (uint32_t i = 0; i < count && n < MOST; i++) {
    const search_outcome *o = &out[i];
    double sum = o->replay + o->lower + o->compile;
    if (sum <= 0) continue;
    keep_candidate(s->sketch[trial[i].c.sketch], &trial[i].c);
    replay[n] = 1e3 * o->replay;
    lower[n] = 1e3 * o->lower;
    compile[n] = 1e3 * o->compile;
    all[n++] = 1e3 * sum;
  }
  return st;
}

/* Sorts the values. */
static bench_summary report_statistics(const char *figure, const char *workload,
                                       double *value, uint32_t threads) {
  bench_summary s = bench_summarize(value, n);
  const struct {
    const char *name;
    double value;
  } figures[] = {{"min", s.min},
                 {"median", s.median},
                 {"mean", s.mean},
                 {"p90", s.p90},
                 {"max", s.max}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    bench_figure(figure, figures[i].value, "ms",
                 json_pack("{s:s, s:s, s:i, s:i}", "workload", workload,
                           "statistic", figures[i].name, "candidates", (int)n,
                           "threads", (int)threads));
  return s;
}

static void report_builds(const char *workload, uint32_t threads) {
  bench_summary s = report_statistics("build_ms", workload, all, threads);
  bench_say("%-24s median %.1f ms (replay %.1f, lowering %.1f, LLVM %.1f), "
            "mean %.1f, 90 %% within %.1f, most %.1f",
            workload, s.median, bench_median(replay, n), bench_median(lower, n),
            bench_median(compile, n), s.mean, s.p90, s.max);
}

/* ---- again, in this process --------------------------------------------- */

typedef struct maker {
  mem_heap heap;
  vm_machine m;
  arena scratch;
  target target;
  strbuf code;
  err_state err;
} maker;

typedef struct stages {
  double emit, optimize, codegen, all, cpu; /* milliseconds */
} stages;

static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static tess_status open_maker(void *ud) {
  maker *m = ud;
  vm_machine_init(&m->m, &m->heap);
  arena_init(&m->scratch, &m->heap);
  str_init(&m->code, &m->heap);
  return TESS_OK;
}

static bool make_again(maker *m, const ir_program *base, uint32_t i,
                       stages *out) {
  vm_replay_opts o = {
      .source = VM_GIVEN, .given = built[i].d, .ngiven = built[i].n};
  lower_options l = {.vector_bytes = (uint32_t)m->target.vector_bytes};
  llvm_times t;
  str_clear(&m->code);
  double start = bench_now(), cpu = cpu_ms();
  if (vm_replay(&m->m, base, built[i].trace, &o, NULL) ||
      lower_program(&m->m.prog, &m->scratch, &l, &m->err) ||
      llvm_compile(&m->m.prog, &m->scratch, &m->target, BACKEND_CODE, &m->code,
                   &t, &m->err))
    return false;
  *out = (stages){1e3 * (t.emit + t.verify), 1e3 * t.optimize, 1e3 * t.codegen,
                  1e3 * (bench_now() - start), cpu_ms() - cpu};
  arena_reset(&m->scratch);
  return true;
}

static bool report_again(const char *workload, const ir_program *base) {
  static double emit[MOST], optimize[MOST], codegen[MOST], wall[MOST],
      cpu[MOST];
  maker m = {.err.code = TESS_OK};
  stages s = {0};
  mem_heap_init(&m.heap, mem_default_allocator, 0);
  bool ok = !mem_protect(&m.heap, open_maker, &m) &&
            !target_parse(&m.target, "llvm", &m.err);
  for (uint32_t i = 0; ok && i < n; i++) {
    ok = make_again(&m, base, i, &s);
    emit[i] = s.emit;
    optimize[i] = s.optimize;
    codegen[i] = s.codegen;
    wall[i] = s.all;
    cpu[i] = s.cpu;
  }
  if (!ok) bench_say("building again: %s", m.err.message);
  bench_summary w = bench_summarize(wall, n);
  bench_summary c = report_statistics("build_cpu_ms", workload, cpu, 1);
  bench_say("%-24s median %.1f ms, mean %.1f; of the processor median %.1f, "
            "mean %.1f, 90 %% within %.1f, most %.1f (means: emission %.1f, "
            "passes %.1f, code generation %.1f)",
            "the same, one by one", w.median, w.mean, c.median, c.mean, c.p90,
            c.max, bench_summarize(emit, n).mean,
            bench_summarize(optimize, n).mean,
            bench_summarize(codegen, n).mean);
  str_free(&m.code);
  arena_free(&m.scratch);
  vm_machine_free(&m.m);
  return ok;
}

/* ---- the run ------------------------------------------------------------ */

static tess_status run_tuning(tune_setup *set, const tess_tune_options *o,
                              tess_result **r) {
  tess_status s = setup_begin(set, o);
  if (s == TESS_OK) s = setup_prepare(set);
  if (s != TESS_OK) return s;
  inner = set->measurer;
  set->measurer.measure = watch_measure;
  return tune_run(set, r);
}

bool tuning_measure(const char *workload, uint32_t trials, uint32_t threads) {
  n = 0;
  sketches k;
  tess_space *space = NULL;
  tess_result *r = NULL;
  sketches_load_named(&k, BENCH_SOURCE_DIR, "default", workload);
  tess_tune_options o = TESS_INIT(tess_tune_options);
  o.trials = trials;
  o.seed = 1;
  o.kernel_threads = threads;
  tess_status s = tess_space_traces(k.c, k.n, k.sketch, &space);
  tune_setup set = {.program = k.p, .space = space};
  ctx_begin_work(k.c);
  if (s == TESS_OK) s = run_tuning(&set, &o, &r);
  ctx_end_work(k.c);
  bool ok = s == TESS_OK && n;
  if (ok)
    report_builds(workload, threads);
  else
    bench_say("tuning: %s", tess_error(k.c)->message);
  ok = ok && report_again(workload, &k.p->p);
  for (uint32_t i = 0; i < n; i++) free(built[i].d);
  tess_result_free(r);
  setup_end(&set);
  tess_space_free(space);
  sketches_free(&k);
  return ok;
}
