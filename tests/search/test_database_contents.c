/* SPDX-License-Identifier: Apache-2.0
 * What a database says of its rows: damaged ones are named, runs of earlier
 * engines read, filters and numbers right. */
#include "support/database_file.h"

#include <math.h>

static const database_key key = {1, "llvm", "v1"};

static const char no_instructions[] =
    "{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": []}";

/* Runs of files that do not tell of transfer: the column is added, or, where
 * the file may not be written, shown. */
static void test_runs_without_transfer(void **state) {
  (void)state;
  database *d;
  database_run_key r = {.strategy = "s", .model = "m", .transfer = true};
  database_run_row row = {0}, again = {0}, other = {0};
  tess_run run = TESS_INIT(tess_run);
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_begin_run(d, &key, &r, &row), TESS_OK);
  assert_int_equal(tess_database_run(d, 0, &run), TESS_OK);
  assert_int_equal(run.transfer, 1);
  r.transfer = false; /* another run */
  assert_int_equal(database_begin_run(d, &key, &r, &other), TESS_OK);
  assert_true(other.is_new && other.id != row.id);
  tess_database_free(d);
  run_sql("ALTER TABLE run DROP COLUMN transfer;"
          "DELETE FROM run WHERE id = 2");
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(tess_database_run(d, 0, &run), TESS_OK);
  assert_int_equal(run.transfer, -1);
  assert_int_equal(database_begin_run(d, &key, &r, &again), TESS_OK);
  assert_true(!again.is_new && again.id == row.id);
  tess_database_free(d);
}

/* Runs of files that do not tell of the unscheduled program. */
static void test_runs_without_unscheduled(void **state) {
  (void)state;
  database *d;
  database_run_key r = {.strategy = "s", .model = "m"};
  database_run_row row = {0};
  database_run_state now = {.seconds = 1,
                            .funnel = "",
                            .ledger = "",
                            .ended = "OK",
                            .unscheduled = 0.25};
  tess_run run = TESS_INIT(tess_run);
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_begin_run(d, &key, &r, &row), TESS_OK);
  assert_int_equal(tess_database_run(d, 0, &run), TESS_OK);
  assert_true(run.unscheduled == 0);
  assert_int_equal(database_put_run(d, row.id, &now), TESS_OK);
  assert_int_equal(tess_database_run(d, 0, &run), TESS_OK);
  assert_true(run.unscheduled == 0.25);
  tess_database_free(d);
  run_sql("ALTER TABLE run DROP COLUMN unscheduled");
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(tess_database_run(d, 0, &run), TESS_OK);
  assert_true(run.unscheduled == 0 && run.seconds == 1);
  tess_database_free(d);
}

typedef struct damage {
  uint32_t n;
  char first[200];
} damage;

static void count_damage(void *ud, const char *what) {
  damage *x = ud;
  assert_null(strchr(what, '\n'));
  if (!x->n++) snprintf(x->first, sizeof x->first, "%s", what);
}

/* Records are not looked at; rows of other tables and pages are. */
static void test_verify(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"INSERT INTO workload VALUES (1, 'p', x'00')",
       "workload p 0000000000000001: the program of a workload is damaged"},
      {"UPDATE meta SET value = x'31' WHERE key = 'seed'",
       "meta seed: value is X'31', not a text"},
      {"INSERT INTO session VALUES (9, 'a', 'b', 'c', 3)",
       "session of seed c: target is 'a', not a target"},
      {"INSERT INTO run (workload, target, policy, space, seed, strategy,"
       " model, batch, after, first, engine) VALUES"
       " (5, 'a', 'b', 1, 1, 's', 'm', 8, 0, 0, 'e')",
       "run 1: workload is 5, not the hash of a row of the table workload"},
      {"PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE "
       "INDEX record_key ON record (workload, target, trace)' WHERE name = "
       "'record_key'; ",
       "its pages are damaged: "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    database *d;
    damage x = {0};
    remove_all();
    database_record r = {.message = "", .seconds = 1, .trace = no_instructions};
    assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
    assert_int_equal(tess_database_verify(d, count_damage, &x), TESS_OK);
    assert_int_equal(x.n, 0);
    if (i == 4) assert_int_equal(database_put(d, &key, 1, &r, 0, 1), TESS_OK);
    run_sql("INSERT INTO meta VALUES ('seed', '1')");
    tess_database_free(d);
    run_sql(cases[i][0]);
    assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
    assert_int_equal(tess_database_verify(d, count_damage, &x), TESS_OK);
    assert_true(x.n >= 1);
    if (!strstr(x.first, cases[i][1])) fail_msg("%s", x.first);
    tess_database_free(d);
  }
}

