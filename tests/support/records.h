/* SPDX-License-Identifier: Apache-2.0
 * A folder with a small product, d.lua, and its database a.db, which runs of
 * the command write and SQL changes.  Included by tests of one file. */
#ifndef TESTS_SUPPORT_RECORDS_H
#define TESTS_SUPPORT_RECORDS_H

#include "support/console.h"
#include "support/test.h"

#include <sqlite3.h>
#include <stdio.h>

static console c;

static inline int records_set_up(void **state) {
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

static inline int records_tear_down(void **state) {
  (void)state;
  console_end(&c);
  return 0;
}

static inline void remove_database(void) {
  static const char *const ends[] = {"", "-wal", "-shm"};
  char path[128];
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(path, sizeof path, "%s/a.db%s", c.dir, ends[i]);
    remove(path);
  }
}

static inline void change(const char *sql) {
  char path[128];
  sqlite3 *db;
  snprintf(path, sizeof path, "%s/a.db", c.dir);
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static inline void records_run(const char *args) {
  int status = console_run(&c, "%s %s", CONSOLE_TESSERA, args);
  if (status) fail_msg("tessera %s: status %d: %s", args, status, c.err);
}

static inline void says(const char *args, const char *text) {
  records_run(args);
  if (!strstr(c.out, text)) fail_msg("%s: %s", args, c.out);
}

#endif
