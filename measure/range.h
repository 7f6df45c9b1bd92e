/* SPDX-License-Identifier: Apache-2.0
 * How exactly two ways of computing a program must agree.
 *
 * Where the inputs are small integers, most sums and products of a program
 * are integers (or integers times a power of two) that its types hold
 * exactly; then every order of summation gives the same bits, and a
 * difference is an error.  Where they are not, a value carries the number of
 * roundings on its way, the coarsest unit u of those and the sum of the squares
 * of all units, which give the bound
 *
 *     |a - b| <= 16 (2 u + sqrt(sum of squares)) (|b| + rms of the output),
 *
 * of n roundings of one type 16 u (2 + sqrt(n)): their errors add up like a
 * random walk (Higham and Mary 2019).
 *
 * Where what was rounded is rounded to an integer, compared or an index, a
 * small error may become a large one, a jump.  How far one takes the result
 * is its `step`: 1 for the next integer, and what operations make of it. */
#ifndef MEASURE_RANGE_H
#define MEASURE_RANGE_H

#include "measure/fact.h"

/* What a program does with a buffer, seen from outside. */
typedef struct range_use {
  bool read, written;
  int64_t below; /* > 0: its values are used as indices below this */
} range_use;

/* Facts and uses of all buffers of the entry function (by ir_buf, in
 * scratch).  Float inputs hold integers up to `range` in magnitude; 0:
 * arbitrary numbers. */
typedef struct range_plan {
  range_fact *fact;
  range_use *use;
  bool chooses;      /* a reduction picks among equals: ties matter */
  bool wants_nonneg; /* a root, logarithm or divisor may be negative */
} range_plan;
void range_find(const ir_program *p, arena *scratch, int64_t range,
                range_plan *out);

/* The fraction that a fact allows; 0: equal exactly. */
double range_bound(const range_fact *f);

#endif