static tess_status count_undamaged(void *ud, const database_record *r) {
  if (r->damaged) return TESS_OK;
  assert_int_equal(r->n, 2);
  assert_int_equal(r->d[1], 1);
  ++*(int *)ud;
  return TESS_OK;
}

/* It decides for the second of its candidates. */
static const char deciding[] =
    "{\"format\": \"tessera.trace\", \"version\": 1, \"instructions\": ["
    "{\"op\": \"sample_categorical\", \"args\": {\"candidates\": [8, 4], "
    "\"probs\": [0.5, 0.5]}, \"decision\": 1, \"out\": [\"v0\"]}]}";

/* Decisions that are no entries preceded by their lengths, or are not those of
 * the trace, all but the first record's. */
static void test_damaged_decisions(void **state) {
  static const int64_t vector[][3] = {{1, 1},    {2, 1},  {1},
                                      {1, 1, 1}, {-1, 1}, {1, 0}};
  static const uint32_t length[] = {2, 2, 1, 3, 2, 2};
  database_record r[6];
  database *d;
  int n = 0;
  (void)state;
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  for (uint64_t i = 0; i < 6; i++)
    r[i] = (database_record){.sketch = i,
                             .n = length[i],
                             .d = vector[i],
                             .message = "",
                             .seconds = 1,
                             .trace = deciding};
  assert_int_equal(database_put(d, &key, 6, r, 0, 6), TESS_OK);
  assert_int_equal(database_each(d, &key, count_undamaged, &n), TESS_OK);
  assert_int_equal(n, 1);
  run_sql("UPDATE record SET decisions = decisions || x'00'");
  assert_int_equal(database_each(d, &key, count_undamaged, &n), TESS_OK);
  assert_int_equal(n, 1);
  tess_database_free(d);
}

/* Rows whose trace or decisions are damaged come last, and have no time. */
static void test_damaged_rows(void **state) {
  static const int64_t decisions[] = {1, 1};
  static const char *const trace[] = {"", deciding, "{}", deciding};
  database_record r[4];
  database *d;
  tess_record row = TESS_INIT(tess_record);
  (void)state;
  for (int i = 0; i < 4; i++)
    r[i] = (database_record){.n = 2,
                             .d = decisions,
                             .status = i == 3 ? TESS_TIMEOUT : TESS_OK,
                             .message = "",
                             .seconds = 1 + i,
                             .trace = trace[i]};
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_put(d, &key, 4, r, 0, 4), TESS_OK);
  run_sql("INSERT INTO workload VALUES (1, 'p', x'')");
  for (int again = 0; again < 2; again++)
    for (uint64_t i = 0; i < 4; i++) {
      static const int64_t id[] = {2, 4, 1, 3};
      assert_int_equal(tess_database_row(d, i, &row), TESS_OK);
      assert_int_equal(row.id, id[i]);
      assert_int_equal(row.damaged, i > 1);
      assert_true(row.seconds == (i ? INFINITY : 2));
    }
  assert_int_equal(tess_database_row(d, 4, &row), TESS_NOT_FOUND);
  tess_database_free(d);
}

