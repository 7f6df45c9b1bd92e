/* SPDX-License-Identifier: Apache-2.0
 * Shared by the benches: options, affinity, JSON output. */
#include "support/bench.h"

#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* The CPUs the program was started on, before any thread was bound. */
static cpu_set_t allowed;

_Noreturn static void usage(const char *program, const char *what, int status) {
  fprintf(status ? stderr : stdout, "usage: %s [--quick] [--threads N]\n%s\n",
          program, what);
  exit(status);
}

bench_options bench_parse(int argc, char **argv, const char *what) {
  static const struct option options[] = {
      {"quick", no_argument, NULL, 'q'},
      {"threads", required_argument, NULL, 't'},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  bench_options o = {.quick = false};
  sched_getaffinity(0, sizeof allowed, &allowed);
  char *end = NULL;
  for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    switch (c) {
    case 'q': o.quick = true; break;
    case 't':
      o.threads = (uint32_t)strtoul(optarg, &end, 10);
      if (*end || !o.threads || o.threads > 4096) usage(argv[0], what, 2);
      break;
    default: usage(argv[0], what, c == 'h' ? 0 : 2);
    }
  }
  if (optind < argc) usage(argv[0], what, 2);
  return o;
}

void bench_figure(const char *figure, double value, const char *unit,
                  json_t *further) {
  /* Whole numbers with all their digits: a seed is one. */
  bool whole = fabs(value) < 1e15 && value == floor(value);
  json_t *number = whole ? json_integer((json_int_t)value) : json_real(value);
  json_t *line = json_pack("{s:s, s:o, s:s}", "figure", figure, "value", number,
                           "unit", unit);
  if (further) json_object_update(line, further);
  json_decref(further);
  json_dumpf(line, stdout, JSON_REAL_PRECISION(6));
  putchar('\n');
  fflush(stdout);
  json_decref(line);
}

void bench_say(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
}

double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *values, uint32_t n) {
  qsort(values, n, sizeof *values, by_number);
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

bench_summary bench_summarize(double *values, uint32_t n) {
  double median = bench_median(values, n), sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += values[i];
  return (bench_summary){.min = values[0],
                         .median = median,
                         .mean = sum / n,
                         .p90 = values[n * 9 / 10],
                         .max = values[n - 1]};
}

void *bench_alloc(size_t bytes) {
  enum { LARGE = 4 << 20, HUGE_PAGE = 2 << 20 };
  size_t align = bytes < LARGE ? 64 : HUGE_PAGE;
  void *at = aligned_alloc(align, (bytes + align - 1) / align * align);
  if (!at) exit(1);
  if (bytes >= LARGE) madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

void bench_pin(uint32_t i) {
  cpu_set_t one;
  uint32_t n = (uint32_t)CPU_COUNT(&allowed), seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && n; cpu++)
    if (CPU_ISSET(cpu, &allowed) && seen++ == i % n) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
    }
}
