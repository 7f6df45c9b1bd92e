/* SPDX-License-Identifier: Apache-2.0
 * Memory between guard pages. */
#include "measure/tensor/guard.h"
#include "support/huge_pages.h"
#include "support/test.h"
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile uintptr_t fault_at;

static void on_fault(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  fault_at = (uintptr_t)info->si_addr;
  siglongjmp(back, 1);
}

/* true: writing there faults.  cmocka has a handler of its own in each
 * test. */
static bool faults(volatile char *at) {
  struct sigaction before;
  struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  volatile bool fault = true;
  sigaction(SIGSEGV, &a, &before);
  if (!sigsetjmp(back, 1)) {
    *at = 1;
    fault = false;
  }
  sigaction(SIGSEGV, &before, NULL);
  return fault;
}

static void test_sizes(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t sizes[] = {0, 1, 7, 64, page - 4, page, page + 4, 3 * page};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    guard g;
    size_t n = sizes[i], distance;
    assert_true(guard_open(&g, n, 1));
    for (size_t k = 0; k < n; k++) g.data[k] = (char)k;
    assert_true(faults(g.data - 1));
    assert_int_equal(guard_find(&g, fault_at, &distance), GUARD_BEFORE);
    assert_int_equal(distance, 1);
    guard_place(&g, GUARD_BACK);
    for (size_t k = 0; k < n; k++) assert_int_equal(g.data[k], (char)k);
    assert_true(faults(g.data + n));
    assert_int_equal(guard_find(&g, fault_at, &distance), GUARD_BEHIND);
    assert_int_equal(distance, 1);
    assert_true(faults(g.data + n + 100000));
    guard_place(&g, GUARD_FRONT);
    for (size_t k = 0; k < n; k++) assert_int_equal(g.data[k], (char)k);
    assert_true(guard_check(&g));
    guard_close(&g);
  }
}

/* Where alignment keeps it from the guard, what is between them is looked
 * at. */
static void test_alignment(void **state) {
  (void)state;
  guard g;
  assert_true(guard_open(&g, 100, 64));
  guard_place(&g, GUARD_BACK);
  assert_int_equal((uintptr_t)g.data % 64, 0);
  assert_false(faults(g.data + 100));
  assert_false(guard_check(&g));
  guard_close(&g);
}

static void test_lock(void **state) {
  (void)state;
  guard g;
  size_t distance;
  assert_true(guard_open(&g, 100, 4));
  g.data[5] = 42;
  guard_lock(&g, true);
  guard_place(&g, GUARD_BACK);
  assert_int_equal(g.data[5], 42);
  assert_true(faults(g.data + 5));
  assert_int_equal(guard_find(&g, fault_at, &distance), GUARD_INSIDE);
  assert_int_equal(distance, 5);
  guard_lock(&g, false);
  assert_false(faults(g.data + 5));
  assert_int_equal(guard_find(&g, 0, &distance), GUARD_MISSED);
  guard_close(&g);
}

static void test_too_large(void **state) {
  (void)state;
  guard g;
  assert_false(guard_open(&g, SIZE_MAX - 5, 1));
  guard_close(&g);
  assert_false(guard_open(&g, (size_t)1 << 60, 1));
  guard_close(&g);
}

static void test_large_has_huge_pages(void **state) {
  (void)state;
  guard g;
  assert_true(guard_open(&g, 16 << 20, 64));
  assert_true(has_huge_pages(g.data + (8 << 20)));
  guard_close(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_alignment),
      cmocka_unit_test(test_lock),
      cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_large_has_huge_pages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
