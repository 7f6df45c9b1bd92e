/* SPDX-License-Identifier: Apache-2.0
 * sin, cos and tan as arithmetic, for arguments of any size: they are reduced
 * by their product with the bits of 2/pi that matter for them (Payne and Hanek,
 * "Radian reduction for trigonometric functions", 1983), in integers, so that
 * large arguments cost no branch and no table in memory. */
#include "lower/math_build.h"

/* |x| = n pi/2 + hi + lo, n modulo 4; the parts of at most pi/4. */
typedef struct reduced {
  ir_expr quadrant, hi, lo; /* lo: of float64 alone */
} reduced;

/* The bits of 2/pi behind 64 zeros. */
enum { WORDS = 20 };
static const uint64_t two_over_pi[WORDS] = {0,
                                            UINT64_C(0xA2F9836E4E441529),
                                            UINT64_C(0xFC2757D1F534DDC0),
                                            UINT64_C(0xDB6295993C439041),
                                            UINT64_C(0xFE5163ABDEBBC561),
                                            UINT64_C(0xB7246E3A424DD2E0),
                                            UINT64_C(0x06492EEA09D1921C),
                                            UINT64_C(0xFE1DEB1CB129A73E),
                                            UINT64_C(0xE88235F52EBB4484),
                                            UINT64_C(0xE99C7026B45F7E41),
                                            UINT64_C(0x3991D639835339F4),
                                            UINT64_C(0x9C845F8BBDF9283B),
                                            UINT64_C(0x1FF897FFDE05980F),
                                            UINT64_C(0xEF2F118B5A0A6D1F),
                                            UINT64_C(0x6D367ECF27CB09B7),
                                            UINT64_C(0x4F463F669E5FEA2D),
                                            UINT64_C(0x7527BAC7EBE5F17B),
                                            UINT64_C(0x3D0739F78A5292EA),
                                            UINT64_C(0x6BFB5FB11F8D5D08),
                                            UINT64_C(0x56033046FC7B6BAB)};

/* ---- unsigned integers of 64 bits --------------------------------------- */

static tess_dtype trig_word_type(const math *m) {
  return (tess_dtype){TESS_DTYPE_UINT, 64, m->t.lanes};
}

static ir_expr trig_word(math *m, uint64_t v) {
  ir_expr e = ir_int(m->p, (tess_dtype){TESS_DTYPE_UINT, 64, 1}, (int64_t)v);
  return m->t.lanes == 1 ? e : ir_broadcast(m->p, e, m->t.lanes);
}

static ir_expr trig_bits(math *m, ir_fn fn, ir_expr a, ir_expr b) {
  ir_expr x[2] = {a, b};
  return ir_call(m->p, fn, trig_word_type(m), 2, x);
}
static ir_expr trig_and(math *m, ir_expr a, uint64_t b) {
  return trig_bits(m, IR_FN_BITAND, a, trig_word(m, b));
}
static ir_expr trig_right(math *m, ir_expr a, int by) {
  return trig_bits(m, IR_FN_SHR, a, trig_word(m, (uint64_t)by));
}
static ir_expr trig_left(math *m, ir_expr a, int by) {
  return trig_bits(m, IR_FN_SHL, a, trig_word(m, (uint64_t)by));
}
static ir_expr trig_low_half(math *m, ir_expr a) {
  return trig_and(m, a, UINT32_MAX);
}

/* Word a as a signed number, and that as a float64. */
static ir_expr trig_signed(math *m, ir_expr a) {
  return ir_call(m->p, IR_FN_REINTERPRET, bits_type(m), 1, &a);
}
static ir_expr trig_real(math *m, ir_expr a) {
  return ir_cast(m->p, m->t, trig_signed(m, a));
}

/* The upper word of a b, where a is less than 2^53. */
static ir_expr trig_high_product(math *m, ir_expr a, ir_expr b) {
  ir_expr a0 = trig_low_half(m, a), a1 = trig_right(m, a, 32);
  ir_expr b0 = trig_low_half(m, b), b1 = trig_right(m, b, 32);
  ir_expr cross =
      math_add(m, math_mul(m, a1, b0), trig_right(m, math_mul(m, a0, b0), 32));
  ir_expr low = math_add(m, math_mul(m, a0, b1), trig_low_half(m, cross));
  ir_expr high = math_add(m, math_mul(m, a1, b1), trig_right(m, cross, 32));
  return math_add(m, high, trig_right(m, low, 32));
}

