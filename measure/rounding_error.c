/* SPDX-License-Identifier: Apache-2.0
 * Transfer functions of the rounding-error analysis: the fact of an operation's
 * result from those of its operands. */
#include "measure/rounding_error.h"
#include "ir/scalar.h"
#include <math.h>

enum { FUNCTION_ROUNDINGS = 4, ERFC_ROUNDINGS = 8 };

/* ---- types -------------------------------------------------------------- */

int fact_digits(tess_dtype t) {
  if (t.code == TESS_DTYPE_BFLOAT) return 8;
  return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
}

double fact_unit(tess_dtype t) { return ldexp(1, -fact_digits(t)); }

static double fact_square(double x) { return x * x; }

/* ---- values ------------------------------------------------------------- */

range_fact fact_exact(double bound, int grain) {
  return (range_fact){.seen = true,
                      .known = true,
                      .nonneg = bound == 0,
                      .bound = bound,
                      .grain = grain};
}

range_fact fact_of_real(double v) {
  int exponent;
  if (v == 0 || !isfinite(v)) return fact_exact(0, 0);
  double m = frexp(fabs(v), &exponent);
  int grain = exponent;
  for (; m != floor(m); grain--) m *= 2;
  range_fact f = fact_exact(fabs(v), grain < 0 ? grain : 0);
  f.nonneg = v > 0;
  return f;
}

range_fact fact_of_range(int64_t lo, int64_t hi) {
  range_fact f = fact_exact(fmax(fabs((double)lo), fabs((double)hi)), 0);
  f.nonneg = lo >= 0;
  return f;
}

range_fact fact_unknown(tess_dtype t) {
  return (range_fact){.seen = true,
                      .bound = INFINITY,
                      .roundings = 1000,
                      .noise =
                          ir_is_float(t) ? 1000 * fact_square(fact_unit(t)) : 0,
                      .unit = ir_is_float(t) ? fact_unit(t) : 0};
}

/* ---- common parts ------------------------------------------------------- */

static double bound_product(double a, double b) {
  return a == 0 || b == 0 ? 0 : a * b;
}

/* Accumulates the rounding errors of two operands; the jump of the result
 * depends on the operation. */
static range_fact combine_errors(range_fact a, range_fact b) {
  range_fact f = {.seen = true, .jumps = a.jumps || b.jumps};
  f.roundings = fmax(a.roundings, b.roundings);
  f.noise = fmax(a.noise, b.noise);
  f.unit = fmax(a.unit, b.unit);
  f.step = f.jumps ? INFINITY : 0;
  f.grain = a.grain < b.grain ? a.grain : b.grain;
  return f;
}

/* The result of an operation of type t: exact if the type represents it, else
 * rounded `n` more times. */
static range_fact round_result(tess_dtype t, range_fact f, double n) {
  if (!ir_is_float(t)) {
    double most = ldexp(1, t.bits);
    f.known = true;
    f.grain = 0;
    f.nonneg =
        f.nonneg || t.code == TESS_DTYPE_UINT || t.code == TESS_DTYPE_BOOL;
    if (!(f.bound < most)) f.bound = most;
    return f;
  }
  if (f.known && ldexp(f.bound, -f.grain) <= ldexp(1, fact_digits(t))) return f;
  f.known = false;
  f.roundings += n;
  f.noise += n * fact_square(fact_unit(t));
  if (fact_unit(t) > f.unit) f.unit = fact_unit(t);
  return f;
}

/* The fact of f rounded to an integer, which may jump to the next one. */
static range_fact truncate_fact(range_fact f) {
  bool is_integer = f.grain >= 0 && f.roundings == 0;
  f.known = isfinite(f.bound);
  f.grain = 0;
  if (is_integer || (!f.jumps && f.roundings == 0)) return f;
  f.jumps = true;
  f.step = floor(f.step) + 1;
  f.roundings = f.noise = 0;
  return f;
}

/* ---- operations --------------------------------------------------------- */

static range_fact add_facts(range_fact a, range_fact b) {
  range_fact f = combine_errors(a, b);
  f.known = a.known && b.known;
  f.nonneg = a.nonneg && b.nonneg;
  f.bound = a.bound + b.bound;
  f.step = a.step + b.step;
  return f;
}

range_fact fact_sum(tess_dtype t, range_fact a, range_fact b) {
  return round_result(t, add_facts(a, b), 1);
}

range_fact fact_merge(range_fact a, range_fact b) { return add_facts(a, b); }

static range_fact multiply_facts(range_fact a, range_fact b) {
  range_fact f = combine_errors(a, b);
  f.known = a.known && b.known;
  f.nonneg = a.nonneg && b.nonneg;
  f.bound = bound_product(a.bound, b.bound);
  f.grain = a.grain + b.grain;
  f.step = bound_product(a.step, b.bound) + bound_product(b.step, a.bound);
  return f;
}

range_fact fact_product(tess_dtype t, range_fact a, range_fact b) {
  return round_result(t, multiply_facts(a, b), 1);
}

