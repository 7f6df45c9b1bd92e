/* SPDX-License-Identifier: Apache-2.0
 * asin, acos and atan.  Coefficients are minimax fits. */
#include "lower/math_build.h"

/* pi/2 in two parts. */
static ir_expr arc_right(math *m) {
  return math_real(m, is_single(m) ? 0x1.921fb6p+0 : 0x1.921fb54442d18p+0);
}
static ir_expr arc_right_rest(math *m) {
  return math_real(m, is_single(m) ? -0x1.777a5cp-25 : 0x1.1a62633145c07p-54);
}

/* (asin s - s) / s of z = s^2 at most 1/4. */
static ir_expr arc_poly(math *m, ir_expr z) {
  static const double single[] = {1.666666634e-01, 7.500094543e-02,
                                  4.459940153e-02, 3.110066274e-02,
                                  1.714923836e-02, 3.369084720e-02};
  static const double twice[] = {
      1.66666666666666685e-01, 7.49999999999843292e-02,
      4.46428571463554288e-02, 3.03819441385312465e-02,
      2.23721729421498886e-02, 1.73523927208699726e-02,
      1.39712129735529329e-02, 1.14791774151849057e-02,
      1.03228143501857793e-02, 5.45750671864035815e-03,
      1.74008794426940214e-02, -1.48518870712472037e-02,
      2.87578513674215663e-02};
  return math_mul(m, z, is_single(m) ? POLY(m, z, single) : POLY(m, z, twice));
}

/* From 1/2 on asin a is pi/2 - 2 asin s, s^2 = (1 - a) / 2. */
typedef struct arc_half {
  ir_expr near;    /* |x| is less than 1/2, and s it */
  ir_expr s, more; /* asin s is s + more */
} arc_half;

static arc_half arc_sine(math *m, ir_expr x) {
  arc_half h;
  ir_expr a = absolute(m, x), half = math_real(m, 0.5);
  h.near = math_lt(m, a, half);
  ir_expr rest = math_mul(m, half, math_sub(m, math_real(m, 1), a));
  ir_expr z = math_select(m, h.near, math_mul(m, a, a), rest);
  h.s = math_select(m, h.near, a, call1(m, IR_FN_SQRT, rest));
  h.more = math_mul(m, h.s, arc_poly(m, z));
  return h;
}

static ir_expr arc_twice(math *m, ir_expr a) {
  return math_mul(m, math_real(m, 2), a);
}

ir_expr lower_expand_asin(math *m, ir_expr x) {
  arc_half h = arc_sine(m, x);
  ir_expr far = math_sub(m, math_sub(m, arc_right(m), arc_twice(m, h.s)),
                         math_sub(m, arc_twice(m, h.more), arc_right_rest(m)));
  ir_expr near = math_add(m, h.s, h.more);
  return signed_like(m, math_select(m, h.near, near, far), x);
}

ir_expr lower_expand_acos(math *m, ir_expr x) {
  arc_half h = arc_sine(m, x);
  ir_expr up = arc_twice(m, math_add(m, h.s, h.more));
  ir_expr down = math_sub(m, arc_twice(m, arc_right(m)),
                          math_sub(m, up, arc_twice(m, arc_right_rest(m))));
  ir_expr negative = math_lt(m, x, math_real(m, 0));
  ir_expr more =
      math_select(m, negative, math_sub(m, math_real(m, 0), h.more), h.more);
  ir_expr near = math_sub(m, arc_right(m),
                          math_sub(m, x, math_sub(m, arc_right_rest(m), more)));
  return math_select(m, h.near, near, math_select(m, negative, down, up));
}

/* ---- atan --------------------------------------------------------------- */

/* From one bound to the next atan a is hi + lo + atan(t), t = (a - c) /
 * (1 + c a), c being tan(hi + lo); behind the last t is -1 / a. */
enum { ARCS = 4 };
static const double arc_until[ARCS] = {7.0 / 16, 11.0 / 16, 19.0 / 16,
                                       39.0 / 16};
static const double arc_tan[ARCS] = {0, 0.5, 1, 1.5};
static const double arc_hi[2][ARCS] = {
    {0, 0x1.dac67p-2, 0x1.921fb6p-1, 0x1.f730bep-1},
    {0, 0x1.dac670561bb4fp-2, 0x1.921fb54442d18p-1, 0x1.f730bd281f69bp-1}};
static const double arc_lo[2][ARCS] = {
    {0, 0x1.586ed4p-28, -0x1.777a5cp-26, -0x1.afc12cp-26},
    {0, 0x1.a2b7f222f65e2p-56, 0x1.1a62633145c07p-55, 0x1.007887af0cbbdp-56}};

static ir_expr arc_atan_small(math *m, ir_expr t) {
  static const double single[] = {3.333333071e-01, -1.999931346e-01,
                                  1.425653709e-01, -1.066801870e-01,
                                  6.214722670e-02};
  static const double twice[] = {
      3.33333333333333315e-01, -1.99999999999994071e-01,
      1.42857142855661506e-01, -1.11111110965877655e-01,
      9.09090835304966899e-02, -7.69228548876496054e-02,
      6.66624085937580768e-02, -5.87693549653034997e-02,
      5.21660741678370773e-02, -4.49196371491599952e-02,
      3.31213233106436439e-02, -1.47664215537946699e-02};
  ir_expr z = math_mul(m, t, t);
  ir_expr q = is_single(m) ? POLY(m, z, single) : POLY(m, z, twice);
  return math_mul(m, t, math_mul(m, z, q));
}

ir_expr lower_expand_atan(math *m, ir_expr x) {
  int twice = is_single(m) ? 0 : 1;
  ir_expr a = absolute(m, x), over = math_real(m, -1), under = a;
  ir_expr hi = arc_right(m), lo = arc_right_rest(m);
  for (int i = ARCS - 1; i >= 0; i--) {
    ir_expr in = math_lt(m, a, math_real(m, arc_until[i]));
    ir_expr c = math_real(m, arc_tan[i]), one = math_real(m, 1);
    over = math_select(m, in, i ? math_sub(m, a, c) : a, over);
    under = math_select(m, in, i ? math_add(m, one, math_mul(m, c, a)) : one,
                        under);
    hi = math_select(m, in, math_real(m, arc_hi[twice][i]), hi);
    lo = math_select(m, in, math_real(m, arc_lo[twice][i]), lo);
  }
  ir_expr t = math_div(m, over, under);
  ir_expr less = math_sub(m, math_sub(m, arc_atan_small(m, t), lo), t);
  return signed_like(m, math_sub(m, hi, less), x);
}
