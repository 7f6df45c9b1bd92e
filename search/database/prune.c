/* SPDX-License-Identifier: Apache-2.0
 * Removes records that a filter lets by, except for the best of each workload,
 * target and policy, and what is known of runs of which nothing is left. */
#include "search/database/database.h"

/* The temporary table `gone` of what is to be removed.  Of each group `k` is a
 * record's place among all of it, `c` among those that were compared; damaged
 * ones come last in either. */
#define RANKED                                                                 \
  "SELECT id, row_number() OVER (PARTITION BY workload, target, policy ORDER " \
  "BY status <> 'OK' OR bad, seconds, id) AS k, row_number() OVER (PARTITION " \
  "BY workload, target, policy ORDER BY status <> 'OK' OR NOT checked OR bad," \
  " seconds, id) AS c FROM (SELECT *, sketch_of(decisions, trace) IS NULL AS"  \
  " bad FROM record)"
static const char find_gone[] =
    "CREATE TEMP TABLE gone AS SELECT record.id, workload, target, "
    "policy" DATABASE_FILTERED " AND (?9 = 0 OR record.id IN (SELECT id FROM "
    "(" RANKED ") WHERE k > ?9 AND c > 1))";

/* A run that lacks records cannot be taken up again. */
#define SAME_GROUP(table)                                                 \
  "gone.workload = " table ".workload AND gone.target = " table ".target" \
  " AND gone.policy = " table ".policy"
#define FORGET(table)                                                       \
  "DELETE FROM main." table                                                 \
  " WHERE EXISTS (SELECT 1 FROM gone WHERE " SAME_GROUP(                    \
      table) ") AND NOT EXISTS (SELECT 1 FROM main.record AS r"             \
             " WHERE r.workload = " table ".workload AND r.target = " table \
             ".target AND r.policy = " table ".policy);"
static const char remove_gone[] =
    "UPDATE main.run SET ended = 'PRUNED' WHERE ended = '' AND EXISTS (SELECT"
    " 1 FROM gone WHERE " SAME_GROUP(
        "run") ");"
               "DELETE FROM main.record WHERE id IN (SELECT id FROM "
               "gone);" FORGET("run") FORGET("session")
                   FORGET("quality") "DELETE FROM main.workload WHERE hash IN "
                                     "(SELECT workload FROM gone) AND"
                                     " NOT EXISTS (SELECT 1 FROM main.record "
                                     "AS r WHERE r.workload = hash) AND"
                                     " NOT EXISTS (SELECT 1 FROM main.run AS r "
                                     "WHERE r.workload = hash);";

static tess_status count_gone(database *d, uint64_t *n) {
  sqlite3_stmt *q = NULL;
  int code =
      sqlite3_prepare_v2(d->db, "SELECT count(*) FROM gone", -1, &q, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(q);
  if (code == SQLITE_ROW) *n = (uint64_t)sqlite3_column_int64(q, 0);
  tess_status s = code == SQLITE_ROW ? TESS_OK : database_fail(d, "pruning");
  sqlite3_finalize(q);
  return s;
}

static tess_status fill_gone(database *d, uint32_t keep) {
  sqlite3_stmt *q = NULL;
  int code = sqlite3_prepare_v2(d->db, find_gone, -1, &q, NULL);
  if (code == SQLITE_OK) {
    database_bind_filter(d, q);
    sqlite3_bind_int64(q, 9, keep);
    code = sqlite3_step(q);
  }
  tess_status s = code == SQLITE_DONE ? TESS_OK : database_fail(d, "pruning");
  sqlite3_finalize(q);
  return s;
}

static tess_status remove_found(database *d, uint32_t keep, int dry,
                                uint64_t *n) {
  tess_status s = fill_gone(d, keep);
  if (s == TESS_OK) s = count_gone(d, n);
  if (s == TESS_OK && *n && !dry) s = database_run(d, remove_gone, "pruning");
  return s;
}

/* Counting needs no lock of a writer. */
tess_status database_remove(tess_database *d, const tess_record_filter *f,
                            uint32_t keep, int dry, uint64_t *removed) {
  uint64_t n = 0;
  *removed = 0;
  tess_status s = database_take_filter(d, f);
  if (s == TESS_OK && f && !keep && !database_filters(&d->filter))
    s = ctx_fail(d->c, TESS_INVALID,
                 "pruning needs a number of records to keep, or a filter that "
                 "says which are removed");
  if (s == TESS_OK)
    s = database_run(d, dry ? "BEGIN" : "BEGIN IMMEDIATE", "pruning");
  if (s != TESS_OK) return s;
  s = remove_found(d, keep, dry, &n);
  if (s == TESS_OK && !dry) s = database_run(d, "COMMIT", "pruning");
  if (s != TESS_OK || dry) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_exec(d->db, "DROP TABLE IF EXISTS temp.gone", NULL, NULL, NULL);
  database_end_filter(d);
  if (s == TESS_OK) *removed = n;
  return s == TESS_OK && n && !dry ? database_run(d, "VACUUM", "pruning") : s;
}
