/* SPDX-License-Identifier: Apache-2.0
 * Opening foreign and damaged databases: the error says so, and the file is
 * unchanged; waiting for others, and stopping. */
#include "base/thread.h"
#include "support/database_file.h"

static char before[1 << 16], after[1 << 16];

static size_t content(char *out) {
  FILE *file = fopen(f.path, "rb");
  assert_non_null(file);
  size_t n = fread(out, 1, sizeof before, file);
  fclose(file);
  return n;
}

static void refused(tess_status status, const char *says) {
  tess_database *d;
  size_t n = content(before);
  assert_int_equal(tess_database_open(f.c, f.path, &d), status);
  assert_null(d);
  const char *message = tess_error(f.c)->message;
  assert_non_null(strstr(message, f.path));
  if (!strstr(message, says)) fail_msg("%s", message);
  assert_int_equal(content(after), n);
  assert_memory_equal(before, after, n);
}

static void test_of_another_program(void **state) {
  (void)state;
  run_sql("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('x')");
  refused(TESS_INVALID, "is not a database of Tessera's");
  run_sql("CREATE TABLE meta (theirs TEXT)");
  refused(TESS_INVALID, "is not a database of Tessera's");
  run_sql("DROP TABLE meta; CREATE TABLE meta (key TEXT, value TEXT)");
  refused(TESS_INVALID, "is not a database of Tessera's");
}

static void test_of_another_version(void **state) {
  (void)state;
  run_sql("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
          "INSERT INTO meta VALUES ('schema', '9')");
  refused(TESS_UNSUPPORTED, "has version 9, and this program reads version 1");
}

/* In a folder that may not be written, under a name that a URI spells
 * otherwise. */
static void test_read_only(void **state) {
  (void)state;
  char dir[] = "/tmp/tessera-test-XXXXXX", path[64];
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/50%%25?#.db", dir);
  assert_int_equal(tess_database_open(f.c, path, &d), TESS_OK);
  tess_database_free(d);
  assert_int_equal(chmod(path, 0444), 0);
  assert_int_equal(chmod(dir, 0555), 0);
  if (open_unprivileged(path, &d)) fail_msg("%s", tess_error(f.c)->message);
  assert_int_equal(tess_database_row(d, 0, &row), TESS_NOT_FOUND);
  tess_database_free(d);
  assert_int_equal(chmod(dir, 0755), 0);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(dir), 0);
}

/* What stands beside the file is not in it yet; without it one would read what
 * the database was before. */
static void test_read_only_with_journal(void **state) {
  (void)state;
  char dir[] = "/tmp/tessera-test-XXXXXX", path[64], wal[70];
  assert_non_null(mkdtemp(dir));
  snprintf(path, sizeof path, "%s/a.db", dir);
  snprintf(wal, sizeof wal, "%s-wal", path);
  tess_database *d;
  assert_int_equal(tess_database_open(f.c, path, &d), TESS_OK);
  tess_database_free(d);
  for (int changes = 0; changes < 2; changes++) {
    FILE *file = fopen(wal, "w");
    assert_non_null(file);
    if (changes) fputs("changes", file);
    fclose(file);
    assert_int_equal(chmod(path, 0444) | chmod(wal, 0444) | chmod(dir, 0555),
                     0);
    tess_status s = open_unprivileged(path, &d);
    assert_int_equal(s, changes ? TESS_IO : TESS_OK);
    tess_database_free(d);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(unlink(wal), 0);
  }
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(dir), 0);
}

static void test_no_database(void **state) {
  (void)state;
  FILE *file = fopen(f.path, "w");
  fputs("this is not a database, and longer than its head would be", file);
  fclose(file);
  refused(TESS_IO, "file is not a database");
}

