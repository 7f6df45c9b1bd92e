/* SPDX-License-Identifier: Apache-2.0
 * exp, expm1 and what is made of them: sinh, cosh, tanh, sigmoid.  Coefficients
 * of float32, and of tanh, as published with Cephes (Moshier). */
#include "lower/math_build.h"

/* 2^k in two factors, so that results below the least normal number, and
 * those of the last power of two, are right. */
typedef struct powers {
  ir_expr a, b;
} powers;

static int64_t mantissa_bits(const math *m) { return is_single(m) ? 23 : 52; }
static int64_t exponent_bias(const math *m) {
  return is_single(m) ? 127 : 1023;
}

/* `biased`: the bits of k plus twice the exponents' bias, k within twice their
 * range, below others that are shifted out. */
static powers powers_of(math *m, ir_expr biased) {
  ir_expr half = call2(m, IR_FN_SHR, biased, math_int(m, 1));
  ir_expr by = math_int(m, mantissa_bits(m));
  return (powers){
      from_bits(m, call2(m, IR_FN_SHL, half, by)),
      from_bits(m, call2(m, IR_FN_SHL, math_sub(m, biased, half), by))};
}

/* v times 2^k. */
static ir_expr math_ldexp(math *m, ir_expr v, ir_expr biased) {
  powers k = powers_of(m, biased);
  return math_mul(m, math_mul(m, v, k.a), k.b);
}

/* v + 1, times 2^k: the first product with the sum is one rounding. */
static ir_expr one_more_ldexp(math *m, ir_expr v, ir_expr biased) {
  powers k = powers_of(m, biased);
  return math_mul(m, math_add(m, math_mul(m, v, k.a), k.a), k.b);
}

