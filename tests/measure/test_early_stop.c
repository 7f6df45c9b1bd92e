/* SPDX-License-Identifier: Apache-2.0
 * Stopping early: how far above the best's time few samples may be, from what
 * was seen of kernels that were sampled whole, on scripted times. */
#include "measure/early_stop.h"
#include "support/test.h"

#include <math.h>

enum { SAMPLES = 10, LAST = TIMING_STEPS - 1 };

/* A kernel of 1 s whose first launch took `first` and its samples s[0], s[1]..
 * of n, the others 1. */
static void learn(early_stop *r, double first, uint32_t n, const double *s) {
  double v[SAMPLES];
  for (uint32_t i = 0; i < SAMPLES; i++) v[i] = i < n ? s[i] : 1;
  measure_result whole = {
      .first = first, .median = 1, .sample = {v, SAMPLES, SAMPLES}};
  early_stop_learn(r, &whole);
}

static void learn_many(early_stop *r, uint32_t n, double first, double sample) {
  for (uint32_t i = 0; i < n; i++) learn(r, first, 1, &sample);
}

static bool is_near(double x, double y) { return fabs(x - y) < 1e-9; }

/* Of few kernels what `margin` says holds, in proportion. */
static void test_few(void **state) {
  (void)state;
  early_stop r = {.n = 0};
  learn_many(&r, 5, 1.02, 1.01);
  timing_margins m = early_stop_margins(&r, 0.3);
  assert_true(is_near(m.v[0], 0.3) && is_near(m.v[1], 0.3));
  for (uint32_t k = 1; k < TIMING_STEPS; k++)
    assert_true(is_near(m.v[k], 0.3 / k));
}

/* Then what was seen of as many samples, and a quarter of it; where that is
 * nothing, next to nothing. */
static void test_learnt(void **state) {
  (void)state;
  early_stop r = {.n = 0};
  for (int i = 0; i < 6; i++) learn(&r, 1.04, 2, (double[]){1.02, 1.01});
  timing_margins m = early_stop_margins(&r, 0.3);
  assert_true(is_near(m.v[0], 0.05) && is_near(m.v[1], 0.025));
  assert_true(is_near(m.v[2], 0.0125) && is_near(m.v[3], 5e-3));
  assert_true(is_near(m.v[LAST], 5e-3));
}

/* A noisy machine gets no more than what holds without any knowledge, and none
 * where kernels are to be sampled whole. */
static void test_most(void **state) {
  (void)state;
  early_stop r = {.n = 0};
  for (int i = 0; i < 6; i++) learn(&r, 3, 3, (double[]){1.5, 1.4, 1.3});
  timing_margins m = early_stop_margins(&r, 0.3),
                 none = early_stop_margins(&r, 0);
  for (uint32_t k = 0; k < 4; k++)
    assert_true(is_near(m.v[k], 0.3 / (k ? k : 1)));
  for (uint32_t k = 0; k < TIMING_STEPS; k++) assert_true(none.v[k] == 0);
}

/* One of many is an outlier; what is long ago is forgotten. */
static void test_kept(void **state) {
  (void)state;
  early_stop r = {.n = 0};
  learn_many(&r, 1, 1.3, 1.2);
  learn_many(&r, 6, 1.04, 1.02);
  assert_true(is_near(early_stop_margins(&r, 0.5).v[1], 0.25));
  learn_many(&r, 1, 1.04, 1.02);
  assert_true(is_near(early_stop_margins(&r, 0.5).v[1], 0.025));
  learn_many(&r, 4, 1.3, 1.2);
  assert_true(is_near(early_stop_margins(&r, 0.5).v[1], 0.25));
  learn_many(&r, EARLY_STOP_KEPT, 1.04, 1.02);
  assert_true(is_near(early_stop_margins(&r, 0.5).v[1], 0.025));
}

/* First launches of short kernels say nothing. */
static void test_short(void **state) {
  (void)state;
  early_stop r = {.n = 0};
  learn_many(&r, 20, 0, 1.02);
  timing_margins m = early_stop_margins(&r, 0.3);
  assert_true(is_near(m.v[0], 0.3) && is_near(m.v[1], 0.025));
}

/* ---- stopping ----------------------------------------------------------- */

/* Something whose runs take `seconds` times what the script says, in turn. */
typedef struct script {
  double seconds;
  const double *times;
  uint32_t n, at;
} script;

static bool play_script(void *ud, uint64_t runs, double *seconds) {
  script *x = ud;
  *seconds = x->seconds * x->times[x->at++ % x->n] * (double)runs;
  return true;
}

/* Samples it as a worker would, beside a best of 1 s; the samples that were
 * taken, of ten. */
static uint32_t time_once(early_stop *r, double seconds, uint32_t n,
                          const double *times) {
  test_heap mem;
  script x = {seconds, times, n, 0};
  measure_result got = {.first = 0}, *out = &got;
  timing_subject s = {play_script, &x, seconds, false};
  timing_limits l = {.min_time = 9.5,
                     .repeats = 3,
                     .deadline = INFINITY,
                     .best = 1,
                     .margin = early_stop_margins(r, 0.3)};
  test_heap_start(&mem, 0);
  assert_true(timing_take(&mem.heap, &l, 1, &s, &out));
  timing_summarize(&mem.heap, &got);
  uint32_t taken = got.sample.n;
  if (!timing_is_beaten(&l, taken, got.min)) early_stop_learn(r, &got);
  vec_free(&mem.heap, &got.sample);
  test_heap_end(&mem);
  return taken;
}

/* What is near the best is sampled until most of ten samples are slower, so
 * that its median is whatever the rest gives; without that, whole. */
static void test_lost(void **state) {
  (void)state;
  static const double slower[] = {1}, hardly[] = {0.99, 1.01};
  early_stop r = {.n = 0};
  learn_many(&r, 6, 1, 1.001);
  assert_int_equal(time_once(&r, 1.003, 1, slower), 6);
  assert_int_equal(time_once(&r, 1, 2, hardly), 10);
  assert_int_equal(time_once(&r, 0.999, 1, slower), 10);
}

/* What is 5 % slower needs six samples while little is known; then what is 2
 * % slower needs one on a quiet machine, and three on a noisy one.  What is as
 * fast is sampled whole. */
static void test_stops_early(void **state) {
  (void)state;
  static const double quiet[] = {1.01, 1, 1.004, 0.998, 0.996, 1, 1};
  static const double noisy[] = {1.1, 1.2, 1, 0.9, 1, 0.95, 1};
  early_stop r = {.n = 0};
  assert_int_equal(time_once(&r, 1.05, 7, quiet), 6);
  for (int i = 0; i < 8; i++) assert_int_equal(time_once(&r, 1, 7, quiet), 10);
  assert_int_equal(time_once(&r, 1.02, 7, quiet), 1);
  assert_int_equal(time_once(&r, 0.99, 7, quiet), 10);
  r.n = 0;
  for (int i = 0; i < 8; i++) assert_int_equal(time_once(&r, 1, 7, noisy), 10);
  assert_int_equal(time_once(&r, 1.02, 7, noisy), 3);
  assert_int_equal(time_once(&r, 1, 7, noisy), 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_few),   cmocka_unit_test(test_learnt),
      cmocka_unit_test(test_most),  cmocka_unit_test(test_kept),
      cmocka_unit_test(test_short), cmocka_unit_test(test_stops_early),
      cmocka_unit_test(test_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
