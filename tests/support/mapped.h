/* SPDX-License-Identifier: Apache-2.0
 * A function of ir/fn.def applied to arrays by compiled code, and how far its
 * values are from the precise ones. */
#ifndef SUPPORT_MAPPED_H
#define SUPPORT_MAPPED_H

#include "support/compiled.h"

/* A function of one argument, and the most that its values are from the
 * precise ones, in ulp: what docs/describing.md states. */
typedef struct mapped_fn {
  ir_fn fn;
  long double (*precise)(long double);
  double ulp32, ulp64;
} mapped_fn;
enum { MAPPED_FNS = 25 };
extern const mapped_fn mapped_fns[MAPPED_FNS];

/* The largest error of type t; the 16-bit types are computed with in float32
 * and rounded, which is nearly to be rounded once. */
double mapped_bound(const mapped_fn *f, tess_dtype t);

/* out[i] = fn(in[i], ...) for n elements of type t, in vectors of `lanes`,
 * lowered and loaded; the parameters are the nargs inputs and the output. */
void mapped_build(compiled *k, tess_dtype t, ir_fn fn, uint32_t nargs,
                  uint32_t n, uint32_t lanes);
/* Distance of `got` from the precise value, in ulp of the type: huge where
 * one is not a number and the other is, or where zeros or infinities differ
 * in sign. */
double mapped_ulp(tess_dtype t, double got, long double want);

#endif
