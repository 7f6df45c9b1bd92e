/* SPDX-License-Identifier: Apache-2.0
 * Edge cases of compiled mathematical functions: signed zeros, not-a-number,
 * infinities, subnormals, both sides of overflow, underflow and of changes of
 * formula; and all values of the 16-bit types.  Scalar and vectorized, against
 * libm. */
#include "ir/scalar.h"
#include "support/mapped.h"
#include <float.h>
#include <math.h>

static const tess_dtype f16 = {TESS_DTYPE_FLOAT, 16, 1},
                        bf16 = {TESS_DTYPE_BFLOAT, 16, 1},
                        f32 = {TESS_DTYPE_FLOAT, 32, 1},
                        f64 = {TESS_DTYPE_FLOAT, 64, 1};

/* Each is taken with its neighbours, and with either sign. */
static const double edges[] = {
    0, 1, INFINITY, NAN, 0.5, 1.5, 2.5,
    /* the ends of float32 and float64 */
    FLT_MIN, FLT_MAX, DBL_MIN, DBL_MAX, FLT_TRUE_MIN, DBL_TRUE_MIN, 1e-40,
    1e-310, 0x1p-12, 0x1p-24, 0x1p-27, 0x1p-53,
    /* where exp overflows, is subnormal, is zero */
    88.72283905206835, 87.33654475055310, 103.97207708399179, 104, 89,
    709.782712893384, 708.3964185322641, 745.1332191019411, 746, 710,
    /* where tanh and erf change their formula or are 1 */
    0.625, 9.010913, 19.06154, 22, 0.84375, 0.927734375, 1.25, 3.832507, 4,
    1 / 0.35, 5.921587, 6, 28, 0.70710678118654752, 1.4142135623730951,
    /* those of sinh, erfc, atan and the inverse functions */
    89.41598629223294, 90, 710.4758600739439, 711, 64, 0.25, 10.0545, 10.5,
    26.543, 27.226, 0.4375, 0.6875, 1.1875, 2.4375, 0x1p30, 0x1p60,
    /* multiples of pi/4, and those nearest to multiples of pi/2 */
    0.78539816339744830962, 1.57079632679489661923, 3.14159265358979323846,
    16367173 * 0x1p72, 6381956970095103 * 0x1p797, 1e22, 0x1p1000,
    /* the last fractions */
    0x1p22, 0x1p23, 0x1p51, 0x1p52, 0x1p63};
enum { EDGES = sizeof edges / sizeof *edges, NARGS = EDGES * 6 / 16 * 16 + 16 };

static double next(tess_dtype t, double x, double to) {
  return t.bits == 32 ? (double)nextafterf((float)x, (float)to)
                      : nextafter(x, to);
}

/* The k-th argument of NARGS. */
static double edge(tess_dtype t, uint32_t k) {
  double x = ir_round_real(t, edges[k / 6 % EDGES]);
  if (k % 3 == 1) x = next(t, x, INFINITY);
  if (k % 3 == 2) x = next(t, x, -INFINITY);
  return k % 6 < 3 ? x : -x;
}

static double pattern(tess_dtype t, uint32_t k) {
  uint16_t bits = (uint16_t)k;
  return ir_get_real(t, &bits);
}

/* Compares fn on n arguments; prints the largest error. */
static void llvm_math_edges_check(const mapped_fn *f, tess_dtype t,
                                  uint32_t lanes, uint32_t n,
                                  double (*argument)(tess_dtype, uint32_t)) {
  static char in[65536 * 8], out[65536 * 8];
  uint32_t bytes = t.bits / 8;
  double worst = 0, bound = mapped_bound(f, t);
  compiled k;
  mapped_build(&k, t, f->fn, 1, n, lanes);
  for (uint32_t i = 0; i < n; i++)
    ir_put_real(t, argument(t, i), in + i * bytes);
  memset(out, 0x5a, sizeof out);
  void *args[2] = {in, out};
  assert_int_equal(compiled_run(&k, args, NULL), 0);
  for (uint32_t i = 0; i < n; i++) {
    double x = argument(t, i), got = ir_get_real(t, out + i * bytes);
    double e = mapped_ulp(t, got, f->precise((long double)x));
    if (e > bound)
      fail_msg("%s(%a) of %d bits in vectors of %u is %a, not %La",
               ir_fn_text(f->fn), x, t.bits, lanes, got,
               f->precise((long double)x));
    if (e > worst) worst = e;
  }
  print_message("%-8s %s%d x%-2u  %.3g ulp\n", ir_fn_text(f->fn),
                t.code == TESS_DTYPE_BFLOAT ? "bfloat" : "float", t.bits, lanes,
                worst);
  compiled_end(&k);
}

static void test_edges(void **state) {
  (void)state;
  for (int i = 0; i < MAPPED_FNS; i++)
    for (uint32_t lanes = 1; lanes <= 16; lanes *= 16) {
      llvm_math_edges_check(&mapped_fns[i], f32, lanes, NARGS, edge);
      llvm_math_edges_check(&mapped_fns[i], f64, lanes, NARGS, edge);
    }
}

