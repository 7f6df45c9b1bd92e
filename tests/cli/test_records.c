/* SPDX-License-Identifier: Apache-2.0
 * Damaged, outdated and foreign databases, on the command line. */
#include "support/console.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static console c;

static int records_set_up(void **state) {
  (void)state;
  console_start(&c, TESS_BUILD_DIR "/bin/tessera");
  console_write(&c, "d.lua",
                "local ops = require 'tessera.ops'\n"
                "return { program = ops.matmul { m = 16, n = 16, k = 16 },\n"
                "  target = 'llvm', seed = 1, min_time = 0.001,\n"
                "  threads = 1, kernel_threads = 1 }\n");
  console_write(&c, "all.lua",
                "local ts, told = require 'tessera', 0\n"
                "ts.on_warning(function(text)\n"
                "  assert(text:find 'another program', text)\n"
                "  told = told + 1\n"
                "end)\n"
                "local db = ts.database 'a.db'\n"
                "for _, r in ipairs(db:records()) do\n"
                "  db:trace(r.id):replay()\n"
                "end\n"
                "print(told)\n");
  return 0;
}

static int records_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

static void remove_database(void) {
  static const char *const ends[] = {"", "-wal", "-shm"};
  char path[128];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s/a.db%s", c.dir, ends[i]);
    remove(path);
  }
}

