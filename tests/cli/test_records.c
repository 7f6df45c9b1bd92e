/* SPDX-License-Identifier: Apache-2.0
 * Damaged, outdated and foreign databases, on the command line. */
#include "support/records.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of a blob of samples. */
static double median_of(const void *blob, int bytes) {
  enum { MOST = 10000 };
  static double v[MOST];
  int n = bytes / (int)sizeof *v;
  assert_int_equal(bytes % (int)sizeof *v, 0);
  assert_in_range(n, 1, MOST);
  memcpy(v, blob, (size_t)bytes);
  qsort(v, (size_t)n, sizeof *v, by_value);
  return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* stderr is one line that names the record; or nothing. */
static void expect_warning(const char *record) {
  if (!record) {
    assert_string_equal(c.err, "");
    return;
  }
  if (!strstr(c.err, record) || !strstr(c.err, "gives another program now"))
    fail_msg("no such warning: %s", c.err);
  assert_ptr_equal(strchr(c.err, '\n'), c.err + strlen(c.err) - 1);
}

/* A record has all that was timed, of which its time is the median. */
static void samples(void **state) {
  (void)state;
  char path[128];
  sqlite3 *db;
  sqlite3_stmt *q;
  int n = 0;
  remove_database();
  records_run("tune d.lua --trials 4 --db a.db");
  snprintf(path, sizeof path, "%s/a.db", c.dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db,
                                      "SELECT seconds, samples FROM record "
                                      "WHERE status = 'OK'",
                                      -1, &q, NULL),
                   SQLITE_OK);
  for (; sqlite3_step(q) == SQLITE_ROW; n++) {
    const void *blob = sqlite3_column_blob(q, 1);
    assert_true(median_of(blob, sqlite3_column_bytes(q, 1)) ==
                sqlite3_column_double(q, 0));
  }
  assert_int_equal(n, 4);
  sqlite3_finalize(q);
  sqlite3_close(db);
  remove_database();
}

/* The hash of a record identifies the program that was measured. */
static void another_program(void **state) {
  (void)state;
  static const char *const ways[] = {"show a.db:1", "step a.db:1 < /dev/null"};
  records_run("tune d.lua --trials 4 --db a.db");
  for (int changed = 0; changed < 2; changed++) {
    for (int i = 0; i < 2; i++) {
      records_run(ways[i]);
      expect_warning(changed ? "database a.db: record 1: " : NULL);
    }
    records_run("all.lua");
    assert_string_equal(c.out, changed ? "4\n" : "0\n");
    assert_string_equal(c.err, "");
    change("UPDATE record SET program_hash = 1");
  }
  change("UPDATE record SET status = 'TIMEOUT'");
  records_run("show a.db:1"); /* of which there is no time */
  expect_warning(NULL);
}

/* Where the trace cannot be replayed any more, that is reported; a run that
 * goes on says what it leaves out. */
static void refused_traces(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 3 --db a.db");
  console_write(
      &c, "other.lua",
      "return require('tessera.ops').matmul { m = 6, n = 6, k = 6 }\n");
  records_run("show a.db:1 --program d.lua");
  assert_int_equal(
      console_run(&c, "%s show a.db:1 --program other.lua", CONSOLE_TESSERA),
      1);
  assert_non_null(strstr(c.err, "tessera: a.db:1: "));
  change("UPDATE record SET trace = replace(trace, '\"decision\": [', "
         "'\"decision\": [7, ')");
  records_run("show a.db:1");
  if (!strstr(c.err, "database a.db: record 1: its trace no longer applies"))
    fail_msg("no such warning: %s", c.err);
  assert_ptr_equal(strchr(c.err, '\n'), c.err + strlen(c.err) - 1);
  change("UPDATE record SET program_hash = 1");
  records_run("tune d.lua --trials 3 --db a.db");
  if (!strstr(c.err, "database a.db: 3 of its records are damaged and"))
    fail_msg("no such warning: %s", c.err);
}

/* What cannot be read at all is an error that names it. */
static void damaged(void **state) {
  static const char *const cases[][2] = {
      {"UPDATE record SET trace = 'foo'",
       "tessera: database a.db: record 1: malformed JSON"},
      {"UPDATE record SET trace = ''",
       "tessera: database a.db: record 1: malformed JSON"},
      {"UPDATE workload SET program = 'foo'",
       "tessera: database a.db: record 1: the program of a workload is "
       "damaged"}};
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    change(cases[i][0]);
    assert_int_equal(console_run(&c, "%s show a.db:1", CONSOLE_TESSERA), 1);
    if (!strstr(c.err, cases[i][1])) fail_msg("%s: %s", cases[i][0], c.err);
    assert_ptr_equal(strchr(c.err, '\n'), c.err + strlen(c.err) - 1);
  }
}

/* Whether the only warning is that of so many records. */
static void expect_lost(int n) {
  char says[160];
  snprintf(says, sizeof says,
           "tessera: warning: database a.db: %d of its records are damaged "
           "and ignored",
           n);
  const char *at = strstr(c.err, says);
  if (!at || strstr(at + strlen(says), "warning")) fail_msg("%s", c.err);
}

