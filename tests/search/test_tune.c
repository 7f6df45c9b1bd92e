/* SPDX-License-Identifier: Apache-2.0
 * The tuning loop over a measurer that gives recorded times: the sequence of
 * candidates depends neither on threads nor on delays of the measuring and of
 * the threads themselves; failures of every class; the funnel; the end of a
 * small space.
 * Labels: threads */
#include "base/hash.h"
#include "search/run/loop.h"
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Memory that every thread is made to wait for while candidates are made, so
 * that threads overtake one another. */
typedef struct lateness {
  atomic_bool on;
  atomic_uint waits;
} lateness;

static void *late(void *ud, void *ptr, size_t osize, size_t nsize) {
  lateness *l = ud;
  (void)osize;
  if (nsize && l->on) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t chance = hash_mix((uint64_t)t.tv_nsec, (uintptr_t)&t);
    t = (struct timespec){0, (long)(chance % 500000)};
    nanosleep(&t, NULL);
    atomic_fetch_add(&l->waits, 1);
  }
  if (nsize) return realloc(ptr, nsize);
  free(ptr);
  return NULL;
}

static void test_same_with_any_threads(void **state) {
  (void)state;
  lateness l = {0};
  const tess_allocator memory = {late, &l};
  const tess_options slow = {.struct_size = sizeof slow, .allocator = &memory};
  static const uint32_t threads[] = {1, 2, 4};
  enum { TRIALS = TEST_CHECKED ? 48 : 100 };
  static const char *const strategies[][2] = {
      {"evolutionary:population_size=128", "random"},
      {"evolutionary:population_size=64", "forest"},
      {"annealing:chains=16,steps=8", "forest"},
      {"replay", "random"}};
  recorded_run f;
  recorded_start_with(&f, &slow);
  f.o.trials = TRIALS;
  for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
    static uint64_t first[4096];
    uint32_t n = 0;
    f.o.strategy = strategies[k][0];
    f.o.cost_model = strategies[k][1];
    for (int i = 0; i < 3; i++) {
      tess_result *r;
      f.o.threads = threads[i];
      f.r.delays = i > 0;
      f.r.chance = (unsigned)i;
      l.on = i > 0;
      assert_int_equal(recorded_tune(&f, &r), TESS_OK);
      l.on = false;
      assert_int_equal(f.r.n, TRIALS);
      if (i == 0) memcpy(first, f.r.order, sizeof first), n = f.r.n;
      assert_int_equal(f.r.n, n);
      assert_memory_equal(first, f.r.order, n * sizeof *first);
      tess_result_free(r);
    }
  }
  recorded_end(&f);
  assert_true(l.waits > 0);
}

static void test_no_candidate_twice(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  f.o.trials = 200;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  for (uint32_t i = 0; i < f.r.n; i++)
    for (uint32_t j = 0; j < i; j++) assert_true(f.r.order[i] != f.r.order[j]);
  tess_result_free(r);
  recorded_end(&f);
}

/* The winner is the best that was measured, and its trace replays. */
static void test_finds_the_best(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_schedule *sch;
  double best = INFINITY;
  recorded_start(&f);
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  for (uint32_t i = 0; i < f.r.n; i++) {
    best = fmin(best, recorded_time(f.r.order[i]));
    assert_true(info.curve[i] == best);
  }
  assert_int_equal(info.status, TESS_OK);
  assert_true(info.latency == best);
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.ncurve, 100);
  assert_int_equal(tess_result_schedule(r, &sch), TESS_OK);
  tess_schedule_free(sch);
  tess_result_free(r);
  recorded_end(&f);
}

