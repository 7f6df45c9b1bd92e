/* SPDX-License-Identifier: Apache-2.0
 * The abstract domain of the rounding-error analysis (range.h): facts about a
 * value, and their transfer through operations. */
#ifndef MEASURE_ROUNDING_ERROR_H
#define MEASURE_ROUNDING_ERROR_H

#include "ir/ir.h"

typedef struct range_fact {
  bool seen;   /* the fact is not empty */
  bool known;  /* a multiple of 2^grain, exactly representable up to bound */
  bool jumps;  /* rounding errors may have been amplified to a jump */
  bool nonneg; /* not less than 0 */
  int grain;
  double bound;     /* of |value| without rounding; INFINITY: unknown */
  double step;      /* size of one jump; INFINITY: unknown */
  double roundings; /* 0: the same bits in every order */
  double noise;     /* the sum of the squares of their units */
  double unit;      /* of the coarsest type that rounded */
} range_fact;

/* Bits of the significand, and the unit roundoff, of a type of floats. */
int fact_digits(tess_dtype t);
double fact_unit(tess_dtype t);

/* Any multiple of 2^grain up to bound in magnitude. */
range_fact fact_exact(double bound, int grain);
range_fact fact_of_real(double v);
range_fact fact_of_range(int64_t lo, int64_t hi);
/* The fact of a buffer that is written by unanalysed means. */
range_fact fact_unknown(tess_dtype t);

/* Results of type t. */
range_fact fact_sum(tess_dtype t, range_fact a, range_fact b);
range_fact fact_product(tess_dtype t, range_fact a, range_fact b);
/* *by: the divisor, where that is a literal; else NULL. */
range_fact fact_quotient(tess_dtype t, range_fact a, range_fact b,
                         const double *by);
range_fact fact_remainder(tess_dtype t, range_fact a, range_fact b);
/* x added to itself, or to others like it. */
range_fact fact_repeated_sum(tess_dtype t, range_fact x, double times);
range_fact fact_cast(tess_dtype from, tess_dtype to, range_fact x);
/* args: any of the arguments. */
range_fact fact_call(tess_dtype t, ir_fn fn, range_fact args);

/* A select: one of the two, by a condition that may jump. */
range_fact fact_either(range_fact a, range_fact b);
range_fact fact_select(range_fact cond, range_fact a, range_fact b);
/* A comparison or conjunction. */
range_fact fact_condition(range_fact a, range_fact b);
/* Joins the facts of several stores to a buffer; bounds add up, since one store
 * may initialize what another accumulates. */
range_fact fact_merge(range_fact a, range_fact b);

#endif
