/* SPDX-License-Identifier: Apache-2.0
 * Databases of tuning runs: a run goes on where one ended, and each result is
 * stored at once.
 * Labels: threads */
#include "support/recorded.h"
#include "support/test.h"

#include <math.h>
#include <stdio.h>

/* A record of a failure counts whatever its trace gives now: what failed may
 * have had no program to tell by. */
static void test_earlier_failures(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.r.fail_every = 3;
  f.r.fail_with = TESS_BUILD_ERROR;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_free(r);
  recorded_change(path,
                  "UPDATE record SET program_hash = 1 WHERE status <> 'OK'");
  f.r.fail_every = 0;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(f.r.n, 1); /* the best is measured again */
  assert_int_equal(info.trials, 100);
  assert_int_equal(info.failed, 33);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* A run that was stopped goes on; what was measured is not measured again. */
static void test_goes_on(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  tess_result_info info = TESS_INIT(tess_result_info);
  uint32_t limit = 40;
  static uint64_t first[64];
  double best = INFINITY;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.progress = recorded_stop;
  f.o.progress_ud = &limit;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(f.r.n, 40);
  memcpy(first, f.r.order, 40 * sizeof *first);
  tess_result_free(r);
  f.o.progress = NULL;
  f.r.fail_every = 0;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.trials, 100);
  for (uint32_t i = 0; i < 60; i++)
    for (uint32_t j = 0; j < 40; j++) assert_true(f.r.order[i] != first[j]);
  assert_int_equal(info.ncurve, 100);
  for (uint32_t i = 0; i < 100; i++) {
    uint64_t hash = i < 40 ? first[i] : f.r.order[i - 40];
    best = fmin(best, recorded_time(hash));
    assert_true(info.curve[i] == best);
  }
  tess_result_free(r);
  /* Stopped at once, it gives the best of those before. */
  limit = 0;
  f.o.trials = 200;
  f.o.progress = recorded_stop;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  tess_result_get(r, &info);
  assert_int_equal(info.status, TESS_CANCELLED);
  assert_int_equal(info.trials, 101);
  assert_true(info.latency == info.curve[100]);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* Processes with one seed that measure the same at the same time store it
 * twice; it is one trial all the same. */
static void test_records_of_one_candidate(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  recorded_until(&f, 40, &r);
  tess_result_free(r);
  recorded_change(path, "CREATE TEMP TABLE twin AS SELECT * FROM record;"
                        "UPDATE twin SET id = id + 40;"
                        "INSERT INTO record SELECT * FROM twin");
  assert_int_equal(recorded_count(path, "1"), 80);
  assert_int_equal(recorded_until(&f, 0, &r).trials, 40 + 1);
  assert_int_equal(f.r.n, 1);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

/* Who is killed loses nothing: another process finds each record as soon as
 * the progress tells of it. */
static int is_stored(void *ud, const tess_progress *p) {
  tess_context *c;
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  uint64_t n = 0;
  if (p->trials % 5) return 0;
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(tess_database_open(c, ud, &d), TESS_OK);
  while (tess_database_row(d, n, &row) == TESS_OK) n++;
  assert_int_equal(n, p->trials);
  tess_database_free(d);
  tess_context_free(c);
  return 0;
}

static void test_stores_at_once(void **state) {
  (void)state;
  char path[400];
  recorded_run f;
  tess_result *r;
  recorded_database(path, sizeof path);
  recorded_start(&f);
  f.o.database = path;
  f.o.trials = 40;
  f.o.progress = is_stored;
  f.o.progress_ud = path;
  assert_int_equal(recorded_tune(&f, &r), TESS_OK);
  assert_int_equal(f.r.n, 40);
  tess_result_free(r);
  recorded_end(&f);
  recorded_remove(path);
}

static void test_bad_database(void **state) {
  (void)state;
  recorded_run f;
  tess_result *r;
  char path[400];
  recorded_start(&f);
  f.o.database = "/nonexistent/folder/x.db";
  assert_int_equal(recorded_tune(&f, &r), TESS_IO);
  assert_non_null(strstr(tess_error(f.t.c)->message, "/nonexistent/folder"));
  recorded_database(path, sizeof path);
  FILE *file = fopen(path, "w");
  fputs("this is not a database, and longer than its head would be", file);
  fclose(file);
  f.o.database = path;
  assert_int_equal(recorded_tune(&f, &r), TESS_IO);
  assert_null(r);
  recorded_end(&f);
  recorded_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_earlier_failures), cmocka_unit_test(test_goes_on),
      cmocka_unit_test(test_records_of_one_candidate),
      cmocka_unit_test(test_stores_at_once),
      cmocka_unit_test(test_bad_database)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
