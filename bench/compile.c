/* SPDX-License-Identifier: Apache-2.0
 * Compile time of a candidate: lowering, compiling and loading, in
 * milliseconds.
 *
 * Candidates of a 1024 matrix product are drawn as a search draws them: random
 * tiles by sample_perfect_tile, with and without a write cache and a packed
 * panel; and one good one repeatedly.  Then those of tuning runs of a product
 * and a convolution, as their workers build them (compile/tuning.c). */
#include "backends/llvm/llvm.h"
#include "base/rng.h"
#include "compile/matmul.h"
#include "compile/tuning.h"
#include "lower/lower.h"
#include "support/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_CANDIDATES = 256 };

typedef struct maker {
  mem_heap heap;
  arena scratch;
  target target;
  ir_program p;
  strbuf code;
  err_state err;
} maker;

/* The stages of one candidate, in milliseconds. */
typedef struct stages {
  double optimize, codegen, all;
  double cpu; /* CPU time of the whole, without other processes */
} stages;

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool fail_stage(const maker *m, const char *what) {
  bench_say("%s: %s", what, m->err.message);
  return false;
}

static bool make_matmul(maker *m, const matmul_tiles *t, stages *out) {
  llvm_times times;
  backend_code *code;
  ir_program_reset(&m->p);
  str_clear(&m->code);
  matmul_make(&m->p, t);
  lower_options o = {.vector_bytes = (uint32_t)m->target.vector_bytes};
  double start = bench_now(), cpu = cpu_seconds();
  if (lower_program(&m->p, &m->scratch, &o, &m->err))
    return fail_stage(m, "lowering");
  if (llvm_compile(&m->p, &m->scratch, &m->target, BACKEND_CODE, &m->code,
                   &times, &m->err))
    return fail_stage(m, "compiling");
  if (llvm_backend.load(&m->heap, m->code.v, m->code.n, &code, &m->err))
    return fail_stage(m, "loading");
  *out = (stages){1e3 * times.optimize, 1e3 * times.codegen,
                  1e3 * (bench_now() - start), 1e3 * (cpu_seconds() - cpu)};
  llvm_backend.unload(code);
  return true;
}

/* ---- candidates --------------------------------------------------------- */

static void draw_factors(rng *r, int64_t *factor, int n, int twos, int most) {
  do {
    for (int i = 0; i < n; i++) factor[i] = 1;
    for (int i = 0; i < twos; i++) factor[rng_below(r, (uint64_t)n)] *= 2;
  } while (factor[n - 1] > most);
}

static matmul_tiles draw_tiles(rng *r) {
  matmul_tiles t;
  draw_factors(r, t.i, 4, 10, 64);
  draw_factors(r, t.j, 4, 10, 64);
  draw_factors(r, t.k, 2, 10, 1024);
  t.cache_write = rng_below(r, 3) > 0;
  t.cache_read = rng_below(r, 2) > 0;
  return t;
}

static const matmul_tiles good = {
    {2, 1, 64, 8}, {4, 4, 2, 32}, {4, 256}, true, true};

/* ---- figures ------------------------------------------------------------ */

static void report_summary(const char *workload, const char *clock, uint32_t n,
                           const bench_summary *s) {
  const struct {
    const char *name;
    double value;
  } figures[] = {{"min", s->min},
                 {"median", s->median},
                 {"mean", s->mean},
                 {"p90", s->p90},
                 {"max", s->max}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    bench_figure(clock, figures[i].value, "ms",
                 json_pack("{s:s, s:s, s:i}", "workload", workload, "statistic",
                           figures[i].name, "candidates", (int)n));
}

static void report_stages(const char *workload, uint32_t n, const stages *s) {
  double all[MAX_CANDIDATES], codegen[MAX_CANDIDATES], opt[MAX_CANDIDATES];
  double cpu[MAX_CANDIDATES];
  for (uint32_t i = 0; i < n; i++) {
    all[i] = s[i].all;
    codegen[i] = s[i].codegen;
    opt[i] = s[i].optimize;
    cpu[i] = s[i].cpu;
  }
  bench_summary wall = bench_summarize(all, n), own = bench_summarize(cpu, n);
  report_summary(workload, "compile_ms", n, &wall);
  report_summary(workload, "compile_cpu_ms", n, &own);
  bench_say("%-24s median %.1f ms (passes %.1f, code generation %.1f), mean "
            "%.1f, 90 %% within %.1f, most %.1f; of the processor median %.1f, "
            "mean %.1f, 90 %% within %.1f",
            workload, wall.median, bench_median(opt, n),
            bench_median(codegen, n), wall.mean, wall.p90, wall.max, own.median,
            own.mean, own.p90);
}

static bool measure_stages(maker *m, const char *workload, uint32_t n,
                           bool random) {
  stages s[MAX_CANDIDATES];
  rng r;
  rng_init(&r, 1, 0);
  for (uint32_t i = 0; i < n; i++) {
    matmul_tiles t = random ? draw_tiles(&r) : good;
    if (!make_matmul(m, &t, &s[i])) return false;
  }
  report_stages(workload, n, s);
  return true;
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(argc, argv, "what compiling a candidate takes");
  maker m = {.err.code = TESS_OK};
  mem_heap_init(&m.heap, mem_default_allocator, 0);
  arena_init(&m.scratch, &m.heap);
  ir_program_init(&m.p, &m.heap);
  str_init(&m.code, &m.heap);
  bool ok =
      !target_parse(&m.target, "llvm", &m.err) || fail_stage(&m, "target");
  uint32_t n = o.quick ? 32 : MAX_CANDIDATES;
  ok = ok && measure_stages(&m, "matmul_1024", n, true);
  ok = ok && measure_stages(&m, "matmul_1024_good", n / 4, false);
  static const char *const tuned[] = {"GMM-4", "C2D-3"};
  for (size_t i = 0; i < sizeof tuned / sizeof *tuned; i++)
    ok = ok && tuning_measure(tuned[i], o.quick ? 32 : 128,
                              o.threads ? o.threads : 2);
  str_free(&m.code);
  ir_program_free(&m.p);
  arena_free(&m.scratch);
  return !ok;
}
