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

/* The sign of `like`, of a zero too, on a value without one. */
static inline ir_expr signed_like(math *m, ir_expr v, ir_expr like) {
  ir_expr sign = math_int(m, is_single(m) ? INT32_MIN : INT64_MIN);
  sign = call2(m, IR_FN_BITAND, as_bits(m, like), sign);
  return from_bits(m, call2(m, IR_FN_BITOR, as_bits(m, v), sign));
}

/* sin x, or cos x with `cosine` (math_trig.c). */
ir_expr lower_expand_sine(math *m, ir_expr x, bool cosine);

#endif