/* Why one failed, and of what measuring the other gave all; where the column
 * holds no numbers there are none. */
static void test_messages_and_samples(void **state) {
  (void)state;
  static const double sample[] = {1, 3, 2};
  database *d;
  tess_record row = TESS_INIT(tess_record);
  database_record r[2] = {{.message = "",
                           .seconds = 2,
                           .sample = sample,
                           .nsample = 3,
                           .trace = no_instructions},
                          {.status = TESS_BUILD_ERROR,
                           .message = "LLVM: no such thing",
                           .trace = no_instructions}};
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_put(d, &key, 2, r, 0, 2), TESS_OK);
  run_sql("INSERT INTO workload VALUES (1, 'p', x'')");
  for (int again = 0; again < 2; again++) {
    assert_int_equal(tess_database_row(d, 0, &row), TESS_OK);
    assert_string_equal(row.message, "");
    assert_int_equal(row.nsample, 3);
    assert_memory_equal(row.sample, sample, sizeof sample);
    assert_int_equal(tess_database_row(d, 1, &row), TESS_OK);
    assert_string_equal(row.message, "LLVM: no such thing");
    assert_int_equal(row.nsample, 0);
    assert_null(row.sample);
  }
  assert_int_equal(tess_database_row(d, 2, &row), TESS_NOT_FOUND);
  run_sql("UPDATE record SET samples = zeroblob(9) WHERE id = 1");
  assert_int_equal(tess_database_row(d, 0, &row), TESS_OK);
  assert_int_equal(row.nsample, 0);
  tess_database_free(d);
}

static uint64_t count_rows(database *d, const tess_record_filter *filter) {
  uint64_t n, walked = 0;
  tess_record row = TESS_INIT(tess_record);
  assert_int_equal(tess_database_filter(d, filter), TESS_OK);
  assert_int_equal(tess_database_count(d, &n), TESS_OK);
  while (tess_database_row(d, walked, &row) == TESS_OK) walked++;
  assert_int_equal(n, walked);
  return n;
}

/* Two workloads of one name and two targets; record 5 has no possible time, and
 * 6 was not compared. */
static void store_several(database *d) {
  database_record r = {.message = "", .seconds = 2, .trace = no_instructions};
  database_key k = {.workload = 1, .target = "a", .policy = "p"};
  assert_int_equal(database_put(d, &k, 1, &r, 0, 1), TESS_OK);
  r.status = TESS_TIMEOUT;
  assert_int_equal(database_put(d, &k, 1, &r, 0, 2), TESS_OK);
  k.workload = 2, r.status = TESS_OK;
  assert_int_equal(database_put(d, &k, 1, &r, 0, 1), TESS_OK);
  k.target = "b", k.policy = "q";
  assert_int_equal(database_put(d, &k, 1, &r, 0, 1), TESS_OK);
  r.seconds = 1e-30;
  assert_int_equal(database_put(d, &k, 1, &r, 0, 2), TESS_OK);
  r.seconds = 1;
  assert_int_equal(database_put(d, &k, 1, &r, 0, 3), TESS_OK);
  run_sql("INSERT INTO workload VALUES (1, 'p', x''), (2, 'p', x'')");
  run_sql("UPDATE record SET checked = 1 WHERE id IN (1, 3, 4)");
}