static void test_failures_do_not_end_it(void **state) {
  (void)state;
  static const tess_status classes[] = {TESS_BUILD_ERROR,  TESS_LAUNCH_ERROR,
                                        TESS_TIMEOUT,      TESS_CRASHED,
                                        TESS_WRONG_RESULT, TESS_INFRA};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    f.r.fail_every = 3;
    f.r.fail_with = classes[i];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_int_equal(info.failed, 33);
    assert_non_null(strstr(info.classes, tess_status_name(classes[i])));
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Nothing valid: the result says so and has the funnel. */
static void test_all_fail(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  tess_trace *t;
  recorded_start(&f);
  f.r.fail_every = 1;
  f.r.fail_with = TESS_CRASHED;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_NOT_FOUND);
  assert_non_null(strstr(info.funnel, "candidates tried"));
  assert_non_null(strstr(info.funnel, "     100  measured: the kernel crashed: "
                                      "what went wrong\n"));
  assert_int_equal(tess_result_trace(r, &t), TESS_NOT_FOUND);
  tess_result_free(r);
  recorded_end(&f);
}

/* What was tried is refused, rejected, without neighbour or valid. */
static void test_funnel_adds_up(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  tiled_small(&f.t);
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  long valid = recorded_line(info.funnel, "  valid");
  assert_in_range(valid, 1, recorded_line(info.funnel, "  candidates tried"));
  assert_in_range(recorded_line(info.funnel, "  valid, but duplicates"), 1,
                  valid - f.r.n);
  assert_int_equal(recorded_line(info.funnel, "  measured: ok"), f.r.n);
  assert_int_equal(
      valid, recorded_line(info.funnel, "  valid, but duplicates") + f.r.n +
                 recorded_line(info.funnel, "  valid, but not measured"));
  tess_result_free(r);
  recorded_end(&f);
}

