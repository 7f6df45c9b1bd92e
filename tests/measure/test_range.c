/* SPDX-License-Identifier: Apache-2.0
 * Rounding-error analysis: facts about programs, and bounds. */
#include "support/rounding.h"

#include <math.h>

/* The fact of the output B. */
static range_fact fact_of(rounding *d, tess_program *p, int64_t range) {
  range_plan plan;
  range_find(&p->p, &d->scratch, range, &plan);
  const ir_func *f = ir_entry(&p->p);
  return plan.fact[p->p.arg.v[f->params.at + 2]];
}

static void test_exact_sums(void **state) {
  (void)state;
  rounding d;
  tess_expr x = rounding_begin(&d, F32, 8, 1024);
  tess_program *p = rounding_finish(
      &d, rounding_reduce(&d, "sum", rounding_binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && f.bound == 16 * 1024);
  assert_true(range_bound(&f) == 0);
  f = fact_of(&d, p, 0);
  assert_true(!f.known && f.roundings > 1000 && range_bound(&f) > 0);
  rounding_end(&d, p);
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
    rounding d;
    tess_expr x = rounding_begin(&d, cases[i].t, 8, cases[i].m);
    if (cases[i].squares) x = rounding_binary(&d, "*", x, x);
    tess_program *p = rounding_finish(&d, rounding_reduce(&d, "sum", x));
    range_fact f = fact_of(&d, p, 0);
    assert_true(f.roundings == cases[i].roundings);
    assert_true(range_bound(&f) == cases[i].bound);
    rounding_end(&d, p);
  }
}

/* Each rounding counts with the unit of its type: a sum of float32 that is cut
 * to bfloat16 at last is not as coarse as one of bfloat16. */
static void test_mixed_types(void **state) {
  (void)state;
  static const tess_dtype BF16 = {TESS_DTYPE_BFLOAT, 16, 1};
  for (int wide = 0; wide < 2; wide++) {
    rounding d;
    tess_expr x = rounding_begin(&d, BF16, 8, 1024);
    if (wide) rounding_ok(&d, tess_cast(d.b, F32, x, &x));
    tess_program *p = rounding_finish(&d, rounding_reduce(&d, "sum", x));
    range_fact f = fact_of(&d, p, 0);
    if (wide) f = fact_cast(F32, BF16, f);
    double bound = range_bound(&f) / (16 * 0x1p-8);
    assert_true(wide ? bound > 3 && bound < 3.01 : bound == 34);
    rounding_end(&d, p);
  }
}

/* 2048 ones are the most that float16 counts. */
static void test_coarse_types(void **state) {
  (void)state;
  rounding d;
  tess_expr x = rounding_begin(&d, F16, 8, 1024);
  tess_program *p = rounding_finish(
      &d, rounding_reduce(&d, "sum", rounding_binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 2);
  assert_true(f.roundings > 0 && f.unit == ldexp(1, -11));
  f = fact_of(&d, p, 1);
  assert_true(f.roundings == 0 && f.bound == 1024);
  rounding_end(&d, p);
}

static void test_integers_wrap(void **state) {
  (void)state;
  rounding d;
  tess_expr x = rounding_begin(&d, I32, 8, 1 << 20);
  tess_program *p = rounding_finish(
      &d, rounding_reduce(
              &d, "sum",
              rounding_binary(&d, "*", x, rounding_binary(&d, "*", x, x))));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && range_bound(&f) == 0);
  rounding_end(&d, p);
}

/* Halves and quarters are as exact as integers; thirds are not. */
static void test_fractions(void **state) {
  (void)state;
  for (int third = 0; third < 2; third++) {
    rounding d;
    tess_expr x = rounding_begin(&d, F32, 8, 16);
    tess_expr by = rounding_literal(&d, third ? 3 : 16);
    tess_program *p = rounding_finish(
        &d, rounding_reduce(&d, "sum", rounding_binary(&d, "/", x, by)));
    range_fact f = fact_of(&d, p, 4);
    assert_int_equal(f.roundings > 0, third);
    rounding_end(&d, p);
  }
}

