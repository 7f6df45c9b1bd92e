/* SPDX-License-Identifier: Apache-2.0
 * pow.  Of float64 the logarithm to base 2 and its product with y are sums of
 * two numbers, so that results are off by less than their last digit and those
 * that the type has are exact.  All products but those of small terms are
 * exact, so that fusing them changes nothing. */
#include "lower/math_build.h"

/* A number and a small one. */
typedef struct pow_pair {
  ir_expr hi, lo;
} pow_pair;

/* The upper 21 digits of x. */
static ir_expr pow_upper(math *m, ir_expr x) { return upper_bits(m, x, 32); }

/* a + b as a pair whose first has 21 digits. */
static pow_pair pow_sum(math *m, ir_expr a, ir_expr b) {
  ir_expr hi = pow_upper(m, math_add(m, a, b));
  return (pow_pair){hi, math_sub(m, b, math_sub(m, hi, a))};
}

/* (atanh s) 3, of s = f / (2 + f), is s (3 + s^2 + s^4 p(s^2)). */
static pow_pair pow_atanh(math *m, ir_expr f) {
  static const double c[] = {5.99999999999999978e-01, 4.28571428571428492e-01,
                             3.33333333333426685e-01, 2.72727272694787692e-01,
                             2.30769236427189162e-01, 1.99999447259599367e-01,
                             1.76502229551091211e-01, 1.56844175636673105e-01,
                             1.61443011354648169e-01};
  pow_pair d = pow_sum(m, math_real(m, 2), f);
  ir_expr by = math_div(m, math_real(m, 1), math_add(m, d.hi, d.lo));
  ir_expr s_hi = pow_upper(m, math_mul(m, f, by));
  ir_expr left = math_sub(m, math_sub(m, f, math_mul(m, s_hi, d.hi)),
                          math_mul(m, s_hi, d.lo));
  ir_expr s_lo = math_mul(m, by, left), s = math_add(m, s_hi, s_lo);
  ir_expr z_hi = math_mul(m, s_hi, s_hi);
  ir_expr z_lo = math_mul(m, s_lo, math_add(m, s_hi, s));
  ir_expr z = math_add(m, z_hi, z_lo), three = math_real(m, 3);
  ir_expr more =
      math_add(m, math_mul(m, math_mul(m, z, z), POLY(m, z, c)), z_lo);
  pow_pair t;
  t.hi = pow_upper(m, math_add(m, math_add(m, three, z_hi), more));
  t.lo = math_sub(m, more, math_sub(m, math_sub(m, t.hi, three), z_hi));
  return pow_sum(m, math_mul(m, s_hi, t.hi),
                 math_add(m, math_mul(m, s_lo, t.hi), math_mul(m, t.lo, s)));
}

/* log2 of (1 + f) 2^k, where 2 / (3 ln 2) makes it of atanh. */
static pow_pair pow_log2(math *m, ir_expr f, ir_expr k) {
  ir_expr by = math_real(m, 0x1.ec709dc3a03fdp-1);
  ir_expr by_hi = math_real(m, 0x1.ec709p-1);
  ir_expr by_lo = math_real(m, 0x1.b87407fae93f8p-22);
  pow_pair a = pow_atanh(m, f);
  ir_expr hi = math_mul(m, by_hi, a.hi);
  ir_expr lo = math_add(m, math_mul(m, by_lo, a.hi), math_mul(m, a.lo, by));
  ir_expr t = pow_upper(m, math_add(m, math_add(m, hi, lo), k));
  return (pow_pair){t, math_sub(m, lo, math_sub(m, math_sub(m, t, k), hi))};
}

/* 2^(hi + lo). */
static ir_expr pow_exp2(math *m, ir_expr hi, ir_expr lo) {
  const double most = 1200;
  ir_expr z = math_add(m, hi, lo), zero = math_real(m, 0);
  ir_expr over = math_lt(m, math_real(m, most), absolute(m, z));
  ir_expr end = math_select(m, math_lt(m, z, zero), math_real(m, -most),
                            math_real(m, most));
  hi = math_select(m, over, end, hi);
  lo = math_select(m, over, zero, lo);
  ir_expr up = lower_exp_round(m);
  ir_expr high = math_add(m, math_add(m, hi, lo), up);
  hi = math_sub(m, hi, math_sub(m, high, up));
  pow_pair t = pow_sum(m, hi, lo);
  ir_expr most_of = math_mul(m, t.hi, math_real(m, 0x1.62e42p-1));
  ir_expr rest =
      math_add(m, math_mul(m, t.lo, math_real(m, 0.69314718055994531)),
               math_mul(m, t.hi, math_real(m, 0x1.fdf473de6af28p-22)));
  ir_expr r = math_add(m, most_of, rest);
  return lower_exp_precise(m, r, math_sub(m, rest, math_sub(m, r, most_of)),
                           as_bits(m, high));
}