/* A sketch without instructions is the program as it stands. */
static void test_empty_sketch(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  for (int k = 0; k < 2; k++) {
    recorded_run f;
    tess_result *r;
    recorded_start(&f);
    tiled_empty(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 1);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* A space smaller than the trials asked for is measured wholly, and once. */
static void test_exhausted_space(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  static const uint32_t batches[] = {2, 16};
  for (int k = 0; k < 4; k++) {
    recorded_run f;
    tess_result *r;
    recorded_start(&f);
    tiled_few(&f.t);
    f.o.strategy = strategies[k % 2];
    f.o.batch = batches[k / 2];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    assert_int_equal(f.r.n, 5 + 25);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* Five programs of 1215 candidates take five trials; the others learn theirs,
 * and once 1024 in a row have the run ends, as it does with so large a space
 * that no more are proposed. */
static void test_equal_programs(void **state) {
  (void)state;
  static const char *const strategies[] = {EVOLUTIONARY, "replay", "grid"};
  for (int k = 0; k < 3; k++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    tiled_equal(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    long equal = recorded_line(info.funnel, "but equal to a measured program");
    assert_int_equal(f.r.n, 5);
    assert_int_equal(info.trials, 5);
    assert_true(info.exhausted);
    assert_in_range(equal, 1024, 1215 - 5);
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* What an earlier run measured is known to the next, whose space has other
 * decisions for it. */
static void test_equal_to_record(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_start(&f);
  tiled_equal(&f.t);
  recorded_database(path, sizeof path);
  f.o.database = path;
  f.o.trials = 3;
  for (uint32_t seed = 1; seed <= 2; seed++) {
    f.o.seed = seed;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.trials, seed == 1 ? 3 : 5);
    assert_int_equal(recorded_line(info.funnel, "  measured: ok"),
                     seed == 1 ? 3 : 2);
    tess_result_free(r);
    f.o.trials = 10;
  }
  recorded_remove(path);
  recorded_end(&f);
}

/* What is found wrong in the end is so for all that learnt from it. */
static void test_equal_and_wrong(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_trace *t;
  recorded_start(&f);
  tiled_equal(&f.t);
  recorded_database(path, sizeof path);
  f.o.database = path;
  f.o.trials = 3;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  f.o.trials = 10;
  f.o.seed++;
  f.r.fail_every = 1;
  f.r.fail_with = TESS_WRONG_RESULT;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  assert_int_equal(tess_result_trace(r, &t), TESS_NOT_FOUND);
  tess_result_free(r);
  recorded_remove(path);
  recorded_end(&f);
}

/* Of 22 ways to cut 3072 lanes the 20 that keep within 1024 are measured; the
 * others are seen and rejected, and never reach the measurer. */
static void test_too_many_lanes(void **state) {
  (void)state;
  static const char *const strategies[] = {"evolutionary", "replay"};
  static const char why[] =
      "  rejected by vector_lanes: a vectorised loop has more than 1024 lanes "
      "(for example ";
  for (int k = 0; k < 2; k++) {
    recorded_run f;
    tess_result *r;
    tess_result_info info = TESS_INIT(tess_result_info);
    recorded_start(&f);
    tiled_wide(&f.t);
    f.o.strategy = strategies[k];
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    tess_result_get(r, &info);
    assert_int_equal(info.status, TESS_OK);
    assert_int_equal(f.r.n, 20);
    assert_string_equal(info.classes, "{\"OK\": 20}");
    assert_true(recorded_line(info.funnel, why) > 0);
    long lanes = strtol(strstr(info.funnel, why) + sizeof why - 1, NULL, 10);
    assert_true(lanes == 1536 || lanes == 3072);
    assert_int_equal(recorded_line(info.funnel, why) +
                         recorded_line(info.funnel, "  valid\n"),
                     recorded_line(info.funnel, "  candidates tried") -
                         recorded_line(info.funnel, "  have no neighbour"));
    tess_result_free(r);
    recorded_end(&f);
  }
}

/* What is left is expected to take as long as what this run did took, once it
 * did a few; what earlier ones did is neither. */
static int check_eta(void *ud, const tess_progress *p) {
  uint32_t before = *(uint32_t *)ud, left = p->max_trials - p->trials;
  double one = p->elapsed / (p->trials - before);
  if (left > 0 && p->trials - before < 8)
    assert_true(isinf(p->eta) && !strstr(p->text, "ETA"));
  else
    assert_true(fabs(p->eta - one * left) <= 1e-9 * p->elapsed);
  if (left == 0) assert_null(strstr(p->text, "ETA"));
  return p->trials == 40;
}

static void test_eta(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.progress = check_eta;
  for (uint32_t before = 0; before <= 40; before += 40) {
    f.o.progress_ud = &before;
    assert_int_equal(recorded_tune(&f, &r), TESS_OK);
    /* The finalists of the first part are measured again. */
    if (!before) assert_int_equal(f.r.n, 40);
    if (before) assert_in_range(f.r.n, 60, 60 + TUNE_FINALISTS);
    tess_result_free(r);
  }
  recorded_end(&f);
  recorded_remove(path);
}

static void test_unknown_names(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  recorded_start(&f);
  f.o.strategy = "clairvoyant";
  assert_int_equal(recorded_tune(&f, &r), TESS_NOT_FOUND);
  assert_non_null(strstr(tess_error(f.t.c)->message, "clairvoyant"));
  f.o.strategy = "replay";
  f.o.cost_model = "oracle";
  assert_int_equal(recorded_tune(&f, &r), TESS_NOT_FOUND);
  recorded_end(&f);
}

int main(void) {
  const struct CMUnitTest threaded[] = {
      cmocka_unit_test(test_same_with_any_threads)};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_candidate_twice),
      cmocka_unit_test(test_finds_the_best),
      cmocka_unit_test(test_failures_do_not_end_it),
      cmocka_unit_test(test_all_fail),
      cmocka_unit_test(test_funnel_adds_up),
      cmocka_unit_test(test_empty_sketch),
      cmocka_unit_test(test_exhausted_space),
      cmocka_unit_test(test_equal_programs),
      cmocka_unit_test(test_equal_to_record),
      cmocka_unit_test(test_equal_and_wrong),
      cmocka_unit_test(test_too_many_lanes),
      cmocka_unit_test(test_eta),
      cmocka_unit_test(test_unknown_names)};
  int failed = cmocka_run_group_tests(threaded, NULL, NULL);
  if (!TEST_THREADS_ONLY) failed += cmocka_run_group_tests(tests, NULL, NULL);
  return failed;
}