/* Changes one record each, from number 3 on, in each of the ways. */
static void change_each(const char *const *ways, int n) {
  for (int i = 0; i < n; i++) {
    char sql[300];
    snprintf(sql, sizeof sql, "UPDATE record SET %s WHERE id = %d", ways[i],
             i + 3);
    change(sql);
  }
}

/* A trace or decisions that cannot be read, or are of two candidates: that is
 * marked, is not gone on from, and said once, whatever good time it has. */
static void damaged_candidates(void **state) {
  static const char *const ways[] = {
      "decisions = randomblob(200)", "decisions = randomblob(201)",
      "decisions = x''", "decisions = zeroblob(length(decisions))",
      "decisions = (SELECT decisions FROM record WHERE id = 1)", "trace = ''",
      "trace = '{}'", "trace = x'00ff'",
      "trace = substr(trace, 1, length(trace) / 2)",
      "trace = (SELECT trace FROM record WHERE id = 1)",
      /* Another sketch with the same decisions. */
      ("trace = replace(trace, '\"max_innermost_factor\": ', "
       "'\"max_innermost_factor\": 1')")};
  enum { WAYS = sizeof ways / sizeof *ways };
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 13 --batch 13 --db a.db");
  change("UPDATE record SET checked = 1, seconds = 1e-9 WHERE id > 2");
  change_each(ways, WAYS);
  records_run("db a.db");
  for (int i = 0; i + 1 < WAYS; i++) { /* the last is a candidate of its own */
    char line[60];
    snprintf(line, sizeof line, "\n%6d             -  damaged  ", i + 3);
    const char *at = strstr(c.out, line);
    if (!at || at < strstr(c.out, "\n     2 "))
      fail_msg("%s: %s", ways[i], c.out);
  }
  records_run("tune d.lua --trials 2 --db a.db");
  expect_lost(WAYS);
  if (strstr(c.out, "e-06 ms")) fail_msg("%s", c.out);
}

/* A time that none can be is no time: whoever reads the file says which record
 * it is, once, and goes on without it. */
static void impossible_times(void **state) {
  static const char *const times[] = {"seconds = -1", "seconds = 0",
                                      "seconds = 1e-300", "seconds = 9e999",
                                      "seconds = 'soon'"};
  static const char *const ways[] = {"db a.db", "show a.db", "list.lua",
                                     "tune d.lua --trials 9 --db a.db"};
  enum { TIMES = sizeof times / sizeof *times };
  (void)state;
  remove_database();
  console_write(&c, "list.lua",
                "local db = require('tessera').database 'a.db'\n"
                "assert(#db:records() == #db:records(99))\n"
                "for _, r in ipairs(db:records()) do\n"
                "  assert(r.id < 3 or r.id > 7)\n"
                "end\n"
                "print(#db:records())\n");
  records_run("tune d.lua --trials 8 --batch 8 --db a.db");
  change_each(times, TIMES);
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    records_run(ways[k]);
    for (int i = 0; i < TIMES; i++) {
      char says[60], line[20];
      snprintf(says, sizeof says, "database a.db: record %d: its time ", i + 3);
      snprintf(line, sizeof line, "\n%6d ", i + 3);
      const char *at = strstr(c.err, says);
      if (!at || strstr(at + 1, says)) fail_msg("%s: %s", times[i], c.err);
      if (strstr(c.out, line)) fail_msg("%s: %s", times[i], c.out);
    }
  }
}

/* What a terminal would obey is not sent to it. */
static void texts_with_control_characters(void **state) {
  static const char *const ways[] = {"db a.db", "show a.db:1"};
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db");
  change("UPDATE workload SET name = 'a' || char(27) || '[2J' || char(10)");
  for (int i = 0; i < 2; i++) {
    records_run(ways[i]);
    if (!strstr(c.out, "a\\x1b[2J\\x0a") || strchr(c.out, '\033'))
      fail_msg("%s: %s", ways[i], c.out);
  }
}

/* Why a record failed, in all its lines; and what its time was made of. */
static void what_measuring_gave(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db");
  says("show a.db:1", "\n-- samples: ");
  change("UPDATE record SET samples = x'fca9f1d24d62503ffca9f1d24d62603f'");
  says("show a.db:1", "\n-- samples: 2, from 1.0000 ms to 2.0000 ms\n");
  change("UPDATE record SET status = 'BUILD_ERROR', seconds = NULL, "
         "samples = x'', message = 'LLVM: ' || char(27) || '[2J no' || "
         "char(10) || 'such thing'");
  says("show a.db:1", ", -, BUILD_ERROR, ");
  says("show a.db:1", "\n--   LLVM: \\x1b[2J no\n--   such thing\n");
  assert_null(strstr(c.out, "-- samples"));
  says("db a.db --verbose",
       "\n        LLVM: \\x1b[2J no\n        such thing\n");
  records_run("db a.db");
  assert_null(strstr(c.out, "LLVM"));
}

