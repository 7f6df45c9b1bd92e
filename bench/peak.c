/* SPDX-License-Identifier: Apache-2.0
 * The machine's peak: float32 multiply-adds per second for each instruction set
 * it has, and memory bandwidth.
 *
 * fma_peak_gflops is cross-checked against cycles: operations per cycle must
 * come out near a whole number of the core's arithmetic ports.  Where the
 * kernel's cycle counter cannot be read, the frequency is that of a chain of
 * dependent additions run on the same threads between the kernels, and the line
 * says so ("cycles_from": "add_chain"). */
#include "base/thread.h"
#include "peak/peak.h"
#include "support/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };

/* The result of one thread's timed interval. */
typedef struct lap {
  double start, stop;
  uint64_t cycles;  /* counted; 0 where they cannot be */
  double chain_ghz; /* frequency by the chain of adds, around it */
} lap;

typedef struct fma_job {
  const peak_isa *isa;
  uint32_t threads;
  uint64_t rounds;
  pthread_barrier_t gate;
  lap laps[MAX_THREADS];
  float sink[MAX_THREADS];
} fma_job;

static double chain_ghz(void) {
  enum { ADDS = 2000000 };
  double start = bench_now();
  peak_add_chain(ADDS);
  return ADDS / (bench_now() - start) * 1e-9;
}

/* One interval on one thread; all threads start it together. */
static bool fma_thread(void *ud, uint32_t i, uint32_t thread) {
  (void)thread;
  fma_job *j = ud;
  lap *l = &j->laps[i];
  bench_pin(i);
  peak_counter counter = peak_counter_open();
  bool counts = peak_counter_works(&counter);
  j->sink[i] = j->isa->run(j->rounds / 8);
  pthread_barrier_wait(&j->gate);
  double before = chain_ghz();
  uint64_t cycles = peak_counter_read(&counter);
  l->start = bench_now();
  j->sink[i] += j->isa->run(j->rounds);
  l->stop = bench_now();
  l->cycles = counts ? peak_counter_read(&counter) - cycles : 0;
  double after = chain_ghz();
  l->chain_ghz = before > after ? before : after;
  peak_counter_close(&counter);
  return true;
}

/* As many rounds as take about `seconds` on one thread. */
static uint64_t rounds_for(const peak_isa *isa, double seconds) {
  uint64_t rounds = 100000;
  for (;;) {
    double start = bench_now();
    isa->run(rounds);
    double took = bench_now() - start;
    if (took > 0.01) return (uint64_t)((double)rounds * seconds / took) + 1;
    rounds *= 4;
  }
}

typedef struct fma_result {
  double gflops, ghz; /* of the best interval */
  bool counted;
} fma_result;

/* Between the first start and the last stop nothing else is done, so the
 * span of all threads is the honest denominator. */
static fma_result fma_stretch(fma_job *j) {
  pthread_barrier_init(&j->gate, NULL, j->threads);
  thread_run(j->threads, j->threads, fma_thread, j);
  pthread_barrier_destroy(&j->gate);
  double start = INFINITY, stop = 0, ghz = 0;
  bool counted = true;
  for (uint32_t i = 0; i < j->threads; i++) {
    const lap *l = &j->laps[i];
    start = fmin(start, l->start);
    stop = fmax(stop, l->stop);
    counted = counted && l->cycles > 0;
    ghz += l->cycles ? (double)l->cycles / (l->stop - l->start) * 1e-9
                     : l->chain_ghz;
  }
  double flops =
      (double)j->isa->flops_per_round * (double)j->rounds * j->threads;
  return (fma_result){flops / (stop - start) * 1e-9, ghz / j->threads, counted};
}

static void fma_report(const peak_isa *isa, uint32_t threads, fma_result r) {
  double per_cycle = r.gflops / threads / r.ghz;
  double ports = fmax(1, round(per_cycle / isa->flops_per_op));
  double agreement = per_cycle / (ports * isa->flops_per_op);
  const char *from = r.counted ? "perf" : "add_chain";
  bool agrees = agreement > 0.9 && agreement < 1.05;
  bench_say("%-6s %3u threads %9.1f GFLOP/s  %.2f GHz (%s)  %.1f a cycle and "
            "thread, %.0f %% of %.0f ports%s",
            isa->name, threads, r.gflops, r.ghz, from, per_cycle,
            100 * agreement, ports,
            agrees ? "" : ": does not agree; is the machine busy?");
  bench_figure("fma_peak_gflops", r.gflops, "GFLOP/s",
               json_pack("{s:i, s:s, s:s, s:f, s:s, s:f, s:f, s:b}", "threads",
                         (int)threads, "isa", isa->name, "dtype", "float32",
                         "core_ghz", r.ghz, "cycles_from", from,
                         "flops_per_cycle", per_cycle, "of_ports_peak",
                         agreement, "agrees", agrees));
}

/* Many short intervals, the best of which counts: on a shared machine a short
 * one is more likely to be undisturbed. */
