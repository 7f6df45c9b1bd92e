/* SPDX-License-Identifier: Apache-2.0
 * The kernels' runtime: each iteration once, failures reported, memory reused.
 * Labels: threads */
#include "backends/runtime.h"
#include "base/clock.h"
#include "support/huge_pages.h"
#include "support/test.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct job {
  runtime *rt;
  atomic_int *hits;
  int64_t fail_at;
} job;

static int32_t hit(void *closure, int64_t begin, int64_t end) {
  job *j = closure;
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&j->hits[i], 1);
    if (i == j->fail_at) return TESS_LIMIT;
  }
  return TESS_OK;
}

static int32_t hit_nested(void *closure, int64_t begin, int64_t end) {
  job *j = closure;
  for (int64_t i = begin; i < end; i++) {
    job inner = {j->rt, j->hits + 10 * i, -1};
    int32_t s = j->rt->rt.parallel_for(j->rt->rt.ud, 10, hit, &inner);
    if (s) return s;
  }
  return TESS_OK;
}

static void each_once(void **state) {
  (void)state;
  for (uint32_t threads = 0; threads <= 5; threads++)
    for (int64_t n = 0; n < 200; n = n * 2 + 1) {
      runtime rt;
      runtime_init(&rt, mem_default_allocator, threads);
      atomic_int *hits = calloc((size_t)n + 1, sizeof *hits);
      job j = {&rt, hits, -1};
      assert_int_equal(rt.rt.parallel_for(rt.rt.ud, n, hit, &j), TESS_OK);
      for (int64_t i = 0; i <= n; i++) assert_int_equal(hits[i], i < n);
      free(hits);
      runtime_free(&rt);
    }
}

static void nested(void **state) {
  (void)state;
  runtime rt;
  runtime_init(&rt, mem_default_allocator, 3);
  atomic_int hits[100] = {0};
  job j = {&rt, hits, -1};
  assert_int_equal(rt.rt.parallel_for(rt.rt.ud, 10, hit_nested, &j), TESS_OK);
  for (int i = 0; i < 100; i++) assert_int_equal(hits[i], 1);
  runtime_free(&rt);
}

static void failure(void **state) {
  (void)state;
  runtime rt;
  runtime_init(&rt, mem_default_allocator, 3);
  atomic_int hits[100] = {0};
  job j = {&rt, hits, 42};
  assert_int_equal(rt.rt.parallel_for(rt.rt.ud, 100, hit, &j), TESS_LIMIT);
  runtime_free(&rt);
}

/* ---- watching a launch -------------------------------------------------- */

/* A piece that lasts 10 ms, or no time. */
static int32_t linger(void *closure, int64_t begin, int64_t end) {
  job *j = closure;
  double until = j->fail_at < 0 ? 0 : clock_now() + 0.01;
  while (clock_now() < until) continue;
  for (int64_t i = begin; i < end; i++) atomic_fetch_add(&j->hits[i], 1);
  return TESS_OK;
}

static int count_hits(const atomic_int *hits, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += hits[i];
  return sum;
}

/* A loop ends after the piece at which the launch has lasted too long, and what
 * it would have taken is told by the share that was done. */
static void watched(void **state) {
  enum { N = 64 };
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    atomic_int hits[N] = {0};
    runtime rt;
    runtime_init(&rt, mem_default_allocator, threads);
    job j = {&rt, hits, 0};
    runtime_watch(&rt, 0.005);
    assert_int_equal(rt.rt.parallel_for(rt.rt.ud, N, linger, &j), TESS_TIMEOUT);
    int done = count_hits(hits, N);
    assert_in_range(done, 1, threads * N / 32);
    assert_true(runtime_unwatch(&rt) >= 0.01 * N / done);
    j.fail_at = -1;
    assert_int_equal(rt.rt.parallel_for(rt.rt.ud, N, linger, &j), TESS_OK);
    runtime_free(&rt);
  }
}

