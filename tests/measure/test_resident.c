/* SPDX-License-Identifier: Apache-2.0
 * Tensors on devices whose worker ends: their contents are lost, which every
 * use says, and new ones can be made.  On PoCL's device. */
#include "measure/worker/pool.h"
#include "measure/worker/wire.h"
#include "support/measured.h"
#include <signal.h>
#include <string.h>

static tess_tensor *small_tensor(tess_context *c) {
  tess_tensor *t;
  const int64_t shape[1] = {4};
  const tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  assert_int_equal(tess_tensor_new(c, f32, 1, shape, "integers", 1, &t),
                   TESS_OK);
  return t;
}

static void assert_lost(tess_context *c, tess_status s) {
  assert_int_equal(s, TESS_INFRA);
  assert_non_null(strstr(tess_error(c)->message, "are lost: the worker"));
}

static void test_worker_killed(void **state) {
  tess_context *c;
  tess_tensor *away, *back, *other;
  measure_pool *pool;
  double greatest, relative;
  (void)state;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  tess_tensor *here = small_tensor(c);
  assert_int_equal(tess_tensor_to(here, "opencl:0", &away), TESS_OK);
  assert_string_equal(tess_tensor_device(away), "opencl:0");
  assert_null(tess_tensor_data(away));
  assert_int_equal(measure_context_pool(c, &pool), TESS_OK);
  assert_int_equal(pool->caller.residents, 1);
  kill(pool->caller.pid, SIGKILL);
  assert_lost(c, tess_tensor_to(away, "cpu", &back));
  assert_null(back);
  assert_lost(c, tess_tensor_copy(away, here));
  assert_int_equal(tess_tensor_to(here, "opencl:0", &other), TESS_OK);
  assert_lost(c, tess_tensor_copy(here, away));
  assert_int_equal(tess_tensor_to(other, "cpu", &back), TESS_OK);
  assert_int_equal(tess_tensor_compare(back, here, &greatest, &relative),
                   TESS_OK);
  assert_true(greatest == 0);
  tess_tensor *const all[] = {here, away, back, other};
  for (int i = 0; i < 4; i++) tess_tensor_free(all[i]);
  assert_int_equal(pool->caller.residents, 0);
  tess_context_free(c);
}

/* What is freed of those that the worker before had counts for nothing: the one
 * that holds the others is not replaced. */
static void test_freed_when_lost(void **state) {
  tess_context *c;
  tess_tensor *lost, *held, *back;
  measure_pool *pool;
  (void)state;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  tess_tensor *here = small_tensor(c);
  assert_int_equal(tess_tensor_to(here, "opencl:0", &lost), TESS_OK);
  assert_int_equal(measure_context_pool(c, &pool), TESS_OK);
  kill(pool->caller.pid, SIGKILL);
  assert_lost(c, tess_tensor_copy(here, lost));
  assert_int_equal(tess_tensor_to(here, "opencl:0", &held), TESS_OK);
  tess_tensor_free(lost);
  assert_int_equal(pool->caller.residents, 1);
  pool->config.recycle = 1;
  assert_int_equal(tess_tensor_to(held, "cpu", &back), TESS_OK);
  tess_tensor_free(held);
  assert_int_equal(pool->caller.residents, 0);
  tess_tensor_free(back);
  tess_tensor_free(here);
  tess_context_free(c);
}

static void test_in_process(void **state) {
  tess_context *c;
  tess_tensor *away;
  tess_options o = TESS_INIT(tess_options);
  (void)state;
  o.in_process = 1;
  assert_int_equal(tess_context_new(&o, &c), TESS_OK);
  tess_tensor *here = small_tensor(c);
  assert_int_equal(tess_tensor_to(here, "opencl:0", &away), TESS_UNSUPPORTED);
  assert_non_null(strstr(tess_error(c)->message, "in_process"));
  assert_int_equal(tess_tensor_to(here, NULL, &away), TESS_INVALID);
  tess_tensor_free(here);
  tess_context_free(c);
}

/* Truncated and lengthened requests are refused. */
static void test_request_damaged(void **state) {
  mem_heap heap;
  strbuf body;
  (void)state;
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&body, &heap);
  job_memory r = {.op = JOB_MEMORY_WRITE,
                  .is_new = true,
                  .id = 7,
                  .device = "opencl:1",
                  .contents = {"abc", 3}};
  job_memory got;
  wire_write_memory(&body, &r);
  assert_true(wire_read_memory(body.v, body.n, &got));
  assert_int_equal(got.op, JOB_MEMORY_WRITE);
  assert_true(got.is_new && got.id == 7 && got.contents.n == 3);
  assert_string_equal(got.device, "opencl:1");
  for (size_t n = 0; n < body.n; n++)
    assert_false(wire_read_memory(body.v, n, &got));
  body.v[0] = JOB_MEMORY_OPS;
  assert_false(wire_read_memory(body.v, body.n, &got));
  str_free(&body);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worker_killed),
      cmocka_unit_test(test_freed_when_lost),
      cmocka_unit_test(test_in_process),
      cmocka_unit_test(test_request_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