static void test_functions_round(void **state) {
  (void)state;
  rounding d;
  tess_expr x = rounding_begin(&d, F32, 8, 16);
  tess_program *p = rounding_finish(
      &d, rounding_reduce(&d, "max", rounding_call(&d, "exp", x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(!f.known && f.roundings > 0 && f.roundings < 16 && !f.jumps);
  rounding_end(&d, p);
}

/* A greatest element is what it was; rounding it makes no difference, but
 * rounding what was rounded may: then it is the next integer. */
static void test_jumps(void **state) {
  (void)state;
  for (int rounded = 0; rounded < 2; rounded++) {
    rounding d;
    tess_expr x = rounding_begin(&d, F32, 8, 16);
    if (rounded) x = rounding_call(&d, "exp", x);
    tess_program *p = rounding_finish(
        &d, rounding_reduce(&d, "max", rounding_call(&d, "floor", x)));
    range_fact f = fact_of(&d, p, 0);
    assert_int_equal(f.jumps, rounded);
    assert_true(f.step == rounded && f.roundings == 0);
    rounding_end(&d, p);
  }
}

/* What one jump makes of round(exp(x)), named q, in the result. */
static tess_expr of_steps(rounding *d, int which, tess_expr x) {
  tess_expr y = rounding_call(d, "exp", x), q = rounding_call(d, "round", y);
  tess_expr three = rounding_literal(d, 3), v = rounding_ref(d, d->v);
  switch (which) {
  case 0: return q;
  case 1: return rounding_binary(d, "*", q, three);
  case 2: return rounding_binary(d, "/", q, rounding_literal(d, 4));
  case 3: return rounding_binary(d, "+", q, q);
  case 4: return rounding_cast(d, F32, rounding_cast(d, I32, q));
  case 5:
    return rounding_cast(
        d, F32, rounding_cast(d, I32, rounding_binary(d, "*", y, three)));
  case 6: return rounding_cast(d, F32, rounding_binary(d, ">", y, three));
  case 7:
    return rounding_choose(d, rounding_binary(d, ">", y, three), three, x);
  case 8: return rounding_binary(d, "max", q, three);
  case 9: return rounding_binary(d, "*", q, rounding_cast(d, F32, v));
  case 10:
    return rounding_cast(d, F32,
                         rounding_binary(d, "//", rounding_cast(d, I32, q),
                                         rounding_cast(d, I32, three)));
  case 11: return rounding_call(d, "tanh", q);
  case 12: return rounding_call(d, "exp", q);
  case 13: return rounding_binary(d, "*", q, y);
  case 14: return rounding_binary(d, "/", three, q);
  case 15: return rounding_binary(d, "*", rounding_cast(d, F32, v), q);
  default: return y;
  }
}

static void test_steps(void **state) {
  (void)state;
  static const double step[] = {
      1, 3, .25, 2, 1, 1, 1, 4, 1, 7, 1, 2, INFINITY, INFINITY, INFINITY, 7, 0};
  for (int i = 0; i < (int)(sizeof step / sizeof *step); i++) {
    rounding d;
    tess_expr x = rounding_begin(&d, F32, 8, 16);
    tess_program *p =
        rounding_finish(&d, rounding_reduce(&d, "max", of_steps(&d, i, x)));
    range_fact f = fact_of(&d, p, 0);
    if (f.step != step[i]) fail_msg("%d: %g, not %g", i, f.step, step[i]);
    assert_int_equal(f.jumps, step[i] > 0);
    rounding_end(&d, p);
  }
}

/* Roots, logarithms and divisors are better not negative; whether they can
 * be, the program tells. */
static tess_expr of_signs(rounding *d, int which, tess_expr x) {
  tess_expr square = rounding_binary(d, "*", x, x),
            one = rounding_literal(d, 1);
  switch (which) {
  case 0: return rounding_call(d, "tanh", x);
  case 1: return rounding_call(d, "sqrt", square);
  case 2:
    return rounding_call(
        d, "log", rounding_binary(d, "+", one, rounding_call(d, "exp", x)));
  case 3:
    return rounding_binary(d, "/", x, rounding_binary(d, "+", square, one));
  case 4: return rounding_call(d, "rsqrt", rounding_binary(d, "max", x, one));
  case 5: return rounding_binary(d, "/", x, rounding_literal(d, -3));
  case 6: return rounding_call(d, "sqrt", rounding_call(d, "abs", x));
  case 7: return rounding_call(d, "sqrt", x);
  case 8: return rounding_call(d, "log", rounding_binary(d, "-", square, one));
  case 9: return rounding_binary(d, "/", one, x);
  case 10: return rounding_call(d, "rsqrt", rounding_call(d, "tanh", x));
  default: return rounding_call(d, "sqrt", rounding_binary(d, "min", x, one));
  }
}

static void test_signs(void **state) {
  (void)state;
  for (int i = 0; i < 12; i++) {
    rounding d;
    tess_expr x = rounding_begin(&d, F32, 8, 16);
    tess_program *p =
        rounding_finish(&d, rounding_reduce(&d, "sum", of_signs(&d, i, x)));
    err_state e;
    bench b;
    if (bench_open(&b, &d.c->heap, &d.scratch, &p->p, 1, 1, NULL, &e))
      fail_msg("%s", e.message);
    const float *in = b.args[0];
    int below = 0;
    for (int k = 0; k < 8 * 16; k++) {
      assert_true(in[k] >= -1 && in[k] < 1 && in[k] != floorf(in[k]));
      below += in[k] < 0;
    }
    if (i < 7 ? below < 32 || below > 96 : below > 0)
      fail_msg("%d: %d of 128 are negative", i, below);
    bench_close(&b);
    rounding_end(&d, p);
  }
}

/* A[I[v], k]: I must stay below the extent of A. */
static void test_indices(void **state) {
  (void)state;
  rounding d;
  rounding_begin(&d, F32, 8, 16);
  tess_expr v = rounding_ref(&d, d.v), i, x;
  rounding_ok(&d, tess_load(d.b, d.index, 1, &v, &i));
  rounding_ok(&d, tess_cast(d.b, I64, i, &i));
  tess_expr at[] = {i, rounding_ref(&d, d.k)};
  rounding_ok(&d, tess_load(d.b, d.in, 2, at, &x));
  tess_program *p = rounding_finish(&d, rounding_reduce(&d, "sum", x));
  range_plan plan;
  range_find(&p->p, &d.scratch, 4, &plan);
  const ir_func *f = ir_entry(&p->p);
  assert_int_equal(plan.use[p->p.arg.v[f->params.at + 1]].in.count, 8);
  assert_false(plan.use[p->p.arg.v[f->params.at]].in.bounded);
  err_state e;
  bench b;
  assert_int_equal(
      bench_open(&b, &d.c->heap, &d.scratch, &p->p, 1, 1, NULL, &e), TESS_OK);
  const int32_t *index = b.args[1];
  for (int k = 0; k < 8; k++) assert_true(index[k] >= 0 && index[k] < 8);
  bench_close(&b);
  rounding_end(&d, p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exact_sums),
      cmocka_unit_test(test_sums_round),
      cmocka_unit_test(test_mixed_types),
      cmocka_unit_test(test_coarse_types),
      cmocka_unit_test(test_integers_wrap),
      cmocka_unit_test(test_fractions),
      cmocka_unit_test(test_functions_round),
      cmocka_unit_test(test_jumps),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_signs),
      cmocka_unit_test(test_indices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
