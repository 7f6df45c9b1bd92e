/* SPDX-License-Identifier: Apache-2.0
 * Candidates that misbehave end their worker, have their class and a message,
 * and the next candidate runs. */
#include "measure/worker/pool.h"
#include "support/measured.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 64 };

static void use(measured *m, const char *fn) {
  measured_take(m, measured_extern(m->c, fn, N));
}

/* The status of running the task's program (or its parallel schedule). */
static tess_status misbehave_run(measured *m, measure_check check) {
  measure_result r;
  tess_status s = measured_run(m, NULL, check, &r);
  measure_result_free(&r);
  return s;
}

static void is_well(measured *m) {
  use(m, "test_plus_one");
  tess_status s = misbehave_run(m, MEASURE_CHECK_ALWAYS);
  if (s) fail_msg("%s", m->err.message);
}

static void misbehave_start(measured *m) {
  measured_start(m, false, TESS_EXTERNS);
}

/* fn gives the class, and a message with `says`; afterwards all is well. */
static void misbehave_expect(const char *fn, tess_status class,
                             const char *says) {
  measured m;
  misbehave_start(&m);
  if (class == TESS_TIMEOUT) m.policy.timeout = 0.3;
  use(&m, fn);
  tess_status s = misbehave_run(&m, MEASURE_CHECK_NEVER);
  if (s != class) fail_msg("%s: %d %s", fn, (int)s, m.err.message);
  measured_says(&m, says);
  m.policy.timeout = 20;
  is_well(&m);
  measured_end(&m);
}

static void test_hang(void **state) {
  (void)state;
  misbehave_expect("test_hang", TESS_TIMEOUT, "running took longer than 0.3 s");
}

/* Nor is it taken for what is slow where a best is known. */
static void test_hang_after_best(void **state) {
  (void)state;
  measured m;
  measure_result r;
  misbehave_start(&m);
  m.policy.timeout = 0.5;
  use(&m, "test_hang");
  measure_request q = {.code = measured_code(&m, NULL),
                       .check = MEASURE_CHECK_IF_BEST,
                       .best = 1e-6};
  assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_TIMEOUT);
  measure_result_free(&r);
  measured_end(&m);
}

static void test_crash(void **state) {
  (void)state;
  misbehave_expect("test_crash", TESS_CRASHED, "the kernel crashed: SIGSEGV");
  misbehave_expect("test_abort", TESS_CRASHED, "the kernel crashed: SIGABRT");
  misbehave_expect("test_exit", TESS_CRASHED,
                   "ended its process with status 42");
}

/* An undefined external function cannot be linked. */
static void test_unknown_extern(void **state) {
  (void)state;
  misbehave_expect("test_no_such", TESS_BUILD_ERROR, "test_no_such");
}

/* An intrinsic of another processor passes LLVM's verifier, and then there
 * is no instruction for it. */
static void test_compiler_gives_up(void **state) {
  (void)state;
  misbehave_expect("llvm.amdgcn.rcp.f32", TESS_BUILD_ERROR, "LLVM");
}

/* Thousands of calls written out take the compiler longer than it may, which is
 * said, and the next candidate may take longer. */
static void test_slow_compiler(void **state) {
  (void)state;
  measured m;
  measure_build b;
  tess_schedule *s;
  misbehave_start(&m);
  measured_take(&m, measured_extern(m.c, "test_plus_one", 3000));
  assert_int_equal(tess_schedule_new(m.program, NULL, 1, &s), TESS_OK);
  tess_arg a = {"loop", {.kind = TESS_V_RV, .rv = measured_loop(s, "B")}};
  measured_call(s, "unroll", 1, &a);
  m.task->policy.build_timeout = 0.01;
  assert_int_equal(measured_build(&m, s, &b), TESS_TIMEOUT);
  measured_says(&m, "compiling took longer than 0.01 s");
  measure_build_free(&b);
  m.task->policy.build_timeout = 300;
  assert_int_equal(measured_build(&m, s, &b), TESS_OK);
  measure_build_free(&b);
  assert_int_equal(measure_get_ledger(m.pool)->retried, 0);
  tess_schedule_free(s);
  measured_end(&m);
}

/* ---- killed workers ----------------------------------------------------- */

static void test_killed_twice(void **state) {
  (void)state;
  misbehave_expect("test_kill", TESS_INFRA, "the worker was killed: SIGKILL");
}

static void test_killed_once(void **state) {
  (void)state;
  measured m;
  char path[] = "/tmp/tessera-test-XXXXXX";
  assert_non_null(mkdtemp(path));
  char mark[64];
  snprintf(mark, sizeof mark, "%s/once", path);
  setenv("TESSERA_TEST_ONCE", mark, 1);
  misbehave_start(&m);
  use(&m, "test_kill_once");
  tess_status s = misbehave_run(&m, MEASURE_CHECK_ALWAYS);
  if (s) fail_msg("%s", m.err.message);
  const measure_ledger *l = measure_get_ledger(m.pool);
  assert_int_equal(l->lost, 1);
  assert_int_equal(l->retried, 1);
  measured_end(&m);
  unlink(mark);
  rmdir(path);
}

