/* SPDX-License-Identifier: Apache-2.0
 * Lowers mathematical intrinsics to arithmetic that vectorizes, since a call
 * of libm would not.  No fused operations are used, so that results do not
 * depend on whether the machine has them.
 *
 * Largest errors in ulp that were found, rounded up; the 16-bit types, which
 * compute in float32, were tried with all arguments.  mapped_fns in
 * tests/support/mapped.c has the same bounds, and tests/backends/
 * test_llvm_math*.c check them.
 *            exp  log  tanh  sigmoid  erf  rsqrt  sin, cos  pow
 *   float32  1.1  0.9   1.4      2.5  1.1    1.5      0.51  1
 *   float64  1.1  0.9   1.4      2.5  1.0    1.5       0.9  1.5 + 2.3 |y ln x|
 *   16 bits  0.501, all of them
 * Zeros have the sign that C says, and not-a-number, infinities and
 * subnormals give and are what they do there.
 * Coefficients: exp, tanh of float32 and tanh of float64 as published with
 * Cephes (Moshier), log and erf of float64 with fdlibm (Sun, 1993), erf of
 * float32 a minimax fit. */
#include "ir/edit.h"
#include "lower/math_build.h"

/* ---- exp ---------------------------------------------------------------- */

/* v times 2^k, k within twice the exponents' range, in two steps so that
 * results below the least normal number are right. */
static ir_expr math_ldexp(math *m, ir_expr v, ir_expr k) {
  int mantissa = is_single(m) ? 23 : 52, bias = is_single(m) ? 127 : 1023;
  ir_expr half = call2(m, IR_FN_SHR, k, math_int(m, 1));
  ir_expr rest = math_sub(m, k, half);
  ir_expr a = call2(m, IR_FN_SHL, math_add(m, half, math_int(m, bias)),
                    math_int(m, mantissa));
  ir_expr b = call2(m, IR_FN_SHL, math_add(m, rest, math_int(m, bias)),
                    math_int(m, mantissa));
  return math_mul(m, math_mul(m, v, from_bits(m, a)), from_bits(m, b));
}

