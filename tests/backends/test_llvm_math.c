/* SPDX-License-Identifier: Apache-2.0
 * Mathematical functions as lowering expands them, compiled, against libm:
 * the largest error in ulp is within what ir/lower/math.c states. */
#include "ir/lower/lower.h"
#include "support/compiled.h"
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

/* out[i] = fn(in[i]) for all N, in vectors of `lanes`, lowered and built. */
static void build_map(compiled *k, tess_dtype t, ir_fn fn, uint32_t lanes) {
  ir_expr i;
  compiled_start(k);
  ir_program *p = &k->p;
  ir_buf in = compiled_param(k, t, N, IR_ROLE_INPUT);
  ir_buf out = compiled_param(k, t, N, IR_ROLE_OUTPUT);
  ir_stmt loop = compiled_loop(k, k->root, ir_index(p, N / lanes), IR_SERIAL,
                               &i);
  ir_expr at = ir_mul(p, i, ir_index(p, lanes));
  tess_dtype v = t;
  v.lanes = (uint16_t)lanes;
  if (lanes > 1) at = ir_ramp(p, at, ir_index(p, 1), lanes);
  ir_expr x = lanes > 1 ? ir_load_masked(p, in, v, 1, &at, 0)
                        : ir_load(p, in, 1, &at);
  compiled_store(k, loop, out, at, ir_call(p, fn, v, 1, &x));
}

static void lower_and_build(compiled *k) {
  lower_options o = {.vector_bytes = 32};
  ir_func_new(&k->p, ir_name(&k->p, "main"), k->nparams, k->param, k->root);
  assert_int_equal(lower_program(&k->p, &k->scratch, &o, &k->err), TESS_OK);
  tess_status s = compiled_build(k);
  if (s != TESS_OK) fail_msg("%s", k->err.message);
}

/* Distance of `got` from the precise value, in ulp of the type. */
static double ulp_error(double got, long double want, int bits) {
  double near = (double)want;
  if (bits == 32) near = (double)(float)want;
  if (isnan(near) || isnan(got)) return isnan(near) && isnan(got) ? 0 : 1e30;
  if (isinf(near) || isinf(got)) {
    if (near == got) return 0;
    /* One step from overflow. */
    double edge = bits == 32 ? (double)0x1.fffffep127f : 0x1.fffffffffffffp1023;
    return fabs(near) >= edge && fabs(got) >= edge ? 1 : 1e30;
  }
  int e;
  frexp(near, &e);
  int least = bits == 32 ? -149 : -1074, digits = bits == 32 ? 24 : 53;
  int ulp = e - digits > least ? e - digits : least;
  return fabs((double)(((long double)got - want) / ldexpl(1, ulp)));
}

static double worst_error(const subject *f, int bits, uint32_t lanes) {
  compiled k;
  static float a32[N], r32[N];
  static double a64[N], r64[N];
  double worst = 0, at = 0;
  tess_dtype t = {TESS_FLOAT, (uint8_t)bits, 1};
  build_map(&k, t, f->fn, lanes);
  lower_and_build(&k);
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
      double e = ulp_error(got, f->precise((long double)x), bits);
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

/* ---- pow, of two arguments --------------------------------------------------------- */

static void test_pow(void **state) {
  (void)state;
  static const double special[] = {0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 10,
                                   1e30, -1e30, 1e-30, 7.25, -7.25,
                                   INFINITY, -INFINITY};
  enum { M = sizeof special / sizeof *special };
  static float x[M * M], y[M * M], r[M * M];
  compiled k;
  ir_expr i;
  tess_dtype t = {TESS_FLOAT, 32, 1};
  compiled_start(&k);
  ir_program *p = &k.p;
  ir_buf in = compiled_param(&k, t, M * M, IR_ROLE_INPUT);
  ir_buf by = compiled_param(&k, t, M * M, IR_ROLE_INPUT);
  ir_buf out = compiled_param(&k, t, M * M, IR_ROLE_OUTPUT);
  ir_stmt loop = compiled_loop(&k, k.root, ir_index(p, M * M), IR_SERIAL, &i);
  ir_expr a[2] = {compiled_load(&k, in, i), compiled_load(&k, by, i)};
  compiled_store(&k, loop, out, i, ir_call(p, IR_FN_POW, t, 2, a));
  lower_and_build(&k);
  for (int n = 0; n < M * M; n++) {
    x[n] = (float)special[n / M];
    y[n] = (float)special[n % M];
  }
  void *args[3] = {x, y, r};
  assert_int_equal(compiled_run(&k, args, NULL), 0);
  for (int n = 0; n < M * M; n++) {
    float want = powf(x[n], y[n]);
    if (isnan(want) && isnan(r[n])) continue;
    if (want == r[n] || fabsf(want - r[n]) <= fabsf(want) * 0x1p-23f) continue;
    fail_msg("pow(%g, %g) is %g, not %g", (double)x[n], (double)y[n],
             (double)r[n], (double)want);
  }
  compiled_end(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ulp),
                                     cmocka_unit_test(test_pow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