/* A worker that dies while idle is replaced. */
static void test_killed_idle(void **state) {
  (void)state;
  measured m;
  misbehave_start(&m);
  is_well(&m);
  pid_t pid = m.pool->runner.pid;
  kill(pid, SIGKILL);
  for (uint32_t i = 0; i < m.pool->nbuilders; i++)
    if (m.pool->builder[i].pid) kill(m.pool->builder[i].pid, SIGKILL);
  is_well(&m);
  assert_int_not_equal(m.pool->runner.pid, pid);
  measured_end(&m);
}

/* ---- wrong results ------------------------------------------------------ */

/* The program is good, its parallel schedule is not. */
static void expect_in_parallel(const char *fn, tess_status class,
                               const char *says) {
  measured m;
  measure_result r;
  misbehave_start(&m);
  use(&m, fn);
  tess_schedule *s = measured_parallel(&m, "B");
  assert_int_equal(misbehave_run(&m, MEASURE_CHECK_ALWAYS), TESS_OK);
  if (class == TESS_TIMEOUT) m.task->policy.timeout = 0.3;
  tess_status status = measured_run(&m, s, MEASURE_CHECK_IF_BEST, &r);
  m.task->policy.timeout = 20;
  if (status != class) fail_msg("%s: %d %s", fn, (int)status, m.err.message);
  measured_says(&m, says);
  measure_result_free(&r);
  assert_int_equal(misbehave_run(&m, MEASURE_CHECK_ALWAYS), TESS_OK);
  measured_end(&m);
}

static void test_wrong(void **state) {
  (void)state;
  expect_in_parallel("test_wrong_in_parallel", TESS_WRONG_RESULT,
                     "64 of 64 elements differ");
  expect_in_parallel("test_hang_in_parallel", TESS_TIMEOUT, "running took");
  expect_in_parallel("test_crash_in_parallel", TESS_CRASHED, "SIGSEGV");
}

/* B[i] = round(100 fn(A[i])) for two elements: each might be the next integer,
 * none 100 more, however few they are. */
static void test_wrong_rounded(void **state) {
  (void)state;
  static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                          I64 = {TESS_DTYPE_INT, 64, 1};
  measured m;
  measure_result r;
  tess_builder *b;
  tess_buffer in, out;
  tess_var v;
  tess_expr n, i, x, scale, body;
  tess_program *p;
  misbehave_start(&m);
  assert_int_equal(tess_builder_new(m.c, &b), TESS_OK);
  tess_int(b, I64, 2, &n);
  tess_placeholder(b, "A", F32, 1, &n, TESS_ROLE_INPUT, &in);
  tess_compute_begin(b, "B", 1, &n, NULL, &v);
  tess_var_ref(b, v, &i);
  tess_load(b, in, 1, &i, &x);
  tess_call_extern(b, "test_wrong_in_parallel", F32, 1, &x, &x);
  tess_literal(b, 100, 0, &scale);
  tess_binary(b, "*", x, scale, &x);
  tess_call(b, "round", 1, &x, &body);
  assert_int_equal(tess_compute_end(b, 1, &body, &out), TESS_OK);
  assert_int_equal(tess_program_new(b, "p", 1, &in, 1, &out, &p), TESS_OK);
  tess_builder_free(b);
  measured_take(&m, p);
  tess_schedule *s = measured_parallel(&m, "B");
  assert_int_equal(misbehave_run(&m, MEASURE_CHECK_ALWAYS), TESS_OK);
  assert_int_equal(measured_run(&m, s, MEASURE_CHECK_ALWAYS, &r),
                   TESS_WRONG_RESULT);
  measured_says(&m, "2 of 2 elements differ");
  measure_result_free(&r);
  measured_end(&m);
}

/* A later candidate is compared where it is faster than the best so far, and
 * only there, whether there is a reference already or not; and when that is
 * asked for. */