static void fma_peak(const peak_isa *isa, uint32_t threads, bool quick) {
  static fma_job job;
  job = (fma_job){.isa = isa, .threads = threads};
  job.rounds = rounds_for(isa, 0.01);
  fma_result best = {.gflops = 0};
  for (int i = 0; i < (quick ? 20 : 200); i++) {
    fma_result r = fma_stretch(&job);
    best = r.gflops > best.gflops ? r : best;
  }
  fma_report(isa, threads, best);
}

typedef struct stream_job {
  uint32_t threads;
  size_t n; /* doubles in each array */
  double *a, *b, *c;
  pthread_barrier_t gate;
  int laps;
  double start[MAX_THREADS], stop[MAX_THREADS];
  double best; /* seconds of the fastest lap */
} stream_job;

__attribute__((noinline)) static void triad(double *restrict a,
                                            const double *restrict b,
                                            const double *restrict c, double s,
                                            size_t n) {
  for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

/* Each thread first touches its part of the arrays (NUMA placement), then
 * sweeps over it, all threads starting each sweep together. */
static bool stream_thread(void *ud, uint32_t i, uint32_t thread) {
  (void)thread;
  stream_job *j = ud;
  size_t from = j->n / j->threads * i, n = j->n / j->threads;
  bench_pin(i);
  for (size_t k = from; k < from + n; k++)
    j->a[k] = 0, j->b[k] = 1, j->c[k] = 2;
  for (int round = 0; round < j->laps; round++) {
    pthread_barrier_wait(&j->gate);
    j->start[i] = bench_now();
    triad(j->a + from, j->b + from, j->c + from, 3, n);
    j->stop[i] = bench_now();
    if (pthread_barrier_wait(&j->gate) == PTHREAD_BARRIER_SERIAL_THREAD) {
      double start = INFINITY, stop = 0;
      for (uint32_t t = 0; t < j->threads; t++) {
        start = fmin(start, j->start[t]);
        stop = fmax(stop, j->stop[t]);
      }
      j->best = fmin(j->best, stop - start);
    }
  }
  return true;
}

/* Each array four times the last cache (STREAM's rule), as far as an eighth
 * of the memory goes. */
static size_t stream_bytes(bool quick) {
  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  size_t want = quick || cache <= 0 ? (size_t)64 << 20 : (size_t)cache * 4;
  size_t memory =
      (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  return want < memory / 24 ? want : memory / 24;
}

static void stream_gbs(uint32_t threads, bool quick) {
  static stream_job job;
  size_t bytes = stream_bytes(quick);
  job = (stream_job){.threads = threads,
                     .n = bytes / sizeof(double),
                     .laps = quick ? 5 : 15,
                     .best = INFINITY};
  job.a = aligned_alloc(4096, bytes & ~(size_t)4095);
  job.b = aligned_alloc(4096, bytes & ~(size_t)4095);
  job.c = aligned_alloc(4096, bytes & ~(size_t)4095);
  job.n = (bytes & ~(size_t)4095) / sizeof(double);
  if (!job.a || !job.b || !job.c) {
    bench_say("stream: out of memory for 3 arrays of %zu bytes", bytes);
    exit(1);
  }
  pthread_barrier_init(&job.gate, NULL, threads);
  thread_run(threads, threads, stream_thread, &job);
  pthread_barrier_destroy(&job.gate);
  double moved = 3.0 * sizeof(double) * (double)(job.n / threads * threads);
  double gbs = moved / job.best * 1e-9;
  bench_say("stream %3u threads %9.1f GB/s (triad, 3 x %zu MiB)", threads, gbs,
            bytes >> 20);
  bench_figure("stream_gbs", gbs, "GB/s",
               json_pack("{s:i, s:s, s:I}", "threads", (int)threads, "kernel",
                         "triad", "bytes_per_array", (json_int_t)bytes));
  free(job.a);
  free(job.b);
  free(job.c);
}

static void say_clocks(void) {
  double start = bench_now(), ghz = 0;
  uint64_t tsc = peak_tsc();
  for (int i = 0; i < 20; i++) ghz = fmax(ghz, chain_ghz());
  double tsc_ghz = (double)(peak_tsc() - tsc) / (bench_now() - start) * 1e-9;
  peak_counter c = peak_counter_open();
  bench_say("core %.2f GHz by a chain of adds, time-stamp counter %.2f GHz; "
            "%s",
            ghz, tsc_ghz,
            peak_counter_works(&c) ? "cycles are counted"
                                   : "cycles cannot be counted here, the "
                                     "chain of adds stands in for them");
  peak_counter_close(&c);
}

int main(int argc, char **argv) {
  bench_options o =
      bench_parse(argc, argv, "peak arithmetic and memory bandwidth");
  uint32_t all = o.threads ? o.threads : thread_cpus();
  all = all > MAX_THREADS ? MAX_THREADS : all;
  say_clocks();
  for (uint32_t threads = 1;; threads = all) {
    for (const peak_isa *isa = peak_isas; isa->name; isa++)
      if (isa->is_present()) fma_peak(isa, threads, o.quick);
    stream_gbs(threads, o.quick);
    if (threads == all) break;
  }
  return 0;
}
