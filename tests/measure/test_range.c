/* SPDX-License-Identifier: Apache-2.0
 * Rounding-error analysis: facts about programs, bounds, comparisons. */
#include "measure/bench.h"
#include "support/measured.h"
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const tess_dtype F16 = {TESS_DTYPE_FLOAT, 16, 1},
                        F32 = {TESS_DTYPE_FLOAT, 32, 1},
                        I32 = {TESS_DTYPE_INT, 32, 1},
                        I64 = {TESS_DTYPE_INT, 64, 1};

/* A program of one compute over v[0] and k, being described. */
typedef struct desc {
  tess_context *c;
  tess_builder *b;
  tess_buffer in, index, out;
  tess_var v, k;
  tess_expr n, m; /* extents of v and k */
  arena scratch;
} desc;

static void range_ok(desc *d, tess_status s) {
  if (s) fail_msg("%s", tess_error(d->c)->message);
}

static tess_expr ref(desc *d, tess_var v) {
  tess_expr e;
  range_ok(d, tess_var_ref(d->b, v, &e));
  return e;
}

static tess_expr binary(desc *d, const char *op, tess_expr x, tess_expr y) {
  tess_expr e;
  range_ok(d, tess_binary(d->b, op, x, y, &e));
  return e;
}

static tess_expr range_call(desc *d, const char *fn, tess_expr x) {
  tess_expr e;
  range_ok(d, tess_call(d->b, fn, 1, &x, &e));
  return e;
}

static tess_expr literal(desc *d, double v) {
  tess_expr e;
  range_ok(d, tess_literal(d->b, v, 0, &e));
  return e;
}

/* A[v, k] of type t with n x m elements. */
static tess_expr range_begin(desc *d, tess_dtype t, int64_t n, int64_t m) {
  *d = (desc){.c = NULL};
  range_ok(d, tess_context_new(NULL, &d->c));
  arena_init(&d->scratch, &d->c->heap);
  range_ok(d, tess_builder_new(d->c, &d->b));
  range_ok(d, tess_int(d->b, I64, n, &d->n));
  range_ok(d, tess_int(d->b, I64, m, &d->m));
  tess_expr zero, x, shape[] = {d->n, d->m};
  range_ok(d, tess_int(d->b, I64, 0, &zero));
  range_ok(d,
           tess_placeholder(d->b, "A", t, 2, shape, TESS_ROLE_INPUT, &d->in));
  range_ok(d, tess_placeholder(d->b, "I", I32, 1, &d->n, TESS_ROLE_INPUT,
                               &d->index));
  range_ok(d, tess_reduce_axis(d->b, "k", zero, d->m, &d->k));
  range_ok(d, tess_compute_begin(d->b, "B", 1, &d->n, NULL, &d->v));
  tess_expr at[] = {ref(d, d->v), ref(d, d->k)};
  range_ok(d, tess_load(d->b, d->in, 2, at, &x));
  return x;
}

static tess_expr sum(desc *d, const char *reducer, tess_expr x) {
  tess_expr e;
  range_ok(d, tess_reduce(d->b, reducer, 1, &x, 1, &d->k, &e));
  return e;
}

static tess_program *range_finish(desc *d, tess_expr body) {
  tess_program *p;
  tess_buffer in[] = {d->in, d->index};
  range_ok(d, tess_compute_end(d->b, 1, &body, &d->out));
  range_ok(d, tess_program_new(d->b, "p", 2, in, 1, &d->out, &p));
  return p;
}

static void range_end(desc *d, tess_program *p) {
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
  tess_expr x = range_begin(&d, F32, 8, 1024);
  tess_program *p = range_finish(&d, sum(&d, "sum", binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && f.bound == 16 * 1024);
  assert_true(range_bound(&f) == 0);
  f = fact_of(&d, p, 0);
  assert_true(!f.known && f.roundings > 1000 && range_bound(&f) > 0);
  range_end(&d, p);
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
    tess_expr x = range_begin(&d, cases[i].t, 8, cases[i].m);
    if (cases[i].squares) x = binary(&d, "*", x, x);
    tess_program *p = range_finish(&d, sum(&d, "sum", x));
    range_fact f = fact_of(&d, p, 0);
    assert_true(f.roundings == cases[i].roundings);
    assert_true(range_bound(&f) == cases[i].bound);
    range_end(&d, p);
  }
}

