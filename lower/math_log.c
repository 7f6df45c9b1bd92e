/* SPDX-License-Identifier: Apache-2.0
 * log, log1p and the inverse hyperbolic functions, which are logarithms.
 * Coefficients of float64 as published with fdlibm (Sun, 1993). */
#include "lower/math_build.h"

/* For m = 1 + f in [sqrt(1/2), sqrt 2): log m = f - f^2/2 + s (f^2/2 + R),
 * s = f / (2 + f), R a polynomial in s^2.  Of m 2^k, plus `more`, where that is
 * not 0 and small. */
static ir_expr log_small(math *m, ir_expr f, ir_expr k, ir_expr more) {
  static const double single[] = {0.66666662693, 0.40000972152, 0.28498786688,
                                  0.24279078841};
  static const double twice[] = {
      6.666666666666735130e-01, 3.999999999940941908e-01,
      2.857142874366239149e-01, 2.222219843214978396e-01,
      1.818357216161805012e-01, 1.531383769920937332e-01,
      1.479819860511658591e-01};
  bool is = is_single(m);
  ir_expr s = math_div(m, f, math_add(m, math_real(m, 2), f)),
          z = math_mul(m, s, s);
  ir_expr r = math_mul(m, z, is ? POLY(m, z, single) : POLY(m, z, twice));
  ir_expr h = math_mul(m, math_mul(m, math_real(m, 0.5), f), f);
  ir_expr low = math_mul(
      m, k, math_real(m, is ? 9.0580006145e-06 : 1.90821492927058770002e-10));
  ir_expr high = math_mul(
      m, k, math_real(m, is ? 6.9313812256e-01 : 6.93147180369123816490e-01));
  if (more) low = math_add(m, low, more);
  ir_expr rest = math_add(m, math_mul(m, s, math_add(m, h, r)), low);
  return math_sub(m, high, math_sub(m, math_sub(m, h, rest), f));
}

ir_expr lower_log_split(math *m, ir_expr y, ir_expr *k) {
  int mantissa = is_single(m) ? 23 : 52, bias = is_single(m) ? 127 : 1023;
  ir_expr bits = as_bits(m, y);
  ir_expr exponent = math_sub(
      m, call2(m, IR_FN_SHR, bits, math_int(m, mantissa)), math_int(m, bias));
  ir_expr frac =
      call2(m, IR_FN_BITAND, bits, math_int(m, (INT64_C(1) << mantissa) - 1));
  ir_expr one = from_bits(
      m, call2(m, IR_FN_BITOR, frac, math_int(m, (int64_t)bias << mantissa)));
  ir_expr big = math_lt(m, math_real(m, 1.4142135623730951), one);
  ir_expr v = math_select(m, big, math_mul(m, one, math_real(m, 0.5)), one);
  *k = math_add(m, ir_cast(m->p, m->t, exponent),
                math_select(m, big, math_real(m, 1), math_real(m, 0)));
  return math_sub(m, v, math_real(m, 1));
}

/* r, the logarithm of x, but what it is of infinity, 0 and what has none. */
static ir_expr log_edges(math *m, ir_expr x, ir_expr r) {
  double inf = __builtin_inf();
  r = math_select(m, math_binary(m, IR_EQ, x, math_real(m, inf)), x, r);
  r = math_select(m, math_binary(m, IR_EQ, x, math_real(m, 0)),
                  math_real(m, -inf), r);
  /* Negative and not-a-number arguments: neither holds for those. */
  return math_select(m, math_binary(m, IR_LE, math_real(m, 0), x), r,
                     math_real(m, __builtin_nan("")));
}

ir_expr lower_expand_log(math *m, ir_expr x) {
  bool is = is_single(m);
  double least = is ? 0x1p-126 : 0x1p-1022, up = is ? 0x1p25 : 0x1p54;
  ir_expr tiny = math_lt(m, x, math_real(m, least)), k;
  ir_expr y = math_select(m, tiny, math_mul(m, x, math_real(m, up)), x);
  ir_expr f = lower_log_split(m, y, &k);
  k = math_sub(
      m, k, math_select(m, tiny, math_real(m, is ? 25 : 54), math_real(m, 0)));
  return log_edges(m, x, log_small(m, f, k, 0));
}

/* Of u = 1 + x as it is rounded, plus what that lost, by u. */
ir_expr lower_expand_log1p(math *m, ir_expr x) {
  ir_expr one = math_real(m, 1), u = math_add(m, one, x), k;
  ir_expr lost =
      math_select(m, math_lt(m, x, one), math_sub(m, x, math_sub(m, u, one)),
                  math_sub(m, one, math_sub(m, u, x)));
  ir_expr f = lower_log_split(m, u, &k);
  ir_expr r = log_small(m, f, k, math_div(m, lost, u));
  return signed_like(m, log_edges(m, u, r), x);
}

/* ---- the inverse hyperbolic functions ----------------------------------- */

/* log(1 + y), or log(2 x) where x is so large that its square is of no use. */
static ir_expr log_twice(math *m, ir_expr x, ir_expr y) {
  ir_expr big = math_lt(m, math_real(m, is_single(m) ? 0x1p30 : 0x1p60), x);
  ir_expr r = lower_expand_log1p(m, math_select(m, big, x, y));
  return math_add(
      m, r,
      math_select(m, big, math_real(m, 0.69314718055994531), math_real(m, 0)));
}

/* x + sqrt(x^2 + 1) - 1 is x + x^2 / (1 + sqrt(x^2 + 1)). */
ir_expr lower_expand_asinh(math *m, ir_expr x) {
  ir_expr a = absolute(m, x), one = math_real(m, 1), z = math_mul(m, a, a);
  ir_expr root = call1(m, IR_FN_SQRT, math_add(m, z, one));
  ir_expr y = math_add(m, a, math_div(m, z, math_add(m, one, root)));
  return signed_like(m, log_twice(m, a, y), x);
}

/* x + sqrt(x^2 - 1) - 1, where x^2 - 1 is t (t + 2). */
ir_expr lower_expand_acosh(math *m, ir_expr x) {
  ir_expr one = math_real(m, 1), t = math_sub(m, x, one);
  ir_expr z = math_mul(m, t, math_add(m, t, math_real(m, 2)));
  ir_expr y = math_add(m, t, call1(m, IR_FN_SQRT, z));
  return math_select(m, math_binary(m, IR_LE, one, x), log_twice(m, x, y),
                     math_real(m, __builtin_nan("")));
}

/* log((1 + x) / (1 - x)) / 2. */
ir_expr lower_expand_atanh(math *m, ir_expr x) {
  ir_expr a = absolute(m, x);
  ir_expr y = math_div(m, math_mul(m, math_real(m, 2), a),
                       math_sub(m, math_real(m, 1), a));
  ir_expr r = math_mul(m, math_real(m, 0.5), lower_expand_log1p(m, y));
  return signed_like(m, r, x);
}
