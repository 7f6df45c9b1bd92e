/* SPDX-License-Identifier: Apache-2.0
 * erf and erfc = 1 - erf, which keeps its digits where erf is nearly 1.
 * Coefficients of float64 as published with fdlibm (Sun, 1993), those of
 * float32 minimax fits. */
#include "lower/math_build.h"

/* ---- float32 ------------------------------------------------------------ */

/* erf x / x - 1 for |x| < 0.927734375. */
static ir_expr erf_near_single(math *m, ir_expr x) {
  static const double c[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                             -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
  return POLY(m, math_mul(m, x, x), c);
}

static ir_expr erf_single(math *m, ir_expr x) {
  static const double c[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1,
                             2.42546219e-2,  -3.88396438e-3, 3.83197126e-4,
                             -1.72853470e-5};
  ir_expr a = absolute(m, x), t = math_at_most(m, a, 4);
  ir_expr near = math_add(m, x, math_mul(m, x, erf_near_single(m, x)));
  ir_expr arg = math_sub(m, math_mul(m, t, POLY(m, t, c)), t);
  ir_expr far = math_sub(m, math_real(m, 1), lower_expand_exp(m, arg));
  return math_select(m, math_lt(m, a, math_real(m, 0.927734375)), near,
                     signed_like(m, far, x));
}

/* Far from 0 e^(-a^2) t p(t), t = 1 / (1 + a / 2); a^2 as in erf_tail. */
static ir_expr erfc_single(math *m, ir_expr x) {
  static const double c[] = {2.821013184e-01,  2.819759979e-01, 2.475360125e-01,
                             1.760309570e-01,  6.863058956e-02, 7.022219573e-02,
                             -2.157216912e-01, 8.972191682e-02};
  ir_expr a = math_at_most(m, absolute(m, x), 10.5), one = math_real(m, 1);
  ir_expr half = math_real(m, 0.5), h = upper_bits(m, a, 12);
  ir_expr t = math_div(m, one, math_add(m, one, math_mul(m, half, a)));
  ir_expr square = math_sub(m, math_real(m, 0), math_mul(m, h, h));
  ir_expr rest = math_mul(m, math_sub(m, h, a), math_add(m, h, a));
  ir_expr up =
      lower_exp_product(m, square, rest, math_mul(m, t, POLY(m, t, c)));
  ir_expr far = math_select(m, math_lt(m, x, math_real(m, 0)),
                            math_sub(m, math_real(m, 2), up), up);
  ir_expr more = math_mul(m, x, erf_near_single(m, x));
  ir_expr near = math_sub(m, half, math_add(m, math_sub(m, x, half), more));
  return math_select(m, math_lt(m, a, math_real(m, 0.927734375)), near, far);
}

/* ---- float64 ------------------------------------------------------------ */

/* erf x / x - 1 for |x| < 0.84375. */
static ir_expr erf_near(math *m, ir_expr x) {
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
  ir_expr z = math_mul(m, x, x);
  return math_div(m, POLY(m, z, pp), POLY(m, z, qq));
}

/* erf a - erf_at_one, a from 0.84375 to 1.25. */
static const double erf_at_one = 8.45062911510467529297e-01;
static ir_expr erf_middle(math *m, ir_expr a) {
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
  ir_expr s = math_sub(m, a, math_real(m, 1));
  return math_div(m, POLY(m, s, pa), POLY(m, s, qa));
}

/* 1 - erf a from 1.25 on: e^(-a^2 - 0.5625 + q) / a, q a rational function of
 * 1 / a^2.  The square is that of a's upper bits, which is exact, and the
 * rest. */
static ir_expr erf_tail(math *m, ir_expr a) {
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
  ir_expr h = upper_bits(m, a, 32);
  ir_expr square = math_sub(m, math_real(m, -0.5625), math_mul(m, h, h));
  ir_expr rest = math_mul(m, math_sub(m, h, a), math_add(m, h, a));
  return lower_exp_product(m, square, math_add(m, rest, q),
                           math_div(m, math_real(m, 1), a));
}

static ir_expr erf_far(math *m, ir_expr a) {
  ir_expr least = math_real(m, 1.25), low = math_lt(m, a, least);
  return erf_tail(m, math_select(m, low, least, math_at_most(m, a, 28)));
}

static ir_expr erf_double(math *m, ir_expr x) {
  ir_expr a = absolute(m, x);
  ir_expr near = math_add(m, x, math_mul(m, x, erf_near(m, x)));
  ir_expr mid = math_add(m, math_real(m, erf_at_one), erf_middle(m, a));
  ir_expr far = math_sub(m, math_real(m, 1), erf_far(m, a));
  ir_expr large = math_select(m, math_lt(m, a, math_real(m, 1.25)), mid, far);
  return math_select(m, math_lt(m, a, math_real(m, 0.84375)), near,
                     signed_like(m, large, x));
}

static ir_expr erfc_double(math *m, ir_expr x) {
  ir_expr a = absolute(m, x), one = math_real(m, 1), half = math_real(m, 0.5);
  ir_expr down = math_lt(m, x, math_real(m, 0));
  ir_expr more = math_mul(m, x, erf_near(m, x)), middle = erf_middle(m, a);
  ir_expr near =
      math_select(m, math_lt(m, x, math_real(m, 0.25)),
                  math_sub(m, one, math_add(m, x, more)),
                  math_sub(m, half, math_add(m, math_sub(m, x, half), more)));
  ir_expr mid =
      math_select(m, down, math_add(m, math_real(m, 1 + erf_at_one), middle),
                  math_sub(m, math_real(m, 1 - erf_at_one), middle));
  ir_expr far = erf_far(m, a);
  far = math_select(m, down, math_sub(m, math_real(m, 2), far), far);
  ir_expr large = math_select(m, math_lt(m, a, math_real(m, 1.25)), mid, far);
  return math_select(m, math_lt(m, a, math_real(m, 0.84375)), near, large);
}

/* ---- both --------------------------------------------------------------- */

ir_expr lower_expand_erf(math *m, ir_expr x) {
  return is_single(m) ? erf_single(m, x) : erf_double(m, x);
}

ir_expr lower_expand_erfc(math *m, ir_expr x) {
  return is_single(m) ? erfc_single(m, x) : erfc_double(m, x);
}
