/* SPDX-License-Identifier: Apache-2.0
 * The heap of the tests, and what they have shown. */
#include "support/test.h"

#include <stdio.h>

void test_heap_start(test_heap *t, size_t cap) {
  fault_init(&t->fault);
  mem_heap_init(&t->heap, fault_allocator(&t->fault), cap);
}

void test_heap_end(test_heap *t) {
  assert_int_equal(t->fault.broken, 0);
  assert_int_equal(t->fault.live_blocks, 0);
  assert_int_equal(t->heap.used, 0);
}

uint32_t test_each_failure(test_heap *t, tess_status (*fn)(void *ud),
                           void (*reset)(void *ud), void *ud) {
  for (uint32_t n = 1;; n++) {
    fault_arm(&t->fault, n);
    tess_status status = mem_protect(&t->heap, fn, ud);
    uint64_t failed = t->fault.failed;
    t->fault.fail_at = 0;
    if (reset) reset(ud);
    if (!failed) {
      assert_int_equal(status, TESS_OK);
      return n - 1;
    }
    assert_int_equal(status, TESS_NOMEM);
  }
}

void test_shown(const char *reason) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", TESS_SHOWN_DIR, reason);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
}