/* Each rounding counts with the unit of its type: a sum of float32 that is cut
 * to bfloat16 at last is not as coarse as one of bfloat16. */
static void test_mixed_types(void **state) {
  (void)state;
  static const tess_dtype BF16 = {TESS_DTYPE_BFLOAT, 16, 1};
  for (int wide = 0; wide < 2; wide++) {
    desc d;
    tess_expr x = range_begin(&d, BF16, 8, 1024);
    if (wide) range_ok(&d, tess_cast(d.b, F32, x, &x));
    tess_program *p = range_finish(&d, sum(&d, "sum", x));
    range_fact f = fact_of(&d, p, 0);
    if (wide) f = fact_cast(F32, BF16, f);
    double bound = range_bound(&f) / (16 * 0x1p-8);
    assert_true(wide ? bound > 3 && bound < 3.01 : bound == 34);
    range_end(&d, p);
  }
}

/* 2048 ones are the most that float16 counts. */
static void test_coarse_types(void **state) {
  (void)state;
  desc d;
  tess_expr x = range_begin(&d, F16, 8, 1024);
  tess_program *p = range_finish(&d, sum(&d, "sum", binary(&d, "*", x, x)));
  range_fact f = fact_of(&d, p, 2);
  assert_true(f.roundings > 0 && f.unit == ldexp(1, -11));
  f = fact_of(&d, p, 1);
  assert_true(f.roundings == 0 && f.bound == 1024);
  range_end(&d, p);
}

static void test_integers_wrap(void **state) {
  (void)state;
  desc d;
  tess_expr x = range_begin(&d, I32, 8, 1 << 20);
  tess_program *p = range_finish(
      &d, sum(&d, "sum", binary(&d, "*", x, binary(&d, "*", x, x))));
  range_fact f = fact_of(&d, p, 4);
  assert_true(f.known && f.roundings == 0 && range_bound(&f) == 0);
  range_end(&d, p);
}

/* Halves and quarters are as exact as integers; thirds are not. */
static void test_fractions(void **state) {
  (void)state;
  for (int third = 0; third < 2; third++) {
    desc d;
    tess_expr x = range_begin(&d, F32, 8, 16);
    tess_expr by = literal(&d, third ? 3 : 16);
    tess_program *p = range_finish(&d, sum(&d, "sum", binary(&d, "/", x, by)));
    range_fact f = fact_of(&d, p, 4);
    assert_int_equal(f.roundings > 0, third);
    range_end(&d, p);
  }
}

static void test_functions_round(void **state) {
  (void)state;
  desc d;
  tess_expr x = range_begin(&d, F32, 8, 16);
  tess_program *p = range_finish(&d, sum(&d, "max", range_call(&d, "exp", x)));
  range_fact f = fact_of(&d, p, 4);
  assert_true(!f.known && f.roundings > 0 && f.roundings < 16 && !f.jumps);
  range_end(&d, p);
}

/* A greatest element is what it was; rounding it makes no difference, but
 * rounding what was rounded may: then it is the next integer. */
static void test_jumps(void **state) {
  (void)state;
  for (int rounded = 0; rounded < 2; rounded++) {
    desc d;
    tess_expr x = range_begin(&d, F32, 8, 16);
    if (rounded) x = range_call(&d, "exp", x);
    tess_program *p =
        range_finish(&d, sum(&d, "max", range_call(&d, "floor", x)));
    range_fact f = fact_of(&d, p, 0);
    assert_int_equal(f.jumps, rounded);
    assert_true(f.step == rounded && f.roundings == 0);
    range_end(&d, p);
  }
}

static tess_expr cast(desc *d, tess_dtype t, tess_expr x) {
  range_ok(d, tess_cast(d->b, t, x, &x));
  return x;
}

static tess_expr range_choose(desc *d, tess_expr c, tess_expr x, tess_expr y) {
  tess_expr e;
  range_ok(d, tess_select(d->b, c, x, y, &e));
  return e;
}

