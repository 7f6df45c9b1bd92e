/* SPDX-License-Identifier: Apache-2.0
 * Labels: threads
 * What is slower than the best is measured no longer than it takes to see. */
#include "measure/timing.h"
#include "measure/worker/pool.h"
#include "support/measured.h"

static void test_cut_off(void **state) {
  (void)state;
  measured m;
  measure_result r;
  measured_start_matmul(&m, false, 64);
  const strbuf *code = measured_code(&m, NULL);
  measure_request q = {
      .code = code, .check = MEASURE_CHECK_IF_BEST, .best = 1e-12};
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.median > 0);
  measure_result_free(&r);
  q.best = 1e6;
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
  assert_true(!r.cut_off && r.checked && r.sample.n > 1);
  measure_result_free(&r);
  measured_end(&m);
}

/* The first launch of a long kernel is enough where the best is faster, before
 * `cutoff` says so; else one sample follows.  (`first` is there only where that
 * launch was long: how long it takes is the machine's affair.) */
static void test_beaten_at_once(void **state) {
  static const int64_t sizes[] = {64, 256, 640};
  (void)state;
  for (int i = 0; i < 3; i++) {
    measured m;
    measure_result r;
    measured_start_matmul(&m, false, sizes[i]);
    m.task->policy.cutoff = 0;
    const strbuf *code = measured_code(&m, NULL);
    measure_request q = {
        .code = code, .check = MEASURE_CHECK_NEVER, .best = 1e-12};
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_true(r.sample.n == 1 && r.cut_off == (r.first > 0));
    assert_true(r.cut_off ? r.sample.v[0] == r.first && r.runs == 1
                          : sizes[i] < 640);
    measure_result_free(&r);
    measured_end(&m);
  }
}

/* A first launch ends where it is beaten, and its time is told by the share
 * that was done; but what is compared runs whole. */
static void test_ended_early(void **state) {
  enum { LONG = 640 };
  (void)state;
  for (int in_process = 0; in_process < 2; in_process++) {
    measured m;
    measure_result r;
    measured_start_matmul(&m, in_process, LONG);
    const strbuf *code = measured_code(&m, measured_parallel(&m, "C"));
    measure_request q = {
        .code = code, .check = MEASURE_CHECK_IF_BEST, .best = 1e-6};
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    double ran = measure_get_ledger(m.pool)->kernel;
    assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.runs == 1);
    assert_true(r.median > ran && r.median >= TIMING_LONG);
    measure_result_free(&r);
    q.check = MEASURE_CHECK_ALWAYS;
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_true(r.cut_off && r.checked);
    measure_result_free(&r);
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
  measure_result r;
  measured_start_matmul(&m, false, LONG);
  m.task->policy.timeout = 300;
  const strbuf *code = measured_code(&m, NULL);
  measure_request q = {
      .code = code, .check = MEASURE_CHECK_NEVER, .best = 1e-6};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_true(r.cut_off && !r.checked && r.sample.n == 1 && r.runs == 1);
    assert_true(r.median == r.sample.v[0] && r.median > q.best);
    measure_result_free(&r);
  }
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