range_fact fact_quotient(tess_dtype t, range_fact a, range_fact b,
                         const double *by) {
  int exponent;
  if (by && ir_is_float(t) && frexp(fabs(*by), &exponent) == 0.5)
    return round_result(t, multiply_facts(a, fact_of_real(1 / *by)), 1);
  range_fact f = combine_errors(a, b);
  f.nonneg = a.nonneg && b.nonneg;
  f.bound = by && *by != 0   ? a.bound / fabs(*by)
            : ir_is_float(t) ? INFINITY
                             : a.bound;
  if (by && *by != 0) f.step = a.step / fabs(*by);
  f.grain = -1;
  if (ir_is_int(t)) f = truncate_fact(f);
  return round_result(t, f, 1);
}

/* A remainder that jumps moves to the other end of its range. */
range_fact fact_remainder(tess_dtype t, range_fact a, range_fact b) {
  range_fact f = combine_errors(a, b);
  f.nonneg = b.nonneg;
  f.known = a.known && b.known;
  f.bound = b.bound;
  f.jumps = f.jumps || f.roundings > 0;
  f.step = f.jumps ? b.bound : 0;
  return round_result(t, f, 1);
}

range_fact fact_repeated_sum(tess_dtype t, range_fact x, double n) {
  x.bound = bound_product(x.bound, n);
  return round_result(t, x, ir_is_int(t) ? 0 : n);
}

range_fact fact_either(range_fact a, range_fact b) {
  range_fact f = add_facts(a, b);
  f.bound = fmax(a.bound, b.bound);
  f.step = fmax(a.step, b.step);
  return f;
}

range_fact fact_select(range_fact cond, range_fact a, range_fact b) {
  range_fact f = fact_either(a, b);
  if (!cond.jumps) return f;
  f.jumps = true;
  f.step += a.bound + b.bound;
  return f;
}

range_fact fact_condition(range_fact a, range_fact b) {
  range_fact f = combine_errors(a, b);
  bool jumps = f.jumps || f.roundings > 0;
  f = fact_exact(1, 0);
  f.nonneg = true;
  f.jumps = jumps;
  f.step = jumps;
  return f;
}

range_fact fact_cast(tess_dtype from, tess_dtype to, range_fact x) {
  if (ir_is_float(from) && ir_is_int(to))
    return round_result(to, truncate_fact(x), 0);
  /* A cast of equal bits gives equal bits. */
  range_fact r = round_result(to, x, x.roundings > 0);
  if (x.roundings == 0) r.unit = x.unit;
  return r;
}

static bool is_never_negative(ir_fn fn) {
  switch (fn) {
  case IR_FN_EXP:
  case IR_FN_SIGMOID:
  case IR_FN_SQRT:
  case IR_FN_RSQRT:
  case IR_FN_ERFC:
  case IR_FN_ACOS:
  case IR_FN_COSH:
  case IR_FN_ACOSH: return true;
  default: return false;
  }
}

static range_fact of_function(tess_dtype t, ir_fn fn, range_fact f) {
  f.known = false;
  f.nonneg = is_never_negative(fn) || (fn == IR_FN_POW && f.nonneg);
  bool turns = fn == IR_FN_SIN || fn == IR_FN_COS;
  bool is_small =
      fn == IR_FN_SIGMOID || fn == IR_FN_TANH || fn == IR_FN_ERF || turns;
  /* Units of the argument become as many, times its size, of what is at most
   * 1. */
  if ((turns || fn == IR_FN_TAN) && f.bound > 1) {
    f.roundings = bound_product(f.roundings, f.bound);
    f.noise = bound_product(f.noise, fact_square(f.bound));
  }
  f.bound = is_small ? 1 : INFINITY;
  f.step = !f.jumps ? 0 : is_small ? 2 : INFINITY;
  return round_result(t, f,
                      fn == IR_FN_ERFC ? ERFC_ROUNDINGS : FUNCTION_ROUNDINGS);
}

/* Bits of an integer, which are others where it is off by one. */
static range_fact of_bits(tess_dtype t, ir_fn fn, range_fact f) {
  bool shrinks = fn == IR_FN_SHR || fn == IR_FN_BITAND;
  f.nonneg = f.nonneg && fn != IR_FN_SHL;
  if (!shrinks || !f.nonneg) f.bound = INFINITY;
  f = round_result(t, f, 0);
  if (f.jumps) f.step = 2 * f.bound;
  return f;
}

range_fact fact_call(tess_dtype t, ir_fn fn, range_fact args) {
  switch (fn) {
  case IR_FN_SHL:
  case IR_FN_SHR:
  case IR_FN_BITAND:
  case IR_FN_BITOR:
  case IR_FN_BITXOR: return of_bits(t, fn, args);
  case IR_FN_ABS: args.nonneg = true; return args;
  case IR_FN_FLOOR:
  case IR_FN_CEIL:
  case IR_FN_ROUND:
    args.bound += 1;
    return round_result(t, truncate_fact(args), 0);
  default: return of_function(t, fn, args);
  }
}
