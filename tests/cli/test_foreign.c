/* SPDX-License-Identifier: Apache-2.0
 * Databases that another program has changed, and lines from elsewhere: what
 * they hold is never performed, and what verifying calls bad is not taken. */
#include "support/console.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>

static console c;

static int foreign_set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "d.lua",
                "local ops = require 'tessera.ops'\n"
                "return { program = ops.matmul { m = 16, n = 16, k = 16 },\n"
                "  target = 'llvm', seed = 1, measure_name = '\\xffno\\xc3',\n"
                "  measure = function(s, c) return 1e-3 end }\n");
  console_write(&c, "fails.lua",
                "local d = dofile 'd.lua'\n"
                "function d.measure() error('\\xffno\\xc3', 0) end\n"
                "return d\n");
  return console_run(&c, CONSOLE_TESSERA
                     " tune d.lua --trials 24 --batch 12 --db made.db");
}

static int foreign_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

/* a.db is what was made, changed so. */
static void change(const char *sql) {
  char path[128];
  sqlite3 *db;
  assert_int_equal(console_run(&c, "rm -f a.db*; cp made.db a.db"), 0);
  snprintf(path, sizeof path, "%s/a.db", c.dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL))
    fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  sqlite3_close(db);
}

static void only_tables_are_opened(void **state) {
  (void)state;
  static const char *const cases[] = {
      "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
      "ALTER TABLE record RENAME TO r; CREATE VIEW record AS SELECT * FROM r,"
      " (WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x)"
      " SELECT n FROM x)",
      "DROP TABLE meta; CREATE VIEW meta AS WITH RECURSIVE x(key, value) AS"
      " (SELECT 'no', 1 UNION ALL SELECT key, value + 1 FROM x) SELECT * FROM"
      " x",
      "CREATE VIRTUAL TABLE t USING fts5(text)"};
  static const char *const calls[] = {"db a.db", "db verify a.db",
                                      "db merge made.db a.db", "db a.db",
                                      "tune d.lua --db a.db"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bool has_meta = i != 2;
    change(cases[i]);
    for (size_t k = 0; k < sizeof calls / sizeof *calls; k++)
      console_says(&c, calls[k], 1,
                   has_meta ? "has views, triggers or virtual tables"
                            : "is not a database of Tessera's");
  }
  change("CREATE TABLE own (x); CREATE INDEX own_x ON own (x)");
  console_says(&c, "db verify a.db", 0, " records, 0 bad\n");
}

/* JSON is UTF-8, whatever a host's names and messages are. */
static void texts_that_are_no_utf8(void **state) {
  (void)state;
  console_says(&c, "db export made.db -o made.jsonl", 0, "");
  assert_int_equal(console_run(&c, "grep -q '\xef\xbf\xbdno\xef\xbf\xbd' "
                                   "made.jsonl"),
                   0);
  console_run(&c, "rm -f new.db*");
  console_says(&c, "db import new.db made.jsonl", 0, "new.db: ");
  console_says(&c, "db verify new.db", 0, ", 0 bad\n");
  console_run(&c, CONSOLE_TESSERA " tune fails.lua --trials 2 --json");
  assert_non_null(strstr(c.out, "\xef\xbf\xbdno\xef\xbf\xbd"));
  assert_null(strchr(c.out, '\xff'));
}

/* What verifying calls bad is not imported. */
static void bad_lines(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"s/\"policy\":\"[^\"]*\"/\"policy\":\"\"/", "policy is '', not a mea"},
      {"s/\"target\":\"llvm[^\"]*\"/\"target\":\"abacus\"/",
       "target is 'abacus', not a target"},
      {"s/\"engine\":\"[^\"]*\"/\"engine\":\"\"/", "engine is ''"},
      {"s/\"stored_at\":\"[^\"]*\"/\"stored_at\":\"now\"/",
       "stored_at is 'now', not a time as"},
      {"s/\"decisions\":\\[[0-9]*/\"decisions\":[77/",
       "its trace or decisions cannot be read, or do not belong together"},
      {"s/\"trace\":\"/\"trace\":\"x/", "trace is 'x{"}};
  console_says(&c, "db export made.db -o made.jsonl", 0, "");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char want[160];
    snprintf(want, sizeof want, "bad.jsonl, line 2: %s", cases[i][1]);
    console_run(&c, "sed '%s' made.jsonl > bad.jsonl; rm -f new.db*",
                cases[i][0]);
    console_says(&c, "db import new.db bad.jsonl", 1, want);
  }
}

/* Rows of the cost models' quality that are damaged are left out of a page. */
static void damaged_quality(void **state) {
  (void)state;
  change("INSERT INTO quality SELECT workload, target, policy, seed, model,"
         " x'00ff', 'x', x'01', 2, 3 FROM run;"
         "INSERT INTO quality SELECT workload, target, policy, seed, model,"
         " 7, 8, 'text', 2, 3 FROM run");
  console_says(&c, "report a.db -o a.html", 0, "");
  assert_int_equal(console_run(&c, "test -s a.html"), 0);
  assert_int_equal(console_run(&c, CONSOLE_TESSERA " db verify a.db"), 1);
  assert_non_null(strstr(c.out, "a.db: quality of model forest at "));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(only_tables_are_opened),
                                     cmocka_unit_test(texts_that_are_no_utf8),
                                     cmocka_unit_test(bad_lines),
                                     cmocka_unit_test(damaged_quality)};
  return cmocka_run_group_tests(tests, foreign_set_up, foreign_tear_down);
}
