/* SPDX-License-Identifier: Apache-2.0
 * Databases that are opened for reading only: beside a process that stores, and
 * what there is of each workload, target and policy. */
#include "search/database/database.h"
#include "support/recorded.h"

#include <math.h>
#include <stdio.h>

static const char no_instructions[] =
    "{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": []}";

static void put_one(database *d, database_key k, tess_status status,
                    double seconds) {
  database_record r = {.message = "",
                       .status = status,
                       .seconds = seconds,
                       .checked = seconds != 1,
                       .trace = no_instructions};
  assert_int_equal(database_put_records(d, &k, 1, &r), TESS_OK);
}

static void is_group(tess_database *d, uint64_t k, const char *target,
                     int count, int failed, int best, double seconds) {
  tess_record_group g = TESS_INIT(tess_record_group);
  assert_int_equal(tess_database_group(d, k, &g), TESS_OK);
  assert_string_equal(g.target, target);
  assert_string_equal(g.workload_name, "p");
  assert_int_equal(g.count, count);
  assert_int_equal(g.failed, failed);
  assert_int_equal(g.best, best);
  assert_true(g.seconds == seconds);
}

/* Number 4 was not compared, and 5 has no possible time. */
static void test_beside_a_writer(void **state) {
  const database_key a = {1, "a", "q"}, b = {1, "b", "q"};
  char path[200];
  tess_context *c;
  tess_database *d, *reader;
  tess_record_group g = TESS_INIT(tess_record_group);
  tess_record_filter filter = TESS_INIT(tess_record_filter);
  uint64_t n;
  (void)state;
  recorded_database(path, sizeof path);
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(tess_database_open_readonly(c, path, &reader), TESS_IO);
  assert_null(reader);
  assert_non_null(strstr(tess_error(c)->message, "(no such file)"));
  assert_int_equal(tess_database_open(c, path, &d), TESS_OK);
  assert_int_equal(tess_database_open_readonly(c, path, &reader), TESS_OK);
  assert_int_equal(tess_database_group(reader, 0, &g), TESS_NOT_FOUND);
  recorded_change(path, "INSERT INTO workload VALUES (1, 'p', x'')");
  put_one(d, a, TESS_OK, 4);
  put_one(d, a, TESS_OK, 3);
  put_one(d, a, TESS_TIMEOUT, 0);
  put_one(d, a, TESS_OK, 1);
  put_one(d, b, TESS_OK, 1e-30);
  assert_int_equal(database_run(d, "BEGIN IMMEDIATE", "beginning"), TESS_OK);
  put_one(d, b, TESS_OK, 2); /* no part of the file before it ends */
  is_group(reader, 0, "a", 4, 1, 2, 3);
  is_group(reader, 1, "b", 1, 0, 0, INFINITY);
  is_group(reader, 0, "a", 4, 1, 2, 3);
  assert_int_equal(tess_database_group(reader, 2, &g), TESS_NOT_FOUND);
  assert_int_equal(database_run(d, "COMMIT", "storing"), TESS_OK);
  is_group(reader, 1, "b", 2, 0, 6, 2);
  filter.failed = 1;
  assert_int_equal(tess_database_filter(reader, &filter), TESS_OK);
  is_group(reader, 0, "a", 1, 1, 0, INFINITY);
  assert_int_equal(tess_database_group(reader, 1, &g), TESS_NOT_FOUND);
  assert_int_equal(tess_database_prune(reader, 1, &n), TESS_IO);
  tess_database_free(reader);
  tess_database_free(d);
  tess_context_free(c);
  recorded_remove(path);
}

/* It makes no tables. */
static void test_empty_file(void **state) {
  char path[200];
  tess_context *c;
  tess_database *d;
  (void)state;
  recorded_database(path, sizeof path);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
  assert_int_equal(tess_context_new(NULL, &c), TESS_OK);
  assert_int_equal(tess_database_open_readonly(c, path, &d), TESS_INVALID);
  assert_null(d);
  tess_context_free(c);
  recorded_remove(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_a_writer),
                                     cmocka_unit_test(test_empty_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