static void test_filters(void **state) {
  (void)state;
  database *d;
  tess_record row = TESS_INIT(tess_record);
  tess_record_filter filter = TESS_INIT(tess_record_filter);
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  store_several(d);
  assert_int_equal(count_rows(d, NULL), 5);
  assert_int_equal(count_rows(d, &filter), 5);
  filter.checked = 1;
  assert_int_equal(count_rows(d, &filter), 3);
  filter.target = "b";
  assert_int_equal(count_rows(d, &filter), 1);
  assert_int_equal(tess_database_row(d, 0, &row), TESS_OK);
  assert_int_equal(row.id, 4);
  assert_int_equal(row.workload, 2);
  assert_string_equal(row.shapes, "");
  filter.checked = 0;
  assert_int_equal(count_rows(d, &filter), 2);
  filter.policy = "p";
  assert_int_equal(count_rows(d, &filter), 0);
  assert_int_equal(tess_database_row(d, 0, &row), TESS_NOT_FOUND);
  assert_non_null(strstr(tess_error(f.c)->message, "that the filter lets by"));
  filter = (tess_record_filter)TESS_INIT(tess_record_filter);
  filter.workload_name = "p";
  assert_int_equal(count_rows(d, &filter), 5);
  filter.workload_name = "q";
  assert_int_equal(count_rows(d, &filter), 0);
  filter.struct_size = 3;
  assert_int_equal(tess_database_filter(d, &filter), TESS_INVALID);
  assert_int_equal(count_rows(d, NULL), 5);
  tess_database_free(d);
}

/* A file of an engine that had no column `checked`, also where it may not be
 * written: those that were better than all before had been compared. */
static void test_of_earlier_engine(void **state) {
  (void)state;
  database *d;
  tess_record_filter filter = {.struct_size = sizeof filter, .checked = 1};
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  store_several(d);
  tess_database_free(d);
  run_sql("ALTER TABLE record DROP COLUMN checked;"
          "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
  assert_int_equal(chmod(f.path, 0444), 0);
  if (open_unprivileged(f.path, &d)) fail_msg("%s", tess_error(f.c)->message);
  assert_int_equal(count_rows(d, &filter), 3);
  assert_int_equal(count_rows(d, NULL), 5);
  tess_database_free(d);
  assert_int_equal(chmod(f.path, 0644), 0);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
    assert_int_equal(count_rows(d, &filter), 3);
    tess_database_free(d);
  }
}

/* What failed has no time. */
static void test_time_of_failures(void **state) {
  (void)state;
  database *d;
  tess_record row = TESS_INIT(tess_record);
  database_record r[2] = {
      {.message = "", .seconds = 1, .trace = no_instructions},
      {.status = TESS_TIMEOUT,
       .message = "",
       .seconds = 2,
       .trace = no_instructions}};
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_put(d, &key, 2, r, 0, 2), TESS_OK);
  run_sql("INSERT INTO workload VALUES (1, 'p', x'')");
  assert_int_equal(tess_database_row(d, 0, &row), TESS_OK);
  assert_true(row.seconds == 1);
  assert_int_equal(tess_database_row(d, 1, &row), TESS_OK);
  assert_string_equal(row.status, "TIMEOUT");
  assert_true(row.seconds == INFINITY);
  tess_database_free(d);
}

/* Of two runs of one seed the one that made more counts, whichever stores
 * last. */
static void test_next(void **state) {
  database *d;
  uint64_t next;
  (void)state;
  assert_int_equal(database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(database_next(d, &key, 3, &next), TESS_OK);
  assert_int_equal(next, 0);
  for (uint64_t i = 0; i < 3; i++)
    assert_int_equal(database_put(d, &key, 0, NULL, 3, 40 + (i == 1)), TESS_OK);
  assert_int_equal(database_next(d, &key, 3, &next), TESS_OK);
  assert_int_equal(next, 41);
  assert_int_equal(database_next(d, &key, 4, &next), TESS_OK);
  assert_int_equal(next, 0);
  tess_database_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_of_earlier_engine, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_runs_without_transfer,
                                      database_set_up, database_tear_down),
      cmocka_unit_test_setup_teardown(test_runs_without_unscheduled,
                                      database_set_up, database_tear_down),
      cmocka_unit_test_setup_teardown(test_verify, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_damaged_decisions, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_damaged_rows, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_messages_and_samples,
                                      database_set_up, database_tear_down),
      cmocka_unit_test_setup_teardown(test_filters, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_time_of_failures, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_next, database_set_up,
                                      database_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
