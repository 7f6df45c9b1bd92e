/* SPDX-License-Identifier: Apache-2.0
 * Runs of tuning in the database: found again where they were broken off. */
#include "search/database/database.h"

static void bind_run(sqlite3_stmt *q, const database_key *k,
                     const database_run_key *r) {
  database_bind_key(q, k);
  sqlite3_bind_int64(q, 4, (sqlite3_int64)r->space);
  sqlite3_bind_int64(q, 5, (sqlite3_int64)r->seed);
  sqlite3_bind_text(q, 6, r->strategy, -1, SQLITE_STATIC);
  sqlite3_bind_text(q, 7, r->model, -1, SQLITE_STATIC);
  sqlite3_bind_int64(q, 8, r->batch);
  sqlite3_bind_int64(q, 9, r->transfer);
}

/* The last of the key, where it has not ended. */
static tess_status find_run(database *d, const database_key *k,
                            const database_run_key *r, database_run_row *out) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "SELECT id, after, first, seconds, ended FROM run WHERE workload = ?1 "
      "AND target = ?2 AND policy = ?3 AND space = ?4 AND seed = ?5 "
      "AND strategy = ?6 AND model = ?7 AND batch = ?8 "
      "AND ifnull(transfer, ?9) = ?9 "
      "ORDER BY id DESC LIMIT 1",
      &q);
  if (s != TESS_OK) return s;
  bind_run(q, k, r);
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW && !*database_text(q, 4))
    *out = (database_run_row){.id = sqlite3_column_int64(q, 0),
                              .after = sqlite3_column_int64(q, 1),
                              .first = (uint64_t)sqlite3_column_int64(q, 2),
                              .seconds = sqlite3_column_double(q, 3)};
  else if (code != SQLITE_ROW && code != SQLITE_DONE)
    s = database_fail(d, "reading");
  sqlite3_finalize(q);
  return s;
}

static tess_status add_run(database *d, const database_key *k,
                           const database_run_key *r, database_run_row *out) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "INSERT INTO run (workload, target, policy, space, seed, strategy, model,"
      " batch, transfer, after, first, engine) VALUES (?1, ?2, ?3, ?4, ?5, ?6,"
      " ?7, ?8, ?9, (SELECT ifnull(max(id), 0) FROM record), ?10, ?11)"
      " RETURNING id, after",
      &q);
  if (s != TESS_OK) return s;
  bind_run(q, k, r);
  sqlite3_bind_int64(q, 10, (sqlite3_int64)out->first);
  sqlite3_bind_text(q, 11, tess_version(), -1, SQLITE_STATIC);
  if (sqlite3_step(q) == SQLITE_ROW) {
    out->id = sqlite3_column_int64(q, 0);
    out->after = sqlite3_column_int64(q, 1);
    out->is_new = true;
    if (sqlite3_step(q) != SQLITE_DONE) s = database_fail(d, "storing a run");
  } else {
    s = database_fail(d, "storing a run");
  }
  sqlite3_finalize(q);
  return s;
}

tess_status database_begin_run(database *d, const database_key *k,
                               const database_run_key *r,
                               database_run_row *out) {
  database_run_row found = {0};
  tess_status s = find_run(d, k, r, &found);
  if (s == TESS_OK && found.id) {
    *out = found;
    return s;
  }
  return s == TESS_OK ? add_run(d, k, r, out) : s;
}

tess_status database_put_run(database *d, int64_t id,
                             const database_run_state *now) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "UPDATE run SET seconds = ?2, funnel = ?3, ledger = ?4, ended = ?5,"
      " unscheduled = ?6 WHERE id = ?1",
      &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_int64(q, 1, id);
  sqlite3_bind_double(q, 2, now->seconds);
  sqlite3_bind_text(q, 3, now->funnel, -1, SQLITE_STATIC);
  sqlite3_bind_text(q, 4, now->ledger, -1, SQLITE_STATIC);
  sqlite3_bind_text(q, 5, now->ended, -1, SQLITE_STATIC);
  if (now->unscheduled > 0) sqlite3_bind_double(q, 6, now->unscheduled);
  if (sqlite3_step(q) != SQLITE_DONE) s = database_fail(d, "storing a run");
  sqlite3_finalize(q);
  return s;
}

/* ---- reading ------------------------------------------------------------ */

/* Rows of quality that are damaged, which verifying names, are passed over. */
#define A_NUMBER(x) "typeof(" x ") IN ('null', 'integer', 'real')"
static const char run_sql[] =
    "SELECT id, workload, seed, batch, target, policy, strategy, model, engine,"
    " started_at, ended, seconds, funnel, ledger, ifnull((SELECT"
    " json_group_array(json_array(trials, n, rmse, rank_accuracy,"
    " top_k_recall)) FROM quality AS y WHERE y.workload = run.workload AND"
    " y.target = run.target AND y.policy = run.policy AND y.seed = run.seed AND"
    " y.model = run.model AND typeof(trials) = 'integer' AND typeof(n) ="
    " 'integer' AND " A_NUMBER("rmse") " AND " A_NUMBER(
        "rank_accuracy") " AND " A_NUMBER("top_k_recall") "), '[]'), "
                                                          "ifnull(transfer, "
                                                          "-1), ifnull("
                                                          "unscheduled, 0) "
                                                          "FROM run ORDER BY id"
                                                          " LIMIT 1 OFFSET ?1";

tess_status database_get_run(tess_database *d, uint64_t k, tess_run *out) {
  sqlite3_finalize(d->run);
  d->run = NULL;
  if (sqlite3_prepare_v2(d->db, run_sql, -1, &d->run, NULL) != SQLITE_OK)
    return database_fail(d, "reading");
  sqlite3_stmt *q = d->run;
  sqlite3_bind_int64(q, 1, (sqlite3_int64)k);
  int code = sqlite3_step(q);
  if (code == SQLITE_DONE)
    return ctx_fail(d->c, TESS_NOT_FOUND, "database %s has no run number %llu",
                    d->path, (unsigned long long)k + 1);
  if (code != SQLITE_ROW) return database_fail(d, "reading");
  tess_run row = {.id = sqlite3_column_int64(q, 0),
                  .workload = (uint64_t)sqlite3_column_int64(q, 1),
                  .seed = (uint64_t)sqlite3_column_int64(q, 2),
                  .batch = (uint32_t)sqlite3_column_int64(q, 3),
                  .target = database_text(q, 4),
                  .policy = database_text(q, 5),
                  .strategy = database_text(q, 6),
                  .model = database_text(q, 7),
                  .engine = database_text(q, 8),
                  .started_at = database_text(q, 9),
                  .ended = database_text(q, 10),
                  .seconds = sqlite3_column_double(q, 11),
                  .funnel = database_text(q, 12),
                  .ledger = database_text(q, 13),
                  .quality = database_text(q, 14),
                  .transfer = sqlite3_column_int(q, 15),
                  .unscheduled = sqlite3_column_double(q, 16)};
  ctx_clear(d->c);
  return ctx_give(d->c, tess_run, &row, out);
}
