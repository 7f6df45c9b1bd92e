/* SPDX-License-Identifier: Apache-2.0
 * The public functions of databases, tess_database_*: rows and traces. */
#include "search/database.h"
#include "base/hash.h"

#include <inttypes.h>
#include <math.h>

tess_status tess_database_open(tess_context *c, const char *path,
                               tess_database **out) {
  return database_open(c, path, out);
}

/* Rows are read in order; asking for an earlier one restarts the query.
 * Damaged rows are skipped in the first pass and given in a second one. */
static const char rows_sql[] =
    "SELECT record.id, workload, name, target, policy, engine, status, seconds,"
    " program_hash, checked FROM record "
    "JOIN workload ON workload.hash = workload "
    "ORDER BY status <> 'OK', seconds, record.id";

/* Evaluated for each row when it is reached: sorting by it would parse all
 * traces first, which takes seconds for thousands of rows. */
static const char row_sql[] =
    "SELECT sketch_of(decisions, trace) IS NULL, message, samples FROM record "
    "WHERE id = ?1";

static const char *text_at(sqlite3_stmt *q, int i) {
  const char *s = (const char *)sqlite3_column_text(q, i);
  return s ? s : "";
}

static bool has_time(tess_database *d) {
  return strcmp(text_at(d->rows, 6), "OK") ||
         database_has_time(d, d->rows, 7, sqlite3_column_int64(d->rows, 0));
}

/* Leaves the statement at its row, which has the record's message and
 * samples. */
static tess_status ask_damaged(tess_database *d, int64_t id, bool *yes) {
  sqlite3_reset(d->row);
  sqlite3_bind_int64(d->row, 1, id);
  int code = sqlite3_step(d->row);
  *yes = code == SQLITE_ROW && sqlite3_column_int(d->row, 0);
  return code == SQLITE_ROW || code == SQLITE_DONE
             ? TESS_OK
             : database_fail(d, "reading");
}

/* Whether the current pass gives the current row. */
static tess_status look_at_row(tess_database *d, bool *gives) {
  bool damaged;
  *gives = false;
  if (!has_time(d)) return TESS_OK;
  tess_status s = ask_damaged(d, sqlite3_column_int64(d->rows, 0), &damaged);
  *gives = damaged == d->second;
  d->passed_over |= damaged;
  return s;
}

static void end_rows(tess_database *d) {
  sqlite3_finalize(d->rows);
  sqlite3_finalize(d->row);
  d->rows = d->row = NULL;
}

/* Steps to the next row; resets the statements after the last one. */
static tess_status next_row(tess_database *d) {
  tess_status s = TESS_OK;
  bool gives = false;
  while (s == TESS_OK && !gives) {
    int code = sqlite3_step(d->rows);
    if (code == SQLITE_ROW) {
      s = look_at_row(d, &gives);
    } else if (code != SQLITE_DONE) {
      s = database_fail(d, "reading");
    } else if (d->passed_over && !d->second) {
      d->second = true;
      sqlite3_reset(d->rows);
    } else {
      s = TESS_NOT_FOUND;
    }
  }
  if (s != TESS_OK) end_rows(d);
  return s;
}

