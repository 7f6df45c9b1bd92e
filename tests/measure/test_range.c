/* SPDX-License-Identifier: Apache-2.0
 * How exactly outputs must agree: facts about programs, and comparing. */
#include "measure/bench.h"
#include "support/measured.h"
#include <math.h>

static const tess_dtype F16 = {TESS_FLOAT, 16, 1}, F32 = {TESS_FLOAT, 32, 1},
                        I32 = {TESS_INT, 32, 1}, I64 = {TESS_INT, 64, 1};

/* A program of one compute over v[0] and k, being described. */
typedef struct desc {
  tess_context *c;
  tess_builder *b;
  tess_buffer in, index, out;
  tess_var v, k;
  tess_expr n, m; /* extents of v and k */
  arena scratch;
} desc;

static void ok(desc *d, tess_status s) {
  if (s) fail_msg("%s", tess_error(d->c)->message);
}

static tess_expr ref(desc *d, tess_var v) {
  tess_expr e;
  ok(d, tess_var_ref(d->b, v, &e));
  return e;
}

static tess_expr binary(desc *d, const char *op, tess_expr x, tess_expr y) {
  tess_expr e;
  ok(d, tess_binary(d->b, op, x, y, &e));
  return e;
}

static tess_expr call(desc *d, const char *fn, tess_expr x) {
  tess_expr e;
  ok(d, tess_call(d->b, fn, 1, &x, &e));
  return e;
}

static tess_expr literal(desc *d, double v) {
  tess_expr e;
  ok(d, tess_literal(d->b, v, 0, &e));
  return e;
}

/* A[v, k] of type t with n x m elements. */
static tess_expr begin(desc *d, tess_dtype t, int64_t n, int64_t m) {
  *d = (desc){.c = NULL};
  ok(d, tess_context_new(NULL, &d->c));
  arena_init(&d->scratch, &d->c->heap);
  ok(d, tess_builder_new(d->c, &d->b));
  ok(d, tess_int(d->b, I64, n, &d->n));
  ok(d, tess_int(d->b, I64, m, &d->m));
  tess_expr zero, x, shape[] = {d->n, d->m};
  ok(d, tess_int(d->b, I64, 0, &zero));
  ok(d, tess_placeholder(d->b, "A", t, 2, shape, TESS_ROLE_INPUT, &d->in));
  ok(d, tess_placeholder(d->b, "I", I32, 1, &d->n, TESS_ROLE_INPUT, &d->index));
  ok(d, tess_reduce_axis(d->b, "k", zero, d->m, &d->k));
  ok(d, tess_compute_begin(d->b, "B", 1, &d->n, NULL, &d->v));
  tess_expr at[] = {ref(d, d->v), ref(d, d->k)};
  ok(d, tess_load(d->b, d->in, 2, at, &x));
  return x;
}

static tess_expr sum(desc *d, const char *reducer, tess_expr x) {
  tess_expr e;
  ok(d, tess_reduce(d->b, reducer, 1, &x, 1, &d->k, &e));
  return e;
}

static tess_program *finish(desc *d, tess_expr body) {
  tess_program *p;
  tess_buffer in[] = {d->in, d->index};
  ok(d, tess_compute_end(d->b, 1, &body, &d->out));
  ok(d, tess_program_new(d->b, "p", 2, in, 1, &d->out, &p));
  return p;
}

static void end(desc *d, tess_program *p) {
  tess_program_free(p);
  tess_builder_free(d->b);
  arena_free(&d->scratch);
  tess_context_free(d->c);
}

/* The fact of the output B. */
static range_fact fact_of(desc *d, tess_program *p, int64_t range) {
  range_plan plan;
  range_find(&p->p, &d->scratch, range, &plan);
  const ir_func *f = ir_entry(&p->p);
  return plan.fact[p->p.arg.v[f->params.at + 2]];
}

