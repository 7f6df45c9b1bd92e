/* SPDX-License-Identifier: Apache-2.0
 * What the expansions of functions into arithmetic are written with. */
#ifndef LOWER_MATH_BUILD_H
#define LOWER_MATH_BUILD_H

#include "lower/pass.h"

/* What an expansion builds with: the type of the argument, all lanes. */
typedef struct math {
  ir_program *p;
  tess_dtype t;
} math;

static inline ir_expr math_real(math *m, double v) {
  tess_dtype s = m->t;
  s.lanes = 1;
  ir_expr e = ir_real(m->p, s, v);
  return m->t.lanes == 1 ? e : ir_broadcast(m->p, e, m->t.lanes);
}

static inline tess_dtype bits_type(const math *m) {
  return (tess_dtype){TESS_DTYPE_INT, m->t.bits, m->t.lanes};
}

static inline ir_expr math_int(math *m, int64_t v) {
  tess_dtype s = {TESS_DTYPE_INT, m->t.bits, 1};
  ir_expr e = ir_int(m->p, s, v);
  return m->t.lanes == 1 ? e : ir_broadcast(m->p, e, m->t.lanes);
}

static inline ir_expr math_binary(math *m, ir_op op, ir_expr a, ir_expr b) {
  return ir_binary(m->p, op, a, b);
}
static inline ir_expr math_add(math *m, ir_expr a, ir_expr b) {
  return math_binary(m, IR_ADD, a, b);
}
static inline ir_expr math_sub(math *m, ir_expr a, ir_expr b) {
  return math_binary(m, IR_SUB, a, b);
}
static inline ir_expr math_mul(math *m, ir_expr a, ir_expr b) {
  return math_binary(m, IR_MUL, a, b);
}
static inline ir_expr math_div(math *m, ir_expr a, ir_expr b) {
  return math_binary(m, IR_DIV, a, b);
}
static inline ir_expr math_lt(math *m, ir_expr a, ir_expr b) {
  return math_binary(m, IR_LT, a, b);
}
static inline ir_expr math_select(math *m, ir_expr c, ir_expr a, ir_expr b) {
  return ir_select(m->p, c, a, b);
}
static inline ir_expr call1(math *m, ir_fn fn, ir_expr a) {
  return ir_call(m->p, fn, m->t, 1, &a);
}
static inline ir_expr call2(math *m, ir_fn fn, ir_expr a, ir_expr b) {
  ir_expr x[2] = {a, b};
  return ir_call(m->p, fn, bits_type(m), 2, x);
}
static inline ir_expr absolute(math *m, ir_expr a) {
  return call1(m, IR_FN_ABS, a);
}
static inline ir_expr as_bits(math *m, ir_expr a) {
  return ir_call(m->p, IR_FN_REINTERPRET, bits_type(m), 1, &a);
}
static inline ir_expr from_bits(math *m, ir_expr a) {
  return ir_call(m->p, IR_FN_REINTERPRET, m->t, 1, &a);
}

/* c[0] + c[1] x + ..., by Horner's rule. */
static inline ir_expr math_poly(math *m, ir_expr x, const double *c, int n) {
  ir_expr r = math_real(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--)
    r = math_add(m, math_mul(m, r, x), math_real(m, c[i]));
  return r;
}
#define POLY(m, x, c) math_poly((m), (x), (c), (int)(sizeof(c) / sizeof *(c)))

static inline bool is_single(const math *m) { return m->t.bits == 32; }

/* The sign bit of x, as a condition: it distinguishes -0 from 0. */
static inline ir_expr is_negative(math *m, ir_expr x) {
  return math_lt(m, as_bits(m, x), math_int(m, 0));
}

/* The sign of `like`, of a zero too, on a value that has none, or the same. */
static inline ir_expr signed_like(math *m, ir_expr v, ir_expr like) {
  ir_expr sign = math_int(m, is_single(m) ? INT32_MIN : INT64_MIN);
  sign = call2(m, IR_FN_BITAND, as_bits(m, like), sign);
  return from_bits(m, call2(m, IR_FN_BITOR, as_bits(m, v), sign));
}

static inline ir_expr math_at_most(math *m, ir_expr x, double most) {
  ir_expr end = math_real(m, most);
  return math_select(m, math_lt(m, end, x), end, x);
}

/* x without the lowest n bits of its significand. */
static inline ir_expr upper_bits(math *m, ir_expr x, int n) {
  ir_expr mask = math_int(m, -(INT64_C(1) << n));
  return from_bits(m, call2(m, IR_FN_BITAND, as_bits(m, x), mask));
}

/* ---- functions of float32 or float64, a group a file -------------------- */

/* math_exp.c */
ir_expr lower_expand_exp(math *m, ir_expr x);
ir_expr lower_expand_expm1(math *m, ir_expr x);
ir_expr lower_expand_sinh(math *m, ir_expr x);
ir_expr lower_expand_cosh(math *m, ir_expr x);
ir_expr lower_expand_tanh(math *m, ir_expr x);
ir_expr lower_expand_sigmoid(math *m, ir_expr x);
/* v e^(x + more), `more` small. */
ir_expr lower_exp_product(math *m, ir_expr x, ir_expr more, ir_expr v);
/* 1.5 times the weight of a mantissa's lead, and twice the bias of exponents:
 * x plus that is rounded to an integer k plus that, whose bits are the lowest
 * of the sum's. */
ir_expr lower_exp_round(math *m);
/* e^(r + more) 2^k, |r| at most ln 2 / 2, `more` less than its last digit;
 * `biased`: the bits of the number k plus lower_exp_round(). */
ir_expr lower_exp_precise(math *m, ir_expr r, ir_expr more, ir_expr biased);

/* math_log.c */
ir_expr lower_expand_log(math *m, ir_expr x);
ir_expr lower_expand_log1p(math *m, ir_expr x);
ir_expr lower_expand_asinh(math *m, ir_expr x);
ir_expr lower_expand_acosh(math *m, ir_expr x);
ir_expr lower_expand_atanh(math *m, ir_expr x);
/* x, a normal number, is (1 + f) 2^k, 1 + f from sqrt(1/2) to sqrt 2. */
ir_expr lower_log_split(math *m, ir_expr x, ir_expr *k);

/* math_erf.c */
ir_expr lower_expand_erf(math *m, ir_expr x);
ir_expr lower_expand_erfc(math *m, ir_expr x);

/* math_pow.c */
ir_expr lower_expand_pow(math *m, ir_expr x, ir_expr y);

/* math_trig.c */
ir_expr lower_expand_sin(math *m, ir_expr x);
ir_expr lower_expand_cos(math *m, ir_expr x);
ir_expr lower_expand_tan(math *m, ir_expr x);

/* math_arc.c */
ir_expr lower_expand_asin(math *m, ir_expr x);
ir_expr lower_expand_acos(math *m, ir_expr x);
ir_expr lower_expand_atan(math *m, ir_expr x);

#endif
