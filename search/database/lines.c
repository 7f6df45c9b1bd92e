/* SPDX-License-Identifier: Apache-2.0
 * Records as JSON lines, out and in. */
#include "base/file.h"
#include "base/json.h"
#include "search/database/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
  for (int k = 0; k < n; k++) js_add(&list, json_integer(v[k]));
  return list;
}

static json_t *json_times(sqlite3_stmt *q, int i) {
  json_t *list = json_array();
  const double *v = sqlite3_column_blob(q, i);
  int n = sqlite3_column_bytes(q, i) / (int)sizeof *v;
  for (int k = 0; k < n; k++) js_add(&list, json_real(v[k]));
  return list;
}

/* What is no UTF-8, as a message of a host's may be, is replaced: JSON has
 * nothing else. */
static void set_text(database *d, json_t **o, const char *k, sqlite3_stmt *q,
                     int i) {
  const char *text = database_text(q, i);
  strbuf good;
  str_init(&good, &d->c->heap);
  str_put_utf8(&good, text, strlen(text));
  js_set(o, k, json_string_nocheck(str_get(&good)));
  str_free(&good);
}

static json_t *workload_line(database *d, sqlite3_stmt *q) {
  json_t *o = json_object();
  js_set(&o, "type", json_string("workload"));
  js_set(&o, "hash", json_hash(sqlite3_column_int64(q, 0)));
  set_text(d, &o, "name", q, 1);
  js_set(&o, "program", json_bytes(q, 2));
  return o;
}

static json_t *record_line(database *d, sqlite3_stmt *q) {
  json_t *o = json_object();
  js_set(&o, "type", json_string("record"));
  js_set(&o, "workload", json_hash(sqlite3_column_int64(q, 0)));
  set_text(d, &o, "target", q, 1);
  set_text(d, &o, "policy", q, 2);
  set_text(d, &o, "engine", q, 3);
  js_set(&o, "sketch", json_hash(sqlite3_column_int64(q, 4)));
  js_set(&o, "decisions", json_integers(q, 5));
  set_text(d, &o, "status", q, 6);
  set_text(d, &o, "message", q, 7);
  if (sqlite3_column_type(q, 8) != SQLITE_NULL)
    js_set(&o, "seconds", json_real(sqlite3_column_double(q, 8)));
  js_set(&o, "samples", json_times(q, 9));
  js_set(&o, "program_hash", json_hash(sqlite3_column_int64(q, 10)));
  set_text(d, &o, "trace", q, 11);
  set_text(d, &o, "stored_at", q, 12);
  js_set(&o, "checked", json_boolean(sqlite3_column_int(q, 13)));
  return o;
}

/* The lines of one table, appended to `text`, which is emptied into the file
 * whenever it is long. */
static tess_status write_lines(database *d, const char *sql, file_writer *f,
                               json_t *(*line)(database *, sqlite3_stmt *)) {
  enum { LONG = 1 << 16 };
  sqlite3_stmt *q;
  tess_status s = database_prepare(d, sql, &q);
  int code = SQLITE_DONE;
  strbuf text;
  if (s != TESS_OK) return s;
  str_init(&text, &d->c->heap);
  while (s == TESS_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
    json_t *o = line(d, q);
    js_write(&text, o);
    str_putc(&text, '\n');
    json_decref(o);
    if (text.bad) s = ctx_ran_out(d->c, str_status(&text), "exporting records");
    if (s == TESS_OK && text.n < LONG) continue;
    if (s == TESS_OK) s = file_append(f, text.v, text.n, &d->c->err);
    str_clear(&text);
  }
  if (s == TESS_OK && code != SQLITE_DONE) s = database_fail(d, "reading");
  if (s == TESS_OK) s = file_append(f, text.v, text.n, &d->c->err);
  str_free(&text);
  sqlite3_finalize(q);
  return s;
}

tess_status database_export(tess_database *d, const char *path) {
  file_writer f;
  ctx_clear(d->c);
  tess_status s = file_create(&f, path, &d->c->err);
  if (s == TESS_OK)
    s = write_lines(d, "SELECT hash, name, program FROM workload ORDER BY hash",
                    &f, workload_line);
  if (s == TESS_OK)
    s = write_lines(d, "SELECT " DATABASE_COPIED " FROM record ORDER BY id", &f,
                    record_line);
  return file_commit(&f, s, &d->c->err);
}

/* ---- lines in ----------------------------------------------------------- */

static tess_status file_failed(database *d, const char *path) {
  return ctx_fail(d->c, TESS_IO, "%s: %s", path, strerror(errno));
}

typedef struct reading {
  database *d;
  const char *path;
  strbuf text; /* of the line, as far as it is read */
  uint64_t line, added;
  sqlite3_stmt *workload, *record;
  sqlite3_stmt *check[DATABASE_RECORD_CHECKS + 1]; /* NULL behind the last */
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
  for (int i = 0; s == TESS_OK && r->check[i]; i++) {
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

static tess_status end_line(reading *r) {
  r->line++;
  tess_status s = str_status(&r->text);
  if (s != TESS_OK) return ctx_ran_out(r->d->c, s, "a line of records");
  s = r->text.n ? take_line(r, r->text.v, r->text.n) : TESS_OK;
  str_clear(&r->text);
  return s;
}

/* The lines that end in n bytes of the file; the rest begins the next one. */
static tess_status take_part(reading *r, const char *part, size_t n) {
  tess_status s = TESS_OK;
  while (s == TESS_OK && n > 0) {
    const char *end = memchr(part, '\n', n);
    size_t len = end ? (size_t)(end - part) : n;
    str_write(&r->text, part, len);
    if (r->text.n > js_default_limits.bytes) {
      r->line++;
      return bad_line(r, "it has more than 64 MiB");
    }
    if (end) s = end_line(r);
    part += len + (end != NULL);
    n -= len + (end != NULL);
  }
  return s;
}

static tess_status take_file(reading *r, FILE *f) {
  char part[1 << 14];
  size_t n;
  tess_status s = TESS_OK;
  while (s == TESS_OK && (n = fread(part, 1, sizeof part, f)) > 0)
    s = take_part(r, part, n);
  if (s == TESS_OK && ferror(f)) s = file_failed(r->d, r->path);
  return s == TESS_OK && r->text.n ? end_line(r) : s;
}

static tess_status prepare_lines(reading *r) {
  tess_status s = database_prepare(
      r->d, "INSERT OR IGNORE INTO workload VALUES (?1, ?2, ?3)", &r->workload);
  if (s == TESS_OK) s = database_prepare_record_checks(r->d, r->check);
  if (s != TESS_OK) return s;
  return database_prepare(
      r->d,
      "INSERT INTO record (" DATABASE_COPIED
      ") SELECT * FROM (SELECT ?1 AS workload,"
      " ?2 AS target, ?3 AS policy, ?4, ?5 AS sketch, ?6 AS decisions,"
      " ?7 AS status, ?8, ?9 AS seconds, ?10, ?11, ?12, ?13, ?14) AS o"
      " WHERE NOT EXISTS (SELECT 1 FROM record AS m WHERE " DATABASE_SAME ")",
      &r->record);
}

tess_status database_import(tess_database *d, const char *path,
                            uint64_t *added) {
  reading r = {.d = d, .path = path};
  *added = 0;
  database_end_filter(d);
  FILE *f = fopen(path, "r");
  if (!f) return file_failed(d, path);
  str_init(&r.text, &d->c->heap);
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
  str_free(&r.text);
  if (s == TESS_OK) *added = r.added;
  return s;
}
