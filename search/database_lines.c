/* SPDX-License-Identifier: Apache-2.0
 * Records between files: merging databases, JSON lines out and in. */
#include "base/json.h"
#include "search/database_columns.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static tess_status prepare_copy(database *d, const char *sql,
                                sqlite3_stmt **q) {
  if (sqlite3_prepare_v2(d->db, sql, -1, q, NULL) == SQLITE_OK) return TESS_OK;
  return database_fail(d, "preparing a statement");
}

/* ---- merging ------------------------------------------------------------ */

#define COPIED                                                             \
  "workload, target, policy, engine, sketch, decisions, status, message, " \
  "seconds, samples, program_hash, trace, stored_at, checked"
/* A record is in a file when one of the same candidate, result and time is. */
#define SAME                                                            \
  "m.workload = o.workload AND m.target = o.target AND m.policy = "     \
  "o.policy AND m.sketch = o.sketch AND m.decisions = o.decisions AND " \
  "m.status = o.status AND m.seconds IS o.seconds"
static const char merge_sql[] =
    "BEGIN IMMEDIATE;"
    "INSERT OR IGNORE INTO workload SELECT hash, name, program FROM"
    " other.workload;"
    "INSERT INTO record (" COPIED ") SELECT " COPIED " FROM other.record AS o"
    " WHERE NOT EXISTS (SELECT 1 FROM main.record AS m WHERE " SAME ")"
    " ORDER BY id;";

