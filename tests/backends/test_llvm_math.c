/* SPDX-License-Identifier: Apache-2.0
 * Mathematical functions as lowering expands them, compiled, against libm:
 * the largest error in ulp is within what docs/describing.md states. */
#include "support/mapped.h"
#include <math.h>

#define N 65536

/* A choice of arguments: uniform from lo to hi; from 0 to infinity, bit
 * patterns at even distances; none from 0 to 0. */
typedef struct sample {
  double lo, hi;
} sample;
#define PATTERNS \
  { 0, INFINITY }

/* Samples over the whole range and where the error is largest, and the worst
 * arguments of float32 and float64 that a search with 10^7 evaluations of
 * each found. */
typedef struct subject {
  ir_fn fn;
  double worst[2];
  sample range[5];
} subject;

static const subject subjects[] = {
    {IR_FN_EXP,
     {-0x1.782f42p+2, 0x1.e8399fac4724cp+1},
     {{-104, 89}, {-1, 1}, {-750, 711}, {3, 6}, PATTERNS}},
    {IR_FN_LOG,
     {0x1.68cb52p-1, 0x1.67815b349b7a5p-1},
     {{0.5, 2}, {1e-3, 100}, {0.70, 0.7075}, {1.39, 1.42}, PATTERNS}},
    {IR_FN_TANH,
     {0x1.41b1cap-1, 0x1.40cb8b9255166p-1},
     {{-1, 1}, {-10, 10}, {0.62, 0.64}, {18, 23}, PATTERNS}},
    {IR_FN_SIGMOID,
     {-0x1.0a111ap+2, -0x1.62c8af81f7d1p+2},
     {{-20, 20}, {-2, 2}, {-5.6, -4.1}, {-8.4, -8.2}, {-750, 40}}},
    {IR_FN_ERF,
     {0x1.e7687ap-1, 0x1.bb4dd007c2cep-19},
     {{-1, 1}, {-7, 7}, {0.92, 1.3}, {1e-6, 1e-5}, PATTERNS}},
    {IR_FN_SIN,
     {16367173 * 0x1p72, 6381956970095103 * 0x1p797},
     {{-7, 7}, {-1, 1}, {-1e6, 1e6}, {-1e19, 1e19}, PATTERNS}},
    {IR_FN_COS,
     {16367173 * 0x1p72, 6381956970095103 * 0x1p797},
     {{-7, 7}, {-1, 1}, {-1e6, 1e6}, {-1e19, 1e19}, PATTERNS}},
    {IR_FN_TAN,
     {-0x1.ba412cp+60, -0x1.f316a1ade6p+1},
     {{-7, 7}, {-1, 1}, {-1e6, 1e6}, {-1e19, 1e19}, PATTERNS}},
    {IR_FN_EXPM1,
     {0x1.7f9bb2p-2, 0x1.8744c6960cccep-2},
     {{-1, 1}, {-20, 89}, {-0.4, 0.4}, {-60, 711}, PATTERNS}},
    {IR_FN_LOG1P,
     {-0x1.2e695cp-2, -0x1.30f8166ccce66p-2},
     {{-1, 1}, {-0.5, 0.5}, {0.3, 0.5}, {-0.3, -0.29}, PATTERNS}},
    {IR_FN_ERFC,
     {0x1.19fb32p+0, 0x1.8a7bdbeb1p+0},
     {{-1, 1}, {-6, 6}, {0.8, 1.3}, {6, 28}, PATTERNS}},
    {IR_FN_ASIN,
     {0x1.ad28a2p-1, 0x1.adfd36bbfp-1},
     {{-1, 1}, {0.49, 0.52}, {0.9, 1}, PATTERNS}},
    {IR_FN_ACOS,
     {0x1.239d0ep-1, -0x1.109cb66c1p-1},
     {{-1, 1}, {0.49, 0.52}, {0.9, 1}, PATTERNS}},
    {IR_FN_ATAN,
     {0x1.622766p-1, 0x1.606e48598d999p-1},
     {{-1, 1}, {-10, 10}, {0.4, 0.5}, {0.6, 0.7}, PATTERNS}},
    {IR_FN_SINH,
     {0x1.658428p+0, -0x1.6efc188d48p+0},
     {{-1, 1}, {-5, 5}, {0.9, 1.2}, {85, 711}, PATTERNS}},
    {IR_FN_COSH,
     {0x1.22379cp+2, 0x1.eb994133dcp+1},
     {{-1, 1}, {-5, 5}, {0.9, 1.2}, {85, 711}, PATTERNS}},
    {IR_FN_ASINH,
     {-0x1.f159cap-3, 0x1.0a2ff6cd3ccccp-1},
     {{-1, 1}, {-10, 10}, {0.2, 0.6}, {1e8, 2e9}, PATTERNS}},
    {IR_FN_ACOSH,
     {0x1.077a26p+0, 0x1.01dacf4d035cdp+0},
     {{1, 2}, {1, 10}, {1, 1.1}, {1e8, 2e9}, PATTERNS}},
    {IR_FN_ATANH,
     {-0x1.fb6742p-7, 0x1.eb2b428766668p-5},
     {{-1, 1}, {-0.1, 0.1}, {0.2, 0.4}, {0.9, 1}, PATTERNS}},
    {IR_FN_RSQRT,
     {0x1.019566p+0, 0x1.0002e6451bd89p+0},
     {{1, 4}, {1, 1.02}, {1e-3, 100}, PATTERNS}},
};

