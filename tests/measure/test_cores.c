/* SPDX-License-Identifier: Apache-2.0
 * Pinning this process to cores. */
#include "measure/cores.h"
#include "support/test.h"

static int bound(void) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

static void test_pin(void **state) {
  (void)state;
  cpu_set_t all;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  int n = CPU_COUNT(&all);
  for (int k = 1; k <= n && k <= 4; k++) {
    assert_true(cores_pin((uint32_t)k, &all));
    assert_int_equal(bound(), k);
  }
  assert_false(cores_pin((uint32_t)n + 1, &all));
  assert_int_equal(bound(), n);
}

/* What is not allowed is not used. */
static void test_allowed(void **state) {
  (void)state;
  cpu_set_t all, one, now;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  int last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all)) last--;
  CPU_SET(last, &one);
  assert_true(cores_pin(1, &one));
  sched_getaffinity(0, sizeof now, &now);
  assert_true(CPU_EQUAL(&now, &one));
  assert_false(cores_pin(2, &one));
  sched_setaffinity(0, sizeof all, &all);
}

/* Those that timing leaves alone are of no core that it uses. */
static void test_left(void **state) {
  (void)state;
  cpu_set_t all, others, now;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  uint32_t n = (uint32_t)CPU_COUNT(&all);
  for (uint32_t k = 1; k <= n && k <= 4; k++) {
    uint32_t left = cores_left(k, &all, &others);
    assert_true(left < n && left <= (uint32_t)CPU_COUNT(&others));
    assert_true(cores_pin(k, &all));
    sched_getaffinity(0, sizeof now, &now);
    sched_setaffinity(0, sizeof all, &all);
    CPU_AND(&now, &now, &others);
    assert_int_equal(CPU_COUNT(&now), 0);
  }
  assert_int_equal(cores_left(n, &all, &others), 0);
  assert_int_equal(CPU_COUNT(&others), 0);
  assert_int_equal(cores_left(n + 1, &all, &others), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pin),
      cmocka_unit_test(test_allowed),
      cmocka_unit_test(test_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