static tess_status attach(database *d, const char *path) {
  sqlite3_stmt *q;
  tess_status s = prepare_copy(d, "ATTACH ?1 AS other", &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_text(q, 1, path, -1, SQLITE_STATIC);
  if (sqlite3_step(q) != SQLITE_DONE) s = database_fail(d, "attaching");
  sqlite3_finalize(q);
  return s;
}

static bool is_same_file(const char *a, const char *b) {
  struct stat x, y;
  return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

/* The other file is opened once, so that it is one of ours, and complete. */
static tess_status open_other(database *d, const char *path) {
  database *other;
  if (access(path, R_OK))
    return ctx_fail(d->c, TESS_IO, "database %s: %s", path, strerror(errno));
  tess_status s = database_open(d->c, path, &other);
  tess_database_free(s == TESS_OK ? other : NULL);
  return s;
}

tess_status tess_database_merge(tess_database *d, const char *path,
                                uint64_t *added) {
  *added = 0;
  database_end_filter(d);
  if (is_same_file(d->path, path))
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

/* ---- lines out ---------------------------------------------------------- */

static json_t *json_hash(int64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%016" PRIx64, (uint64_t)v);
  return json_string(text);
}

static json_t *json_bytes(sqlite3_stmt *q, int i) {
  static const char digit[] = "0123456789abcdef";
  const unsigned char *b = sqlite3_column_blob(q, i);
  size_t n = (size_t)sqlite3_column_bytes(q, i);
  char *text = malloc(2 * n + 1);
  if (!text) return NULL;
  for (size_t k = 0; k < n; k++) {
    text[2 * k] = digit[b[k] >> 4];
    text[2 * k + 1] = digit[b[k] & 15];
  }
  json_t *v = json_stringn_nocheck(text, 2 * n);
  free(text);
  return v;
}

static json_t *json_integers(sqlite3_stmt *q, int i) {
  json_t *list = json_array();
  const int64_t *v = sqlite3_column_blob(q, i);
  int n = sqlite3_column_bytes(q, i) / (int)sizeof *v;
  for (int k = 0; k < n; k++) json_array_append_new(list, json_integer(v[k]));
  return list;
}

static json_t *json_times(sqlite3_stmt *q, int i) {
  json_t *list = json_array();
  const double *v = sqlite3_column_blob(q, i);
  int n = sqlite3_column_bytes(q, i) / (int)sizeof *v;
  for (int k = 0; k < n; k++) json_array_append_new(list, json_real(v[k]));
  return list;
}

static void set_text(json_t *o, const char *k, sqlite3_stmt *q, int i) {
  json_object_set_new(o, k, json_string_nocheck(database_text(q, i)));
}

static json_t *workload_line(sqlite3_stmt *q) {
  json_t *o = json_object();
  json_object_set_new(o, "type", json_string("workload"));
  json_object_set_new(o, "hash", json_hash(sqlite3_column_int64(q, 0)));
  set_text(o, "name", q, 1);
  json_object_set_new(o, "program", json_bytes(q, 2));
  return o;
}

static json_t *record_line(sqlite3_stmt *q) {
  json_t *o = json_object();
  json_object_set_new(o, "type", json_string("record"));
  json_object_set_new(o, "workload", json_hash(sqlite3_column_int64(q, 0)));
  set_text(o, "target", q, 1);
  set_text(o, "policy", q, 2);
  set_text(o, "engine", q, 3);
  json_object_set_new(o, "sketch", json_hash(sqlite3_column_int64(q, 4)));
  json_object_set_new(o, "decisions", json_integers(q, 5));
  set_text(o, "status", q, 6);
  set_text(o, "message", q, 7);
  if (sqlite3_column_type(q, 8) != SQLITE_NULL)
    json_object_set_new(o, "seconds", json_real(sqlite3_column_double(q, 8)));
  json_object_set_new(o, "samples", json_times(q, 9));
  json_object_set_new(o, "program_hash",
                      json_hash(sqlite3_column_int64(q, 10)));
  set_text(o, "trace", q, 11);
  set_text(o, "stored_at", q, 12);
  json_object_set_new(o, "checked", json_boolean(sqlite3_column_int(q, 13)));
  return o;
}

static tess_status write_lines(database *d, const char *sql, FILE *f,
                               json_t *(*line)(sqlite3_stmt *q)) {
  sqlite3_stmt *q;
  tess_status s = prepare_copy(d, sql, &q);
  int code = SQLITE_DONE;
  strbuf text;
  if (s != TESS_OK) return s;
  str_init(&text, &d->c->heap);
  while (s == TESS_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
    json_t *o = line(q);
    str_clear(&text);
    js_write(&text, o);
    json_decref(o);
    s = str_status(&text);
    if (s == TESS_OK) fprintf(f, "%s\n", str_get(&text));
  }
  if (s == TESS_OK && code != SQLITE_DONE) s = database_fail(d, "reading");
  str_free(&text);
  sqlite3_finalize(q);
  return s;
}

static tess_status file_failed(database *d, const char *path) {
  return ctx_fail(d->c, TESS_IO, "%s: %s", path, strerror(errno));
}

tess_status tess_database_export(tess_database *d, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return file_failed(d, path);
  tess_status s =
      write_lines(d, "SELECT hash, name, program FROM workload ORDER BY hash",
                  f, workload_line);
  if (s == TESS_OK)
    s = write_lines(d, "SELECT " COPIED " FROM record ORDER BY id", f,
                    record_line);
  bool bad = ferror(f) != 0;
  if ((fclose(f) || bad) && s == TESS_OK) s = file_failed(d, path);
  return s;
}

/* ---- lines in ----------------------------------------------------------- */

typedef struct reading {
  database *d;
  const char *path;
  uint64_t line, added;
  sqlite3_stmt *workload, *record, *check[DATABASE_RECORD_CHECKS];
} reading;

static tess_status bad_line(reading *r, const char *why) {
  return ctx_fail(r->d->c, TESS_PARSE, "%s, line %" PRIu64 ": %s", r->path,
                  r->line, why);
}

static bool take_hash(const json_t *o, const char *k, int64_t *out) {
  const char *text = json_string_value(json_object_get(o, k));
  char *end;
  if (!text || strlen(text) != 16) return false;
  errno = 0;
  *out = (int64_t)strtoull(text, &end, 16);
  return !*end && !errno;
}

/* The bytes of a hexadecimal text; malloc'ed. */
static unsigned char *take_bytes(const char *text, size_t *n) {
  size_t len = text ? strlen(text) : 1;
  if (len % 2) return NULL;
  unsigned char *b = malloc(len / 2 + 1);
  for (size_t k = 0; b && k < len / 2; k++) {
    char pair[3] = {text[2 * k], text[2 * k + 1]}, *end;
    b[k] = (unsigned char)strtoul(pair, &end, 16);
    if (end != pair + 2) return free(b), NULL;
  }
  *n = len / 2;
  return b;
}

static tess_status step_line(reading *r, sqlite3_stmt *q) {
  int code = sqlite3_step(q);
  tess_status s =
      code == SQLITE_DONE ? TESS_OK : database_fail(r->d, "storing a record");
  sqlite3_reset(q);
  return s;
}

static tess_status take_workload_line(reading *r, const json_t *o) {
  int64_t hash;
  size_t n;
  tess_program *p;
  const char *name = json_string_value(json_object_get(o, "name"));
  if (!name || !take_hash(o, "hash", &hash))
    return bad_line(r, "a workload needs a name and a hash");
  unsigned char *b =
      take_bytes(json_string_value(json_object_get(o, "program")), &n);
  if (!b) return bad_line(r, "the workload's program is no hexadecimal text");
  tess_status s = database_restore(r->d, b, n, &p);
  if (s == TESS_OK && (int64_t)tess_program_hash(p) != hash)
    s = bad_line(r, "the program is another than its hash says");
  else if (s == TESS_PARSE || s == TESS_INVALID)
    s = bad_line(r, "the program of the workload is damaged");
  if (s == TESS_OK) {
    sqlite3_bind_int64(r->workload, 1, hash);
    sqlite3_bind_text(r->workload, 2, name, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(r->workload, 3, b, n, SQLITE_STATIC);
    s = step_line(r, r->workload);
  }
  tess_program_free(p);
  free(b);
  return s;
}

/* A list as a blob; false: an element is none of the kind. */
static bool bind_list(sqlite3_stmt *q, int at, const json_t *list, bool real) {
  size_t n = json_array_size(list);
  bool ok = json_is_array(list);
  union {
    int64_t i;
    double x;
  } *v = malloc((n + 1) * sizeof *v);
  for (size_t k = 0; v && ok && k < n; k++) {
    const json_t *e = json_array_get(list, k);
    ok = real ? json_is_number(e) : json_is_integer(e);
    if (real)
      v[k].x = json_number_value(e);
    else
      v[k].i = json_integer_value(e);
  }
  if (v && ok) sqlite3_bind_blob64(q, at, v, n * 8, SQLITE_TRANSIENT);
  free(v);
  return v && ok;
}

/* Whether the record that was added last belongs to a workload, and its times
 * and status are possible. */
static tess_status check_added(reading *r) {
  sqlite3_int64 id = sqlite3_last_insert_rowid(r->d->db);
  tess_status s = TESS_OK;
  for (int i = 0; s == TESS_OK && i < DATABASE_RECORD_CHECKS; i++) {
    sqlite3_stmt *q = r->check[i];
    sqlite3_bind_int64(q, 1, id);
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) {
      const char *text = strstr(database_text(q, 0), ": ");
      bool orphan = text && !strncmp(text, ": workload ", 11);
      s = bad_line(r, orphan ? "its workload is neither in the database nor "
                               "in a line before"
                      : text ? text + 2
                             : "a value is impossible");
    } else if (code != SQLITE_DONE) {
      s = database_fail(r->d, "checking a record");
    }
    sqlite3_reset(q);
  }
  return s;
}

static tess_status take_record_line(reading *r, const json_t *o) {
  static const char *const texts[] = {"target",  "policy", "engine",   "status",
                                      "message", "trace",  "stored_at"};
  static const int place[] = {2, 3, 4, 7, 8, 12, 13};
  sqlite3_stmt *q = r->record;
  int64_t workload, sketch, hash;
  if (!take_hash(o, "workload", &workload) ||
      !take_hash(o, "sketch", &sketch) || !take_hash(o, "program_hash", &hash))
    return bad_line(r, "a record needs workload, sketch and program_hash");
  for (size_t k = 0; k < sizeof place / sizeof *place; k++) {
    const char *text = json_string_value(json_object_get(o, texts[k]));
    if (!text) return bad_line(r, "a text of the record is missing");
    sqlite3_bind_text(q, place[k], text, -1, SQLITE_TRANSIENT);
  }
  const json_t *seconds = json_object_get(o, "seconds");
  sqlite3_bind_int64(q, 1, workload);
  sqlite3_bind_int64(q, 5, sketch);
  sqlite3_bind_int64(q, 11, hash);
  if (json_is_number(seconds))
    sqlite3_bind_double(q, 9, json_number_value(seconds));
  else
    sqlite3_bind_null(q, 9);
  sqlite3_bind_int(q, 14, json_is_true(json_object_get(o, "checked")));
  if (!bind_list(q, 6, json_object_get(o, "decisions"), false) ||
      !bind_list(q, 10, json_object_get(o, "samples"), true))
    return bad_line(r, "decisions and samples are lists of numbers");
  tess_status s = step_line(r, q);
  uint64_t n = (uint64_t)sqlite3_changes64(r->d->db);
  if (s == TESS_OK) r->added += n;
  return s == TESS_OK && n ? check_added(r) : s;
}

static tess_status take_line(reading *r, const char *text, size_t n) {
  err_state err;
  json_t *o = js_read(text, n, js_default_limits, &err);
  if (!o) return bad_line(r, err.message);
  const char *type = json_string_value(json_object_get(o, "type"));
  tess_status s;
  if (type && !strcmp(type, "workload"))
    s = take_workload_line(r, o);
  else if (type && !strcmp(type, "record"))
    s = take_record_line(r, o);
  else
    s = bad_line(r, "it is neither a workload nor a record");
  json_decref(o);
  return s;
}

static tess_status take_file(reading *r, FILE *f) {
  char *line = NULL;
  size_t cap = 0;
  ssize_t n;
  tess_status s = TESS_OK;
  while (s == TESS_OK && (n = getline(&line, &cap, f)) >= 0) {
    r->line++;
    if (n > 0 && line[n - 1] == '\n') n--;
    if (n) s = take_line(r, line, (size_t)n);
  }
  if (s == TESS_OK && ferror(f)) s = file_failed(r->d, r->path);
  free(line);
  return s;
}

static tess_status prepare_lines(reading *r) {
  tess_status s = prepare_copy(
      r->d, "INSERT OR IGNORE INTO workload VALUES (?1, ?2, ?3)", &r->workload);
  if (s == TESS_OK) s = database_prepare_record_checks(r->d, r->check);
  if (s != TESS_OK) return s;
  return prepare_copy(
      r->d,
      "INSERT INTO record (" COPIED ") SELECT * FROM (SELECT ?1 AS workload,"
      " ?2 AS target, ?3 AS policy, ?4, ?5 AS sketch, ?6 AS decisions,"
      " ?7 AS status, ?8, ?9 AS seconds, ?10, ?11, ?12, ?13, ?14) AS o"
      " WHERE NOT EXISTS (SELECT 1 FROM record AS m WHERE " SAME ")",
      &r->record);
}

tess_status tess_database_import(tess_database *d, const char *path,
                                 uint64_t *added) {
  reading r = {.d = d, .path = path};
  *added = 0;
  database_end_filter(d);
  FILE *f = fopen(path, "r");
  if (!f) return file_failed(d, path);
  tess_status s = database_run(d, "BEGIN IMMEDIATE", "importing");
  if (s == TESS_OK) {
    s = prepare_lines(&r);
    if (s == TESS_OK) s = take_file(&r, f);
    sqlite3_finalize(r.workload);
    sqlite3_finalize(r.record);
    for (int i = 0; i < DATABASE_RECORD_CHECKS; i++)
      sqlite3_finalize(r.check[i]);
    if (s == TESS_OK) s = database_run(d, "COMMIT", "importing");
    if (s != TESS_OK) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  }
  fclose(f);
  if (s == TESS_OK) *added = r.added;
  return s;
}
