/* SPDX-License-Identifier: Apache-2.0
 * Labels: threads
 * GSL's error handler, of which a process has one: two threads, both of which
 * run into errors, call it never, and it is the host's again after them. */
#include "support/test.h"

#ifdef TEST_GP
#include "search/gsl/gp.h"
#include <gsl/gsl_errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { POINTS = 4, ROUNDS = TEST_DRAWS(400000) };

static atomic_int calls;

static void count_call(const char *reason, const char *file, int line,
                       int code) {
  (void)reason, (void)file, (void)line, (void)code;
  atomic_fetch_add(&calls, 1);
}

/* A covariance of equal points, with hardly any noise, has no factor. */
static void *fail_often(void *ud) {
  const double x[POINTS] = {0}, y[POINTS] = {-1, 1, -1, 1};
  const double theta[3] = {0, 19, -19};
  atomic_int *factors = ud;
  for (int i = 0; i < ROUNDS; i++)
    if (isfinite(gp_likelihood(POINTS, 1, x, y, theta, NULL)))
      atomic_fetch_add(factors, 1);
  return NULL;
}

static void test_two_threads(void **state) {
  (void)state;
  pthread_t other;
  atomic_int factors = 0;
  gsl_error_handler_t *before = gsl_set_error_handler(count_call);
  assert_int_equal(pthread_create(&other, NULL, fail_often, &factors), 0);
  fail_often(&factors);
  pthread_join(other, NULL);
  assert_int_equal(factors, 0);
  assert_int_equal(calls, 0);
  assert_ptr_equal(gsl_set_error_handler(before), count_call);
}
#else
static void test_two_threads(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
