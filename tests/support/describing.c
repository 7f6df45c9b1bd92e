/* SPDX-License-Identifier: Apache-2.0
 * Describing programs in tests. */
#include "ir/query.h"
#include "support/describing.h"

static tess_status init(void *ud) {
  describing *d = ud;
  describe_init(&d->b, &d->heap.heap, &d->err);
  ir_program_init(&d->p, &d->heap.heap);
  ir_program_init(&d->q, &d->heap.heap);
  return TESS_OK;
}

void describing_start(describing *d) {
  memset(d, 0, sizeof *d);
  test_heap_start(&d->heap, 0);
  str_init(&d->text, &d->heap.heap);
  arena_init(&d->scratch, &d->heap.heap);
  assert_int_equal(mem_protect(&d->heap.heap, init, d), TESS_OK);
}

void describing_end(describing *d) {
  describe_free(&d->b);
  ir_program_free(&d->p);
  ir_program_free(&d->q);
  arena_free(&d->scratch);
  str_free(&d->text);
  test_heap_end(&d->heap);
}

typedef struct run {
  describing *d;
  void (*f)(describing *d);
} run;

static tess_status run_it(void *ud) {
  run *r = ud;
  r->f(r->d);
  return TESS_OK;
}

void describing_run(describing *d, void (*f)(describing *d)) {
  assert_int_equal(mem_protect(&d->heap.heap, run_it, &(run){d, f}), TESS_OK);
}

void describing_fails(describing *d, tess_status s, const char *message) {
  assert_int_not_equal(s, TESS_OK);
  assert_int_equal(s, d->err.code);
  assert_string_equal(d->err.message, message);
}

/* What was asked for, unless memory ran out on the way. */
static const char *text_of(describing *d) {
  if (d->text.bad) mem_unwind(&d->heap.heap, TESS_NOMEM);
  return str_get(&d->text);
}

void describing_expect(describing *d, const char *text) {
  str_clear(&d->text);
  ir_print(&d->p, NULL, &d->text);
  assert_string_equal(text_of(d), text);
  str_clear(&d->text);
  (void)ir_verify(&d->p, &d->scratch, &d->text);
  assert_string_equal(text_of(d), "");
}

/* The call succeeded; the message says why not. */
static void good(describing *d, tess_status s) {
  if (s) assert_string_equal(d->err.message, "");
  assert_int_equal(s, TESS_OK);
}

void describing_regions(describing *d, const char *text) {
  str_clear(&d->text);
  ir_print(&d->p, &(ir_print_opts){.regions = true}, &d->text);
  assert_non_null(strstr(text_of(d), text));
}

describe_expr d_int(describing *d, int64_t v) {
  describe_expr e;
  good(d, describe_int(&d->b, I64, v, &e));
  return e;
}

describe_expr d_lit(describing *d, double v) {
  describe_expr e;
  good(d, describe_literal(&d->b, v, false, &e));
  return e;
}

describe_expr d_ilit(describing *d, int64_t v) {
  describe_expr e;
  good(d, describe_literal(&d->b, (double)v, true, &e));
  return e;
}

describe_expr d_var(describing *d, ir_var v) {
  describe_expr e;
  good(d, describe_var(&d->b, v, &e));
  return e;
}

describe_expr d_op(describing *d, const char *op, describe_expr x,
                   describe_expr y) {
  describe_expr e = 0;
  good(d, describe_binary(&d->b, op, x, y, &e));
  return e;
}

describe_expr d_call(describing *d, const char *fn, describe_expr x) {
  describe_expr e = 0;
  good(d, describe_call(&d->b, fn, 1, &x, &e));
  return e;
}

/* Extents up to the first 0, as expressions. */
static uint32_t shape_of(describing *d, int64_t d0, int64_t d1, int64_t d2,
                         describe_expr *out) {
  int64_t all[] = {d0, d1, d2};
  uint32_t n = 0;
  for (; n < 3 && all[n]; n++) out[n] = d_int(d, all[n]);
  return n;
}

ir_buf d_input(describing *d, const char *name, tess_dtype t, int64_t d0,
               int64_t d1, int64_t d2) {
  describe_expr shape[3];
  ir_buf b = 0;
  uint32_t n = shape_of(d, d0, d1, d2, shape);
  good(d, describe_buffer(&d->b, name, t, n, shape, IR_SCOPE_GLOBAL,
                          IR_ROLE_INPUT, &b));
  return b;
}

describe_expr d_load(describing *d, ir_buf b, describe_expr i,
                     describe_expr j) {
  describe_expr e = 0, idx[] = {i, j};
  good(d, describe_load(&d->b, b, !i ? 0 : !j ? 1 : 2, idx, &e));
  return e;
}

ir_var d_axis(describing *d, const char *name, int64_t extent) {
  ir_var v = 0;
  good(d, describe_axis_new(&d->b, name, d_int(d, 0), d_int(d, extent), &v));
  return v;
}

describe_expr d_reduce(describing *d, const char *name, describe_expr x,
                       ir_var axis) {
  uint32_t reducer = 0;
  describe_expr e = 0;
  good(d, describe_builtin(&d->b, name, x, &reducer));
  good(d, describe_reduce(&d->b, reducer, 1, &x, 1, &axis, &e));
  return e;
}

void d_begin(describing *d, const char *name, int64_t d0, int64_t d1,
             describe_expr *i, describe_expr *j) {
  describe_expr shape[3], *out[] = {i, j};
  ir_var vars[3];
  uint32_t n = shape_of(d, d0, d1, 0, shape);
  good(d, describe_compute_begin(&d->b, name, n, shape, NULL, vars));
  for (uint32_t k = 0; k < n; k++) *out[k] = d_var(d, vars[k]);
}

ir_buf d_end(describing *d, describe_expr body) {
  ir_buf b = 0;
  good(d, describe_compute_end(&d->b, 1, &body, &b));
  return b;
}

void d_program(describing *d, const char *name, uint32_t nin, const ir_buf *in,
               ir_buf out) {
  good(d, describe_program(&d->b, name, nin, in, 1, &out, &d->p));
}