/* ---- the bits of 2/pi --------------------------------------------------- */

/* Words `at`, at + 1, ... of the table, n of them, `at` being at most `most`:
 * halved candidates, bit after bit of `at` from the highest. */
static void trig_words(math *m, ir_expr at, int most, int n, ir_expr *out) {
  ir_expr w[WORDS + 16];
  for (int i = 0; i < WORDS + 16; i++)
    w[i] = trig_word(m, i < WORDS ? two_over_pi[i] : 0);
  int step = 1;
  while (2 * step <= most) step *= 2;
  for (; step > 0; step /= 2) {
    ir_expr on =
        math_binary(m, IR_NE, trig_and(m, at, (uint64_t)step), trig_word(m, 0));
    int kept = n + step - 1;
    for (int i = 0; i < kept; i++) w[i] = math_select(m, on, w[i + step], w[i]);
  }
  for (int i = 0; i < n; i++) out[i] = w[i];
}

/* The n words that begin at bit number `bit` of the table. */
static void trig_window(math *m, ir_expr bit, int most, int n, ir_expr *out) {
  ir_expr w[5];
  ir_expr by = trig_and(m, bit, 63);
  ir_expr back = trig_bits(m, IR_FN_BITXOR, by, trig_word(m, 63));
  trig_words(m, trig_right(m, bit, 6), most / 64, n + 1, w);
  for (int i = 0; i < n; i++) {
    ir_expr left = trig_bits(m, IR_FN_SHL, w[i], by);
    ir_expr right = trig_bits(m, IR_FN_SHR, trig_right(m, w[i + 1], 1), back);
    out[i] = trig_bits(m, IR_FN_BITOR, left, right);
  }
}

/* Fractions of turns by pi/2: f 2^-62 as a whole number and what is left of
 * it, at most a half. */
static ir_expr trig_nearest(math *m, ir_expr f, ir_expr *rest) {
  ir_expr q =
      trig_right(m, math_add(m, f, trig_word(m, UINT64_C(1) << 61)), 62);
  *rest = math_sub(m, f, trig_left(m, q, 62));
  return q;
}

/* The exponent of float64 `a` as it is stored, and its significand. */
static void trig_parts(math *m, ir_expr a, ir_expr *exponent, ir_expr *digits) {
  ir_expr u = ir_call(m->p, IR_FN_REINTERPRET, trig_word_type(m), 1, &a);
  *exponent = trig_right(m, u, 52);
  *digits = trig_bits(m, IR_FN_BITOR, trig_and(m, u, (UINT64_C(1) << 52) - 1),
                      trig_word(m, UINT64_C(1) << 52));
}

/* The number of the first bit that matters; smaller exponents do not. */
static ir_expr trig_first_bit(math *m, ir_expr exponent, uint64_t least) {
  ir_expr bound = trig_word(m, least);
  return math_sub(m, math_binary(m, IR_MAX, exponent, bound), bound);
}

/* ---- float32, in float64 ------------------------------------------------ */

/* Significands of 24 bits, 96 bits of 2/pi: what is left of the product is
 * right to 2^-61, and no float32 is nearer to a multiple of pi/2 than 2^-30 of
 * one. */
static reduced trig_reduce_single(math *m, ir_expr a) {
  enum { LEAST = 1021, MOST = 1023 + 127 };
  ir_expr exponent, digits, w[2], rest;
  trig_parts(m, a, &exponent, &digits);
  ir_expr bit = math_add(m, trig_first_bit(m, exponent, LEAST),
                         trig_word(m, LEAST - 984));
  trig_window(m, bit, MOST - 984, 2, w);
  ir_expr n = trig_right(m, digits, 29);
  ir_expr f =
      math_add(m, math_mul(m, n, w[0]),
               trig_right(m, math_mul(m, n, trig_right(m, w[1], 32)), 32));
  reduced r = {.quadrant = trig_nearest(m, f, &rest)};
  r.hi = math_mul(m, trig_real(m, rest),
                  math_real(m, 0x1p-62 * 1.57079632679489661923));
  return r;
}