/* a^y for a > 0, as it is for 0 and infinity where a is that. */
static ir_expr pow_double(math *m, ir_expr a, ir_expr y) {
  ir_expr zero = math_real(m, 0), inf = math_real(m, __builtin_inf()), k;
  ir_expr tiny = math_lt(m, a, math_real(m, 0x1p-1022));
  ir_expr v = math_select(m, tiny, math_mul(m, a, math_real(m, 0x1p54)), a);
  ir_expr f = lower_log_split(m, v, &k);
  k = math_sub(m, k, math_select(m, tiny, math_real(m, 54), zero));
  pow_pair l = pow_log2(m, f, k);
  /* Beyond this the result is 0 or infinity for all a but 1. */
  const double far = 0x1p65;
  ir_expr w = math_select(m, math_lt(m, y, math_real(m, -far)),
                          math_real(m, -far), math_at_most(m, y, far));
  ir_expr w_hi = pow_upper(m, w);
  ir_expr lo = math_add(m, math_mul(m, math_sub(m, w, w_hi), l.hi),
                        math_mul(m, w, l.lo));
  ir_expr r = pow_exp2(m, math_mul(m, w_hi, l.hi), lo);
  ir_expr up = math_binary(m, IR_EQ, math_lt(m, y, zero),
                           math_binary(m, IR_EQ, a, zero));
  ir_expr edge = ir_binary(m->p, IR_OR, math_binary(m, IR_EQ, a, zero),
                           math_binary(m, IR_EQ, a, inf));
  r = math_select(m, edge, math_select(m, up, inf, zero), r);
  ir_expr numbers = ir_binary(m->p, IR_AND, math_binary(m, IR_EQ, a, a),
                              math_binary(m, IR_EQ, y, y));
  return math_select(m, numbers, r, math_real(m, __builtin_nan("")));
}

/* With the sign and the cases of C's pow, where r is that of |x|. */
static ir_expr pow_cases(math *m, ir_expr x, ir_expr y, ir_expr r) {
  ir_expr one = math_real(m, 1), zero = math_real(m, 0), a = absolute(m, x);
  r = math_select(m, math_binary(m, IR_EQ, a, one), one,
                  r); /* infinite y, too */
  ir_expr half = math_mul(m, y, math_real(m, 0.5));
  ir_expr is_int = math_binary(m, IR_EQ, call1(m, IR_FN_FLOOR, y), y);
  ir_expr even = math_binary(m, IR_EQ, call1(m, IR_FN_FLOOR, half), half);
  ir_expr edge =
      ir_binary(m->p, IR_OR, math_binary(m, IR_EQ, a, zero),
                math_binary(m, IR_EQ, a, math_real(m, __builtin_inf())));
  ir_expr broken = math_select(m, edge, r, math_real(m, __builtin_nan("")));
  ir_expr negative = math_select(
      m, is_int, math_select(m, even, r, math_mul(m, r, math_real(m, -1))),
      broken);
  r = math_select(m, is_negative(m, x), negative, r);
  r = math_select(m, math_binary(m, IR_EQ, y, zero), one, r);
  return math_select(m, math_binary(m, IR_EQ, x, one), one, r);
}

/* Of float32 in float64, whose exp and log are precise enough for it. */
ir_expr lower_expand_pow(math *m, ir_expr x, ir_expr y) {
  if (!is_single(m))
    return pow_cases(m, x, y, pow_double(m, absolute(m, x), y));
  math w = {m->p, {TESS_DTYPE_FLOAT, 64, m->t.lanes}};
  ir_expr wx = ir_cast(m->p, w.t, x), wy = ir_cast(m->p, w.t, y);
  ir_expr l = lower_expand_log(&w, absolute(&w, wx));
  ir_expr r = lower_expand_exp(&w, math_mul(&w, wy, l));
  return ir_cast(m->p, m->t, pow_cases(&w, wx, wy, r));
}
