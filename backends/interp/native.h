/* SPDX-License-Identifier: Apache-2.0
 * Functions on native values: by libm in double, rounded once to the type.
 * Values are held as ir/scalar.h holds them. */
#ifndef BACKENDS_INTERP_NATIVE_H
#define BACKENDS_INTERP_NATIVE_H

#include "ir/ir.h"

/* fn on floats of type t: any row of ir/fn.def that has a meaning there. */
double native_call_real(ir_fn fn, tess_dtype t, const double *x);
/* fn on integers of type t.  Shifts by a negative number or by the width and
 * more give 0, or the sign for a right shift of a signed value. */
int64_t native_call_int(ir_fn fn, tess_dtype t, const int64_t *x);
/* Which of the two there are. */
bool native_has_call(ir_fn fn, tess_dtype t);

#endif