/* What one jump makes of round(exp(x)), named q, in the result. */
static tess_expr of_steps(desc *d, int which, tess_expr x) {
  tess_expr y = range_call(d, "exp", x), q = range_call(d, "round", y);
  tess_expr three = literal(d, 3), v = ref(d, d->v);
  switch (which) {
  case 0: return q;
  case 1: return binary(d, "*", q, three);
  case 2: return binary(d, "/", q, literal(d, 4));
  case 3: return binary(d, "+", q, q);
  case 4: return cast(d, F32, cast(d, I32, q));
  case 5: return cast(d, F32, cast(d, I32, binary(d, "*", y, three)));
  case 6: return cast(d, F32, binary(d, ">", y, three));
  case 7: return range_choose(d, binary(d, ">", y, three), three, x);
  case 8: return binary(d, "max", q, three);
  case 9: return binary(d, "*", q, cast(d, F32, v));
  case 10:
    return cast(d, F32, binary(d, "//", cast(d, I32, q), cast(d, I32, three)));
  case 11: return range_call(d, "tanh", q);
  case 12: return range_call(d, "exp", q);
  case 13: return binary(d, "*", q, y);
  case 14: return binary(d, "/", three, q);
  case 15: return binary(d, "*", cast(d, F32, v), q);
  default: return y;
  }
}

static void test_steps(void **state) {
  (void)state;
  static const double step[] = {
      1, 3, .25, 2, 1, 1, 1, 4, 1, 7, 1, 2, INFINITY, INFINITY, INFINITY, 7, 0};
  for (int i = 0; i < (int)(sizeof step / sizeof *step); i++) {
    desc d;
    tess_expr x = range_begin(&d, F32, 8, 16);
    tess_program *p = range_finish(&d, sum(&d, "max", of_steps(&d, i, x)));
    range_fact f = fact_of(&d, p, 0);
    if (f.step != step[i]) fail_msg("%d: %g, not %g", i, f.step, step[i]);
    assert_int_equal(f.jumps, step[i] > 0);
    range_end(&d, p);
  }
}

/* Roots, logarithms and divisors are better not negative; whether they can
 * be, the program tells. */
static tess_expr of_signs(desc *d, int which, tess_expr x) {
  tess_expr square = binary(d, "*", x, x), one = literal(d, 1);
  switch (which) {
  case 0: return range_call(d, "tanh", x);
  case 1: return range_call(d, "sqrt", square);
  case 2:
    return range_call(d, "log", binary(d, "+", one, range_call(d, "exp", x)));
  case 3: return binary(d, "/", x, binary(d, "+", square, one));
  case 4: return range_call(d, "rsqrt", binary(d, "max", x, one));
  case 5: return binary(d, "/", x, literal(d, -3));
  case 6: return range_call(d, "sqrt", range_call(d, "abs", x));
  case 7: return range_call(d, "sqrt", x);
  case 8: return range_call(d, "log", binary(d, "-", square, one));
  case 9: return binary(d, "/", one, x);
  case 10: return range_call(d, "rsqrt", range_call(d, "tanh", x));
  default: return range_call(d, "sqrt", binary(d, "min", x, one));
  }
}

static void test_signs(void **state) {
  (void)state;
  for (int i = 0; i < 12; i++) {
    desc d;
    tess_expr x = range_begin(&d, F32, 8, 16);
    tess_program *p = range_finish(&d, sum(&d, "sum", of_signs(&d, i, x)));
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
    range_end(&d, p);
  }
}

/* A[I[v], k]: I must stay below the extent of A. */
static void test_indices(void **state) {
  (void)state;
  desc d;
  range_begin(&d, F32, 8, 16);
  tess_expr v = ref(&d, d.v), i, x;
  range_ok(&d, tess_load(d.b, d.index, 1, &v, &i));
  range_ok(&d, tess_cast(d.b, I64, i, &i));
  tess_expr at[] = {i, ref(&d, d.k)};
  range_ok(&d, tess_load(d.b, d.in, 2, at, &x));
  tess_program *p = range_finish(&d, sum(&d, "sum", x));
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
  range_end(&d, p);
}

