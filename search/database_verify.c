/* SPDX-License-Identifier: Apache-2.0
 * Damage of a database beside that of single records: pages that SQLite finds
 * inconsistent, programs that cannot be restored, rows that belong to nothing
 * or hold what their columns may not. */
#include "search/database.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct verifying {
  database *d;
  void (*found)(void *ud, const char *what);
  void *ud;
} verifying;

enum { LINE = 600 };

static void tell_damage(const verifying *v, const char *where,
                        const char *why) {
  char one[LINE / 2], text[LINE];
  err_one_line(why, one, sizeof one);
  snprintf(text, sizeof text, "%s: %s", where, one);
  v->found(v->ud, text);
}

/* What SQLite cannot read is damage as well, and other errors are errors. */
static tess_status end_reading(const verifying *v, int code,
                               const char *where) {
  int kind = code & 0xff;
  if (code == SQLITE_DONE) return TESS_OK;
  if (kind != SQLITE_CORRUPT && kind != SQLITE_NOTADB)
    return database_fail(v->d, "verifying");
  tell_damage(v, where, sqlite3_errmsg(v->d->db));
  return TESS_OK;
}

/* ---- pages -------------------------------------------------------------- */

/* SQLite's first line, which is "ok" where nothing is wrong. */
static tess_status verify_pages(const verifying *v) {
  sqlite3_stmt *q = NULL;
  char first[LINE / 2] = "";
  uint32_t more = 0;
  int code = sqlite3_prepare_v2(v->d->db, "PRAGMA main.integrity_check(100)",
                                -1, &q, NULL);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(q);
    if (code != SQLITE_ROW) break;
    const char *line = database_text(q, 0);
    if (!*first)
      err_one_line(line, first, sizeof first);
    else
      more++;
  }
  if (*first && strcmp(first, "ok")) {
    char text[LINE];
    snprintf(text, sizeof text, more ? "%s, and %u lines more" : "%s", first,
             more);
    tell_damage(v, "its pages are damaged", text);
  }
  tess_status s = end_reading(v, code, "its pages are damaged");
  sqlite3_finalize(q);
  return s;
}

/* ---- workloads ---------------------------------------------------------- */

static tess_status verify_workload(const verifying *v, sqlite3_stmt *q) {
  uint64_t hash = (uint64_t)sqlite3_column_int64(q, 0);
  char where[120], why[80];
  tess_program *p;
  snprintf(where, sizeof where, "workload %.60s %016" PRIx64,
           database_text(q, 1), hash);
  tess_status s = database_restore(v->d, sqlite3_column_blob(q, 2),
                                   (size_t)sqlite3_column_bytes(q, 2), &p);
  if (s == TESS_NOMEM || s == TESS_LIMIT || s == TESS_CANCELLED) return s;
  if (s != TESS_OK) {
    tell_damage(v, where, v->d->c->err.message);
    ctx_clear(v->d->c);
    return TESS_OK;
  }
  uint64_t is = tess_program_hash(p);
  snprintf(why, sizeof why, "its program is another one (%016" PRIx64 ")", is);
  if (is != hash) tell_damage(v, where, why);
  tess_program_free(p);
  return TESS_OK;
}

static tess_status verify_workloads(const verifying *v) {
  sqlite3_stmt *q = NULL;
  tess_status s = TESS_OK;
  int code = sqlite3_prepare_v2(
      v->d->db, "SELECT hash, name, program FROM workload", -1, &q, NULL);
  if (code == SQLITE_OK)
    while (s == TESS_OK && (code = sqlite3_step(q)) == SQLITE_ROW)
      s = verify_workload(v, q);
  if (s == TESS_OK) s = end_reading(v, code, "table workload");
  sqlite3_finalize(q);
  return s;
}

/* ---- the other tables --------------------------------------------------- */

/* A line a row.  SQLite stores what does not have a column's type as it is. */
typedef struct column_check {
  const char *table, *who; /* who: an expression that names the row */
  const char *column, *type;
} column_check;

#define KEY_CHECKS(table, who)                                         \
  {table, who, "workload", "integer"}, {table, who, "target", "text"}, \
      {table, who, "policy", "text"}, {                                \
    table, who, "seed", "integer"                                      \
  }
#define A_RUN "run", "'run ' || id"
#define A_SESSION "session", "'the count of candidates of seed ' || seed"
#define A_QUALITY "quality", "'the quality of model ' || model"

static const column_check column_checks[] = {
    KEY_CHECKS("run", "'run ' || id"),
    {A_RUN, "space", "integer"},
    {A_RUN, "strategy", "text"},
    {A_RUN, "model", "text"},
    {A_RUN, "batch", "integer"},
    {A_RUN, "after", "integer"},
    {A_RUN, "first", "integer"},
    {A_RUN, "ended", "text"},
    {A_RUN, "seconds", "real"},
    {A_RUN, "funnel", "text"},
    {A_RUN, "ledger", "text"},
    KEY_CHECKS("session", "'the count of candidates of seed ' || seed"),
    {A_SESSION, "next", "integer"},
    KEY_CHECKS("quality", "'the quality of model ' || model"),
    {A_QUALITY, "model", "text"},
    {A_QUALITY, "trials", "integer"},
    {A_QUALITY, "n", "integer"},
    {"meta", "'the entry ' || key", "value", "text"}};

enum { FEW = 20 }; /* lines of a check */

static tess_status verify_by(const verifying *v, const char *table,
                             const char *sql) {
  sqlite3_stmt *q = NULL;
  char where[80];
  int code = sqlite3_prepare_v2(v->d->db, sql, -1, &q, NULL);
  if (code == SQLITE_OK)
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
      char line[LINE];
      err_one_line(database_text(q, 0), line, sizeof line);
      v->found(v->ud, line);
    }
  snprintf(where, sizeof where, "table %s", table);
  tess_status s = end_reading(v, code, where);
  sqlite3_finalize(q);
  return s;
}

static tess_status verify_belonging(const verifying *v, const char *table) {
  char sql[240];
  snprintf(sql, sizeof sql,
           "SELECT '%s ' || id || ': its workload is not there' FROM %s"
           " WHERE workload NOT IN (SELECT hash FROM workload) LIMIT %d",
           table, table, FEW);
  return verify_by(v, table, sql);
}

static tess_status verify_column(const verifying *v, const column_check *x) {
  char sql[300];
  snprintf(sql, sizeof sql,
           "SELECT %s || ': its %s is no %s' FROM %s WHERE typeof(%s) <> '%s'"
           " LIMIT %d",
           x->who, x->column, x->type, x->table, x->column, x->type, FEW);
  return verify_by(v, x->table, sql);
}

tess_status tess_database_verify(tess_database *d,
                                 void (*found)(void *ud, const char *what),
                                 void *ud) {
  verifying v = {d, found, ud};
  ctx_clear(d->c);
  database_end_filter(d);
  tess_status s = verify_pages(&v);
  if (s == TESS_OK) s = verify_workloads(&v);
  if (s == TESS_OK) s = verify_belonging(&v, "record");
  if (s == TESS_OK) s = verify_belonging(&v, "run");
  for (size_t i = 0;
       s == TESS_OK && i < sizeof column_checks / sizeof *column_checks; i++)
    s = verify_column(&v, &column_checks[i]);
  if (s == TESS_OK) ctx_clear(d->c);
  return s;
}
