/* SPDX-License-Identifier: Apache-2.0
 * Heaps: accounting, the cap, unwinding, and the fault-injecting allocator. */
#include "base/fault.h"
#include "base/mem.h"
#include "support/test.h"

typedef struct fixture {
  fault_alloc fault;
  mem_heap heap;
  void *kept;
  int steps;
} fixture;

static void mem_start(fixture *f, size_t cap) {
  *f = (fixture){.steps = 0};
  fault_init(&f->fault);
  mem_heap_init(&f->heap, fault_allocator(&f->fault), cap);
}

static void test_accounting(void **state) {
  (void)state;
  fixture f;
  mem_start(&f, 0);
  char *p = mem_try_resize(&f.heap, NULL, 0, 100);
  assert_non_null(p);
  memset(p, 'x', 100);
  assert_int_equal(f.heap.used, 100);
  p = mem_try_resize(&f.heap, p, 100, 300);
  assert_int_equal(p[99], 'x');
  assert_int_equal(f.heap.used, 300);
  p = mem_try_resize(&f.heap, p, 300, 50);
  assert_int_equal(f.heap.used, 50);
  assert_int_equal(f.heap.calls, 3);
  mem_free(&f.heap, p, 50);
  mem_free(&f.heap, NULL, 0);
  assert_int_equal(f.heap.used, 0);
  assert_int_equal(f.fault.live_blocks, 0);
  assert_int_equal(f.fault.broken, 0);
}

static void test_default_allocator(void **state) {
  (void)state;
  mem_heap h;
  mem_heap_init(&h, mem_default_allocator, 0);
  int *p = mem_try_resize(&h, NULL, 0, sizeof *p);
  assert_non_null(p);
  mem_delete(&h, p);
  assert_int_equal(h.used, 0);
}

static tess_status over_the_cap(void *ud) {
  fixture *f = ud;
  f->kept = mem_resize(&f->heap, NULL, 0, 600);
  f->steps = 1;
  mem_resize(&f->heap, NULL, 0, 500);
  f->steps = 2;
  return TESS_OK;
}

static void test_cap_unwinds_with_limit(void **state) {
  (void)state;
  fixture f;
  mem_start(&f, 1000);
  assert_int_equal(mem_protect(&f.heap, over_the_cap, &f), TESS_LIMIT);
  assert_int_equal(f.steps, 1);
  assert_null(mem_try_resize(&f.heap, f.kept, 600, 1001));
  f.kept = mem_try_resize(&f.heap, f.kept, 600, 1000);
  assert_non_null(f.kept);
  mem_free(&f.heap, f.kept, 1000);
  assert_int_equal(f.fault.live_bytes, 0);
}

static tess_status ten_blocks(void *ud) {
  fixture *f = ud;
  for (f->steps = 0; f->steps < 10; f->steps++) {
    void *p = mem_resize(&f->heap, NULL, 0, 16);
    mem_free(&f->heap, p, 16);
  }
  return TESS_OK;
}

static void test_nth_allocation_fails(void **state) {
  (void)state;
  fixture f;
  mem_start(&f, 0);
  for (int n = 1; n <= 10; n++) {
    fault_arm(&f.fault, (uint64_t)n);
    assert_int_equal(mem_protect(&f.heap, ten_blocks, &f), TESS_NOMEM);
    assert_int_equal(f.steps, n - 1);
    assert_int_equal(f.fault.failed, 1);
    assert_int_equal(f.heap.used, 0);
  }
  fault_arm(&f.fault, 11);
  assert_int_equal(mem_protect(&f.heap, ten_blocks, &f), TESS_OK);
}

static tess_status inner(void *ud) {
  fixture *f = ud;
  mem_unwind(&f->heap, TESS_REFUSED);
}

static tess_status outer(void *ud) {
  fixture *f = ud;
  if (mem_protect(&f->heap, inner, f) != TESS_REFUSED) return TESS_INTERNAL;
  f->steps = 7;
  mem_unwind(&f->heap, TESS_CANCELLED);
}

static void test_protect_nests(void **state) {
  (void)state;
  fixture f;
  mem_start(&f, 0);
  assert_int_equal(mem_protect(&f.heap, outer, &f), TESS_CANCELLED);
  assert_int_equal(f.steps, 7);
  assert_null(f.heap.trap);
}

static tess_status plain(void *ud) {
  (void)ud;
  return TESS_TYPE;
}

static void test_protect_passes_status_on(void **state) {
  (void)state;
  fixture f;
  mem_start(&f, 0);
  assert_int_equal(mem_protect(&f.heap, plain, &f), TESS_TYPE);
  assert_null(f.heap.trap);
}

static void test_fault_notices_misuse(void **state) {
  (void)state;
  fault_alloc f;
  fault_init(&f);
  tess_allocator a = fault_allocator(&f);
  char *p = a.fn(a.ud, NULL, 0, 8);
  a.fn(a.ud, p, 9, 0);
  assert_int_equal(f.broken, 1);
  char kept = p[8];
  p[8] = 0;
  a.fn(a.ud, p, 8, 0);
  assert_int_equal(f.broken, 2);
  p[8] = kept;
  fault_arm(&f, 1);
  p = a.fn(a.ud, p, 8, 4);
  assert_non_null(p);
  f.and_after = true;
  assert_null(a.fn(a.ud, NULL, 0, 4));
  assert_null(a.fn(a.ud, NULL, 0, 4));
  assert_int_equal(f.failed, 2);
  a.fn(a.ud, p, 4, 0);
  assert_int_equal(f.live_blocks, 0);
  assert_int_equal(f.broken, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_accounting),
      cmocka_unit_test(test_default_allocator),
      cmocka_unit_test(test_cap_unwinds_with_limit),
      cmocka_unit_test(test_nth_allocation_fails),
      cmocka_unit_test(test_protect_nests),
      cmocka_unit_test(test_protect_passes_status_on),
      cmocka_unit_test(test_fault_notices_misuse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