/* What does not last too long, and what fails for another reason. */
static void watched_in_vain(void **state) {
  enum { N = 64 };
  (void)state;
  atomic_int hits[N] = {0};
  runtime rt;
  runtime_init(&rt, mem_default_allocator, 2);
  job j = {&rt, hits, -1};
  runtime_watch(&rt, 1000);
  assert_int_equal(rt.rt.parallel_for(rt.rt.ud, N, linger, &j), TESS_OK);
  assert_int_equal(count_hits(hits, N), N);
  assert_true(runtime_unwatch(&rt) == 0);
  j.fail_at = 42;
  runtime_watch(&rt, 1000);
  assert_int_equal(rt.rt.parallel_for(rt.rt.ud, N, hit, &j), TESS_LIMIT);
  assert_true(runtime_unwatch(&rt) == 0);
  runtime_free(&rt);
}

/* Two loops that linger, and one that does not; each does its first iterations,
 * as many as `done` has then. */
static void linger_in_loops(runtime *rt, bool lingers, int64_t *done) {
  enum { N = 64 };
  for (int loop = 0; loop < 3; loop++) {
    atomic_int hits[N] = {0};
    job j = {rt, hits, lingers && loop < 2 ? 0 : -1};
    assert_int_equal(rt->rt.parallel_for(rt->rt.ud, N, linger, &j), TESS_OK);
    done[loop] = count_hits(hits, N);
    for (int i = 0; i < done[loop]; i++) assert_int_equal(hits[i], 1);
  }
}

static void *write_memory(runtime *rt, bool is_zero) {
  enum { SIZE = 1 << 16 };
  char *memory = rt->rt.alloc(rt->rt.ud, SIZE, 64);
  for (int i = 0; i < SIZE && is_zero; i++) assert_int_equal(memory[i], 0);
  memset(memory, 1, SIZE);
  rt->rt.free(rt->rt.ud, memory);
  return memory;
}

/* Each loop is done in part, no more of it than of those before, then as much
 * of it again, then all of it; memory is zero where a part does not write it.
 */
static void in_part(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    runtime rt;
    int64_t done[3], again[3];
    runtime_part part = {.longest = 0.005};
    runtime_init(&rt, mem_default_allocator, threads);
    void *memory = write_memory(&rt, false);
    runtime_take_part(&rt, &part);
    linger_in_loops(&rt, true, done);
    assert_ptr_equal(write_memory(&rt, true), memory);
    double left = 0, most = threads * 64 / 32;
    for (int i = 0; i < 3; most = (double)done[i++]) {
      assert_true(done[i] >= 1 && (double)done[i] <= most);
      left += (64 - (double)done[i]) / (double)done[i] * (i < 2);
    }
    assert_true(part.left_out >= 1 - most / 64 && part.rest >= 0.01 * left);
    part.longest = 0;
    runtime_take_part(&rt, &part);
    linger_in_loops(&rt, false, again);
    assert_memory_equal(again, done, sizeof done);
    runtime_take_part(&rt, NULL);
    linger_in_loops(&rt, false, again);
    for (int i = 0; i < 3; i++) assert_int_equal(again[i], 64);
    runtime_free(&rt);
  }
}

/* ---- the team ----------------------------------------------------------- */

static bool sums_up(runtime *rt) {
  atomic_int hits[64] = {0};
  job j = {rt, hits, -1};
  if (rt->rt.parallel_for(rt->rt.ud, 64, hit, &j) != TESS_OK) return false;
  for (int i = 0; i < 64; i++)
    if (hits[i] != 1) return false;
  return true;
}

/* Helpers that spin, that sleep, and that are about to. */
static void many_regions(void **state) {
  (void)state;
  static const char *const policies[] = {NULL, "passive", "ACTIVE"};
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    runtime rt;
    unsetenv("OMP_WAIT_POLICY");
    if (policies[p]) setenv("OMP_WAIT_POLICY", policies[p], 1);
    runtime_init(&rt, mem_default_allocator, 4);
    for (int i = 0; i < 300; i++) {
      assert_true(sums_up(&rt));
      if (i % 10 == 9) usleep((useconds_t)i);
    }
    runtime_free(&rt);
  }
  unsetenv("OMP_WAIT_POLICY");
}