/* ---- comparing ---------------------------------------------------------- */

typedef struct compared {
  desc d;
  tess_program *p;
  bench b;
  float *out;
  err_state e;
} compared;

/* Opens a bench for p with n results; the reference is first, first + 1, ... */
static void open_with(compared *x, tess_program *p, int n, int first) {
  float reference[4000];
  x->p = p;
  if (bench_open(&x->b, &x->d.c->heap, &x->d.scratch, &x->p->p, 1, 1, NULL,
                 &x->e))
    fail_msg("%s", x->e.message);
  for (int i = 0; i < n; i++) reference[i] = (float)(first + i);
  size_t bytes = (size_t)n * sizeof *reference;
  assert_int_equal(bench_set_reference(&x->b, reference, bytes, &x->e),
                   TESS_OK);
  x->out = x->b.args[2];
  memcpy(x->out, reference, bytes);
}

/* B = the greatest of A's rows, or of their exponentials. */
static void open_compared(compared *x, bool exact) {
  tess_expr a = range_begin(&x->d, F32, 1000, 4);
  if (!exact) a = range_call(&x->d, "exp", a);
  open_with(x, range_finish(&x->d, sum(&x->d, "max", a)), 1000, 0);
  assert_int_equal(x->b.is_exact, exact);
}

/* B = the greatest of n rounded exponentials: it may jump by 1. */
static void open_rounded(compared *x, int n, int first) {
  tess_expr a = range_begin(&x->d, F32, n, 4);
  a = range_call(&x->d, "round", range_call(&x->d, "exp", a));
  open_with(x, range_finish(&x->d, sum(&x->d, "max", a)), n, first);
}

static void close_compared(compared *x) {
  bench_close(&x->b);
  range_end(&x->d, x->p);
}

static tess_status range_compare(compared *x) {
  double error, bound;
  return bench_compare(&x->b, &error, &bound, &x->e);
}

static void test_compare_exact(void **state) {
  (void)state;
  compared x;
  open_compared(&x, true);
  assert_int_equal(range_compare(&x), TESS_OK);
  x.out[7] = nextafterf(7, 8);
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message,
                      "B[7] is 7.00000048, not 7; 1 of 1000 elements differ "
                      "by more than 0 of the magnitude");
  x.out[7] = 7;
  x.out[0] = -0.0f;
  assert_int_equal(range_compare(&x), TESS_OK);
  close_compared(&x);
}

static void test_compare_near(void **state) {
  (void)state;
  compared x;
  open_compared(&x, false);
  x.out[7] = nextafterf(7, 8);
  assert_int_equal(range_compare(&x), TESS_OK);
  x.out[7] = 7.1f;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  x.out[7] = NAN;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  x.out[7] = INFINITY;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  close_compared(&x);
}

/* Unwritten elements are poison; writing there is an error, and it does not
 * count in the magnitude. */
static void test_compare_unwritten(void **state) {
  (void)state;
  compared x;
  open_compared(&x, false);
  bench_reset(&x.b);
  float reference[1000];
  memcpy(reference, x.out, sizeof reference);
  for (int i = 0; i < 500; i++) reference[i] = x.out[i] = 1;
  assert_int_equal(bench_set_reference(&x.b, reference, sizeof reference, &x.e),
                   TESS_OK);
  assert_int_equal(range_compare(&x), TESS_OK);
  x.out[3] = 1.01f;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  x.out[3] = 1;
  x.out[700] = 1;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  assert_non_null(strstr(x.e.message, "B[700] is 1, not"));
  close_compared(&x);
}

/* Of n results, the first of which is `first`, so many are off by 2 and by
 * 1. */
static void expect_jumps(int n, int first, int far, int near,
                         tess_status status) {
  compared x;
  open_rounded(&x, n, first);
  assert_int_equal(range_compare(&x), TESS_OK);
  for (int i = 0; i < far; i++) x.out[i] += 2;
  for (int i = 0; i < near; i++) x.out[n - 1 - i] += 1;
  if (range_compare(&x) != status)
    fail_msg("%d of %d off by 2, %d by 1: %d", far, n, near, (int)status);
  close_compared(&x);
}

