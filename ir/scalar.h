/* SPDX-License-Identifier: Apache-2.0
 * What arithmetic means, one value at a time: the one definition that
 * constant folding and the interpreter share and compiled code must match.
 *
 * An integer of any type is an int64_t holding its value, a uint64 its bit
 * pattern.  A float of any type is a double that the type can represent. */
#ifndef IR_SCALAR_H
#define IR_SCALAR_H

#include "ir/ir.h"

/* The value that remains of v in integer type t: modulo 2^bits; bool: is it
 * other than 0. */
int64_t ir_wrap_int(tess_dtype t, int64_t v);
/* Least and greatest value of t; a uint64's greatest reads INT64_MAX. */
int64_t ir_int_min(tess_dtype t);
int64_t ir_int_max(tess_dtype t);
/* v rounded to float type t: to nearest, ties to even, subnormals exact,
 * infinity beyond the greatest. */
double ir_round_real(tess_dtype t, double v);
/* Is v a value of integer type t?  Any is one of uint64, as its 64 bits. */
bool ir_holds_int(tess_dtype t, int64_t v);
/* Of float type t, which rounds, but makes no infinity of what is finite? */
bool ir_holds_real(tess_dtype t, double v);

/* a op b for any operator of two operands on values of type t; comparisons
 * and logic give 0 or 1.  Integers wrap; DIV and MOD round down and give 0
 * for a zero divisor. */
int64_t ir_fold_int(ir_op op, tess_dtype t, int64_t a, int64_t b);
/* The same for floats, arithmetic only, rounded once.  MIN and MAX are
 * not-a-number where an operand is, and of equals the first; MOD has the sign
 * of b. */
double ir_fold_real(ir_op op, tess_dtype t, double a, double b);
/* Comparisons of floats. */
bool ir_compare_real(ir_op op, double a, double b);

/* Casts.  To integers they saturate, not-a-number becomes 0, fractions are
 * cut off; to bool: is it other than 0; to floats they round once. */
int64_t ir_cast_int(tess_dtype to, tess_dtype from, int64_t v);
int64_t ir_cast_real_to_int(tess_dtype to, double v);
double ir_cast_int_to_real(tess_dtype to, tess_dtype from, int64_t v);

/* Functions (scalar_fn.c).  fn on floats of type t: any row of ir/fn.def that
 * has a meaning there, computed in double and rounded once. */
double ir_apply_real(ir_fn fn, tess_dtype t, const double *x);
/* fn on integers of type t.  Shifts by a negative number or by the width and
 * more give 0, or the sign for a right shift of a signed value. */
int64_t ir_apply_int(ir_fn fn, tess_dtype t, const int64_t *x);
/* Which of the two there are. */
bool ir_can_apply(ir_fn fn, tess_dtype t);

/* One element in memory, in the machine's byte order. */
int64_t ir_get_int(tess_dtype t, const void *at);
void ir_put_int(tess_dtype t, int64_t v, void *at);
double ir_get_real(tess_dtype t, const void *at);
void ir_put_real(tess_dtype t, double v, void *at);

#endif