/* e^r for |r| <= ln 2 / 2. */
static ir_expr exp_small(math *m, ir_expr r) {
  static const double single[] = {5.0000001201e-1, 1.6666665459e-1,
                                  4.1665795894e-2, 8.3334519073e-3,
                                  1.3981999507e-3, 1.9875691500e-4};
  static const double twice[] = {
      1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  ir_expr q = is_single(m) ? POLY(m, r, single) : POLY(m, r, twice);
  return math_add(m, math_add(m, math_mul(m, q, math_mul(m, r, r)), r),
                  math_real(m, 1));
}

/* x = n ln 2 + r; ln 2 in two parts, of which n times the first is exact.
 * x / ln 2 plus 1.5 times the weight of a mantissa's lead is rounded to an
 * integer, which its lowest bits hold: a cast to integers would be checked for
 * overflow, and there is no vector instruction for doubles before AVX-512. */
static ir_expr expand_exp(math *m, ir_expr x) {
  bool s = is_single(m);
  ir_expr lo = math_real(m, s ? -104 : -746), hi = math_real(m, s ? 89 : 710);
  ir_expr c = math_select(m, math_lt(m, x, lo), lo,
                          math_select(m, math_lt(m, hi, x), hi, x));
  ir_expr up = math_real(m, s ? 0x1.8p23 : 0x1.8p52);
  ir_expr high =
      math_add(m, math_mul(m, c, math_real(m, 1.4426950408889634)), up);
  ir_expr n = math_sub(m, high, up);
  ir_expr r = math_sub(
      m, c,
      math_mul(m, n,
               math_real(m, s ? 0.693359375 : 6.93147180369123816490e-01)));
  r = math_sub(
      m, r,
      math_mul(m, n,
               math_real(m, s ? -2.12194440e-4 : 1.90821492927058770002e-10)));
  ir_expr k = math_sub(m, as_bits(m, high), as_bits(m, up));
  return math_ldexp(m, exp_small(m, r), k);
}

/* ---- log ---------------------------------------------------------------- */

/* For m = 1 + f in [sqrt(1/2), sqrt 2): log m = f - f^2/2 + s (f^2/2 + R),
 * s = f / (2 + f), R a polynomial in s^2. */
static ir_expr log_small(math *m, ir_expr f, ir_expr k) {
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
  ir_expr rest = math_add(m, math_mul(m, s, math_add(m, h, r)), low);
  return math_sub(m, high, math_sub(m, math_sub(m, h, rest), f));
}

static ir_expr expand_log(math *m, ir_expr x) {
  bool is = is_single(m);
  int mantissa = is ? 23 : 52, bias = is ? 127 : 1023;
  double least = is ? 0x1p-126 : 0x1p-1022, up = is ? 0x1p25 : 0x1p54;
  double inf = __builtin_inf();
  ir_expr tiny = math_lt(m, x, math_real(m, least));
  ir_expr y = math_select(m, tiny, math_mul(m, x, math_real(m, up)), x);
  ir_expr bits = as_bits(m, y);
  ir_expr k = math_sub(m, call2(m, IR_FN_SHR, bits, math_int(m, mantissa)),
                       math_int(m, bias));
  ir_expr frac =
      call2(m, IR_FN_BITAND, bits, math_int(m, (INT64_C(1) << mantissa) - 1));
  ir_expr one = from_bits(
      m, call2(m, IR_FN_BITOR, frac, math_int(m, (int64_t)bias << mantissa)));
  ir_expr big = math_lt(m, math_real(m, 1.4142135623730951), one);
  ir_expr v = math_select(m, big, math_mul(m, one, math_real(m, 0.5)), one);
  ir_expr kf = ir_cast(m->p, m->t, k);
  kf = math_add(m, kf, math_select(m, big, math_real(m, 1), math_real(m, 0)));
  kf = math_sub(
      m, kf, math_select(m, tiny, math_real(m, is ? 25 : 54), math_real(m, 0)));
  ir_expr r = log_small(m, math_sub(m, v, math_real(m, 1)), kf);
  r = math_select(m, math_binary(m, IR_EQ, x, math_real(m, inf)), x, r);
  r = math_select(m, math_binary(m, IR_EQ, x, math_real(m, 0)),
                  math_real(m, -inf), r);
  /* Negative and not-a-number arguments: neither holds for those. */
  return math_select(m, math_binary(m, IR_LE, math_real(m, 0), x), r,
                     math_real(m, __builtin_nan("")));
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

static ir_expr expand_tanh(math *m, ir_expr x) {
  ir_expr a = absolute(m, x);
  ir_expr e = expand_exp(m, math_mul(m, math_real(m, 2), a));
  ir_expr large =
      math_sub(m, math_real(m, 1),
               math_div(m, math_real(m, 2), math_add(m, e, math_real(m, 1))));
  ir_expr r = math_select(m, math_lt(m, a, math_real(m, 0.625)),
                          tanh_small(m, a), large);
  return signed_like(m, r, x);
}

/* With exp of what is not positive nothing overflows. */
static ir_expr expand_sigmoid(math *m, ir_expr x) {
  ir_expr e = expand_exp(m, math_sub(m, math_real(m, 0), absolute(m, x)));
  ir_expr d = math_add(m, math_real(m, 1), e);
  return math_select(m, math_lt(m, x, math_real(m, 0)), math_div(m, e, d),
                     math_div(m, math_real(m, 1), d));
}

/* ---- erf ---------------------------------------------------------------- */

static ir_expr erf_single(math *m, ir_expr x) {
  static const double small[] = {1.28379166e-1, -3.76125336e-1,
                                 1.12819925e-1, -2.67681349e-2,
                                 4.99119423e-3, -5.96761703e-4};
  static const double large[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1,
                                 2.42546219e-2,  -3.88396438e-3, 3.83197126e-4,
                                 -1.72853470e-5};
  ir_expr a = absolute(m, x);
  ir_expr t =
      math_select(m, math_lt(m, math_real(m, 4), a), math_real(m, 4), a);
  ir_expr near =
      math_add(m, x, math_mul(m, x, POLY(m, math_mul(m, x, x), small)));
  ir_expr arg = math_sub(m, math_mul(m, t, POLY(m, t, large)), t);
  ir_expr far = math_sub(m, math_real(m, 1), expand_exp(m, arg));
  return math_select(m, math_lt(m, a, math_real(m, 0.927734375)), near,
                     signed_like(m, far, x));
}

/* exp(-x^2) over x times a rational function of 1 / x^2. */
static ir_expr erf_tail(math *m, ir_expr a, ir_expr e) {
  static const double ra[] = {
      -9.86494403484714822705e-03, -6.93858572707181764372e-01,
      -1.05586262253232909814e+01, -6.23753324503260060396e+01,
      -1.62396669462573470355e+02, -1.84605092906711035994e+02,
      -8.12874355063065934246e+01, -9.81432934416914548592e+00};
  static const double sa[] = {1.0,
                              1.96512716674392571292e+01,
                              1.37657754143519042600e+02,
                              4.34565877475229228821e+02,
                              6.45387271733267880336e+02,
                              4.29008140027567833386e+02,
                              1.08635005541779435134e+02,
                              6.57024977031928170135e+00,
                              -6.04244152148580987438e-02};
  static const double rb[] = {
      -9.86494292470009928597e-03, -7.99283237680523006574e-01,
      -1.77579549177547519889e+01, -1.60636384855821916062e+02,
      -6.37566443368389627722e+02, -1.02509513161107724954e+03,
      -4.83519191608651397019e+02};
  static const double sb[] = {1.0,
                              3.03380607434824582924e+01,
                              3.25792512996573918826e+02,
                              1.53672958608443695994e+03,
                              3.19985821950859553908e+03,
                              2.55305040643316442583e+03,
                              4.74528541206955367215e+02,
                              -2.24409524465858183362e+01};
  ir_expr s = math_div(m, math_real(m, 1), math_mul(m, a, a));
  ir_expr near = math_div(m, POLY(m, s, ra), POLY(m, s, sa));
  ir_expr far = math_div(m, POLY(m, s, rb), POLY(m, s, sb));
  ir_expr q = math_select(m, math_lt(m, a, math_real(m, 1 / 0.35)), near, far);
  ir_expr g =
      math_mul(m, e, expand_exp(m, math_sub(m, q, math_real(m, 0.5625))));
  return math_sub(m, math_real(m, 1), math_div(m, g, a));
}

static ir_expr erf_double(math *m, ir_expr x) {
  static const double pp[] = {
      1.28379167095512558561e-01, -3.25042107247001499370e-01,
      -2.84817495755985104766e-02, -5.77027029648944159157e-03,
      -2.37630166566501626084e-05};
  static const double qq[] = {1.0,
                              3.97917223959155352819e-01,
                              6.50222499887672944485e-02,
                              5.08130628187576562776e-03,
                              1.32494738004321644526e-04,
                              -3.96022827877536812320e-06};
  static const double pa[] = {
      -2.36211856075265944077e-03, 4.14856118683748331666e-01,
      -3.72207876035701323847e-01, 3.18346619901161753674e-01,
      -1.10894694282396677476e-01, 3.54783043256182359371e-02,
      -2.16637559486879084300e-03};
  static const double qa[] = {1.0,
                              1.06420880400844228286e-01,
                              5.40397917702171048937e-01,
                              7.18286544141962662868e-02,
                              1.26171219808761642112e-01,
                              1.36370839120290507362e-02,
                              1.19844998467991074170e-02};
  ir_expr a = absolute(m, x), z = math_mul(m, x, x);
  ir_expr near = math_add(
      m, x, math_mul(m, x, math_div(m, POLY(m, z, pp), POLY(m, z, qq))));
  ir_expr s = math_sub(m, a, math_real(m, 1));
  ir_expr mid = math_add(m, math_real(m, 8.45062911510467529297e-01),
                         math_div(m, POLY(m, s, pa), POLY(m, s, qa)));
  ir_expr t =
      math_select(m, math_lt(m, math_real(m, 6), a), math_real(m, 6), a);
  t = math_select(m, math_lt(m, t, math_real(m, 1.25)), math_real(m, 1.25), t);
  ir_expr e = expand_exp(m, math_sub(m, math_real(m, 0), math_mul(m, t, t)));
  ir_expr far = erf_tail(m, t, e);
  ir_expr large = math_select(m, math_lt(m, a, math_real(m, 1.25)), mid, far);
  ir_expr r = math_select(m, math_lt(m, a, math_real(m, 0.84375)), near,
                          signed_like(m, large, x));
  return math_select(m, math_binary(m, IR_EQ, x, x), r,
                     x); /* not-a-number stays */
}

/* ---- pow ---------------------------------------------------------------- */

/* exp(y log |x|) with the sign and the cases of C's pow. */
static ir_expr pow_in(math *m, ir_expr x, ir_expr y) {
  ir_expr one = math_real(m, 1), zero = math_real(m, 0), a = absolute(m, x);
  ir_expr r = expand_exp(m, math_mul(m, y, expand_log(m, a)));
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

/* In float64 for float32, where the logarithm's error would be magnified. */
static ir_expr expand_pow(math *m, ir_expr x, ir_expr y) {
  if (!is_single(m)) return pow_in(m, x, y);
  math w = {m->p, {TESS_DTYPE_FLOAT, 64, m->t.lanes}};
  ir_expr r = pow_in(&w, ir_cast(m->p, w.t, x), ir_cast(m->p, w.t, y));
  return ir_cast(m->p, m->t, r);
}

/* ---- the pass ----------------------------------------------------------- */

static ir_expr expand_intrin(ir_program *p, const ir_node *n, const ir_expr *a,
                             void *ud) {
  (void)ud;
  if (n->op != IR_CALL || n->dtype.code != TESS_DTYPE_FLOAT ||
      n->dtype.bits < 32)
    return 0;
  math m = {p, n->dtype};
  switch ((ir_fn)n->a) {
  case IR_FN_EXP: return expand_exp(&m, a[0]);
  case IR_FN_LOG: return expand_log(&m, a[0]);
  case IR_FN_TANH: return expand_tanh(&m, a[0]);
  case IR_FN_SIN: return lower_expand_sine(&m, a[0], false);
  case IR_FN_COS: return lower_expand_sine(&m, a[0], true);
  case IR_FN_SIGMOID: return expand_sigmoid(&m, a[0]);
  case IR_FN_ERF:
    return is_single(&m) ? erf_single(&m, a[0]) : erf_double(&m, a[0]);
  case IR_FN_RSQRT:
    return math_div(&m, math_real(&m, 1), call1(&m, IR_FN_SQRT, a[0]));
  case IR_FN_POW: return expand_pow(&m, a[0], a[1]);
  default: return 0;
  }
}

LOWER_PASS(lower_intrin) {
  (void)e;
  if (!o->keep_math) lower_map(p, scratch, expand_intrin, NULL);
  return TESS_OK;
}