static void test_exact_sums(void **state) {
  (void)state;
  desc d;
  tess_expr x = begin(&d, F32, 8, 1024);
  tess_program *p = finish(&d, sum(&d, "sum", binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && f.bound == 16 * 1024);
  assert_true(range_bound(&f) == 0);
  f = fact_of(&d, p, 0);
  assert_true(!f.known && f.roundings > 1000 && range_bound(&f) > 0);
  end(&d, p);
}

/* One for each element that is added, and those that it had itself; what is
 * allowed grows with their square root. */
static void test_sums_round(void **state) {
  (void)state;
  const struct {
    tess_dtype t;
    int64_t m;
    bool squares;
    double roundings, bound;
  } cases[] = {{F32, 1024, false, 1024, 16 * 34 * 0x1p-24},
               {F32, 64, false, 64, 16 * 10 * 0x1p-24},
               {F32, 1023, true, 1024, 16 * 34 * 0x1p-24},
               {F16, 1024, false, 1024, 16 * 34 * 0x1p-11},
               {F32, 1, false, 1, 16 * 3 * 0x1p-24}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    desc d;
    tess_expr x = begin(&d, cases[i].t, 8, cases[i].m);
    if (cases[i].squares) x = binary(&d, "*", x, x);
    tess_program *p = finish(&d, sum(&d, "sum", x));
    range_fact f = fact_of(&d, p, 0);
    assert_true(f.roundings == cases[i].roundings);
    assert_true(range_bound(&f) == cases[i].bound);
    end(&d, p);
  }
}

/* 2048 ones are the most that float16 counts. */
static void test_coarse_types(void **state) {
  (void)state;
  desc d;
  tess_expr x = begin(&d, F16, 8, 1024);
  tess_program *p = finish(&d, sum(&d, "sum", binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 2);
  assert_true(f.roundings > 0 && f.unit == ldexp(1, -11));
  f = fact_of(&d, p, 1);
  assert_true(f.roundings == 0 && f.bound == 1024);
  end(&d, p);
}

static void test_integers_wrap(void **state) {
  (void)state;
  desc d;
  tess_expr x = begin(&d, I32, 8, 1 << 20);
  tess_program *p =
      finish(&d, sum(&d, "sum", binary(&d, "*", x, binary(&d, "*", x, x))));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && range_bound(&f) == 0);
  end(&d, p);
}

/* Halves and quarters are as exact as integers; thirds are not. */
static void test_fractions(void **state) {
  (void)state;
  for (int third = 0; third < 2; third++) {
    desc d;
    tess_expr x = begin(&d, F32, 8, 16);
    tess_expr by = literal(&d, third ? 3 : 16);
    tess_program *p = finish(&d, sum(&d, "sum", binary(&d, "/", x, by)));
    range_fact f = fact_of(&d, p, 4);
    assert_int_equal(f.roundings > 0, third);
    end(&d, p);
  }
}

static void test_functions_round(void **state) {
  (void)state;
  desc d;
  tess_expr x = begin(&d, F32, 8, 16);
  tess_program *p = finish(&d, sum(&d, "max", call(&d, "exp", x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(!f.known && f.roundings > 0 && f.roundings < 16 && !f.jumps);
  end(&d, p);
}

/* A greatest element is what it was; rounding it makes no difference, but
 * rounding what was rounded may. */
static void test_jumps(void **state) {
  (void)state;
  for (int rounded = 0; rounded < 2; rounded++) {
    desc d;
    tess_expr x = begin(&d, F32, 8, 16);
    if (rounded) x = call(&d, "exp", x);
    tess_program *p = finish(&d, sum(&d, "max", call(&d, "floor", x)));
    range_fact f = fact_of(&d, p, 0);
    assert_int_equal(f.jumps, rounded);
    assert_int_equal(f.roundings > 0, rounded);
    end(&d, p);
  }
}

/* A[I[v], k]: I must stay below the extent of A. */
static void test_indices(void **state) {
  (void)state;
  desc d;
  begin(&d, F32, 8, 16);
  tess_expr v = ref(&d, d.v), i, x;
  ok(&d, tess_load(d.b, d.index, 1, &v, &i));
  ok(&d, tess_cast(d.b, I64, i, &i));
  tess_expr at[] = {i, ref(&d, d.k)};
  ok(&d, tess_load(d.b, d.in, 2, at, &x));
  tess_program *p = finish(&d, sum(&d, "sum", x));
  range_plan plan;
  range_find(&p->p, &d.scratch, 4, &plan);
  const ir_func *f = ir_entry(&p->p);
  assert_int_equal(plan.use[p->p.arg.v[f->params.at + 1]].below, 8);
  assert_int_equal(plan.use[p->p.arg.v[f->params.at]].below, 0);
  err_state e;
  bench b;
  assert_int_equal(bench_open(&b, &d.c->heap, &d.scratch, &p->p, 1, 1, &e),
                   TESS_OK);
  const int32_t *index = b.args[1];
  for (int k = 0; k < 8; k++) assert_true(index[k] >= 0 && index[k] < 8);
  bench_close(&b);
  end(&d, p);
}

/* ---- comparing ---------------------------------------------------------- */

typedef struct compared {
  desc d;
  tess_program *p;
  bench b;
  float *out;
  err_state e;
} compared;

/* B = the greatest of A's rows, or of their exponentials. */
static void open(compared *x, bool exact) {
  tess_expr a = begin(&x->d, F32, 1000, 4);
  x->p = finish(&x->d, sum(&x->d, "max", exact ? a : call(&x->d, "exp", a)));
  if (bench_open(&x->b, &x->d.c->heap, &x->d.scratch, &x->p->p, 1, 1, &x->e))
    fail_msg("%s", x->e.message);
  assert_int_equal(x->b.is_exact, exact);
  float reference[1000];
  for (int i = 0; i < 1000; i++) reference[i] = (float)i;
  assert_int_equal(
      bench_set_reference(&x->b, reference, sizeof reference, &x->e), TESS_OK);
  x->out = x->b.args[2];
  memcpy(x->out, reference, sizeof reference);
}

static void close(compared *x) {
  bench_close(&x->b);
  end(&x->d, x->p);
}

static tess_status compare(compared *x) {
  double error, bound;
  return bench_compare(&x->b, &error, &bound, &x->e);
}

static void test_compare_exact(void **state) {
  (void)state;
  compared x;
  open(&x, true);
  assert_int_equal(compare(&x), TESS_OK);
  x.out[7] = nextafterf(7, 8);
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message,
                      "B[7] is 7.00000048, not 7; 1 of 1000 elements differ "
                      "by more than 0 of the magnitude");
  x.out[7] = 7;
  x.out[0] = -0.0f;
  assert_int_equal(compare(&x), TESS_OK);
  close(&x);
}

static void test_compare_near(void **state) {
  (void)state;
  compared x;
  open(&x, false);
  x.out[7] = nextafterf(7, 8);
  assert_int_equal(compare(&x), TESS_OK);
  x.out[7] = 7.1f;
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  x.out[7] = NAN;
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  x.out[7] = INFINITY;
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  close(&x);
}

/* What nobody wrote is poison; writing there is an error, and it does not
 * count in the magnitude. */
static void test_compare_unwritten(void **state) {
  (void)state;
  compared x;
  open(&x, false);
  bench_reset(&x.b);
  float reference[1000];
  memcpy(reference, x.out, sizeof reference);
  for (int i = 0; i < 500; i++) reference[i] = x.out[i] = 1;
  assert_int_equal(bench_set_reference(&x.b, reference, sizeof reference, &x.e),
                   TESS_OK);
  assert_int_equal(compare(&x), TESS_OK);
  x.out[3] = 1.01f;
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  x.out[3] = 1;
  x.out[700] = 1;
  assert_int_equal(compare(&x), TESS_WRONG_RESULT);
  assert_non_null(strstr(x.e.message, "B[700] is 1, not"));
  close(&x);
}

static void test_inspect(void **state) {
  (void)state;
  compared x;
  open(&x, true);
  bench_reset(&x.b);
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message, "the kernel wrote nothing to 'B'");
  x.out[999] = 1;
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_OK);
  x.out[1000] = 1; /* behind it, before the guard page */
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message,
                      "the kernel wrote beside 'B', out of bounds");
  close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_sums),
      cmocka_unit_test(test_sums_round),
      cmocka_unit_test(test_coarse_types),
      cmocka_unit_test(test_integers_wrap),
      cmocka_unit_test(test_fractions),
      cmocka_unit_test(test_functions_round),
      cmocka_unit_test(test_jumps),
      cmocka_unit_test(test_indices),
      cmocka_unit_test(test_compare_exact),
      cmocka_unit_test(test_compare_near),
      cmocka_unit_test(test_compare_unwritten),
      cmocka_unit_test(test_inspect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