static void test_wrong_later(void **state) {
  (void)state;
  static const double slow = 1e3, fast = 1e-12;
  measured m;
  measure_result r;
  misbehave_start(&m);
  use(&m, "test_wrong_in_parallel");
  const strbuf *code = measured_code(&m, measured_parallel(&m, "B"));
  for (int i = 0; i < 2; i++) {
    measure_request q = {code, MEASURE_CHECK_IF_BEST, fast};
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_OK);
    assert_false(r.checked);
    measure_result_free(&r);
    q.best = slow;
    assert_int_equal(measure_run(m.pool, m.task, &q, &r), TESS_WRONG_RESULT);
    measure_result_free(&r);
    assert_true(m.task->has_reference);
  }
  for (int i = 0; i < 2; i++) {
    assert_int_equal(measure_compare(m.pool, m.task, code, &r),
                     TESS_WRONG_RESULT);
    assert_non_null(strstr(str_get(&r.message), "64 of 64 elements differ"));
    measure_result_free(&r);
    measured_task(&m, m.program);
  }
  code = measured_code(&m, NULL);
  assert_int_equal(measure_compare(m.pool, m.task, code, &r), TESS_OK);
  assert_true(r.checked);
  measure_result_free(&r);
  measured_end(&m);
}

/* The program that the others are compared with never ends: nobody waits for
 * it again. */
static void test_endless_reference(void **state) {
  (void)state;
  measured m;
  measure_result r;
  misbehave_start(&m);
  m.pool->config.reference = 0.3;
  use(&m, "test_hang_in_serial");
  tess_schedule *s = measured_parallel(&m, "B");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(measured_run(&m, s, MEASURE_CHECK_ALWAYS, &r), TESS_INFRA);
    measured_says(&m, "there is no reference to compare with: running took "
                      "longer than 0.3 s");
    assert_non_null(measure_task_stuck(m.task, &(tess_status){0}));
    assert_int_equal(m.pool->runner.pid, 0);
    measure_result_free(&r);
  }
  is_well(&m);
  measured_end(&m);
}

/* ---- out of bounds ------------------------------------------------------ */

/* for i: B[fn(i)] = A[i] */
static tess_program *scatter(tess_context *c, const char *fn) {
  static const tess_dtype F32 = {TESS_DTYPE_FLOAT, 32, 1},
                          I64 = {TESS_DTYPE_INT, 64, 1};
  static const char *const names[] = {"v"};
  static const tess_iter_kind kinds[] = {TESS_OPAQUE};
  tess_builder *b;
  tess_buffer in, out;
  tess_expr n, zero, i, x, at;
  tess_var loop, v;
  tess_program *p;
  assert_int_equal(tess_builder_new(c, &b), TESS_OK);
  tess_int(b, I64, N, &n);
  tess_int(b, I64, 0, &zero);
  tess_placeholder(b, "A", F32, 1, &n, TESS_ROLE_INPUT, &in);
  tess_buffer_new(b, "B", F32, 1, &n, "global", TESS_ROLE_OUTPUT, 1, &out);
  tess_loop_begin(b, "i", zero, n, &loop);
  tess_var_ref(b, loop, &i);
  tess_block_begin(b, "B", 1, names, kinds, &zero, &n, &i, 0, &v);
  tess_var_ref(b, v, &i);
  tess_load(b, in, 1, &i, &x);
  tess_call_extern(b, fn, I64, 1, &i, &at);
  assert_int_equal(tess_store(b, out, 1, &at, x), TESS_OK);
  tess_end(b);
  tess_end(b);
  if (tess_program_new(b, "scatter", 1, &in, 1, &out, &p))
    fail_msg("%s", tess_error(c)->message);
  tess_builder_free(b);
  return p;
}

static void expect_outside(const char *fn, tess_status class,
                           const char *says) {
  measured m;
  misbehave_start(&m);
  measured_take(&m, scatter(m.c, fn));
  tess_status s = misbehave_run(&m, MEASURE_CHECK_NEVER);
  if (s != class) fail_msg("%s: %d %s", fn, (int)s, m.err.message);
  measured_says(&m, says);
  is_well(&m);
  measured_end(&m);
}

static void test_out_of_bounds(void **state) {
  (void)state;
  expect_outside("test_index", TESS_OK, "");
  expect_outside("test_index_past", TESS_CRASHED,
                 "1 byte past the end of 'B' (guard page)");
  expect_outside("test_index_before", TESS_WRONG_RESULT,
                 "wrote beside 'B', out of bounds");
  /* The launches that are timed are looked at, too. */
  expect_outside("test_index_past_later", TESS_WRONG_RESULT,
                 "wrote beside 'B', out of bounds");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hang),
      cmocka_unit_test(test_hang_after_best),
      cmocka_unit_test(test_crash),
      cmocka_unit_test(test_unknown_extern),
      cmocka_unit_test(test_compiler_gives_up),
      cmocka_unit_test(test_slow_compiler),
      cmocka_unit_test(test_killed_twice),
      cmocka_unit_test(test_killed_once),
      cmocka_unit_test(test_killed_idle),
      cmocka_unit_test(test_wrong),
      cmocka_unit_test(test_wrong_rounded),
      cmocka_unit_test(test_wrong_later),
      cmocka_unit_test(test_endless_reference),
      cmocka_unit_test(test_out_of_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
