/* SPDX-License-Identifier: Apache-2.0
 * Programs whose rounding errors are analysed. */
#include "support/rounding.h"

void rounding_ok(rounding *d, tess_status s) {
  if (s) fail_msg("%s", tess_error(d->c)->message);
}

tess_expr rounding_ref(rounding *d, tess_var v) {
  tess_expr e;
  rounding_ok(d, tess_var_ref(d->b, v, &e));
  return e;
}

tess_expr rounding_binary(rounding *d, const char *op, tess_expr x,
                          tess_expr y) {
  tess_expr e;
  rounding_ok(d, tess_binary(d->b, op, x, y, &e));
  return e;
}

tess_expr rounding_call(rounding *d, const char *fn, tess_expr x) {
  tess_expr e;
  rounding_ok(d, tess_call(d->b, fn, 1, &x, &e));
  return e;
}

tess_expr rounding_literal(rounding *d, double v) {
  tess_expr e;
  rounding_ok(d, tess_literal(d->b, v, 0, &e));
  return e;
}

tess_expr rounding_cast(rounding *d, tess_dtype t, tess_expr x) {
  rounding_ok(d, tess_cast(d->b, t, x, &x));
  return x;
}

tess_expr rounding_choose(rounding *d, tess_expr c, tess_expr x, tess_expr y) {
  tess_expr e;
  rounding_ok(d, tess_select(d->b, c, x, y, &e));
  return e;
}

tess_expr rounding_begin(rounding *d, tess_dtype t, int64_t n, int64_t m) {
  *d = (rounding){.c = NULL};
  rounding_ok(d, tess_context_new(NULL, &d->c));
  arena_init(&d->scratch, &d->c->heap);
  rounding_ok(d, tess_builder_new(d->c, &d->b));
  rounding_ok(d, tess_int(d->b, I64, n, &d->n));
  rounding_ok(d, tess_int(d->b, I64, m, &d->m));
  tess_expr zero, x, shape[] = {d->n, d->m};
  rounding_ok(d, tess_int(d->b, I64, 0, &zero));
  rounding_ok(
      d, tess_placeholder(d->b, "A", t, 2, shape, TESS_ROLE_INPUT, &d->in));
  rounding_ok(d, tess_placeholder(d->b, "I", I32, 1, &d->n, TESS_ROLE_INPUT,
                                  &d->index));
  rounding_ok(d, tess_reduce_axis(d->b, "k", zero, d->m, &d->k));
  rounding_ok(d, tess_compute_begin(d->b, "B", 1, &d->n, NULL, &d->v));
  tess_expr at[] = {rounding_ref(d, d->v), rounding_ref(d, d->k)};
  rounding_ok(d, tess_load(d->b, d->in, 2, at, &x));
  return x;
}

tess_expr rounding_reduce(rounding *d, const char *reducer, tess_expr x) {
  tess_expr e;
  rounding_ok(d, tess_reduce(d->b, reducer, 1, &x, 1, &d->k, &e));
  return e;
}

tess_program *rounding_finish(rounding *d, tess_expr body) {
  tess_program *p;
  tess_buffer in[] = {d->in, d->index};
  rounding_ok(d, tess_compute_end(d->b, 1, &body, &d->out));
  rounding_ok(d, tess_program_new(d->b, "p", 2, in, 1, &d->out, &p));
  return p;
}

void rounding_end(rounding *d, tess_program *p) {
  tess_program_free(p);
  tess_builder_free(d->b);
  arena_free(&d->scratch);
  tess_context_free(d->c);
}