/* e^r - 1 - r for |r| <= ln 2 / 2. */
static ir_expr exp_curve(math *m, ir_expr r) {
  static const double single[] = {5.0000001201e-1, 1.6666665459e-1,
                                  4.1665795894e-2, 8.3334519073e-3,
                                  1.3981999507e-3, 1.9875691500e-4};
  static const double twice[] = {
      1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  ir_expr q = is_single(m) ? POLY(m, r, single) : POLY(m, r, twice);
  return math_mul(m, q, math_mul(m, r, r));
}

static ir_expr exp_less_one(math *m, ir_expr r) {
  return math_add(m, exp_curve(m, r), r);
}

/* e^x = e^r 2^k, |r| <= ln 2 / 2; `biased` as powers_of() takes it. */
typedef struct exp_parts {
  ir_expr r, biased;
} exp_parts;

static ir_expr exp_clamp(math *m, ir_expr x, double lo, double hi) {
  ir_expr least = math_real(m, lo), c = math_at_most(m, x, hi);
  return math_select(m, math_lt(m, c, least), least, c);
}

ir_expr lower_exp_round(math *m) {
  double up = is_single(m) ? 0x1.8p23 : 0x1.8p52;
  return math_real(m, up + 2.0 * (double)exponent_bias(m));
}

/* x, taken to be from lo to hi, plus `more` where that is not 0, is k ln 2 + r;
 * ln 2 in two parts, of which k times the first is exact.  x / ln 2 plus
 * lower_exp_round() is rounded to an integer, which its lowest bits hold: a
 * cast to integers would be checked for overflow, and there is no vector
 * instruction for doubles before AVX-512. */
static exp_parts exp_reduce(math *m, ir_expr x, ir_expr more, double lo,
                            double hi) {
  bool s = is_single(m);
  ir_expr c = exp_clamp(m, x, lo, hi), up = lower_exp_round(m);
  ir_expr high = math_add(m,
                          math_mul(m, more ? math_add(m, c, more) : c,
                                   math_real(m, 1.4426950408889634)),
                          up);
  ir_expr n = math_sub(m, high, up);
  ir_expr first = math_real(m, s ? 0.693359375 : 6.93147180369123816490e-01);
  ir_expr second =
      math_real(m, s ? -2.12194440e-4 : 1.90821492927058770002e-10);
  ir_expr r = math_sub(m, c, math_mul(m, n, first));
  r = math_sub(m, r, math_mul(m, n, second));
  if (more) r = math_add(m, r, more);
  return (exp_parts){r, as_bits(m, high)};
}

static ir_expr exp_small(math *m, ir_expr r) {
  return math_add(m, exp_less_one(m, r), math_real(m, 1));
}

ir_expr lower_expand_exp(math *m, ir_expr x) {
  bool s = is_single(m);
  exp_parts e = exp_reduce(m, x, 0, s ? -104 : -746, s ? 89 : 710);
  return one_more_ldexp(m, exp_less_one(m, e.r), e.biased);
}

ir_expr lower_exp_product(math *m, ir_expr x, ir_expr more, ir_expr v) {
  bool s = is_single(m);
  exp_parts e = exp_reduce(m, x, more, s ? -120 : -800, s ? 89 : 710);
  return math_ldexp(m, math_mul(m, exp_small(m, e.r), v), e.biased);
}

/* (1 + r) + (what that lost + r^2 q(r) + more (1 + r)). */
ir_expr lower_exp_precise(math *m, ir_expr r, ir_expr more, ir_expr biased) {
  ir_expr one = math_real(m, 1), head = math_add(m, one, r);
  ir_expr lost = math_sub(m, r, math_sub(m, head, one));
  ir_expr tail =
      math_add(m, exp_curve(m, r), math_add(m, lost, math_mul(m, more, head)));
  return math_ldexp(m, math_add(m, head, tail), biased);
}

/* (e^r - 1) 2^k + (2^k - 1): where the second part is not 0, the first is less.
 * From -64 down it is -1; the last power of two is halved, which it has to
 * be. */
ir_expr lower_expand_expm1(math *m, ir_expr x) {
  bool s = is_single(m);
  int64_t bias = exponent_bias(m);
  exp_parts e = exp_reduce(m, x, 0, -64, s ? 89 : 710);
  ir_expr k = math_sub(m, e.biased, as_bits(m, lower_exp_round(m)));
  ir_expr over = math_binary(m, IR_LT, math_int(m, bias), k);
  k = math_select(m, over, math_int(m, bias), k);
  ir_expr one = math_select(m, over, math_real(m, 0.5), math_real(m, 1));
  ir_expr two = math_select(m, over, math_real(m, 2), math_real(m, 1));
  ir_expr power =
      from_bits(m, call2(m, IR_FN_SHL, math_add(m, k, math_int(m, bias)),
                         math_int(m, mantissa_bits(m))));
  ir_expr r = math_add(m, math_mul(m, exp_less_one(m, e.r), power),
                       math_sub(m, power, one));
  return signed_like(m, math_mul(m, r, two), x);
}

/* ---- sinh, cosh --------------------------------------------------------- */

/* e^x / 2, which is finite for as long as sinh and cosh are. */
static ir_expr exp_half(math *m, ir_expr x) {
  bool s = is_single(m);
  exp_parts e = exp_reduce(m, x, 0, 0, s ? 90 : 711);
  ir_expr biased = math_sub(m, e.biased, math_int(m, 1));
  return one_more_ldexp(m, exp_less_one(m, e.r), biased);
}

/* Taylor's series below 1. */
static ir_expr sinh_small(math *m, ir_expr a) {
  static const double single[] = {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880,
                                  1.0 / 39916800};
  static const double twice[] = {1.0 / 6,
                                 1.0 / 120,
                                 1.0 / 5040,
                                 1.0 / 362880,
                                 1.0 / 39916800,
                                 1.0 / 6227020800,
                                 1.0 / 1307674368000,
                                 1.0 / 355687428096000};
  ir_expr z = math_mul(m, a, a);
  ir_expr q = is_single(m) ? POLY(m, z, single) : POLY(m, z, twice);
  return math_add(m, a, math_mul(m, math_mul(m, a, z), q));
}

ir_expr lower_expand_sinh(math *m, ir_expr x) {
  ir_expr a = absolute(m, x), h = exp_half(m, a);
  ir_expr large = math_sub(m, h, math_div(m, math_real(m, 0.25), h));
  ir_expr r =
      math_select(m, math_lt(m, a, math_real(m, 1)), sinh_small(m, a), large);
  return signed_like(m, r, x);
}

ir_expr lower_expand_cosh(math *m, ir_expr x) {
  ir_expr h = exp_half(m, absolute(m, x));
  return math_add(m, h, math_div(m, math_real(m, 0.25), h));
}

/* ---- tanh, sigmoid ------------------------------------------------------ */

static ir_expr tanh_small(math *m, ir_expr x) {
  static const double single[] = {-3.33332819422e-1, 1.33314422036e-1,
                                  -5.37397155531e-2, 2.06390887954e-2,
                                  -5.70498872745e-3};
  static const double over[] = {-1.61468768441708447952e3,
                                -9.92877231001918586564e1,
                                -9.64399179425052238628e-1};
  static const double under[] = {4.84406305325125486048e3,
                                 2.23548839060100448583e3,
                                 1.12811678491632931402e2, 1.0};
  ir_expr z = math_mul(m, x, x);
  ir_expr q = is_single(m) ? POLY(m, z, single)
                           : math_div(m, POLY(m, z, over), POLY(m, z, under));
  return math_add(m, x, math_mul(m, math_mul(m, x, z), q));
}

ir_expr lower_expand_tanh(math *m, ir_expr x) {
  ir_expr a = absolute(m, x);
  ir_expr e = lower_expand_exp(m, math_mul(m, math_real(m, 2), a));
  ir_expr large =
      math_sub(m, math_real(m, 1),
               math_div(m, math_real(m, 2), math_add(m, e, math_real(m, 1))));
  ir_expr r = math_select(m, math_lt(m, a, math_real(m, 0.625)),
                          tanh_small(m, a), large);
  return signed_like(m, r, x);
}

/* With exp of what is not positive nothing overflows. */
ir_expr lower_expand_sigmoid(math *m, ir_expr x) {
  ir_expr e = lower_expand_exp(m, math_sub(m, math_real(m, 0), absolute(m, x)));
  ir_expr d = math_add(m, math_real(m, 1), e);
  return math_select(m, math_lt(m, x, math_real(m, 0)), math_div(m, e, d),
                     math_div(m, math_real(m, 1), d));
}
