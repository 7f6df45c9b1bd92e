/* SPDX-License-Identifier: Apache-2.0
 * Rounding-error analysis: how far the outputs of two schedules of a program
 * may differ.
 *
 * With small integers as inputs most sums and products of a program are
 * integers (or integers times a power of two) that its types represent exactly;
 * then every order of summation gives the same bits, and any difference is an
 * error. Elsewhere a value carries the number of its roundings, the coarsest
 * unit u of those and the sum of the squares of all units, which give the bound
 *
 *     |a - b| <= 16 (2 u + sqrt(sum of squares)) (|b| + rms of the output),
 *
 * of n roundings of one type 16 u (2 + sqrt(n)): their errors add up like a
 * random walk (Higham and Mary 2019).
 *
 * Where an inexact value is rounded to an integer, compared or used as an
 * index, its error may be amplified to a jump.  The size of a jump is the
 * value's `step`: 1 for the next integer, transformed by the operations after
 * it. */
#ifndef MEASURE_RANGE_H
#define MEASURE_RANGE_H

#include "backends/interp/interp.h"
#include "measure/rounding_error.h"

/* The fact and the uses of a buffer. */
typedef struct range_use {
  bool read, written;
  interp_range in; /* an input: what it is filled with */
} range_use;

/* Facts and uses of all buffers of the entry function (by ir_buf, in
 * scratch).  Float inputs hold integers up to `range` in magnitude; 0:
 * arbitrary numbers. */
typedef struct range_plan {
  range_fact *fact;
  range_use *use;
  bool chooses;      /* an argmin or the like: ties matter */
  bool wants_nonneg; /* a root, logarithm or divisor may be negative */
} range_plan;
void range_find(const ir_program *p, arena *scratch, int64_t range,
                range_plan *out);

/* The error bound of a fact, as a fraction; 0: equal bit by bit. */
double range_bound(const range_fact *f);

#endif