/* Coefficients as published with FreeBSD's msun (Kargl, Evans). */
static ir_expr trig_sine_single(math *m, ir_expr x) {
  static const double c[] = {-0x15555554cbac77.0p-55, 0x111110896efbb2.0p-59,
                             -0x1a00f9e2cae774.0p-65, 0x16cd878c3b46a7.0p-71};
  ir_expr z = math_mul(m, x, x);
  return math_add(m, x, math_mul(m, math_mul(m, x, z), POLY(m, z, c)));
}

static ir_expr trig_cosine_single(math *m, ir_expr x) {
  static const double c[] = {1, -0x1ffffffd0c5e81.0p-54, 0x155553e1053a42.0p-57,
                             -0x16c087e80f1e27.0p-62, 0x199342e0ee5069.0p-68};
  return POLY(m, math_mul(m, x, x), c);
}

/* ---- float64 ------------------------------------------------------------ */

/* (hi + lo 2^-64) 2^-62 turns as radians, in two numbers.  All products but
 * the last small ones are exact, so that fusing them changes nothing. */
static void trig_radians(math *m, ir_expr hi, ir_expr lo, reduced *r) {
  const double half_pi = 1.57079632679489655800, rest = 6.12323399573676604e-17;
  const double half_pi_hi = 0x1.921fb5p+0, half_pi_lo = half_pi - half_pi_hi;
  ir_expr top = call2(m, IR_FN_SHR, trig_signed(m, hi), math_int(m, 32));
  ir_expr a = math_mul(m, ir_cast(m->p, m->t, top), math_real(m, 0x1p-30));
  ir_expr b =
      math_mul(m, trig_real(m, trig_low_half(m, hi)), math_real(m, 0x1p-62));
  ir_expr c =
      math_mul(m, trig_real(m, trig_right(m, lo, 11)), math_real(m, 0x1p-115));
  ir_expr s = math_add(m, a, b),
          t = math_add(m, math_sub(m, b, math_sub(m, s, a)), c);
  ir_expr y = math_add(m, s, t), y_lo = math_sub(m, t, math_sub(m, y, s));
  ir_expr ya = from_bits(m, call2(m, IR_FN_BITAND, as_bits(m, y),
                                  math_int(m, ~INT64_C(0x7ffffff))));
  ir_expr yb = math_sub(m, y, ya);
  r->hi = math_mul(m, y, math_real(m, half_pi));
  ir_expr e = math_sub(m, math_mul(m, ya, math_real(m, half_pi_hi)), r->hi);
  e = math_add(m, e, math_mul(m, ya, math_real(m, half_pi_lo)));
  e = math_add(m, e, math_mul(m, yb, math_real(m, half_pi_hi)));
  e = math_add(m, e, math_mul(m, yb, math_real(m, half_pi_lo)));
  ir_expr small = math_add(m, math_mul(m, y, math_real(m, rest)),
                           math_mul(m, y_lo, math_real(m, half_pi)));
  r->lo = math_add(m, e, small);
}

/* Significands of 53 bits, 192 bits of 2/pi: no float64 is nearer to a multiple
 * of pi/2 than 2^-62 of one. */
static reduced trig_reduce_double(math *m, ir_expr a) {
  enum { LEAST = 1013, MOST = 2047 };
  ir_expr exponent, n, w[3], rest;
  trig_parts(m, a, &exponent, &n);
  ir_expr bit = trig_first_bit(m, exponent, LEAST);
  trig_window(m, bit, MOST - LEAST, 3, w);
  ir_expr mid = math_mul(m, n, w[1]);
  ir_expr lo = math_add(m, mid, trig_high_product(m, n, w[2]));
  ir_expr carry =
      math_select(m, math_lt(m, lo, mid), trig_word(m, 1), trig_word(m, 0));
  ir_expr hi = math_add(
      m, math_add(m, math_mul(m, n, w[0]), trig_high_product(m, n, w[1])),
      carry);
  reduced r = {.quadrant = trig_nearest(m, hi, &rest)};
  trig_radians(m, rest, lo, &r);
  return r;
}

/* Of hi + lo; formulas and coefficients as published with fdlibm (Sun, 1993).
 */
