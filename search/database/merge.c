/* SPDX-License-Identifier: Apache-2.0
 * Merging databases. */
#include "base/file.h"
#include "search/database/columns.h"

#include <errno.h>
#include <unistd.h>

static const char merge_sql[] =
    "BEGIN IMMEDIATE;"
    "INSERT OR IGNORE INTO workload SELECT hash, name, program FROM"
    " other.workload;"
    "INSERT INTO record (" DATABASE_COPIED ") SELECT " DATABASE_COPIED
    " FROM other.record AS o"
    " WHERE NOT EXISTS (SELECT 1 FROM main.record AS m WHERE " DATABASE_SAME ")"
    " ORDER BY id;";

static tess_status attach(database *d, const char *path) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(d, "ATTACH ?1 AS other", &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_text(q, 1, path, -1, SQLITE_STATIC);
  if (sqlite3_step(q) != SQLITE_DONE) s = database_fail(d, "attaching");
  sqlite3_finalize(q);
  return s;
}

/* The other file is opened once, so that it is one of ours, and complete. */
static tess_status open_other(database *d, const char *path) {
  database *other;
  if (access(path, R_OK))
    return ctx_fail(d->c, TESS_IO, "database %s: %s", path, strerror(errno));
  tess_status s = database_open(d->c, path, &other);
  database_free(s == TESS_OK ? other : NULL);
  return s;
}

tess_status database_merge(tess_database *d, const char *path,
                           uint64_t *added) {
  *added = 0;
  database_end_filter(d);
  if (file_is_same(d->path, path))
    return ctx_fail(d->c, TESS_INVALID,
                    "database %s cannot be merged into itself", path);
  tess_status s = open_other(d, path);
  if (s == TESS_OK) s = attach(d, path);
  if (s != TESS_OK) return s;
  s = database_run(d, merge_sql, "merging");
  if (s == TESS_OK) *added = (uint64_t)sqlite3_changes64(d->db);
  if (s == TESS_OK) s = database_run(d, "COMMIT", "merging");
  if (s != TESS_OK) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_exec(d->db, "DETACH other", NULL, NULL, NULL);
  return s;
}