static const mapped_fn *stated(ir_fn fn) {
  for (int i = 0; i < MAPPED_FNS; i++)
    if (mapped_fns[i].fn == fn) return &mapped_fns[i];
  fail_msg("%s is in no table", ir_fn_text(fn));
  return NULL;
}

static double pattern(uint32_t k, int bits) {
  uint64_t u = k * (UINT64_MAX / N);
  uint32_t high = (uint32_t)(u >> 32);
  float f;
  double d;
  memcpy(&f, &high, 4);
  memcpy(&d, &u, 8);
  return bits == 32 ? (double)f : d;
}

/* The k-th argument of a sample.  Golden-ratio steps cover the range evenly
 * with arbitrary low bits. */
static double argument(const subject *f, sample r, uint32_t k, int bits) {
  if (k < 2) return f->worst[k];
  if (isinf(r.hi)) return pattern(k, bits);
  double turns = k * 0.61803398874989485;
  return r.lo + (r.hi - r.lo) * (turns - floor(turns));
}

static void llvm_math_check(const subject *f, int bits, uint32_t lanes) {
  static float a32[N], r32[N];
  static double a64[N], r64[N];
  tess_dtype t = {TESS_DTYPE_FLOAT, (uint8_t)bits, 1};
  const mapped_fn *s = stated(f->fn);
  double worst = 0, at = 0;
  compiled k;
  mapped_build(&k, t, f->fn, 1, N, lanes);
  for (int r = 0; r < 5 && f->range[r].hi != f->range[r].lo; r++) {
    for (uint32_t i = 0; i < N; i++) {
      a64[i] = argument(f, f->range[r], i, bits);
      a32[i] = (float)a64[i];
    }
    void *args[2] = {bits == 32 ? (void *)a32 : a64,
                     bits == 32 ? (void *)r32 : r64};
    assert_int_equal(compiled_run(&k, args, NULL), 0);
    for (uint32_t i = 0; i < N; i++) {
      double x = bits == 32 ? (double)a32[i] : a64[i];
      double got = bits == 32 ? (double)r32[i] : r64[i];
      double e = mapped_ulp(t, got, s->precise((long double)x));
      if (e > worst) worst = e, at = x;
    }
  }
  print_message("%-8s float%d x%-2u  %.3g ulp at %a\n", ir_fn_text(f->fn), bits,
                lanes, worst, at);
  if (worst > mapped_bound(s, t))
    fail_msg("%s(%a) of %d bits is wrong by %.3g ulp, and %.3g are stated",
             ir_fn_text(f->fn), at, bits, worst, mapped_bound(s, t));
  compiled_end(&k);
}

static void test_ulp(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
    llvm_math_check(&subjects[i], 32, 16);
    llvm_math_check(&subjects[i], 32, 1);
    llvm_math_check(&subjects[i], 64, 8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ulp)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
