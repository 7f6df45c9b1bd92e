/* SPDX-License-Identifier: Apache-2.0
 * Scalar semantics of the functions of ir/fn.def, by libm in double. */
#include "ir/scalar.h"

#include <math.h>
#include <string.h>

/* x * y + z rounded once to a type of at most 24 bits.  The product is exact in
 * a double; the sum is rounded to odd (its error is folded into the last bit),
 * so that the second rounding is correct (Boldo and Melquiond, "Emulation of
 * FMA and correctly rounded sums: proved algorithms using rounding to odd",
 * 2008). */
static double fma_small(double x, double y, double z) {
  double p = x * y, s = p + z, b = s - p;
  double lost = (p - (s - b)) + (z - b);
  uint64_t bits;
  memcpy(&bits, &s, sizeof bits);
  if (lost == 0 || !isfinite(s) || bits & 1) return s;
  bits += (lost > 0) == (s > 0) ? UINT64_C(1) : UINT64_MAX;
  memcpy(&s, &bits, sizeof s);
  return s;
}

static double call_double(ir_fn fn, const double *x) {
  switch (fn) {
  case IR_FN_EXP: return exp(x[0]);
  case IR_FN_EXPM1: return expm1(x[0]);
  case IR_FN_LOG: return log(x[0]);
  case IR_FN_LOG1P: return log1p(x[0]);
  case IR_FN_SQRT: return sqrt(x[0]);
  case IR_FN_RSQRT: return 1 / sqrt(x[0]);
  case IR_FN_SIN: return sin(x[0]);
  case IR_FN_COS: return cos(x[0]);
  case IR_FN_TAN: return tan(x[0]);
  case IR_FN_ASIN: return asin(x[0]);
  case IR_FN_ACOS: return acos(x[0]);
  case IR_FN_ATAN: return atan(x[0]);
  case IR_FN_SINH: return sinh(x[0]);
  case IR_FN_COSH: return cosh(x[0]);
  case IR_FN_TANH: return tanh(x[0]);
  case IR_FN_ASINH: return asinh(x[0]);
  case IR_FN_ACOSH: return acosh(x[0]);
  case IR_FN_ATANH: return atanh(x[0]);
  case IR_FN_SIGMOID: return 1 / (1 + exp(-x[0]));
  case IR_FN_ERF: return erf(x[0]);
  case IR_FN_ERFC: return erfc(x[0]);
  case IR_FN_POW: return pow(x[0], x[1]);
  case IR_FN_ABS: return fabs(x[0]);
  case IR_FN_FLOOR: return floor(x[0]);
  case IR_FN_CEIL: return ceil(x[0]);
  case IR_FN_ROUND: return nearbyint(x[0]);
  case IR_FN_FMA: return fma(x[0], x[1], x[2]);
  default: return NAN;
  }
}

double ir_apply_real(ir_fn fn, tess_dtype t, const double *x) {
  if (fn == IR_FN_FMA && t.bits < 64)
    return ir_round_real(t, fma_small(x[0], x[1], x[2]));
  return ir_round_real(t, call_double(fn, x));
}

static int64_t shift_left(tess_dtype t, int64_t x, int64_t by) {
  if (by < 0 || by >= t.bits) return 0;
  return ir_wrap_int(t, (int64_t)((uint64_t)x << by));
}

static int64_t shift_right(tess_dtype t, int64_t x, int64_t by) {
  if (t.code == TESS_DTYPE_INT) return x >> (by < 0 || by > 63 ? 63 : by);
  return by < 0 || by >= t.bits ? 0 : (int64_t)((uint64_t)x >> by);
}

/* Wraps after each operation, innermost first. */
static int64_t fma_int(tess_dtype t, const int64_t *x) {
  return ir_fold_int(IR_ADD, t, ir_fold_int(IR_MUL, t, x[0], x[1]), x[2]);
}

int64_t ir_apply_int(ir_fn fn, tess_dtype t, const int64_t *x) {
  switch (fn) {
  case IR_FN_ABS:
    return t.code == TESS_DTYPE_INT && x[0] < 0
               ? ir_fold_int(IR_SUB, t, 0, x[0])
               : x[0];
  case IR_FN_FMA: return fma_int(t, x);
  case IR_FN_SHL: return shift_left(t, x[0], x[1]);
  case IR_FN_SHR: return shift_right(t, x[0], x[1]);
  case IR_FN_BITAND: return x[0] & x[1];
  case IR_FN_BITOR: return x[0] | x[1];
  case IR_FN_BITXOR: return x[0] ^ x[1];
  default: return x[0];
  }
}

bool ir_can_apply(ir_fn fn, tess_dtype t) {
  switch (fn) {
  case IR_FN_NONE:
  case IR_FN_EXTERN:
  case IR_FN_INSTEAD:
  case IR_FN_REINTERPRET:
  case IR_FN_COUNT: return false;
  case IR_FN_ABS:
  case IR_FN_FLOOR:
  case IR_FN_CEIL:
  case IR_FN_ROUND:
  case IR_FN_FMA: return true;
  default:
    return ir_fn_kind_of(fn) == IR_FN_BITS ? ir_is_int(t) : ir_is_float(t);
  }
}