static void test_16_bits(void **state) {
  (void)state;
  for (int i = 0; i < MAPPED_FNS; i++)
    for (uint32_t lanes = 1; lanes <= 16; lanes *= 16) {
      llvm_math_edges_check(&mapped_fns[i], f16, lanes, 65536, pattern);
      llvm_math_edges_check(&mapped_fns[i], bf16, lanes, 65536, pattern);
    }
}

/* ---- pow, of two arguments ---------------------------------------------- */

static const double powers[] = {
    0,       1,  2,     0.5,   3,    10,    1e30, 1e-30,    7.25,
    1.0 / 3, 33, 126.5, 1e-40, 1e-6, 0.999, 1e10, INFINITY, 16777216};
enum {
  POWERS = 2 * sizeof powers / sizeof *powers + 1,
  PAIRS = POWERS * POWERS / 16 * 16 + 16
};

static double power(tess_dtype t, uint32_t k) {
  k %= POWERS;
  if (k == POWERS - 1) return NAN;
  double x = ir_round_real(t, powers[k / 2]);
  return k % 2 ? -x : x;
}

static double pow_bound(tess_dtype t) {
  return t.bits == 64 ? 0.8 : t.bits == 32 ? 0.51 : 0.501;
}

/* Pairs of x and y, and how many. */
typedef struct pow_pairs {
  double (*x)(tess_dtype t, uint32_t k), (*y)(tess_dtype t, uint32_t k);
  uint32_t n;
  bool exact; /* the results are numbers of the type */
} pow_pairs;

static double power_of_row(tess_dtype t, uint32_t k) {
  return power(t, k / POWERS);
}

/* 1 to 4096 and -1 to -4096, to whole powers while they have digits; by
 * quarters of them, too. */
enum { WHOLES = 8192 };
static double whole(tess_dtype t, uint32_t k) {
  double x = 1 + (double)(k / 2);
  x = ir_round_real(t, k % 3 == 2 ? x / 4 : x);
  return k % 2 ? -x : x;
}
static double whole_power(tess_dtype t, uint32_t k) {
  static const int digits[2] = {24, 53};
  int e, fit;
  double x = fabs(whole(t, k));
  frexp(x, &e);
  while (fmod(x, 2) == 0) x /= 2;
  while (x != floor(x)) x *= 2;
  fit = x == 1 ? 30 : (int)(digits[t.bits == 64] / log2(x));
  fit = fit * e > 126 ? 126 / e : fit;
  return k % 5 == 0 ? fit : fit > 2 ? 2 : fit;
}

/* Any positive numbers, to powers that give numbers. */
enum { TRIES = 65536 };
static double some(tess_dtype t, uint32_t k) {
  double turns = k * 0.61803398874989485, u = turns - floor(turns);
  double most = t.bits == 64 ? 1000 : 120;
  double e = k % 4 ? 2 * u - 1 : most * (2 * u - 1);
  return ir_round_real(t, exp2(e));
}
static double some_power(tess_dtype t, uint32_t k) {
  double turns = k * 0.75487766624669276, u = turns - floor(turns);
  double most = (t.bits == 64 ? 1040 : 135) / fabs(log2(some(t, k)));
  return ir_round_real(t, (2 * u - 1) * (most > 1e9 ? 1e9 : most));
}

static void check_pow(tess_dtype t, uint32_t lanes, pow_pairs s) {
  static char x[TRIES * 8], y[TRIES * 8], r[TRIES * 8];
  uint32_t bytes = t.bits / 8;
  double worst = 0;
  compiled k;
  mapped_build(&k, t, IR_FN_POW, 2, s.n, lanes);
  for (uint32_t i = 0; i < s.n; i++) {
    ir_put_real(t, s.x(t, i), x + i * bytes);
    ir_put_real(t, s.y(t, i), y + i * bytes);
  }
  void *args[3] = {x, y, r};
  assert_int_equal(compiled_run(&k, args, NULL), 0);
  for (uint32_t i = 0; i < s.n; i++) {
    double a = s.x(t, i), b = s.y(t, i);
    double got = ir_get_real(t, r + i * bytes);
    long double want = powl((long double)a, (long double)b);
    double e = mapped_ulp(t, got, want);
    if (e > (s.exact ? 0 : pow_bound(t)))
      fail_msg("pow(%a, %a) of %d bits in vectors of %u is %a, not %La", a, b,
               t.bits, lanes, got, want);
    if (e > worst) worst = e;
  }
  print_message("pow      float%d x%-2u  %.3g ulp\n", t.bits, lanes, worst);
  compiled_end(&k);
}

static void test_pow(void **state) {
  const pow_pairs cases = {power_of_row, power, PAIRS, false};
  const pow_pairs wholes = {whole, whole_power, WHOLES, true};
  const pow_pairs any = {some, some_power, TRIES, false};
  (void)state;
  for (uint32_t lanes = 1; lanes <= 16; lanes *= 16) {
    check_pow(f16, lanes, cases);
    check_pow(bf16, lanes, cases);
    check_pow(f32, lanes, cases);
    check_pow(f64, lanes, cases);
    check_pow(f32, lanes, wholes);
    check_pow(f64, lanes, wholes);
    check_pow(f32, lanes, any);
    check_pow(f64, lanes, any);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges),
                                     cmocka_unit_test(test_16_bits),
                                     cmocka_unit_test(test_pow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
