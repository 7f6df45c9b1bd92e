/* SPDX-License-Identifier: Apache-2.0
 * The pool of saved kernels: each iteration once, whoever calls, in forks and
 * after it has ended, too; and its IR is up to date where clang can tell.
 * Labels: threads */
#include "backends/llvm/saved/pool.c"
#include "base/thread.h"
#include "support/test.h"
#include <sys/syscall.h>
#include <sys/wait.h>

const long tess_pool_futex = SYS_futex;
void tess_pool_pause(void) {}

enum { N = 64 };

/* TSan knows no threads of a fork. */
#ifdef __SANITIZE_THREAD__
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif

typedef struct job {
  atomic_int hits[N];
  int64_t fail_at;
  bool nested;
} job;

static int32_t hit(void *closure, int64_t begin, int64_t end);

static bool sums_up(bool nested) {
  const tess_runtime *rt = &tess_pool_runtime;
  job j = {.fail_at = -1, .nested = nested};
  if (rt->parallel_for(rt->ud, N, hit, &j)) return false;
  for (int i = 0; i < N; i++)
    if (j.hits[i] != 1) return false;
  return true;
}

static int32_t hit(void *closure, int64_t begin, int64_t end) {
  job *j = closure;
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&j->hits[i], 1);
    if (i == j->fail_at || (j->nested && !sums_up(false))) return TESS_LIMIT;
  }
  return TESS_OK;
}

static bool sums_up_item(void *ud, uint32_t item, uint32_t thread) {
  (void)ud, (void)item, (void)thread;
  return sums_up(false);
}

/* As with another OMP_NUM_THREADS and OMP_WAIT_POLICY. */
static void start_over(uint32_t threads, int64_t spin) {
  end_pool();
  set_up_pool();
  tess_pool_1.threads = threads;
  tess_pool_1.spin = spin;
}

static void each_once(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 5; threads++) {
    start_over(threads, threads % 2 ? 30000 : 0);
    for (int i = 0; i < 100; i++) assert_true(sums_up(false));
    assert_true(sums_up(true));
  }
  job j = {.fail_at = 42};
  const tess_runtime *rt = &tess_pool_runtime;
  assert_int_equal(rt->parallel_for(NULL, N, hit, &j), TESS_LIMIT);
  assert_int_equal(rt->parallel_for(NULL, 0, hit, &j), TESS_OK);
}

static void several_callers(void **state) {
  (void)state;
  start_over(3, 30000);
  for (int i = 0; i < 20; i++)
    assert_true(thread_run(4, 64, sums_up_item, NULL));
}

/* A child has threads of its own, and leaves the parent's alone at its end. */
static void after_fork(void **state) {
  (void)state;
  start_over(3, 30000);
  for (int i = 0; i < 3; i++) {
    assert_true(sums_up(false));
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      bool right = UNDER_TSAN || sums_up(false);
      end_pool();
      _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(sums_up(false));
  }
}

/* A block of no bytes is one, and alignments are kept. */
static void saved_memory(void **state) {
  (void)state;
  for (uint64_t bytes = 0; bytes < 300; bytes += 100)
    for (uint64_t align = 1; align <= 256; align *= 2) {
      char *at = tess_pool_runtime.alloc(NULL, bytes, align);
      assert_non_null(at);
      assert_int_equal((uintptr_t)at % align, 0);
      tess_pool_runtime.free(NULL, at);
    }
}

static void *host_alloc(void *ud, uint64_t bytes, uint64_t align) {
  (void)bytes, (void)align;
  return ud;
}

/* A host may have memory of its own, and no threads. */
static void completed(void **state) {
  (void)state;
  job j = {.fail_at = -1};
  tess_runtime own, host = {.ud = &j, .alloc = host_alloc};
  assert_ptr_equal(tess_pool_complete(NULL, &own), &tess_pool_runtime);
  assert_ptr_equal(tess_pool_complete(&tess_pool_runtime, &own),
                   &tess_pool_runtime);
  const tess_runtime *rt = tess_pool_complete(&host, &own);
  assert_ptr_equal(rt->alloc(rt->ud, 1, 1), &j);
  assert_int_equal(rt->parallel_for(rt->ud, N, hit, &j), TESS_OK);
  for (int i = 0; i < N; i++) assert_int_equal(j.hits[i], 1);
}

/* Tessera's build needs no clang, so what it makes is in the tree. */
static void ir_is_up_to_date(void **state) {
  (void)state;
  assert_int_equal(
      system("! command -v clang-19 > /dev/null || " TESS_SOURCE_DIR
             "/scripts/saved-pool --check"),
      0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_once),  cmocka_unit_test(several_callers),
      cmocka_unit_test(after_fork), cmocka_unit_test(saved_memory),
      cmocka_unit_test(completed),  cmocka_unit_test(ir_is_up_to_date)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