static bool sums_up_item(void *ud, uint32_t item, uint32_t thread) {
  (void)item, (void)thread;
  return sums_up(ud);
}

/* Threads of the host that launch at the same time on one runtime. */
static void shared_by_threads(void **state) {
  (void)state;
  runtime rt;
  runtime_init(&rt, mem_default_allocator, 3);
  assert_true(thread_run(4, 400, sums_up_item, &rt));
  runtime_free(&rt);
}

static int32_t runtime_is_inside(void *closure, int64_t begin, int64_t end) {
  job *j = closure;
  for (int64_t i = begin; i < end; i++)
    atomic_fetch_add(&j->hits[i], tess_in_parallel());
  return TESS_OK;
}

static void in_parallel(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    runtime rt;
    atomic_int hits[64] = {0};
    job j = {&rt, hits, -1};
    runtime_init(&rt, mem_default_allocator, threads);
    assert_int_equal(rt.rt.parallel_for(rt.rt.ud, 64, runtime_is_inside, &j),
                     TESS_OK);
    for (int i = 0; i < 64; i++) assert_int_equal(hits[i], threads > 1);
    assert_false(tess_in_parallel());
    runtime_free(&rt);
  }
}

/* A child has none of the helpers, and waits for none. */
static void after_fork(void **state) {
  (void)state;
  int status = 0;
  runtime rt;
  runtime_init(&rt, mem_default_allocator, 3);
  assert_true(sums_up(&rt));
  pid_t child = fork();
  if (child == 0) {
    bool right = sums_up(&rt);
    runtime_free(&rt);
    _exit(right ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(sums_up(&rt));
  runtime_free(&rt);
}

/* What was freed is given again; alignment holds; large blocks have huge pages;
 * nothing leaks. */
static void memory(void **state) {
  (void)state;
  test_heap h;
  runtime rt;
  test_heap_start(&h, 0);
  runtime_init(&rt, fault_allocator(&h.fault), 1);
  for (size_t align = 1; align <= 4096; align *= 4) {
    char *p = rt.rt.alloc(rt.rt.ud, 1000, align);
    assert_int_equal((uintptr_t)p % align, 0);
    memset(p, 1, 1000);
    rt.rt.free(rt.rt.ud, p);
  }
  char *a = rt.rt.alloc(rt.rt.ud, 100000, 64);
  rt.rt.free(rt.rt.ud, a);
  uint64_t calls = h.fault.calls;
  char *b = rt.rt.alloc(rt.rt.ud, 90000, 64);
  assert_ptr_equal(a, b);
  assert_int_equal(h.fault.calls, calls);
  char *c = rt.rt.alloc(rt.rt.ud, 90000, 64);
  assert_ptr_not_equal(b, c);
  rt.rt.free(rt.rt.ud, b);
  rt.rt.free(rt.rt.ud, NULL);
  rt.rt.free(rt.rt.ud, c);
  char *large = rt.rt.alloc(rt.rt.ud, 16 << 20, 64);
  assert_true(has_huge_pages(large + (8 << 20)));
  rt.rt.free(rt.rt.ud, large);
  fault_arm(&h.fault, 1);
  assert_null(rt.rt.alloc(rt.rt.ud, 1 << 20, 64));
  h.fault.fail_at = 0;
  assert_null(rt.rt.alloc(rt.rt.ud, UINT64_MAX - 8, 64));
  runtime_free(&rt);
  test_heap_end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_once),       cmocka_unit_test(nested),
      cmocka_unit_test(failure),         cmocka_unit_test(watched),
      cmocka_unit_test(watched_in_vain), cmocka_unit_test(in_part),
      cmocka_unit_test(many_regions),    cmocka_unit_test(shared_by_threads),
      cmocka_unit_test(in_parallel),     cmocka_unit_test(after_fork),
      cmocka_unit_test(memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