/* One in a thousand may be anything, none of fewer; one more may be off by a
 * step that is small beside the results. */
static void test_compare_jumps(void **state) {
  (void)state;
  expect_jumps(1000, 0, 1, 0, TESS_OK);
  expect_jumps(1000, 0, 2, 0, TESS_WRONG_RESULT);
  expect_jumps(1000, 0, 1, 1, TESS_OK);
  expect_jumps(1000, 0, 1, 2, TESS_WRONG_RESULT);
  expect_jumps(1000, 0, 0, 2, TESS_OK);
  expect_jumps(1000, 0, 0, 3, TESS_WRONG_RESULT);
  expect_jumps(4000, 0, 4, 1, TESS_OK);
  expect_jumps(4000, 0, 4, 2, TESS_WRONG_RESULT);
  expect_jumps(4000, 0, 400, 0, TESS_WRONG_RESULT);
  expect_jumps(999, 0, 1, 0, TESS_WRONG_RESULT);
  expect_jumps(999, 0, 0, 1, TESS_OK);
  expect_jumps(999, 0, 0, 2, TESS_WRONG_RESULT);
  expect_jumps(1, 100, 0, 1, TESS_OK);
  expect_jumps(1, 100, 1, 0, TESS_WRONG_RESULT);
  expect_jumps(1, 15, 0, 1, TESS_WRONG_RESULT);
}

/* An index may be any other, so that the only one must be right. */
static void test_compare_indices(void **state) {
  (void)state;
  compared x;
  tess_expr a = range_begin(&x.d, F32, 1, 4);
  tess_expr index = cast(&x.d, I64, range_call(&x.d, "exp", a)), at, row;
  range_ok(&x.d, tess_load(x.d.b, x.d.index, 1, &index, &at));
  row = cast(&x.d, F32, at);
  open_with(&x, range_finish(&x.d, sum(&x.d, "max", row)), 1, 1000);
  assert_int_equal(range_compare(&x), TESS_OK);
  x.out[0] = 1001;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  close_compared(&x);
}

/* What the reference has may look as if nobody had written it: an element that
 * is near is right all the same. */
static void test_compare_like_poison(void **state) {
  (void)state;
  static const uint64_t MANY = 100000;
  compared x;
  tess_expr a = range_begin(&x.d, F16, (int64_t)MANY, 1);
  x.p = range_finish(&x.d, sum(&x.d, "max", range_call(&x.d, "tanh", a)));
  assert_int_equal(
      bench_open(&x.b, &x.d.c->heap, &x.d.scratch, &x.p->p, 1, 1, NULL, &x.e),
      TESS_OK);
  bench_reset(&x.b);
  uint16_t *out = x.b.args[2];
  for (uint64_t i = 0; i < MANY; i++) /* numbers in [0.5, 1) as they are */
    if (out[i] < 0x3800 || out[i] >= 0x3c00) out[i] = 0x3900;
  assert_int_equal(bench_set_reference(&x.b, out, MANY * sizeof *out, &x.e),
                   TESS_OK);
  for (uint64_t i = 0; i < MANY; i++) out[i] ^= 1;
  if (range_compare(&x)) fail_msg("%s", x.e.message);
  for (uint64_t i = 0; i < MANY; i++) out[i] ^= 0x200;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  close_compared(&x);
}

/* Integers that are the same as floats. */
static void test_compare_long(void **state) {
  (void)state;
  compared x;
  tess_expr a = range_begin(&x.d, I64, 8, 4);
  x.p = range_finish(&x.d, sum(&x.d, "sum", a));
  assert_int_equal(
      bench_open(&x.b, &x.d.c->heap, &x.d.scratch, &x.p->p, 1, 1, NULL, &x.e),
      TESS_OK);
  int64_t *out = x.b.args[2], reference[8];
  for (int i = 0; i < 8; i++) out[i] = reference[i] = (i + 1) * (1LL << 58);
  assert_int_equal(bench_set_reference(&x.b, reference, sizeof reference, &x.e),
                   TESS_OK);
  assert_int_equal(range_compare(&x), TESS_OK);
  out[3]++;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  close_compared(&x);
}

