/* SPDX-License-Identifier: Apache-2.0
 * A context, and a path for a database that no test leaves.  Included by tests
 * of one file. */
#ifndef SUPPORT_DATABASE_FILE_H
#define SUPPORT_DATABASE_FILE_H

#include "search/database/database.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct database_fixture {
  tess_context *c;
  char path[200];
} database_fixture;

static database_fixture f;

static inline void remove_all(void) {
  static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    char name[220];
    snprintf(name, sizeof name, "%s%s", f.path, ends[i]);
    unlink(name);
  }
}

static inline int database_set_up(void **state) {
  (void)state;
  const char *dir = getenv("TMPDIR");
  snprintf(f.path, sizeof f.path, "%s/test-database-%d.db", dir ? dir : "/tmp",
           (int)getpid());
  remove_all();
  return tess_context_new(NULL, &f.c) != TESS_OK;
}

static inline int database_tear_down(void **state) {
  (void)state;
  tess_context_free(f.c);
  remove_all();
  return 0;
}

/* Another program works on the file. */
static inline void run_sql(const char *sql) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(f.path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    fail_msg("%s", sqlite3_errmsg(db));
  sqlite3_close(db);
}

/* Opens it as a user whom permissions bind. */
static inline tess_status open_unprivileged(const char *path,
                                            tess_database **out) {
  bool is_root = geteuid() == 0;
  if (is_root) assert_int_equal(seteuid(65534), 0);
  tess_status s = tess_database_open(f.c, path, out);
  if (is_root) assert_int_equal(seteuid(0), 0);
  return s;
}

#endif