static ir_expr trig_sine_double(math *m, const reduced *r) {
  static const double c[] = {
      8.33333333332248946124e-03, -1.98412698298579493134e-04,
      2.75573137070700676789e-06, -2.50507602534068634195e-08,
      1.58969099521155010221e-10};
  ir_expr x = r->hi, z = math_mul(m, x, x), v = math_mul(m, z, x);
  ir_expr half = math_mul(m, math_real(m, 0.5), r->lo);
  ir_expr a = math_mul(m, z, math_sub(m, half, math_mul(m, v, POLY(m, z, c))));
  ir_expr b = math_mul(m, v, math_real(m, -1.66666666666666324348e-01));
  return math_sub(m, x, math_sub(m, math_sub(m, a, r->lo), b));
}

static ir_expr trig_cosine_double(math *m, const reduced *r) {
  static const double c[] = {
      4.16666666666666019037e-02, -1.38888888888741095749e-03,
      2.48015872894767294178e-05, -2.75573143513906633035e-07,
      2.08757232129817482790e-09, -1.13596475577881948265e-11};
  ir_expr x = r->hi, z = math_mul(m, x, x), one = math_real(m, 1);
  ir_expr half = math_mul(m, math_real(m, 0.5), z), w = math_sub(m, one, half);
  ir_expr small = math_sub(m, math_mul(m, z, math_mul(m, z, POLY(m, z, c))),
                           math_mul(m, x, r->lo));
  return math_add(m, w,
                  math_add(m, math_sub(m, math_sub(m, one, w), half), small));
}

/* ---- both --------------------------------------------------------------- */

typedef enum trig_fn { TRIG_SIN, TRIG_COS, TRIG_TAN } trig_fn;

/* The tangent of an angle is that of what is left of it, or -1 by that where an
 * odd number of right angles is taken off. */
static ir_expr trig_quotient(math *m, ir_expr odd, ir_expr s, ir_expr c) {
  ir_expr less = math_mul(m, c, math_real(m, -1));
  return math_div(m, math_select(m, odd, less, s), math_select(m, odd, s, c));
}

/* Of float64; `single`: of a value of float32, for a result of that. */
static ir_expr trig_expand(math *m, ir_expr x, trig_fn f, bool single) {
  ir_expr a = absolute(m, x), zero = math_real(m, 0);
  reduced r = single ? trig_reduce_single(m, a) : trig_reduce_double(m, a);
  ir_expr near = math_lt(m, a, math_real(m, 0.78539816339744828));
  r.hi = math_select(m, near, a, r.hi);
  if (!single) r.lo = math_select(m, near, zero, r.lo);
  ir_expr q = math_select(m, near, trig_word(m, 0), r.quadrant);
  if (f == TRIG_COS) q = math_add(m, q, trig_word(m, 1));
  ir_expr s = single ? trig_sine_single(m, r.hi) : trig_sine_double(m, &r);
  ir_expr c = single ? trig_cosine_single(m, r.hi) : trig_cosine_double(m, &r);
  ir_expr odd = math_binary(m, IR_NE, trig_and(m, q, 1), trig_word(m, 0));
  ir_expr down = math_binary(m, IR_NE, trig_and(m, q, 2), trig_word(m, 0));
  ir_expr v =
      f == TRIG_TAN ? trig_quotient(m, odd, s, c) : math_select(m, odd, c, s);
  if (f != TRIG_TAN)
    v = math_select(m, down, math_mul(m, v, math_real(m, -1)), v);
  if (f != TRIG_COS)
    v = math_select(m, is_negative(m, x), math_mul(m, v, math_real(m, -1)), v);
  return math_select(m, math_lt(m, a, math_real(m, __builtin_inf())), v,
                     math_real(m, __builtin_nan("")));
}

static ir_expr trig_function(math *m, ir_expr x, trig_fn f) {
  if (!is_single(m)) return trig_expand(m, x, f, false);
  math w = {m->p, {TESS_DTYPE_FLOAT, 64, m->t.lanes}};
  ir_expr r = trig_expand(&w, ir_cast(m->p, w.t, x), f, true);
  return ir_cast(m->p, m->t, r);
}

ir_expr lower_expand_sin(math *m, ir_expr x) {
  return trig_function(m, x, TRIG_SIN);
}
ir_expr lower_expand_cos(math *m, ir_expr x) {
  return trig_function(m, x, TRIG_COS);
}
ir_expr lower_expand_tan(math *m, ir_expr x) {
  return trig_function(m, x, TRIG_TAN);
}
