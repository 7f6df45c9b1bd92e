/* SPDX-License-Identifier: Apache-2.0
 * Mathematical functions as lowering expands them, compiled, against libm:
 * the largest error in ulp is within what ir/lower/math.c states. */
#include "support/mapped.h"
#include <math.h>
#include <stdlib.h>

#define N 65536

/* One way of choosing arguments: lo + (hi - lo) i / N, or all bit patterns
 * at even distances when lo == hi. */
typedef struct sample { double lo, hi; } sample;

typedef struct subject {
  ir_fn fn;
  double (*exact)(double);
  long double (*precise)(long double);
  double ulp32, ulp64;
  sample range[4];
} subject;

static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static long double sigmoid_l(long double x) { return 1 / (1 + expl(-x)); }
static double rsqrt_of(double x) { return 1 / sqrt(x); }
static long double rsqrt_l(long double x) { return 1 / sqrtl(x); }

static const subject subjects[] = {
  {IR_FN_EXP, exp, expl, 2, 2, {{-104, 89}, {-1, 1}, {-750, 711}}},
  {IR_FN_LOG, log, logl, 1.5, 1.5, {{0.5, 2}, {1e-3, 100}, {0, 0}}},
  {IR_FN_TANH, tanh, tanhl, 3, 3, {{-1, 1}, {-10, 10}, {0, 0}}},
  {IR_FN_SIGMOID, sigmoid_of, sigmoid_l, 4, 4, {{-20, 20}, {-2, 2}}},
  {IR_FN_ERF, erf, erfl, 2, 3, {{-1, 1}, {-5, 5}, {-7, 7}}},
  {IR_FN_RSQRT, rsqrt_of, rsqrt_l, 1.5, 1.5, {{1e-3, 100}, {0, 0}}},
};

/* The k-th argument of a range; bit patterns of a fraction of all values. */
static double argument(sample r, uint32_t k, int bits) {
  if (r.lo != r.hi) return r.lo + (r.hi - r.lo) * k / N;
  if (bits == 32) {
    uint32_t u = k * (UINT32_MAX / N);
    float f;
    memcpy(&f, &u, 4);
    return (double)f;
  }
  uint64_t u = k * (UINT64_MAX / N);
  double d;
  memcpy(&d, &u, 8);
  return d;
}

static double worst_error(const subject *f, int bits, uint32_t lanes) {
  compiled k;
  static float a32[N], r32[N];
  static double a64[N], r64[N];
  double worst = 0, at = 0;
  tess_dtype t = {TESS_FLOAT, (uint8_t)bits, 1};
  mapped_build(&k, t, f->fn, 1, N, lanes);
  for (int r = 0; r < 4; r++) {
    if (f->range[r].lo == 0 && f->range[r].hi == 0 && r == 3) continue;
    for (uint32_t i = 0; i < N; i++) {
      a64[i] = argument(f->range[r], i, bits);
      a32[i] = (float)a64[i];
    }
    void *args[2] = {bits == 32 ? (void *)a32 : a64,
                     bits == 32 ? (void *)r32 : r64};
    assert_int_equal(compiled_run(&k, args, NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
      double x = bits == 32 ? (double)a32[i] : a64[i];
      double got = bits == 32 ? (double)r32[i] : r64[i];
      double e = mapped_ulp(t, got, f->precise((long double)x));
      if (e > worst) { worst = e; at = x; }
    }
  }
  print_message("%-8s float%d x%-2u  %.3g ulp at %.17g\n", ir_fn_text(f->fn),
                bits, lanes, worst, at);
  compiled_end(&k);
  return worst;
}

static void test_ulp(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    const subject *f = &subjects[i];
    assert_true(worst_error(f, 32, 16) <= f->ulp32);
    assert_true(worst_error(f, 32, 1) <= f->ulp32);
    assert_true(worst_error(f, 64, 8) <= f->ulp64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ulp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
