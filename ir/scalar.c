/* SPDX-License-Identifier: Apache-2.0
 * Scalar semantics: integer and float arithmetic, casts, memory access. */
#include "ir/scalar.h"

#include <math.h>
#include <string.h>

/* ---- integers ----------------------------------------------------------- */

int64_t ir_wrap_int(tess_dtype t, int64_t v) {
  if (t.code == TESS_DTYPE_BOOL) return v != 0;
  if (t.bits >= 64) return v;
  unsigned shift = 64u - t.bits;
  uint64_t up = (uint64_t)v << shift;
  return t.code == TESS_DTYPE_UINT ? (int64_t)(up >> shift)
                                   : (int64_t)up >> shift;
}

int64_t ir_int_min(tess_dtype t) {
  return t.code == TESS_DTYPE_INT ? INT64_MIN >> (64 - t.bits) : 0;
}

int64_t ir_int_max(tess_dtype t) {
  if (t.code == TESS_DTYPE_BOOL) return 1;
  if (t.code == TESS_DTYPE_UINT && t.bits < 64)
    return (INT64_C(1) << t.bits) - 1;
  return t.code == TESS_DTYPE_UINT ? INT64_MAX : INT64_MAX >> (64 - t.bits);
}

static bool is_uint64(tess_dtype t) {
  return t.code == TESS_DTYPE_UINT && t.bits == 64;
}

bool ir_holds_int(tess_dtype t, int64_t v) {
  return is_uint64(t) || (v >= ir_int_min(t) && v <= ir_int_max(t));
}

/* Floor division and modulo of signed integers; -1 is special because INT64_MIN
 * / -1 overflows. */
static int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t fold_uint64(ir_op op, uint64_t a, uint64_t b) {
  switch (op) {
  case IR_DIV: return b ? (int64_t)(a / b) : 0;
  case IR_MOD: return b ? (int64_t)(a % b) : 0;
  case IR_MIN: return (int64_t)(a < b ? a : b);
  case IR_MAX: return (int64_t)(a > b ? a : b);
  case IR_LT: return a < b;
  default: return a <= b;
  }
}

int64_t ir_fold_int(ir_op op, tess_dtype t, int64_t a, int64_t b) {
  switch (op) {
  case IR_ADD: return ir_wrap_int(t, (int64_t)((uint64_t)a + (uint64_t)b));
  case IR_SUB: return ir_wrap_int(t, (int64_t)((uint64_t)a - (uint64_t)b));
  case IR_MUL: return ir_wrap_int(t, (int64_t)((uint64_t)a * (uint64_t)b));
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_AND: return a && b;
  case IR_OR: return a || b;
  default: break;
  }
  if (is_uint64(t)) return fold_uint64(op, (uint64_t)a, (uint64_t)b);
  switch (op) {
  case IR_DIV: return ir_wrap_int(t, floor_div(a, b));
  case IR_MOD: return ir_wrap_int(t, floor_mod(a, b));
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a > b ? a : b;
  case IR_LT: return a < b;
  default: return a <= b;
  }
}

/* ---- floats ------------------------------------------------------------- */

static uint64_t bits_of_double(double v) {
  uint64_t b;
  memcpy(&b, &v, sizeof b);
  return b;
}

static double of_bits(uint64_t b) {
  double v;
  memcpy(&v, &b, sizeof v);
  return v;
}

static double power_of_two(int e) {
  return of_bits((uint64_t)(e + 1023) << 52);
}

/* v rounded to `p` significant bits with exponents emin .. emax.  In the normal
 * range the surplus bits are rounded off the bit pattern; below it adding 1.5 *
 * 2^52 rounds to a multiple of the smallest subnormal. */
static double round_to(double v, int p, int emin, int emax) {
  uint64_t b = bits_of_double(v);
  int e = (int)(b >> 52 & 0x7ff) - 1023;
  if (e == 1024) return v;
  if (e >= emin) {
    int s = 53 - p;
    b += (UINT64_C(1) << (s - 1)) - 1 + (b >> s & 1);
    v = of_bits(b & ~((UINT64_C(1) << s) - 1));
    return fabs(v) < power_of_two(emax + 1) ? v : copysign(INFINITY, v);
  }
  double place = power_of_two(emin - p + 1);
  volatile double whole = v / place + 0x1.8p52;
  return copysign((whole - 0x1.8p52) * place, v);
}

double ir_round_real(tess_dtype t, double v) {
  if (t.code == TESS_DTYPE_BFLOAT) return round_to(v, 8, -126, 127);
  if (t.bits == 16) return round_to(v, 11, -14, 15);
  return t.bits == 32 ? (double)(float)v : v;
}

bool ir_holds_real(tess_dtype t, double v) {
  return !isfinite(v) || isfinite(ir_round_real(t, v));
}

