/* SPDX-License-Identifier: Apache-2.0
 * Programs whose rounding errors are analysed: B[v], of A[v, k] and an index
 * I[v]. */
#ifndef SUPPORT_ROUNDING_H
#define SUPPORT_ROUNDING_H

#include "measure/bench.h"
#include "support/measured.h"

static const tess_dtype F16 = {TESS_DTYPE_FLOAT, 16, 1},
                        F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I32 = {TESS_DTYPE_INT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

/* A program of one compute over v[0] and k, being described. */
typedef struct rounding {
  tess_context *c;
  tess_builder *b;
  tess_buffer in, index, out;
  tess_var v, k;
  tess_expr n, m;            /* extents of v and k */
  arena scratch;
} rounding;

void rounding_ok(rounding *d, tess_status s);
tess_expr rounding_ref(rounding *d, tess_var v);
tess_expr rounding_binary(rounding *d, const char *op, tess_expr x,
                          tess_expr y);
tess_expr rounding_call(rounding *d, const char *fn, tess_expr x);
tess_expr rounding_literal(rounding *d, double v);
tess_expr rounding_cast(rounding *d, tess_dtype t, tess_expr x);
tess_expr rounding_choose(rounding *d, tess_expr c, tess_expr x,
                          tess_expr y);
/* A[v, k] of type t with n x m elements. */
tess_expr rounding_begin(rounding *d, tess_dtype t, int64_t n, int64_t m);
tess_expr rounding_reduce(rounding *d, const char *reducer, tess_expr x);
tess_program *rounding_finish(rounding *d, tess_expr body);
void rounding_end(rounding *d, tess_program *p);

#endif