static tess_status start_rows(tess_database *d) {
  d->at = 0;
  d->passed_over = d->second = false;
  if (sqlite3_prepare_v2(d->db, rows_sql, -1, &d->rows, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(d->db, row_sql, -1, &d->row, NULL) == SQLITE_OK)
    return next_row(d);
  tess_status s = database_fail(d, "reading");
  end_rows(d);
  return s;
}

static tess_status step_to(tess_database *d, uint64_t k) {
  tess_status s = TESS_OK;
  if (d->rows && k < d->at) end_rows(d);
  if (!d->rows) s = start_rows(d);
  for (; s == TESS_OK && d->at < k; d->at++) s = next_row(d);
  return s;
}

/* The samples of the row; none if the column is malformed. */
static const double *samples_at(sqlite3_stmt *q, int i, uint32_t *n) {
  const double *v = NULL;
  *n = 0;
  if (sqlite3_column_type(q, i) == SQLITE_BLOB) v = sqlite3_column_blob(q, i);
  size_t size = v ? (size_t)sqlite3_column_bytes(q, i) : 0;
  if (size % sizeof *v == 0) *n = (uint32_t)(size / sizeof *v);
  return *n ? v : NULL;
}

tess_status tess_database_row(tess_database *d, uint64_t k, tess_record *out) {
  tess_status s = step_to(d, k);
  if (s == TESS_NOT_FOUND)
    return ctx_fail(d->c, s, "the database has no record number %llu",
                    (unsigned long long)k + 1);
  if (s != TESS_OK) return s;
  sqlite3_stmt *q = d->rows;
  bool timed = !strcmp(text_at(q, 6), "OK") && !d->second;
  double seconds = timed ? sqlite3_column_double(q, 7) : INFINITY;
  tess_record row = {.id = sqlite3_column_int64(q, 0),
                     .workload = (uint64_t)sqlite3_column_int64(q, 1),
                     .workload_name = text_at(q, 2),
                     .target = text_at(q, 3),
                     .policy = text_at(q, 4),
                     .engine = text_at(q, 5),
                     .status = text_at(q, 6),
                     .seconds = seconds,
                     .program_hash = (uint64_t)sqlite3_column_int64(q, 8),
                     .checked = sqlite3_column_int(q, 9) != 0,
                     .damaged = d->second,
                     .message = text_at(d->row, 1)};
  row.sample = samples_at(d->row, 2, &row.nsample);
  ctx_clear(d->c);
  return ctx_give(d->c, tess_record, &row, out);
}

/* ---- traces ------------------------------------------------------------- */

typedef struct restore_work {
  tess_context *c;
  const void *bytes;
  size_t n;
  arena scratch;
  strbuf why;
  tess_program *p;
} restore_work;

static tess_status restore_program(void *ud) {
  restore_work *w = ud;
  w->p = program_empty(w->c);
  tess_status s = program_restore(w->p, &w->scratch, w->bytes, w->n, &w->why);
  if (s != TESS_OK)
    ctx_fail(w->c, s, "the program of a workload is damaged: %s",
             w->why.n ? str_get(&w->why) : err_status_text(s));
  return s;
}

tess_status database_restore(database *d, const void *bytes, size_t n,
                             tess_program **out) {
  tess_context *c = d->c;
  restore_work w = {.c = c, .bytes = bytes, .n = n};
  arena_init(&w.scratch, &c->heap);
  str_init(&w.why, &c->heap);
  tess_status s = ctx_run(c, restore_program, &w);
  arena_free(&w.scratch);
  str_free(&w.why);
  *out = s == TESS_OK ? w.p : NULL;
  if (s != TESS_OK) tess_program_free(w.p);
  return s;
}

static tess_status replay_again(tess_trace *t, uint64_t *hash) {
  tess_schedule *s;
  tess_program *p;
  tess_status st = tess_trace_replay(t, NULL, NULL, &s);
  if (st != TESS_OK) return st;
  st = tess_schedule_program(s, &p);
  tess_schedule_free(s);
  if (st != TESS_OK) return st;
  *hash = tess_program_hash(p);
  tess_program_free(p);
  return TESS_OK;
}

/* Warns if the trace no longer replays to the program that was measured. */
static tess_status check_meaning(tess_database *d, int64_t id, uint64_t hash,
                                 tess_trace *t) {
  uint64_t now = 0, key = hash_mix(hash, (uint64_t)id);
  tess_status st = replay_again(t, &now);
  if (st == TESS_NOMEM || st == TESS_LIMIT || st == TESS_CANCELLED) return st;
  if (st != TESS_OK)
    ctx_warn(d->c, key,
             "database %s: record %lld: its trace no longer applies, so its "
             "time is that of a program that cannot be made any more: %s",
             d->path, (long long)id, d->c->err.message);
  else if (now != hash)
    ctx_warn(d->c, key,
             "database %s: record %lld: its trace gives another program now "
             "(%016" PRIx64 ") than the one that was measured (%016" PRIx64
             "), and its time is not this one's",
             d->path, (long long)id, now, hash);
  ctx_clear(d->c);
  return TESS_OK;
}

/* Prefixes the context's error with the record it concerns. */
static tess_status blame_record(tess_database *d, int64_t id, tess_status s) {
  char why[sizeof d->c->err.message];
  if (s == TESS_NOMEM || s == TESS_LIMIT) return s;
  memcpy(why, d->c->err.message, sizeof why);
  return ctx_fail(d->c, s, "database %s: record %lld: %s", d->path,
                  (long long)id, why);
}

static tess_status read_trace(tess_database *d, int64_t id, sqlite3_stmt *q,
                              tess_trace **out) {
  tess_program *p;
  tess_status s = database_restore(d, sqlite3_column_blob(q, 1),
                                   (size_t)sqlite3_column_bytes(q, 1), &p);
  if (s != TESS_OK) return blame_record(d, id, s);
  s = tess_trace_from_json(d->c, text_at(q, 0), p, out);
  tess_program_free(p);
  if (s != TESS_OK) return blame_record(d, id, s);
  if (strcmp(text_at(q, 2), "OK")) return s;
  s = check_meaning(d, id, (uint64_t)sqlite3_column_int64(q, 3), *out);
  if (s == TESS_OK) return s;
  tess_trace_free(*out);
  *out = NULL;
  return s;
}

tess_status tess_database_trace(tess_database *d, int64_t id,
                                tess_trace **out) {
  sqlite3_stmt *q;
  tess_status s;
  *out = NULL;
  if (sqlite3_prepare_v2(
          d->db,
          "SELECT trace, program, status, program_hash FROM record JOIN "
          "workload ON workload.hash = workload WHERE record.id = ?1",
          -1, &q, NULL) != SQLITE_OK)
    return database_fail(d, "reading");
  sqlite3_bind_int64(q, 1, id);
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW)
    s = read_trace(d, id, q, out);
  else if (code != SQLITE_DONE)
    s = database_fail(d, "reading");
  else
    s = ctx_fail(d->c, TESS_NOT_FOUND, "database %s has no record %lld",
                 d->path, (long long)id);
  sqlite3_finalize(q);
  return s;
}
