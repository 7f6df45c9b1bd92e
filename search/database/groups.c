/* SPDX-License-Identifier: Apache-2.0
 * What there is of each workload, target and policy: tess_database_group. */
#include "search/database/database.h"

#include <math.h>

/* Columns beside a single min() are those of the row that has it. */
static const char groups_sql[] =
    "SELECT workload, name, target, policy, count(*), sum(status <> 'OK'),"
    " record.id, min(CASE WHEN status = 'OK' AND checked AND typeof(seconds) IN"
    " ('real', 'integer') AND seconds BETWEEN ?9 AND ?10 THEN seconds"
    " END)" DATABASE_FILTERED
    " GROUP BY workload, target, policy ORDER BY name, workload, target,"
    " policy";

void database_end_groups(database *d) {
  sqlite3_finalize(d->group);
  d->group = NULL;
  d->group_at = 0;
}

static tess_status start_groups(database *d) {
  database_end_groups(d);
  tess_status s = database_prepare(d, groups_sql, &d->group);
  if (s != TESS_OK) return s;
  database_bind_filter(d, d->group);
  sqlite3_bind_double(d->group, 9, database_least_time);
  sqlite3_bind_double(d->group, 10, database_greatest_time);
  return s;
}

/* Stands at row k; NOT_FOUND past the last, where nothing is left open that
 * would hold the state of the file. */
static tess_status step_to(database *d, uint64_t k) {
  tess_status s = TESS_OK;
  int code = SQLITE_ROW;
  if (!d->group || k < d->group_at) s = start_groups(d);
  for (; s == TESS_OK && code == SQLITE_ROW && d->group_at <= k; d->group_at++)
    code = sqlite3_step(d->group);
  if (s != TESS_OK || code == SQLITE_ROW) return s;
  s = code == SQLITE_DONE ? ctx_fail(d->c, TESS_NOT_FOUND,
                                     "database %s has no group number %llu",
                                     d->path, (unsigned long long)k + 1)
                          : database_fail(d, "reading");
  database_end_groups(d);
  return s;
}

tess_status database_group(database *d, uint64_t k, tess_record_group *out) {
  tess_status s = step_to(d, k);
  if (s != TESS_OK) return s;
  sqlite3_stmt *q = d->group;
  uint64_t workload = (uint64_t)sqlite3_column_int64(q, 0);
  s = database_read_shapes(d, workload);
  if (s != TESS_OK) return s;
  bool timed = sqlite3_column_type(q, 7) != SQLITE_NULL;
  tess_record_group row = {.workload = workload,
                           .workload_name = database_text(q, 1),
                           .target = database_text(q, 2),
                           .policy = database_text(q, 3),
                           .shapes = str_get(&d->shapes),
                           .count = (uint64_t)sqlite3_column_int64(q, 4),
                           .failed = (uint64_t)sqlite3_column_int64(q, 5),
                           .best = timed ? sqlite3_column_int64(q, 6) : 0,
                           .seconds =
                               timed ? sqlite3_column_double(q, 7) : INFINITY};
  ctx_clear(d->c);
  return ctx_give(d->c, tess_record_group, &row, out);
}