/* Rows that cannot be read are no end of the list. */
static void test_damaged(void **state) {
  (void)state;
  static const char noise[4096] = "noise";
  tess_database *d;
  tess_record r = TESS_INIT(tess_record);
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  tess_database_free(d);
  run_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 300) INSERT INTO record (workload, target, policy, "
          "engine, sketch, decisions, status, message, seconds, samples, "
          "program_hash, trace) SELECT 1, 'llvm', 'v1', '0', i, x'', 'OK', "
          "'', 1e-3, x'', 0, '' FROM n;"
          "INSERT INTO workload VALUES (1, 'p', x'')");
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  for (uint64_t i = 0; i < 300; i++)
    assert_int_equal(tess_database_row(d, i, &r), TESS_OK);
  assert_int_equal(tess_database_row(d, 300, &r), TESS_NOT_FOUND);
  tess_database_free(d);
  FILE *file = fopen(f.path, "r+b");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  long end = ftell(file);
  /* From the last page of the tables' roots on. */
  for (long at = 6 * 4096L; at < end; at += 4096) {
    fseek(file, at, SEEK_SET);
    fwrite(noise, sizeof noise, 1, file);
  }
  fclose(file);
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  assert_int_equal(tess_database_row(d, 0, &r), TESS_IO);
  assert_non_null(strstr(tess_error(f.c)->message, "malformed"));
  tess_database_free(d);
}

static void test_patience(void **state) {
  (void)state;
  static const char *const bad[] = {
      "abc", "", "0", "-5", "1e3", " 7", "99999999999999999999"};
  tess_database *d;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char says[80];
    setenv("TESSERA_DATABASE_PATIENCE", bad[i], 1);
    snprintf(says, sizeof says, "TESSERA_DATABASE_PATIENCE is '%s', not",
             bad[i]);
    assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_INVALID);
    assert_non_null(strstr(tess_error(f.c)->message, says));
  }
  setenv("TESSERA_DATABASE_PATIENCE", "20", 1);
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  tess_database_free(d);
  unsetenv("TESSERA_DATABASE_PATIENCE");
}

/* One opens the file, the other lets go of it after a while. */
typedef struct meeting {
  sqlite3 *other;
  tess_status opened;
} meeting;

static bool take_part(void *ud, uint32_t item, uint32_t thread) {
  meeting *m = ud;
  tess_database *d = NULL;
  (void)thread;
  if (item) {
    sqlite3_sleep(200);
    return sqlite3_exec(m->other, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
  }
  m->opened = tess_database_open(f.c, f.path, &d);
  tess_database_free(d);
  return true;
}

/* Who makes a database waits for another who is about to. */
static void test_made_at_once(void **state) {
  meeting m = {.opened = TESS_INTERNAL};
  (void)state;
  assert_int_equal(sqlite3_open(f.path, &m.other), SQLITE_OK);
  assert_int_equal(sqlite3_exec(m.other, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                   SQLITE_OK);
  assert_true(thread_run(2, 2, take_part, &m));
  assert_int_equal(m.opened, TESS_OK);
  sqlite3_close(m.other);
}

static void stop_now(void *ud, const char *what) {
  (void)what;
  tess_stop(ud);
}

/* SQLite's long work ends where the host asks for it. */
static void test_stopped(void **state) {
  (void)state;
  tess_database *d;
  assert_int_equal(tess_database_open(f.c, f.path, &d), TESS_OK);
  run_sql("INSERT INTO session WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL"
          " SELECT n + 1 FROM x WHERE n < 20000)"
          " SELECT n, 'no target', '', 0, 0 FROM x");
  assert_int_equal(tess_database_verify(d, stop_now, f.c), TESS_CANCELLED);
  uint64_t n;
  assert_int_equal(tess_database_count(d, &n), TESS_OK); /* a later call */
  tess_database_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_stopped, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_of_another_program, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_of_another_version, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_no_database, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_made_at_once, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_read_only, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_read_only_with_journal,
                                      database_set_up, database_tear_down),
      cmocka_unit_test_setup_teardown(test_patience, database_set_up,
                                      database_tear_down),
      cmocka_unit_test_setup_teardown(test_damaged, database_set_up,
                                      database_tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
