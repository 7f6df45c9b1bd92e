/* SPDX-License-Identifier: Apache-2.0
 * Small programs that a host describes through the public headers alone.
 * Included by tests of one file. */
#ifndef SUPPORT_HOSTED_H
#define SUPPORT_HOSTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <tessera/primitives.h>

static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1};
static const tess_dtype I64 = {TESS_DTYPE_INT, 64, 1};

static tess_context *ctx;

static inline void primitives_ok(tess_status s) {
  if (s != TESS_OK) fail_msg("%s", tess_error(ctx)->message);
}

typedef struct describing {
  tess_builder *b;
  tess_expr i, j, k;
} describing;

static inline tess_expr number(describing *d, int64_t v) {
  tess_expr e;
  primitives_ok(tess_int(d->b, I64, v, &e));
  return e;
}

static inline tess_expr op(describing *d, const char *name, tess_expr x,
                           tess_expr y) {
  tess_expr e;
  primitives_ok(tess_binary(d->b, name, x, y, &e));
  return e;
}

static inline tess_expr plus(describing *d, tess_expr x, double v) {
  tess_expr e;
  primitives_ok(tess_literal(d->b, v, 0, &e));
  return op(d, "+", x, e);
}

static inline tess_expr primitives_at(describing *d, tess_buffer buf,
                                      uint32_t n, tess_expr i, tess_expr j) {
  const tess_expr idx[] = {i, j};
  tess_expr e;
  primitives_ok(tess_load(d->b, buf, n, idx, &e));
  return e;
}

static inline tess_buffer input(describing *d, const char *name, uint32_t ndim,
                         int64_t n, int64_t m) {
  const tess_expr shape[] = {number(d, n), number(d, m)};
  tess_buffer buf;
  primitives_ok(
      tess_placeholder(d->b, name, F32, ndim, shape, TESS_ROLE_INPUT, &buf));
  return buf;
}

static inline void compute(describing *d, const char *name, uint32_t ndim,
                           int64_t n, int64_t m) {
  const tess_expr shape[] = {number(d, n), number(d, m)};
  tess_var v[2] = {0};
  primitives_ok(tess_compute_begin(d->b, name, ndim, shape, NULL, v));
  primitives_ok(tess_var_ref(d->b, v[0], &d->i));
  if (ndim == 2) primitives_ok(tess_var_ref(d->b, v[1], &d->j));
}

static inline tess_buffer is(describing *d, tess_expr body) {
  tess_buffer buf;
  primitives_ok(tess_compute_end(d->b, 1, &body, &buf));
  return buf;
}

static inline tess_program *program(describing *d, tess_buffer in,
                                    tess_buffer in2, tess_buffer out) {
  const tess_buffer ins[] = {in, in2};
  tess_program *p;
  primitives_ok(tess_program_new(d->b, "p", in2 ? 2 : 1, ins, 1, &out, &p));
  tess_builder_free(d->b);
  return p;
}

/* C[i, j] = sum over k of A[i, k] * B[k, j]; D = C + bias */
static inline tess_program *primitives_matmul(double bias) {
  describing d;
  tess_var axis;
  tess_expr sum, x;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 2, 16, 16), b = input(&d, "B", 2, 16, 16);
  primitives_ok(
      tess_reduce_axis(d.b, "k", number(&d, 0), number(&d, 16), &axis));
  compute(&d, "C", 2, 16, 16);
  primitives_ok(tess_var_ref(d.b, axis, &d.k));
  x = op(&d, "*", primitives_at(&d, a, 2, d.i, d.k),
         primitives_at(&d, b, 2, d.k, d.j));
  primitives_ok(tess_reduce(d.b, "sum", 1, &x, 1, &axis, &sum));
  tess_buffer c = is(&d, sum);
  if (bias == 0) return program(&d, a, b, c);
  compute(&d, "D", 2, 16, 16);
  return program(&d, a, b,
                 is(&d, plus(&d, primitives_at(&d, c, 2, d.i, d.j), bias)));
}

static inline tess_expr reduced(describing *d, const char *by, tess_expr x,
                         tess_var axis) {
  tess_expr e;
  primitives_ok(tess_reduce(d->b, by, 1, &x, 1, &axis, &e));
  return e;
}

/* M[i] = max over k of A[i, k]; S[i] = sum over k of e^(A[i, k] - M[i]) * M[i]
 */
static inline tess_program *extremes(void) {
  describing d;
  tess_var axis;
  tess_expr e;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 2, 16, 16);
  primitives_ok(
      tess_reduce_axis(d.b, "k", number(&d, 0), number(&d, 16), &axis));
  compute(&d, "M", 1, 16, 0);
  primitives_ok(tess_var_ref(d.b, axis, &d.k));
  e = primitives_at(&d, a, 2, d.i, d.k);
  tess_buffer m = is(&d, reduced(&d, "max", e, axis));
  compute(&d, "S", 1, 16, 0);
  e = op(&d, "-", primitives_at(&d, a, 2, d.i, d.k),
         primitives_at(&d, m, 1, d.i, 0));
  primitives_ok(tess_call(d.b, "exp", 1, &e, &e));
  e = op(&d, "*", e, primitives_at(&d, m, 1, d.i, 0));
  return program(&d, a, 0, is(&d, reduced(&d, "sum", e, axis)));
}

/* X = A + 1; Y = X + 2, over 16 x 16 */
static inline tess_program *two_stages(void) {
  describing d;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 2, 16, 16);
  compute(&d, "X", 2, 16, 16);
  tess_buffer x = is(&d, plus(&d, primitives_at(&d, a, 2, d.i, d.j), 1));
  compute(&d, "Y", 2, 16, 16);
  return program(&d, a, 0,
                 is(&d, plus(&d, primitives_at(&d, x, 2, d.i, d.j), 2)));
}

/* X[i] = A[i] + 1 over 18; Y[i] = X[i] + X[i + 2] over 16 */
static inline tess_program *windows(void) {
  describing d;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 1, 18, 0);
  compute(&d, "X", 1, 18, 0);
  tess_buffer x = is(&d, plus(&d, primitives_at(&d, a, 1, d.i, 0), 1));
  compute(&d, "Y", 1, 16, 0);
  tess_expr next = op(&d, "+", d.i, number(&d, 2));
  return program(&d, a, 0,
                 is(&d, op(&d, "+", primitives_at(&d, x, 1, d.i, 0),
                           primitives_at(&d, x, 1, next, 0))));
}

/* P[i] = 1 <= i < 17 ? A[i - 1] : 0, over 18 */
static inline tess_program *padding(void) {
  describing d;
  tess_expr zero, padded;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 1, 16, 0);
  compute(&d, "P", 1, 18, 0);
  tess_expr inside = op(&d, "and", op(&d, ">=", d.i, number(&d, 1)),
                        op(&d, "<", d.i, number(&d, 17)));
  tess_expr before = op(&d, "-", d.i, number(&d, 1));
  primitives_ok(tess_real(d.b, F32, 0, &zero));
  primitives_ok(tess_select(d.b, inside, primitives_at(&d, a, 1, before, 0),
                            zero, &padded));
  return program(&d, a, 0, is(&d, padded));
}

/* for i in 16: R[i] = A[i] + 1, as a parameter's whole contents */
static inline tess_program *row(void) {
  describing d;
  primitives_ok(tess_builder_new(ctx, &d.b));
  tess_buffer a = input(&d, "A", 1, 16, 0);
  compute(&d, "R", 1, 16, 0);
  return program(&d, a, 0,
                 is(&d, plus(&d, primitives_at(&d, a, 1, d.i, 0), 1)));
}

#endif
