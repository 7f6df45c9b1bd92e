/* SPDX-License-Identifier: Apache-2.0
 * Scalar semantics: the one definition of arithmetic on single values, shared
 * by constant folding and the interpreter; compiled code must agree.
 *
 * An integer of any type is an int64_t with its value, a uint64 with its bit
 * pattern.  A float of any type is a double that the type can represent. */
#ifndef IR_SCALAR_H
#define IR_SCALAR_H

#include "ir/ir.h"

/* v wrapped to integer type t: modulo 2^bits; bool: v != 0. */
int64_t ir_wrap_int(tess_dtype t, int64_t v);
/* Smallest and largest value of t; the largest uint64 is INT64_MAX here. */
int64_t ir_int_min(tess_dtype t);
int64_t ir_int_max(tess_dtype t);
/* v rounded to float type t: to nearest, ties to even, exact subnormals,
 * overflow to infinity. */
double ir_round_real(tess_dtype t, double v);
/* Is v a value of integer type t?  Any v is a uint64, by its 64 bits. */
bool ir_holds_int(tess_dtype t, int64_t v);
/* Is v in the range of float type t, so that rounding does not overflow? */
bool ir_holds_real(tess_dtype t, double v);

/* a op b for any binary operator on values of type t; comparisons and logic
 * give 0 or 1.  Integers wrap; DIV and MOD round down and give 0 for a zero
 * divisor. */
int64_t ir_fold_int(ir_op op, tess_dtype t, int64_t a, int64_t b);
/* The same for floats, arithmetic only, rounded once.  MIN and MAX are NaN if
 * an operand is NaN, and the first of equal operands; MOD has the sign of b. */
double ir_fold_real(ir_op op, tess_dtype t, double a, double b);
/* Comparisons of floats. */
bool ir_compare_real(ir_op op, double a, double b);

/* Casts.  To integers they saturate, NaN becomes 0, fractions are truncated; to
 * bool: v != 0; to floats they round once. */
int64_t ir_cast_int(tess_dtype to, tess_dtype from, int64_t v);
int64_t ir_cast_real_to_int(tess_dtype to, double v);
double ir_cast_int_to_real(tess_dtype to, tess_dtype from, int64_t v);

/* Functions (scalar_fn.c). fn on floats of type t: any row of ir/fn.def that is
 * defined for floats, computed in double and rounded once. */
double ir_apply_real(ir_fn fn, tess_dtype t, const double *x);
/* fn on integers of type t.  Shifts by a negative amount or by the width or
 * more give 0, or the sign for an arithmetic right shift. */
int64_t ir_apply_int(ir_fn fn, tess_dtype t, const int64_t *x);
/* Is fn defined for type t (by one of the two)? */
bool ir_can_apply(ir_fn fn, tess_dtype t);

/* Loads and stores of one element, in native byte order. */
int64_t ir_get_int(tess_dtype t, const void *at);
void ir_put_int(tess_dtype t, int64_t v, void *at);
double ir_get_real(tess_dtype t, const void *at);
void ir_put_real(tess_dtype t, double v, void *at);

#endif
