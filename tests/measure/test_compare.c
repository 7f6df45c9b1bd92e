/* SPDX-License-Identifier: Apache-2.0
 * Comparing results with the reference, within what rounding errors explain. */
#include "support/rounding.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct compared {
  rounding d;
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
  tess_expr a = rounding_begin(&x->d, F32, 1000, 4);
  if (!exact) a = rounding_call(&x->d, "exp", a);
  open_with(x, rounding_finish(&x->d, rounding_reduce(&x->d, "max", a)), 1000,
            0);
  assert_int_equal(x->b.is_exact, exact);
}

/* B = the greatest of n rounded exponentials: it may jump by 1. */
static void open_rounded(compared *x, int n, int first) {
  tess_expr a = rounding_begin(&x->d, F32, n, 4);
  a = rounding_call(&x->d, "round", rounding_call(&x->d, "exp", a));
  open_with(x, rounding_finish(&x->d, rounding_reduce(&x->d, "max", a)), n,
            first);
}

static void close_compared(compared *x) {
  bench_close(&x->b);
  rounding_end(&x->d, x->p);
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

/* Of a reference that was not written whole what it wrote is compared. */
static void test_compare_part(void **state) {
  (void)state;
  compared x;
  float reference[1000];
  open_compared(&x, false);
  memcpy(reference, x.out, sizeof reference);
  bench_reset(&x.b);
  memcpy(reference + 500, x.out + 500, 500 * sizeof *reference);
  for (int i = 0; i < 1000; i++) x.out[i] = (float)i;
  assert_int_equal(bench_set_reference(&x.b, reference, sizeof reference, &x.e),
                   TESS_OK);
  assert_int_equal(bench_compare_part(&x.b, &x.e), TESS_OK);
  x.out[700] = 1;
  assert_int_equal(bench_compare_part(&x.b, &x.e), TESS_OK);
  x.out[300] = 1;
  assert_int_equal(bench_compare_part(&x.b, &x.e), TESS_WRONG_RESULT);
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
  tess_expr a = rounding_begin(&x.d, F32, 1, 4);
  tess_expr index = rounding_cast(&x.d, I64, rounding_call(&x.d, "exp", a)), at,
            row;
  rounding_ok(&x.d, tess_load(x.d.b, x.d.index, 1, &index, &at));
  row = rounding_cast(&x.d, F32, at);
  open_with(&x, rounding_finish(&x.d, rounding_reduce(&x.d, "max", row)), 1,
            1000);
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
  tess_expr a = rounding_begin(&x.d, F16, (int64_t)MANY, 1);
  x.p = rounding_finish(
      &x.d, rounding_reduce(&x.d, "max", rounding_call(&x.d, "tanh", a)));
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
  tess_expr a = rounding_begin(&x.d, I64, 8, 4);
  x.p = rounding_finish(&x.d, rounding_reduce(&x.d, "sum", a));
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
    tess_expr a = rounding_begin(&x.d, F64, 8, 4);
    x.p = rounding_finish(
        &x.d, rounding_reduce(&x.d, "max", rounding_call(&x.d, "exp", a)));
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
  rounding d;
  bench b;
  err_state e;
  tess_expr x = rounding_begin(&d, F32, 8, 16), y = rounding_literal(&d, NAN);
  tess_expr below = rounding_binary(&d, "<", x, rounding_literal(&d, 0));
  tess_program *p = rounding_finish(
      &d, rounding_reduce(&d, "max", rounding_choose(&d, below, y, x)));
  if (bench_open(&b, &d.c->heap, &d.scratch, &p->p, 1, 1, NULL, &e))
    fail_msg("%s", e.message);
  bench_close(&b);
  rounding_end(&d, p);
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
      cmocka_unit_test(test_compare_exact),
      cmocka_unit_test(test_compare_near),
      cmocka_unit_test(test_compare_unwritten),
      cmocka_unit_test(test_compare_part),
      cmocka_unit_test(test_compare_jumps),
      cmocka_unit_test(test_compare_indices),
      cmocka_unit_test(test_compare_like_poison),
      cmocka_unit_test(test_compare_long),
      cmocka_unit_test(test_compare_far),
      cmocka_unit_test(test_no_number),
      cmocka_unit_test(test_compare_special),
      cmocka_unit_test(test_inputs_are_locked),
      cmocka_unit_test(test_inspect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
