/* SPDX-License-Identifier: Apache-2.0
 * Damage of a database beside that of single records: pages that SQLite finds
 * inconsistent, programs that cannot be restored, values outside of their
 * columns' domains. */
#include "search/database/columns.h"

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
  if (database_ends_reading(s)) return s;
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

/* ---- columns ------------------------------------------------------------ */

enum { FEW = 20 }; /* lines of a check */

/* Of the rows behind the first few only how many there are. */
static void tell_more(const verifying *v, const database_check *x,
                      uint64_t more) {
  char line[120];
  snprintf(line, sizeof line, "table %s: %" PRIu64 " more row%s with such a %s",
           x->table, more, more == 1 ? "" : "s", x->column);
  v->found(v->ud, line);
}

static tess_status verify_column(const verifying *v, const database_check *x) {
  sqlite3_stmt *q = NULL;
  char line[LINE];
  uint64_t n = 0;
  int code = sqlite3_prepare_v2(v->d->db, x->sql, -1, &q, NULL);
  if (code == SQLITE_OK)
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
      if (n++ >= FEW) continue;
      err_one_line(database_text(q, 0), line, sizeof line);
      v->found(v->ud, line);
    }
  if (n > FEW) tell_more(v, x, n - FEW);
  snprintf(line, sizeof line, "table %s", x->table);
  tess_status s = end_reading(v, code, line);
  sqlite3_finalize(q);
  return s;
}

static tess_status verify_columns(const verifying *v) {
  database_check x;
  tess_status s = database_add_domains(v->d);
  for (size_t i = 0; s == TESS_OK && database_column_check(i, &x); i++)
    s = verify_column(v, &x);
  return s;
}

tess_status database_verify(tess_database *d,
                            void (*found)(void *ud, const char *what),
                            void *ud) {
  verifying v = {d, found, ud};
  ctx_clear(d->c);
  database_end_filter(d);
  tess_status s = verify_pages(&v);
  if (s == TESS_OK) s = verify_workloads(&v);
  if (s == TESS_OK) s = verify_columns(&v);
  if (s == TESS_OK) ctx_clear(d->c);
  return s;
}
