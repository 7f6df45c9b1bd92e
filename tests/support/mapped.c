/* SPDX-License-Identifier: Apache-2.0
 * Applies a function to arrays by compiled code, and measures errors in ulp. */
#include "ir/edit.h"
#include "ir/scalar.h"
#include "lower/lower.h"
#include "support/mapped.h"
#include <math.h>

static long double sigmoid_l(long double x) { return 1 / (1 + expl(-x)); }
static long double rsqrt_l(long double x) { return 1 / sqrtl(x); }

/* The precise values are good to a thousandth of an ulp of float64.
 * docs/describing.md states these bounds, too. */
const mapped_fn mapped_fns[MAPPED_FNS] = {
    {IR_FN_EXP, expl, 1.1, 1.1},       {IR_FN_LOG, logl, 0.9, 0.9},
    {IR_FN_TANH, tanhl, 1.4, 1.4},     {IR_FN_SIGMOID, sigmoid_l, 2.5, 2.5},
    {IR_FN_ERF, erfl, 1.1, 1.0},       {IR_FN_RSQRT, rsqrt_l, 1.5, 1.5},
    {IR_FN_SQRT, sqrtl, 0.501, 0.501}, {IR_FN_ABS, fabsl, 0, 0},
    {IR_FN_FLOOR, floorl, 0, 0},       {IR_FN_CEIL, ceill, 0, 0},
    {IR_FN_ROUND, nearbyintl, 0, 0},   {IR_FN_SIN, sinl, 0.51, 0.9},
    {IR_FN_COS, cosl, 0.51, 0.9},      {IR_FN_TAN, tanl, 0.51, 2.3},
    {IR_FN_EXPM1, expm1l, 1.5, 1.9},   {IR_FN_LOG1P, log1pl, 0.9, 0.9},
    {IR_FN_ERFC, erfcl, 6, 2.8},       {IR_FN_ASIN, asinl, 2.1, 2.1},
    {IR_FN_ACOS, acosl, 1.2, 1.2},     {IR_FN_ATAN, atanl, 0.9, 0.9},
    {IR_FN_SINH, sinhl, 1.7, 1.7},     {IR_FN_COSH, coshl, 1.6, 1.6},
    {IR_FN_ASINH, asinhl, 1.9, 1.9},   {IR_FN_ACOSH, acoshl, 2.6, 2.6},
    {IR_FN_ATANH, atanhl, 2.1, 2.1},
};

double mapped_bound(const mapped_fn *f, tess_dtype t) {
  return t.bits == 64 ? f->ulp64 : t.bits == 32 ? f->ulp32 : 0.501;
}

static ir_expr element(compiled *k, ir_buf b, ir_expr at, tess_dtype v) {
  if (v.lanes == 1) return ir_load(&k->p, b, 1, &at);
  return ir_load_masked(&k->p, b, v, 1, &at, 0);
}

static void lower_and_build(compiled *k) {
  lower_options o = {.vector_bytes = 32};
  ir_func_new(&k->p, ir_name(&k->p, "main"), k->nparams, k->param, k->root);
  assert_int_equal(lower_program(&k->p, &k->scratch, &o, &k->err), TESS_OK);
  tess_status s = compiled_build(k);
  if (s != TESS_OK) fail_msg("%s", k->err.message);
}

void mapped_build(compiled *k, tess_dtype t, ir_fn fn, uint32_t nargs,
                  uint32_t n, uint32_t lanes) {
  ir_expr i, x[3];
  ir_buf in[3];
  compiled_start(k);
  ir_program *p = &k->p;
  for (uint32_t a = 0; a < nargs; a++)
    in[a] = compiled_param(k, t, n, IR_ROLE_INPUT);
  ir_buf out = compiled_param(k, t, n, IR_ROLE_OUTPUT);
  ir_stmt loop =
      compiled_loop(k, k->root, ir_index(p, n / lanes), IR_SERIAL, &i);
  ir_expr at = ir_mul(p, i, ir_index(p, lanes));
  tess_dtype v = t;
  v.lanes = (uint16_t)lanes;
  if (lanes > 1) at = ir_ramp(p, at, ir_index(p, 1), lanes);
  for (uint32_t a = 0; a < nargs; a++) x[a] = element(k, in[a], at, v);
  compiled_store(k, loop, out, at, ir_call(p, fn, v, nargs, x));
  lower_and_build(k);
}

/* Digits of the significand, and the exponent of the least number. */
static void format_of(tess_dtype t, int *digits, int *least) {
  if (t.code == TESS_DTYPE_BFLOAT)
    *digits = 8, *least = -133;
  else if (t.bits == 16)
    *digits = 11, *least = -24;
  else if (t.bits == 32)
    *digits = 24, *least = -149;
  else
    *digits = 53, *least = -1074;
}

static double largest(tess_dtype t) {
  if (t.code == TESS_DTYPE_BFLOAT) return 0x1.fep127;
  return t.bits == 16   ? 65504
         : t.bits == 32 ? 0x1.fffffep127
                        : 0x1.fffffffffffffp1023;
}

double mapped_ulp(tess_dtype t, double got, long double want) {
  const double wrong = 1e30;
  int e, digits, least;
  double near = ir_round_real(t, (double)want);
  if (isnan(near) || isnan(got)) return isnan(near) && isnan(got) ? 0 : wrong;
  if ((near == 0 || got == 0) && !signbit(near) != !signbit(got)) return wrong;
  if (isinf(near) || isinf(got)) {
    if (near == got) return 0;
    /* One step from overflow. */
    bool edge = fabs(near) >= largest(t) && fabs(got) >= largest(t);
    return edge && !signbit(near) == !signbit(got) ? 1 : wrong;
  }
  format_of(t, &digits, &least);
  frexp(near, &e);
  int ulp = e - digits > least ? e - digits : least;
  return fabs((double)(((long double)got - want) / ldexpl(1, ulp)));
}