/* What no single record shows. */
static void damaged_tables(void **state) {
  static const char *const cases[][2] = {
      {"UPDATE workload SET program = x'00'",
       "a.db: workload matmul %s: the program of a workload is damaged: "},
      {"UPDATE workload SET hash = 7", "%s: its program is another one ("},
      {"DELETE FROM workload",
       "a.db: record 1: workload is %s, not the hash of a row of the "
       "table workload\n"},
      {"UPDATE run SET batch = 'many'",
       "a.db: run 1: batch is 'many', not an integer from 1 to 4294967295\n%s"},
      {"UPDATE session SET next = 'one'",
       ": next is 'one', not an integer from 0 on\n%s"},
      {"UPDATE quality SET n = 'few'",
       "a.db: quality of model forest at 8 trials: n is 'few', not an "
       "integer from 0 on\n%s"},
      {"PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql ="
       " 'CREATE INDEX record_key ON record (workload, target, trace)'"
       " WHERE name = 'record_key'",
       "a.db: its pages are damaged: %s"}};
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 16 --batch 8 --db a.db");
  says("db verify a.db", "a.db: 16 records, 0 bad\n");
  console_run(&c, "cp a.db whole.db");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    console_run(&c, "cp whole.db a.db");
    change(cases[i][0]);
    char text[120];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(cases[i][1], "%"),
             cases[i][1]);
    assert_int_equal(console_run(&c, CONSOLE_TESSERA " db verify a.db"), 1);
    const char *rest = strchr(cases[i][1], '%') + 2;
    if (!strstr(c.out, text) || !strstr(c.out, rest) ||
        !strstr(c.out, "; the file itself is damaged\n"))
      fail_msg("%s: %s%s", cases[i][0], c.out, c.err);
  }
}

/* Values that no engine writes, each told with its row, column and value;
 * the records that have them are counted once. */
static void impossible_values(void **state) {
  static const char *const cases[][2] = {
      {"seconds = -1", "seconds is -1.0, not a time from 1e-10 to 31622400 s"},
      {"seconds = 1e-12", "seconds is 1.0e-12, not a time"},
      {"seconds = NULL", "seconds is NULL, not a time"},
      {"seconds = 'soon'", "seconds is 'soon', not a time"},
      {"samples = zeroblob(16)", "samples is X'00000000000000000000000000000000"
                                 "', not doubles, each a time"},
      {"status = 'FOO'", "status is 'FOO', not a status"},
      {"target = ''", "target is '', not a target"},
      {"target = 'llvm -no=1'", "target is 'llvm -no=1', not a target"},
      {"policy = 'xx'", "policy is 'xx', not a measuring policy"},
      {"policy = 'v2 min-time=0.1 repeats=3'", "not a measuring policy"},
      {"run = 99", "run is 99, not 0 or the id of a row of the table run"},
      {"trace = 'no'", "trace is 'no', not JSON"},
      {"trace = '{}'", "this is no trace: 'format' is missing"},
      {"decisions = x'00'", "decisions is X'00', not integers of 64 bits"},
      {"decisions = zeroblob(8)", "decisions are not those of its trace"},
      {"stored_at = 'now'", "stored_at is 'now', not a time as 2026-"},
      {"checked = 7", "checked is 7, not 0 or 1"},
      {"slot = -3", "slot is -3, not an integer from 0 on"},
      {"message = x'00'", "message is X'00', not a text"}};
  (void)state;
  enum { CASES = sizeof cases / sizeof *cases };
  const char *ways[CASES];
  remove_database();
  records_run("tune d.lua --trials 21 --batch 21 --db a.db");
  for (int i = 0; i < CASES; i++) ways[i] = cases[i][0];
  change_each(ways, CASES);
  assert_int_equal(console_run(&c, CONSOLE_TESSERA " db verify a.db"), 1);
  for (int i = 0; i < CASES; i++) {
    char line[40];
    snprintf(line, sizeof line, "a.db: record %d: ", i + 3);
    const char *at = strstr(c.out, line);
    const char *end = at ? strchr(at, '\n') : NULL;
    const char *told = at ? strstr(at, cases[i][1]) : NULL;
    if (!told || told > end) fail_msg("%s: %s", cases[i][0], c.out);
  }
  if (!strstr(c.out, "\na.db: 21 records, 19 bad\n"))
    fail_msg("%s%s", c.out, c.err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_tables),
      cmocka_unit_test(impossible_values),
      cmocka_unit_test(samples),
      cmocka_unit_test(another_program),
      cmocka_unit_test(refused_traces),
      cmocka_unit_test(damaged),
      cmocka_unit_test(damaged_candidates),
      cmocka_unit_test(impossible_times),
      cmocka_unit_test(texts_with_control_characters),
      cmocka_unit_test(what_measuring_gave)};
  return cmocka_run_group_tests(tests, records_set_up, records_tear_down);
}
