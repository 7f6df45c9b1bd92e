/* SPDX-License-Identifier: Apache-2.0
 * Functions of single elements. */
#include "naive/naive.h"
#include <math.h>

/* ---- of one ------------------------------------------------------------- */

static double negated(double a) { return -a; }
static double sign(double a) { return a > 0 ? 1 : a < 0 ? -1 : 0; }
static double elementwise_square(double a) { return a * a; }
static double reciprocal(double a) { return 1 / a; }
static double rsqrt(double a) { return 1 / sqrt(a); }
static double sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double relu(double a) { return fmax(a, 0); }
static double gelu(double a) { return a * (1 + erf(a / sqrt(2))) / 2; }
static double gelu_tanh(double a) {
  return a * (1 + tanh(sqrt(2 / acos(-1)) * (a + 0.044715 * a * a * a))) / 2;
}
static double silu(double a) { return a / (1 + exp(-a)); }
static double softplus(double a) { return log1p(exp(a)); }
static double mish(double a) { return a * tanh(softplus(a)); }
static double hard_swish(double a) { return a * fmin(fmax(a / 6 + 0.5, 0), 1); }
static double softsign(double a) { return a / (1 + fabs(a)); }
static double selu(double a) {
  double scale = 1.05070098735548049, alpha = 1.67326324235437728;
  return scale * (a > 0 ? a : alpha * expm1(a));
}
static double is_nan(double a) { return isnan(a); }
static double is_inf(double a) { return isinf(a) != 0; }
static double logical_not(double a) { return a == 0; }

static void each(naive *x, double (*f)(double)) {
  for (int64_t i = 0; i < x->t[0].n; i++) x->t[1].v[i] = f(x->t[0].v[i]);
}

#define UNARY(name, f) \
  static void run_##name(naive *x) { each(x, f); }
UNARY(abs, fabs)
UNARY(neg, negated)
UNARY(sign, sign)
UNARY(square, elementwise_square)
UNARY(reciprocal, reciprocal)
UNARY(sqrt, sqrt)
UNARY(rsqrt, rsqrt)
UNARY(exp, exp)
UNARY(log, log)
UNARY(sin, sin)
UNARY(cos, cos)
UNARY(tan, tan)
UNARY(asin, asin)
UNARY(acos, acos)
UNARY(atan, atan)
UNARY(asinh, asinh)
UNARY(acosh, acosh)
UNARY(atanh, atanh)
UNARY(expm1, expm1)
UNARY(log1p, log1p)
UNARY(erfc, erfc)
UNARY(tanh, tanh)
UNARY(sigmoid, sigmoid)
UNARY(erf, erf)
UNARY(floor, floor)
UNARY(ceil, ceil)
UNARY(round, nearbyint)
UNARY(relu, relu)
UNARY(gelu, gelu)
UNARY(gelu_tanh, gelu_tanh)
UNARY(silu, silu)
UNARY(softplus, softplus)
UNARY(mish, mish)
UNARY(softsign, softsign)
UNARY(selu, selu)
UNARY(sinh, sinh)
UNARY(cosh, cosh)
UNARY(hard_swish, hard_swish)
UNARY(is_nan, is_nan)
UNARY(is_inf, is_inf)
UNARY(logical_not, logical_not)

static void run_leaky_relu(naive *x) {
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    x->t[1].v[i] = a < 0 ? a * naive_real(x, "alpha", 0.01) : a;
  }
}

static void run_elu(naive *x) {
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    x->t[1].v[i] = a < 0 ? naive_real(x, "alpha", 1) * expm1(a) : a;
  }
}

static void run_celu(naive *x) {
  double alpha = naive_real(x, "alpha", 1);
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    x->t[1].v[i] = fmax(a, 0) + fmin(alpha * expm1(a / alpha), 0);
  }
}

static void run_hard_sigmoid(naive *x) {
  double alpha = naive_real(x, "alpha", 1. / 6);
  double beta = naive_real(x, "beta", 0.5);
  for (int64_t i = 0; i < x->t[0].n; i++)
    x->t[1].v[i] = fmin(fmax(alpha * x->t[0].v[i] + beta, 0), 1);
}

static void run_thresholded_relu(naive *x) {
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    x->t[1].v[i] = a > naive_real(x, "alpha", 1) ? a : 0;
  }
}

static void run_shrink(naive *x) {
  double lambda = naive_real(x, "lambda", 0.5);
  double bias = naive_real(x, "bias", 0);
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    x->t[1].v[i] = a < -lambda ? a + bias : a > lambda ? a - bias : 0;
  }
}

static void run_clamp(naive *x) {
  for (int64_t i = 0; i < x->t[0].n; i++)
    x->t[1].v[i] = fmin(fmax(x->t[0].v[i], naive_real(x, "low", 0)),
                        naive_real(x, "high", 1));
}

/* A value in an integer type: what remains of it. */
static double wrapped(tess_dtype t, uint64_t v) {
  if (t.bits == 64)
    return t.code == TESS_DTYPE_INT ? (double)(int64_t)v : (double)v;
  v &= (UINT64_C(1) << t.bits) - 1;
  if (t.code == TESS_DTYPE_INT && v >> (t.bits - 1))
    return (double)v - ldexp(1, t.bits);
  return (double)v;
}

static void run_bit_not(naive *x) {
  for (int64_t i = 0; i < x->t[0].n; i++)
    x->t[1].v[i] = wrapped(x->t[1].dtype, ~(uint64_t)(int64_t)x->t[0].v[i]);
}