static double real_mod(double a, double b) {
  double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* NaN propagates, so that a minimum or maximum of many values does not depend
 * on their order; of equal operands (zeros) the first. */
static double extreme_real(bool second_wins, double a, double b) {
  return second_wins || isnan(b) ? b : a;
}

/* A double has more than twice the bits of the smaller types, so rounding its
 * result a second time equals rounding the exact result once (no double
 * rounding error). */
double ir_fold_real(ir_op op, tess_dtype t, double a, double b) {
  switch (op) {
  case IR_ADD: return ir_round_real(t, a + b);
  case IR_SUB: return ir_round_real(t, a - b);
  case IR_MUL: return ir_round_real(t, a * b);
  case IR_DIV: return ir_round_real(t, a / b);
  case IR_MOD: return ir_round_real(t, real_mod(a, b));
  case IR_MIN: return extreme_real(b < a, a, b);
  default: return extreme_real(b > a, a, b);
  }
}

bool ir_compare_real(ir_op op, double a, double b) {
  switch (op) {
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_LT: return a < b;
  default: return a <= b;
  }
}

/* ---- casts -------------------------------------------------------------- */

int64_t ir_cast_int(tess_dtype to, tess_dtype from, int64_t v) {
  if (to.code == TESS_DTYPE_BOOL) return v != 0;
  if (is_uint64(from) && v < 0) return is_uint64(to) ? v : ir_int_max(to);
  if (v < ir_int_min(to)) return ir_int_min(to);
  return v > ir_int_max(to) ? ir_int_max(to) : v;
}

int64_t ir_cast_real_to_int(tess_dtype to, double v) {
  if (to.code == TESS_DTYPE_BOOL) return v != 0;
  if (isnan(v)) return 0;
  if (is_uint64(to)) {
    if (v >= 0x1p64) return -1;
    return v <= 0 ? 0 : (int64_t)(uint64_t)v;
  }
  if (v <= (double)ir_int_min(to)) return ir_int_min(to);
  if (v >= 0x1p63) return ir_int_max(to);
  int64_t cut = (int64_t)v;
  return cut > ir_int_max(to) ? ir_int_max(to) : cut;
}

/* Surplus bits are collected into the lowest bit that a double keeps (a sticky
 * bit), so that the second rounding is correct. */
double ir_cast_int_to_real(tess_dtype to, tess_dtype from, int64_t v) {
  bool negative = v < 0 && !is_uint64(from);
  uint64_t u = negative ? 0 - (uint64_t)v : (uint64_t)v;
  double r;
  if (ir_is_float(to) && to.bits == 64)
    r = (double)u;
  else if (u >> 52)
    r = ir_round_real(
        to, (double)((u & ~UINT64_C(0xfff)) | (u & 0xfff ? 0x1000 : 0)));
  else
    r = ir_round_real(to, (double)u);
  return negative ? -r : r;
}

/* ---- memory ------------------------------------------------------------- */

int64_t ir_get_int(tess_dtype t, const void *at) {
  uint64_t v = 0;
  uint8_t b1;
  uint16_t b2;
  uint32_t b4;
  switch (t.bits) {
  case 8:
    memcpy(&b1, at, 1);
    v = b1;
    break;
  case 16:
    memcpy(&b2, at, 2);
    v = b2;
    break;
  case 32:
    memcpy(&b4, at, 4);
    v = b4;
    break;
  default: memcpy(&v, at, 8); break;
  }
  return ir_wrap_int(t, (int64_t)v);
}

void ir_put_int(tess_dtype t, int64_t v, void *at) {
  uint8_t b1 = (uint8_t)v;
  uint16_t b2 = (uint16_t)v;
  uint32_t b4 = (uint32_t)v;
  switch (t.bits) {
  case 8: memcpy(at, &b1, 1); break;
  case 16: memcpy(at, &b2, 2); break;
  case 32: memcpy(at, &b4, 4); break;
  default: memcpy(at, &v, 8); break;
  }
}

static double get_half(uint16_t h) {
  unsigned e = h >> 10 & 31, m = h & 1023;
  double v = e == 0    ? m * 0x1p-24
             : e == 31 ? (m ? NAN : INFINITY)
                       : (1024 + m) * power_of_two((int)e - 25);
  return h & 0x8000 ? -v : v;
}

static uint16_t put_half(double v) {
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  double a = fabs(ir_round_real((tess_dtype){TESS_DTYPE_FLOAT, 16, 1}, v));
  if (isnan(a)) return sign | 0x7e00;
  if (isinf(a)) return sign | 0x7c00;
  if (a < 0x1p-14) return sign | (uint16_t)(a * 0x1p24);
  uint64_t b = bits_of_double(a);
  return sign | (uint16_t)((b >> 42) - ((uint64_t)(1023 - 15) << 10));
}

static float float_of_bits(uint32_t b) {
  float f;
  memcpy(&f, &b, sizeof f);
  return f;
}

static uint32_t bits_of_float(float f) {
  uint32_t b;
  memcpy(&b, &f, sizeof b);
  return b;
}

double ir_get_real(tess_dtype t, const void *at) {
  uint16_t h;
  float f;
  double d;
  if (t.bits == 16) {
    memcpy(&h, at, 2);
    return t.code == TESS_DTYPE_BFLOAT
               ? (double)float_of_bits((uint32_t)h << 16)
               : get_half(h);
  }
  if (t.bits == 32) {
    memcpy(&f, at, 4);
    return (double)f;
  }
  memcpy(&d, at, 8);
  return d;
}

void ir_put_real(tess_dtype t, double v, void *at) {
  float f = (float)v;
  uint16_t h;
  if (t.bits == 16) {
    h = t.code == TESS_DTYPE_BFLOAT
            ? (uint16_t)(bits_of_float((float)ir_round_real(t, v)) >> 16)
            : put_half(v);
    memcpy(at, &h, 2);
  } else if (t.bits == 32) {
    memcpy(at, &f, 4);
  } else {
    memcpy(at, &v, 8);
  }
}
