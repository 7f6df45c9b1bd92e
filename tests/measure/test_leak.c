/* SPDX-License-Identifier: Apache-2.0
 * Labels: slow
 * No leaks: a thousand candidates use no more memory than a hundred, in a
 * worker that is not replaced meanwhile, and in this process. */
#include "measure/worker/pool.h"
#include "support/measured.h"
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { WARM = 100, CYCLES = TEST_DRAWS(1000) };

/* Bytes of a process that are in memory. */
static size_t resident(pid_t pid) {
  char path[64];
  unsigned long size = 0, pages = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%lu %lu", &size, &pages), 2);
  fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void cycle(measured *m, int n) {
  for (int i = 0; i < n; i++) {
    measure_result r;
    tess_status s = measured_run(m, NULL, MEASURE_CHECK_ALWAYS, &r);
    if (s) fail_msg("%s", m->err.message);
    measure_result_free(&r);
  }
}

/* ASan keeps what was freed for a while, and finds leaks by itself. */
static bool has_asan(void) { return dlsym(RTLD_DEFAULT, "__asan_init"); }

/* Half a page for each candidate would be 2 MB. */
static void stays_small(bool in_process) {
  enum { ADMITTED = 2 << 20 };
  measured m;
  measured_start(&m, in_process, NULL);
  measure_pool_free(m.pool);
  measure_config o = {
      .in_process = in_process, .workers = 1, .recycle = UINT32_MAX};
  assert_int_equal(measure_pool_new(&m.c->heap, &o, &m.pool, &m.err), TESS_OK);
  m.policy.min_time = 0;
  m.policy.repeats = 1;
  tess_program *p = measured_matmul(m.c, 8);
  measured_task(&m, p);
  cycle(&m, WARM);
  pid_t pid[] = {in_process ? getpid() : m.pool->builder[0].pid,
                 in_process ? getpid() : m.pool->runner.pid};
  size_t before[] = {resident(pid[0]), resident(pid[1])};
  size_t own = m.c->heap.used;
  cycle(&m, CYCLES);
  for (int i = 0; i < 2; i++) {
    size_t after = resident(pid[i]);
    if (after > before[i] + ADMITTED && !has_asan())
      fail_msg("%zu bytes, then %zu", before[i], after);
  }
  assert_int_equal(m.c->heap.used, own);
  tess_program_free(p);
  measured_end(&m);
}

static void test_worker(void **state) {
  (void)state;
  stays_small(false);
}

static void test_in_process(void **state) {
  (void)state;
  stays_small(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_worker),
      cmocka_unit_test(test_in_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