/* What is cut off, and stays within the type. */
static void run_cast(naive *x) {
  tess_dtype t = x->t[1].dtype;
  double least = t.code == TESS_DTYPE_INT ? -ldexp(1, t.bits - 1) : 0;
  double most = ldexp(1, t.code == TESS_DTYPE_INT ? t.bits - 1 : t.bits) - 1;
  for (int64_t i = 0; i < x->t[0].n; i++) {
    double a = x->t[0].v[i];
    if (t.code == TESS_DTYPE_BOOL)
      a = a != 0;
    else if (t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT)
      a = isnan(a) ? 0 : fmin(fmax(trunc(a), least), most);
    x->t[1].v[i] = a;
  }
}

/* ---- of two ------------------------------------------------------------- */

static double grown(const naive_tensor *t, const naive_tensor *y, int64_t i) {
  int64_t a[NAIVE_DIM], from[NAIVE_DIM];
  naive_indices(y, i, a);
  for (uint32_t d = 0; d < t->ndim; d++)
    from[d] = t->shape[d] == 1 ? 0 : a[d + y->ndim - t->ndim];
  return *naive_at(t, from);
}

static void pairs(naive *x, double (*f)(tess_dtype, double, double)) {
  naive_tensor *y = &x->t[2];
  for (int64_t i = 0; i < y->n; i++)
    y->v[i] = f(x->t[0].dtype, grown(&x->t[0], y, i), grown(&x->t[1], y, i));
}

static double quotient(tess_dtype t, double a, double b) {
  bool whole = t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT;
  return whole && b == 0 ? 0 : floor(a / b);
}

static double shifted(tess_dtype t, double a, double by, bool left) {
  double least = a < 0 && !left ? -1 : 0;
  if (by < 0 || by >= t.bits) return least;
  return left ? wrapped(t, (uint64_t)(int64_t)a << (int)by)
              : floor(a / ldexp(1, (int)by));
}

#define WORD(a) ((uint64_t)(int64_t)(a))
#define BINARY(name, value)                                   \
  static double of_##name(tess_dtype t, double a, double b) { \
    (void)t;                                                  \
    return value;                                             \
  }                                                           \
  static void run_##name(naive *x) { pairs(x, of_##name); }
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)
BINARY(div, a / b)
BINARY(floor_div, quotient(t, a, b))
BINARY(mod, quotient(t, a, b) == 0 && b == 0 ? 0 : a - b * floor(a / b))
BINARY(fmod, quotient(t, a, b) == 0 && b == 0 ? 0 : fmod(a, b))
BINARY(pow, pow(a, b))
BINARY(minimum, fmin(a, b))
BINARY(maximum, fmax(a, b))
BINARY(prelu, a < 0 ? a * b : a)
BINARY(equal, a == b)
BINARY(not_equal, a != b)
BINARY(less, a < b)
BINARY(less_equal, a <= b)
BINARY(greater, a > b)
BINARY(greater_equal, a >= b)
BINARY(logical_and, a != 0 && b != 0)
BINARY(logical_or, a != 0 || b != 0)
BINARY(logical_xor, (a != 0) != (b != 0))
BINARY(bit_and, wrapped(t, WORD(a) & WORD(b)))
BINARY(bit_or, wrapped(t, WORD(a) | WORD(b)))
BINARY(bit_xor, wrapped(t, WORD(a) ^ WORD(b)))
BINARY(shift_left, shifted(t, a, b, true))
BINARY(shift_right, shifted(t, a, b, false))

#define ROW(name) \
  { #name, run_##name }
const naive_op naive_elementwise[] = {
    ROW(abs),          ROW(neg),
    ROW(sign),         ROW(square),
    ROW(reciprocal),   ROW(sqrt),
    ROW(rsqrt),        ROW(exp),
    ROW(log),          ROW(sin),
    ROW(cos),          ROW(tan),
    ROW(tanh),         ROW(sigmoid),
    ROW(erf),          ROW(floor),
    ROW(ceil),         ROW(round),
    ROW(relu),         ROW(gelu),
    ROW(gelu_tanh),    ROW(silu),
    ROW(softplus),     ROW(mish),
    ROW(hard_sigmoid), ROW(hard_swish),
    ROW(leaky_relu),   ROW(elu),
    ROW(clamp),        ROW(is_nan),
    ROW(is_inf),       ROW(bit_not),
    ROW(cast),         ROW(logical_not),
    ROW(add),          ROW(sub),
    ROW(mul),          ROW(div),
    ROW(floor_div),    ROW(mod),
    ROW(pow),          ROW(minimum),
    ROW(maximum),      ROW(prelu),
    ROW(equal),        ROW(not_equal),
    ROW(less),         ROW(less_equal),
    ROW(greater),      ROW(greater_equal),
    ROW(logical_and),  ROW(logical_or),
    ROW(logical_xor),  ROW(bit_and),
    ROW(bit_or),       ROW(bit_xor),
    ROW(shift_left),   ROW(shift_right),
    ROW(sinh),         ROW(cosh),
    ROW(softsign),     ROW(selu),
    ROW(celu),         ROW(thresholded_relu),
    ROW(shrink),       ROW(fmod),
    ROW(asin),         ROW(acos),
    ROW(atan),         ROW(asinh),
    ROW(acosh),        ROW(atanh),
    ROW(expm1),        ROW(log1p),
    ROW(erfc),         {NULL, NULL},
};
