/* SPDX-License-Identifier: Apache-2.0
 * Sampling of run times: how many runs a sample has, when there are enough. */
#include "base/clock.h"
#include "measure/timing.h"
#include <math.h>
#include <stdlib.h>

/* Samples are long in relation to the clock's resolution, and short enough that
 * there are many and that a deadline is noticed. */
static const double sample_time = 1e-3, longest_sample = 0.1;
enum { MAX_SAMPLES = 10000 };

/* Distributes the remaining time evenly over the remaining samples. */
static double sample_length(const timing_limits *l, uint32_t n, double total) {
  double left = n < MAX_SAMPLES ? MAX_SAMPLES - n : 1;
  double share = (l->min_time - total) / left;
  return fmin(fmax(sample_time, share), longest_sample);
}

/* The estimate may be of a cold run: the sample before may give a shorter time
 * per run. */
static uint64_t runs_per_sample(const timing_subject *s,
                                const measure_result *r, double length) {
  uint32_t n = r->sample.n;
  double run = s->estimate;
  if (n && length > sample_time) run = fmin(run, r->sample.v[n - 1]);
  if (s->alone || run >= length) return 1;
  return (uint64_t)ceil(length / fmax(run, 1e-9));
}

/* The samples of one subject so far. */
typedef struct sampling {
  double total, least;
  uint32_t behind; /* of them are slower than the best */
} sampling;

double timing_longest(const timing_limits *l, uint32_t n) {
  enum { LAST = TIMING_STEPS - 1 };
  double margin =
      n <= LAST ? l->margin.v[n] : l->margin.v[LAST] * LAST / (double)n;
  return l->best > 0 && margin > 0 ? l->best * (1 + margin) : INFINITY;
}

bool timing_is_beaten(const timing_limits *l, uint32_t n, double least) {
  return least > timing_longest(l, n);
}

/* Are so many slower than the best that the median will be, whatever the rest
 * of as many as are asked for gives? */
static bool has_lost(const timing_limits *l, uint32_t n, const sampling *a) {
  double planned = fmax(l->repeats, ceil(l->min_time * n / a->total));
  return isfinite(timing_longest(l, n)) && 2.0 * a->behind > planned;
}

static bool has_enough(const timing_limits *l, const timing_subject *s,
                       const measure_result *r, const sampling *a) {
  if (r->sample.n && clock_now() > l->deadline) return true;
  if (timing_is_beaten(l, r->sample.n, a->least)) return true;
  if (has_lost(l, r->sample.n, a)) return true;
  if (r->sample.n >= MAX_SAMPLES) return s->alone || a->total >= l->min_time;
  return r->sample.n >= l->repeats && a->total >= l->min_time;
}

static bool take_sample(mem_heap *heap, const timing_limits *l,
                        const timing_subject *s, measure_result *r,
                        sampling *a) {
  double seconds;
  uint64_t runs =
      runs_per_sample(s, r, sample_length(l, r->sample.n, a->total));
  vec_reserve(heap, &r->sample, 1);
  if (!s->run(s->ud, runs, &seconds)) return false;
  vec_push(heap, &r->sample, seconds / (double)runs);
  r->runs += runs;
  a->total += seconds;
  a->least = fmin(a->least, seconds / (double)runs);
  a->behind += seconds / (double)runs > l->best;
  return true;
}

bool timing_take(mem_heap *heap, const timing_limits *l, uint32_t n,
                 const timing_subject *s, measure_result *const *out) {
  bool ok = true, more = true;
  sampling so_far[TIMING_MAX];
  for (uint32_t k = 0; k < n; k++) so_far[k] = (sampling){0, INFINITY, 0};
  for (uint32_t round = 0; ok && more; round++) {
    more = false;
    for (uint32_t k = 0; ok && k < n; k++) {
      uint32_t i = (k + round) % n;
      ok = take_sample(heap, l, &s[i], out[i], &so_far[i]);
      more = more || !has_enough(l, &s[i], out[i], &so_far[i]);
    }
  }
  return ok;
}

static int order_samples(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void timing_summarize(mem_heap *heap, measure_result *r) {
  uint32_t n = r->sample.n;
  double *v = mem_resize(heap, NULL, 0, n * sizeof *v);
  memcpy(v, r->sample.v, n * sizeof *v);
  qsort(v, n, sizeof *v, order_samples);
  r->min = v[0];
  r->max = v[n - 1];
  r->median = (v[(n - 1) / 2] + v[n / 2]) / 2;
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < n; i++) sum += v[i];
  r->mean = sum / n;
  for (uint32_t i = 0; i < n; i++)
    squares += (v[i] - r->mean) * (v[i] - r->mean);
  r->stddev = n > 1 ? sqrt(squares / (n - 1)) : 0;
  mem_free(heap, v, n * sizeof *v);
}
