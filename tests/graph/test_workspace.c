/* SPDX-License-Identifier: Apache-2.0
 * Memory of kernels from places in an arena: none is given twice, what is too
 * large or too much comes from elsewhere, and all goes back where it is from.
 * Labels: threads */
#include "base/thread.h"
#include "graph/workspace.h"
#include "support/test.h"

enum { OWN = 256, THREAD = 128, PLACES = 4, ROUNDS = 2000 };

static _Alignas(64) char arena_bytes[OWN + (PLACES - 1) * THREAD];

static bool is_inside(const void *at) {
  return (uintptr_t)at >= (uintptr_t)arena_bytes &&
         (uintptr_t)at < (uintptr_t)arena_bytes + sizeof arena_bytes;
}

static void test_places(void **state) {
  (void)state;
  workspace w;
  workspace_init(&w, NULL);
  const tess_runtime *rt = workspace_for(&w, arena_bytes, OWN, THREAD, PLACES);
  assert_null(rt->parallel_for); /* the pool's */
  char *own = rt->alloc(rt->ud, OWN, 64), *each[PLACES];
  assert_ptr_equal(own, arena_bytes);
  for (int i = 0; i < PLACES; i++) each[i] = rt->alloc(rt->ud, THREAD, 64);
  for (int i = 0; i + 1 < PLACES; i++)
    assert_ptr_equal(each[i], arena_bytes + OWN + i * THREAD);
  assert_non_null(each[PLACES - 1]);
  assert_false(is_inside(each[PLACES - 1]));
  char *large = rt->alloc(rt->ud, OWN + 64, 64);
  assert_false(is_inside(large));
  rt->free(rt->ud, large);
  for (int i = 0; i < PLACES; i++) rt->free(rt->ud, each[i]);
  rt->free(rt->ud, own);
  for (int i = 0; i < PLACES; i++) assert_int_equal(w.taken[i], 0);
}

/* A kernel that asks for nothing, or of which nothing is known. */
static void test_no_places(void **state) {
  (void)state;
  workspace w;
  workspace_init(&w, NULL);
  const tess_runtime *rt = workspace_for(&w, arena_bytes, 0, 0, 0);
  char *at = rt->alloc(rt->ud, 64, 64);
  assert_false(is_inside(at));
  rt->free(rt->ud, at);
}

static bool take_often(void *ud, uint32_t item, uint32_t thread) {
  const tess_runtime *rt = ud;
  (void)thread;
  for (int i = 0; i < ROUNDS; i++) {
    char *at = rt->alloc(rt->ud, THREAD, 64);
    if (!at) return false;
    memset(at, (int)item, THREAD);
    for (int k = 0; k < THREAD; k++)
      if (at[k] != (char)item) return false;
    rt->free(rt->ud, at);
  }
  return true;
}

static void test_threads(void **state) {
  (void)state;
  workspace w;
  workspace_init(&w, NULL);
  const tess_runtime *rt = workspace_for(&w, arena_bytes, OWN, THREAD, PLACES);
  assert_true(thread_run(6, 6, take_often, (void *)(uintptr_t)rt));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),
                                     cmocka_unit_test(test_no_places),
                                     cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