static void change(const char *sql) {
  char path[128];
  sqlite3 *db;
  snprintf(path, sizeof path, "%s/a.db", c.dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

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

static void records_run(const char *args) {
  int status = console_run(&c, "%s %s", CONSOLE_TESSERA, args);
  if (status) fail_msg("tessera %s: status %d: %s", args, status, c.err);
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

static void says(const char *args, const char *text) {
  records_run(args);
  if (!strstr(c.out, text)) fail_msg("%s: %s", args, c.out);
}

/* Programs of one name are told apart, and lists say what they leave out. */
static void lists_of_several_programs(void **state) {
  (void)state;
  remove_database();
  console_write(&c, "e.lua",
                "local ops = require 'tessera.ops'\n"
                "return { program = ops.matmul { m = 8, n = 16, k = 16 },\n"
                "  target = 'llvm', seed = 1, min_time = 0.001,\n"
                "  threads = 1, kernel_threads = 1 }\n");
  records_run("tune d.lua --trials 3 --db a.db");
  records_run("tune e.lua --trials 2 --db a.db");
  says("db a.db", ": A: float32[16, 16], B: float32[16, 16], C: out float32");
  says("db a.db", ": A: float32[8, 16], B: float32[16, 16], C: out float32");
  assert_null(strstr(c.out, "lists all"));
  says("db a.db --limit 1",
       "\n-- 1 of 5 records; `tessera db a.db --limit 5` lists all\n");
  says("db a.db --program e.lua --limit 1", "\n-- 1 of 2 records; ");
  assert_null(strstr(c.out, "float32[16, 16], B"));
  says("db a.db --workload matmul --target llvm --limit 1", "-- 1 of 5 ");
  says("db a.db --workload nobody --target llvm",
       "a.db: none of its 5 records is of that workload and target\n");
  says("show a.db:1", "\n-- workload matmul ");
}

/* What a filter selects is removed, except for the best so many; --dry-run
 * counts only. */
static void pruned_by_filter(void **state) {
  (void)state;
  console_run(&c, "cp a.db p.db");
  says("db prune p.db --failed", "p.db: 0 records removed\n");
  says("db prune p.db --older-than 1d", "p.db: 0 records removed\n");
  says("db list p.db --older-than 1d", "of its 5 records is of that age\n");
  says("db prune p.db --program e.lua --outside-space",
       "p.db: 0 records removed\n");
  console_write(&c, "narrow.lua",
                "local d = dofile 'e.lua'\n"
                "return { program = d.program or d,\n"
                "         space = function(sch) end }\n");
  says("db prune p.db --program narrow.lua --outside-space --dry-run",
       "p.db: 2 records would be removed\n");
  says("db prune p.db --program e.lua --keep 1 --dry-run",
       "p.db: 1 record would be removed\n");
  says("db best p.db", "        2        0  matmul ");
  says("db prune p.db --program e.lua --keep 1", "p.db: 1 record removed\n");
  says("db best p.db", "        1        0  matmul ");
  says("db best p.db", "        3        0  matmul ");
  says("db prune p.db --program e.lua", "p.db: 1 record removed\n");
  says("db best p.db", "        3        0  matmul ");
  assert_null(strstr(c.out, "        1        0  matmul "));
  says("db verify p.db", "p.db: 3 records, 0 bad\n");
}

static void refuses(const char *args, const char *text) {
  int status = console_run(&c, "%s %s", CONSOLE_TESSERA, args);
  if (status != 2 || !strstr(c.err, text))
    fail_msg("%s: status %d: %s", args, status, c.err);
}

/* An option of `tessera db` selects, also in the hint how to list all, or is
 * refused: nothing that is given is passed over. */
static void options_of_databases(void **state) {
  static const char *const words[] = {"best",   "diff",  "merge", "export",
                                      "import", "prune", "verify"};
  static const char *const options[] = {
      "--program e.lua", "--workload matmul", "--target llvm", "--limit 3",
      "--keep 1",        "-o x.jsonl",        "--tvm x"};
  /* Which of the options each word takes; of the others it refuses a third is
   * tried. */
  static const unsigned takes[] = {7, 0, 0, 0x61, 0x41, 0x17, 0};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
      char args[80], text[80];
      if (takes[i] >> k & 1 || (i + k) % 3) continue;
      snprintf(args, sizeof args, "db %s a.db %s", words[i], options[k]);
      snprintf(text, sizeof text, "unknown option %.*s",
               (int)strcspn(options[k], " "), options[k]);
      refuses(args, text);
    }
  }
  refuses("db prune a.db --keep 1 --limit 3",
          "unknown option --limit of db prune, which has --dry-run");
  refuses("db prune a.db", "needs --keep N, or options that say what");
  refuses("db prune a.db --older-than 30", "'30' is no age, as 30d or 12h");
  refuses("db prune a.db --outside-space", "needs --program FILE.lua");
  refuses("db verify a.db --keep 1", " of db verify, which has none");
  refuses("db export a.db -o x.jsonl --program e.lua", "only with --tvm");
  refuses("db import a.db x.jsonl --program e.lua", "only with --tvm");
  refuses("db export a.db -o x.jsonl --tvm x", "-o or --tvm DIR, not both");
  says("db a.db", "\n     5  "); /* all are there */
  says("db best a.db", "        3        0  matmul ");
  says("db best a.db", "        2        0  matmul ");
  says("db best a.db --program e.lua", "        2        0  matmul ");
  assert_null(strstr(c.out, "        3        0  matmul "));
  says("db best a.db --workload nobody",
       "a.db: none of its 5 records is of that workload\n");
  says("show a.db --program e.lua", ": A: float32[8, 16], B: ");
  assert_null(strstr(c.out, "A: float32[16, 16]"));
  says("db a.db --limit 1 --workload matmul",
       "`tessera db a.db --workload matmul --limit 5` lists all\n");
  says("db a.db --program ./e.lua --target 'llvm ' --limit 1",
       "`tessera db a.db --program ./e.lua --target 'llvm ' --limit 2` lists");
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

/* What is misspelt is told with what there is, and leaves nothing behind. */
static void words_of_databases(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db");
  refuses("db foo a.db", "db has no sub-command 'foo'; it has best, diff, "
                         "export, import, list, merge, prune, verify");
  refuses("db verify", "db verify takes one FILE");
  console_write(&c, "bad.jsonl", "{}\nno line\n");
  static const char *const calls[] = {
      "db import new.db none.jsonl", "db import new.db bad.jsonl",
      "db merge new.db none.db", "db import new.db --tvm none --program d.lua"};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    assert_int_equal(console_run(&c, CONSOLE_TESSERA " %s", calls[i]), 1);
    if (!console_run(&c, "ls new.db*")) fail_msg("%s: %s", calls[i], c.out);
  }
  assert_int_equal(console_run(&c, CONSOLE_TESSERA " db import a.db bad.jsonl"),
                   1);
  assert_int_equal(console_run(&c, CONSOLE_TESSERA
                               " report a.db -o no.html --workload nothing"),
                   1);
  assert_string_equal(c.out, "a.db: none of its 1 records is of that "
                             "workload\n");
  assert_int_not_equal(console_run(&c, "ls no.html"), 0);
  console_run(&c, "mkdir tvm; echo garbage > tvm/tuning_record.json");
  assert_int_equal(console_run(&c, CONSOLE_TESSERA
                               " db import a.db --tvm tvm --program d.lua"),
                   1);
  assert_non_null(strstr(c.err, "nothing was taken over, 1 left out; the "
                                "first: "));
  says("db verify a.db", "a.db: 1 record, 0 bad\n");
  assert_int_equal(console_run(&c,
                               "TESSERA_DATABASE_PATIENCE=abc " CONSOLE_TESSERA
                               " db a.db"),
                   1);
  assert_non_null(strstr(c.err, "TESSERA_DATABASE_PATIENCE is 'abc', not an "
                                "integer of milliseconds from 1 on"));
}

/* What is written replaces neither what is read nor a database. */
static void own_files_stay(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 2 --db a.db");
  console_run(&c, "ln -s a.db link.db");
  refuses("db export a.db -o a.db",
          "option -o: 'a.db' is read, and would be overwritten");
  refuses("db export link.db -o ./a.db", "would be overwritten");
  refuses("report a.db -o a.db", "would be overwritten");
  refuses("report a.db -o d.lua --program d.lua", "would be overwritten");
  refuses("build d.lua -o x.o --header d.lua",
          "option --header: 'd.lua' is read");
  refuses("build d.lua -o x.o --header x.o", "-o and --header name one file");
  refuses("build a.db:1 -o x.o --header a.db", "would be overwritten");
  console_says(&c, "build d.lua -o x.o --header a.db", 1,
               "cannot write 'a.db': it is a database");
  console_run(&c, "echo 'w a.db' | " CONSOLE_TESSERA " step d.lua");
  says("db verify a.db", "a.db: 2 records, 0 bad\n");
  assert_int_not_equal(console_run(&c, "ls *.tmp"), 0);
  records_run("db export a.db -o a.jsonl");
  assert_int_equal(console_run(&c, "test $(wc -l < a.jsonl) = 3"), 0);
}

#ifndef __SANITIZE_ADDRESS__
/* Where there is no memory for a line it is not taken for the end of the
 * file. */
static void lines_without_end(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 2 --db a.db");
  console_run(&c, CONSOLE_TESSERA " db export a.db -o long.jsonl;"
                                  "truncate -s 3G long.jsonl; rm -f new.db*");
  assert_int_equal(console_run(&c, "ulimit -v 3000000; " CONSOLE_TESSERA
                                   " db import new.db long.jsonl"),
                   1);
  assert_non_null(strstr(c.err, "long.jsonl, line 4: it has more than 64 MiB"));
  assert_int_not_equal(console_run(&c, "ls new.db"), 0);
}
#endif

/* All 64 bits are taken, and are those that -1 has in Lua. */
static void greatest_seed(void **state) {
  (void)state;
  remove_database();
  records_run("tune d.lua --trials 1 --db a.db --seed 18446744073709551615");
  change("INSERT INTO meta SELECT 'seed', seed FROM session;"
         "UPDATE workload SET name = 'seed ' || "
         "(SELECT value FROM meta WHERE key = 'seed')");
  says("db a.db", "seed -1 ");
  records_run("tune d.lua --trials 1 --db a.db --seed 0");
}

static void cannot_be_opened(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {".", "(Is a directory)"},
      {"/proc/x.db", "(no file can be made there)"},
      {"no/such.db", "(no such directory)"},
      {"d.lua/x.db", "(Not a directory)"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int status = console_run(&c, "%s tune d.lua --trials 1 --db %s",
                             CONSOLE_TESSERA, cases[i][0]);
    assert_int_equal(status, 1);
    if (!strstr(c.err, cases[i][0]) || !strstr(c.err, cases[i][1]))
      fail_msg("%s is not in: %s", cases[i][1], c.err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_of_several_programs),
      cmocka_unit_test(pruned_by_filter),
      cmocka_unit_test(options_of_databases),
      cmocka_unit_test(damaged_tables),
      cmocka_unit_test(impossible_values),
      cmocka_unit_test(words_of_databases),
      cmocka_unit_test(own_files_stay),
#ifndef __SANITIZE_ADDRESS__
      cmocka_unit_test(lines_without_end),
#endif
      cmocka_unit_test(samples),
      cmocka_unit_test(another_program),
      cmocka_unit_test(refused_traces),
      cmocka_unit_test(damaged),
      cmocka_unit_test(damaged_candidates),
      cmocka_unit_test(impossible_times),
      cmocka_unit_test(texts_with_control_characters),
      cmocka_unit_test(what_measuring_gave),
      cmocka_unit_test(greatest_seed),
      cmocka_unit_test(cannot_be_opened)};
  return cmocka_run_group_tests(tests, records_set_up, records_tear_down);
}
