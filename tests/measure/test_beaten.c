/* SPDX-License-Identifier: Apache-2.0
 * Labels: threads
 * What is slower than the best is measured no longer than it takes to see. */
#include "measure/timing.h"
#include "support/measured.h"

static void test_cut_off(void **state) {
  (void)state;
  measured m;
  measure_build b;
  measure_result r;
  measured_start(&m, false, NULL);
  tess_program *p = measured_matmul(m.c, 64);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_OK);
  measure_request q = {
      .code = &b.code, .check = MEASURE_CHECK_IF_BEST, .best = 1e-12};
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.median > 0);
  measure_result_free(&r);
  q.best = 1e6;
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  assert_true(!r.cut_off && r.checked && r.sample.n > 1);
  measure_result_free(&r);
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
}

/* The first launch of a long kernel is enough where the best is faster; else
 * samples follow. */
static void test_beaten_at_once(void **state) {
  (void)state;
  measured m;
  measure_build b;
  measure_result r;
  measured_start(&m, false, NULL);
  tess_program *p = measured_matmul(m.c, 256);
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_OK);
  measure_request q = {.code = &b.code, .check = MEASURE_CHECK_NEVER};
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  q.best = r.min / 2; /* far from what `cutoff` says */
  bool is_long = r.min >= TIMING_LONG;
  assert_true(r.sample.n > 1 && !r.cut_off);
  measure_result_free(&r);
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  assert_true(r.sample.n == 1 && r.cut_off == is_long);
  measure_result_free(&r);
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
}

/* Its loop of the sums is parallel. */
static tess_schedule *sum_in_parallel(tess_program *p) {
  tess_schedule *s;
  assert_int_equal(tess_schedule_new(p, NULL, 1, &s), TESS_OK);
  tess_arg a = {"loop", {.kind = TESS_V_RV, .rv = measured_loop(s, "C")}};
  measured_call(s, "parallel", 1, &a);
  return s;
}

/* A first launch ends where it is beaten, and its time is told by the share
 * that was done; but what is compared runs whole. */
static void test_ended_early(void **state) {
  enum { LONG = 640 };
  (void)state;
  for (int in_process = 0; in_process < 2; in_process++) {
    measured m;
    measure_build b;
    measure_result r;
    measured_start(&m, in_process, NULL);
    tess_program *p = measured_matmul(m.c, LONG);
    measured_task(&m, p);
    tess_schedule *s = sum_in_parallel(p);
    assert_int_equal(measured_build(&m, s, &b), TESS_OK);
    measure_request q = {
        .code = &b.code, .check = MEASURE_CHECK_IF_BEST, .best = 1e-6};
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    double ran = measure_get_ledger(m.pool)->kernel;
    assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.runs == 1);
    assert_true(r.median > ran && r.median >= TIMING_LONG);
    measure_result_free(&r);
    q.check = MEASURE_CHECK_ALWAYS;
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_true(r.cut_off && r.checked);
    measure_result_free(&r);
    measure_build_free(&b);
    tess_schedule_free(s);
    tess_program_free(p);
    measured_end(&m);
  }
}

/* What runs far longer than the best, and has no parallel loop, is ended long
 * before the time-out, as what is slow and not as what failed; the next one has
 * a worker again. */
static void test_killed_as_slow(void **state) {
  enum { LONG = 1024 };
  (void)state;
  measured m;
  measure_build b;
  measure_result r;
  measured_start(&m, false, NULL);
  tess_program *p = measured_matmul(m.c, LONG);
  m.policy.timeout = 300;
  measured_task(&m, p);
  assert_int_equal(measured_build(&m, NULL, &b), TESS_OK);
  measure_request q = {
      .code = &b.code, .check = MEASURE_CHECK_NEVER, .best = 1e-6};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.runs == 1);
    assert_true(r.median == r.sample.v[0] && r.median > q.best);
    measure_result_free(&r);
  }
  measure_build_free(&b);
  tess_program_free(p);
  measured_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_beaten_at_once),
      cmocka_unit_test(test_ended_early),
      cmocka_unit_test(test_killed_as_slow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