/* Numbers whose squares are infinite, or 0. */
static void test_compare_far(void **state) {
  (void)state;
  static const tess_dtype F64 = {TESS_DTYPE_FLOAT, 64, 1};
  static const double scale[] = {1e200, 1e-200, 1e308};
  for (int k = 0; k < 3; k++) {
    compared x;
    double reference[8];
    tess_expr a = range_begin(&x.d, F64, 8, 4);
    x.p = range_finish(&x.d, sum(&x.d, "max", range_call(&x.d, "exp", a)));
    assert_int_equal(
        bench_open(&x.b, &x.d.c->heap, &x.d.scratch, &x.p->p, 1, 1, NULL, &x.e),
        TESS_OK);
    double *out = x.b.args[2];
    for (int i = 0; i < 8; i++)
      out[i] = reference[i] = scale[k] * (1 + i / 16.0) * (i % 2 ? -1 : 1);
    assert_int_equal(
        bench_set_reference(&x.b, reference, sizeof reference, &x.e), TESS_OK);
    out[2] = nextafter(out[2], 0);
    assert_int_equal(range_compare(&x), TESS_OK);
    out[2] /= 2;
    assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
    close_compared(&x);
  }
}

/* A constant that is no number. */
static void test_no_number(void **state) {
  (void)state;
  desc d;
  bench b;
  err_state e;
  tess_expr x = range_begin(&d, F32, 8, 16), y = literal(&d, NAN);
  tess_expr below = binary(&d, "<", x, literal(&d, 0));
  tess_program *p =
      range_finish(&d, sum(&d, "max", range_choose(&d, below, y, x)));
  if (bench_open(&b, &d.c->heap, &d.scratch, &p->p, 1, 1, NULL, &e))
    fail_msg("%s", e.message);
  bench_close(&b);
  range_end(&d, p);
}

/* What must be infinite, or no number, is so. */
static void test_compare_special(void **state) {
  (void)state;
  compared x;
  open_compared(&x, false);
  float reference[1000];
  memcpy(reference, x.out, sizeof reference);
  reference[1] = x.out[1] = INFINITY;
  reference[2] = x.out[2] = NAN;
  assert_int_equal(bench_set_reference(&x.b, reference, sizeof reference, &x.e),
                   TESS_OK);
  assert_int_equal(range_compare(&x), TESS_OK);
  for (int i = 1; i <= 2; i++) {
    x.out[i] = 3;
    assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
    x.out[i] = reference[i];
  }
  x.out[1] = -INFINITY;
  assert_int_equal(range_compare(&x), TESS_WRONG_RESULT);
  close_compared(&x);
}

/* A kernel that writes to an input ends there. */
static void test_inputs_are_locked(void **state) {
  (void)state;
  compared x;
  int status = 0;
  open_compared(&x, true);
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile float *)x.b.args[0] = 1;
    _exit(0);
  }
  assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  close_compared(&x);
}

static void test_inspect(void **state) {
  (void)state;
  compared x;
  open_compared(&x, true);
  bench_reset(&x.b);
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message, "the kernel wrote nothing to 'B'");
  x.out[999] = 1;
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_OK);
  x.out[1000] = 1; /* behind it, before the guard page */
  assert_int_equal(bench_inspect(&x.b, &x.e), TESS_WRONG_RESULT);
  assert_string_equal(x.e.message,
                      "the kernel wrote beside 'B', out of bounds");
  close_compared(&x);
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
      cmocka_unit_test(test_compare_exact),
      cmocka_unit_test(test_compare_near),
      cmocka_unit_test(test_compare_unwritten),
      cmocka_unit_test(test_compare_jumps),
      cmocka_unit_test(test_compare_indices),
      cmocka_unit_test(test_compare_like_poison),
      cmocka_unit_test(test_compare_long),
      cmocka_unit_test(test_compare_special),
      cmocka_unit_test(test_compare_far),
      cmocka_unit_test(test_no_number),
      cmocka_unit_test(test_inputs_are_locked),
      cmocka_unit_test(test_inspect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
