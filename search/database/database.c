/* SPDX-License-Identifier: Apache-2.0
 * The database of records in SQLite: schema, opening, storing, reading. */
#include "search/database/database.h"
#include "base/hash.h"
#include "ir/query.h"
#include "vm/intrin.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Why a file cannot be opened.  Where it cannot be created SQLite reports that
 * it does not exist, so the directory is examined for the cause. */
static const char *open_error_text(const char *path, bool readonly, int why) {
  char dir[PATH_MAX] = ".";
  struct stat st;
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) + 1 : 0;
  if (why != ENOENT || n >= sizeof dir) return why ? strerror(why) : "";
  if (n) memcpy(dir, path, n), dir[n] = '\0';
  if (stat(dir, &st))
    return errno == ENOENT ? "no such directory" : strerror(errno);
  if (readonly) return "no such file";
  return access(dir, W_OK) ? strerror(errno) : "no file can be made there";
}

/* The operating system's error behind a code of SQLite's. */
static const char *system_error_text(const database *d, int code) {
  int why = sqlite3_system_errno(d->db);
  if (code == SQLITE_FULL) return "the disk is full";
  if ((code & 0xff) == SQLITE_CANTOPEN)
    return open_error_text(d->path, d->readonly, why);
  return (code & 0xff) == SQLITE_IOERR && why ? strerror(why) : "";
}

tess_status database_fail(const database *d, const char *what) {
  int code = sqlite3_errcode(d->db);
  if (code == SQLITE_NOMEM && d->lacked != TESS_OK)
    return ctx_ran_out(d->c, d->lacked, "a record");
  if ((code & 0xff) == SQLITE_INTERRUPT)
    return ctx_fail(d->c, TESS_CANCELLED, "interrupted");
  bool nomem = code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;
  const char *why = system_error_text(d, code);
  return ctx_fail(
      d->c, nomem ? TESS_NOMEM : TESS_IO, "database %s: %s: %s%s%s%s", d->path,
      what, sqlite3_errmsg(d->db), *why ? " (" : "", why, *why ? ")" : "");
}

tess_status database_prepare(database *d, const char *sql, sqlite3_stmt **q) {
  if (sqlite3_prepare_v2(d->db, sql, -1, q, NULL) == SQLITE_OK) return TESS_OK;
  return database_fail(d, "preparing a statement");
}

tess_status database_each_row(database *d, sqlite3_stmt *q,
                              tess_status (*f)(void *ud, sqlite3_stmt *q),
                              void *ud) {
  tess_status s = TESS_OK;
  int code = SQLITE_ROW;
  while (s == TESS_OK && (code = sqlite3_step(q)) == SQLITE_ROW) s = f(ud, q);
  if (s == TESS_OK && code != SQLITE_DONE) s = database_fail(d, "reading");
  sqlite3_finalize(q);
  return s;
}

/* ---- opening ------------------------------------------------------------ */

static tess_status foreign_file(const database *d) {
  return ctx_fail(d->c, TESS_INVALID,
                  "'%s' is not a database of Tessera's but a file of another "
                  "program; name a new file or one that tuning made",
                  d->path);
}

static tess_status check_version(database *d) {
  sqlite3_stmt *q = NULL;
  int code = sqlite3_prepare_v2(d->db,
                                "SELECT value FROM meta WHERE key = "
                                "'schema'",
                                -1, &q, NULL);
  if (code == SQLITE_ERROR) return foreign_file(d); /* no such table */
  if (code == SQLITE_OK) code = sqlite3_step(q);
  int64_t version = code == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
  tess_status s = code == SQLITE_ROW ? TESS_OK
                  : code == SQLITE_DONE
                      ? foreign_file(d)
                      : database_fail(d, "reading its version");
  sqlite3_finalize(q);
  if (s != TESS_OK || version == DATABASE_SCHEMA) return s;
  return ctx_fail(d->c, TESS_UNSUPPORTED,
                  "database %s has version %lld, and this program reads "
                  "version %d only: use the Tessera that wrote it, or a new "
                  "file",
                  d->path, (long long)version, DATABASE_SCHEMA);
}

/* A view or trigger would be performed by what reads or writes: only tables and
 * indices are opened. */
static tess_status check_objects(database *d) {
  static const char sql[] =
      "SELECT max(type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'"
      "), max(type = 'table' AND name = 'meta') FROM sqlite_master";
  sqlite3_stmt *q;
  tess_status s = database_prepare(d, sql, &q);
  if (s != TESS_OK) return s;
  if (sqlite3_step(q) != SQLITE_ROW)
    s = database_fail(d, "opening");
  else if (sqlite3_column_int(q, 0) && !sqlite3_column_int(q, 1))
    s = foreign_file(d);
  else if (sqlite3_column_int(q, 0))
    s = ctx_fail(d->c, TESS_INVALID,
                 "database %s has views, triggers or virtual tables, which no "
                 "database of Tessera's has, and which reading it would "
                 "perform: drop them first",
                 d->path);
  sqlite3_finalize(q);
  return s;
}

/* Whether the database has no tables yet.  Returns a code of SQLite. */
static int is_new(database *d, bool *yes) {
  sqlite3_stmt *q = NULL;
  int code = sqlite3_prepare_v2(d->db, "SELECT count(*) FROM sqlite_master", -1,
                                &q, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(q);
  *yes = code == SQLITE_ROW && sqlite3_column_int64(q, 0) == 0;
  sqlite3_finalize(q);
  return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Of SQLite's machine, between looks at whether it is to stop: a millisecond.
 */
enum { STEPS = 20000 };
enum { OPEN_FLAGS = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE };

/* The path as a URI of SQLite's for an immutable file. */
static void write_uri(const char *path, strbuf *out) {
  str_puts(out, *path == '/' ? "file://" : "file:");
  for (const char *s = path; *s; s++)
    if (strchr("%?#", *s))
      str_printf(out, "%%%02X", (unsigned)*s);
    else
      str_putc(out, *s);
  str_puts(out, "?immutable=1");
}

/* Whether there is a write-ahead log that has not been merged into the file. */
static bool has_journal(const database *d, strbuf *name) {
  struct stat st;
  str_printf(name, "%s-wal", d->path);
  return !name->bad && stat(str_get(name), &st) == 0 && st.st_size > 0;
}

/* Opens a database in a place where this process may not write.  WAL mode needs
 * to create files beside the database, so it is opened as immutable. */
static tess_status open_unchanging(database *d) {
  strbuf name;
  str_init(&name, &d->c->heap);
  if (has_journal(d, &name)) {
    str_free(&name);
    return database_fail(d, "opening");
  }
  str_clear(&name);
  write_uri(d->path, &name);
  sqlite3_close(d->db);
  d->db = NULL;
  int flags = OPEN_FLAGS | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  tess_status s = str_status(&name);
  if (s == TESS_OK &&
      sqlite3_open_v2(str_get(&name), &d->db, flags, NULL) != SQLITE_OK)
    s = database_fail(d, "opening");
  str_free(&name);
  return s;
}

/* Where a call of the host's is at work, and not a run, which stores what it
 * has after it was stopped. */
static int is_stopped(void *ud) {
  const database *d = ud;
  return d->interruptible && thread_flag_is_raised(&d->c->stop);
}

void database_begin(database *d) {
  ctx_begin_work(d->c);
  if (d->c->works == 1) d->interruptible = true;
}

tess_status database_end(database *d, tess_status s) {
  ctx_end_work(d->c);
  if (!d->c->works) d->interruptible = false;
  return s;
}

/* Where nothing of the file is performed that is not asked for. */
static void set_up(database *d) {
  sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
  sqlite3_db_config(d->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  sqlite3_progress_handler(d->db, STEPS, is_stopped, d);
}

/* Opens the connection; *make: the database is new and needs its tables. */
static tess_status open_connection(database *d, bool *make_database) {
  int flags =
      OPEN_FLAGS | (d->readonly ? SQLITE_OPEN_READONLY
                                : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (sqlite3_open_v2(d->path, &d->db, flags, NULL) != SQLITE_OK)
    return database_fail(d, "opening");
  sqlite3_busy_timeout(d->db, database_patience());
  int code = is_new(d, make_database);
  if ((code & 0xff) == SQLITE_READONLY || (code & 0xff) == SQLITE_CANTOPEN) {
    tess_status s = open_unchanging(d);
    if (s != TESS_OK) return s;
    code = is_new(d, make_database);
  }
  return code == SQLITE_OK ? TESS_OK : database_fail(d, "opening");
}

/* Removes a file that this call created and whose tables could not be made,
 * unless another process uses it. */
static void remove_made(database *d) {
  static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
  bool is_empty;
  char path[PATH_MAX];
  int code = sqlite3_errcode(d->db) & 0xff;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) return;
  if (is_new(d, &is_empty) == SQLITE_OK && !is_empty) return;
  sqlite3_close(d->db);
  d->db = NULL;
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
    if ((size_t)snprintf(path, sizeof path, "%s%s", d->path, beside[i]) <
        sizeof path)
      unlink(path);
}

/* Opens or creates the file.  A file without our tables is never written. */
static tess_status open_file(database *d) {
  struct stat st;
  bool make_database;
  if (!*d->path) return ctx_fail(d->c, TESS_INVALID, "a database needs a file");
  /* SQLite gives such names a meaning: a memory database, or a URI. */
  if (*d->path == ':' || !strncmp(d->path, "file:", 5))
    return ctx_fail(d->c, TESS_INVALID,
                    "a database is a file: './%s', if '%s' is its name",
                    d->path, d->path);
  bool was_there = stat(d->path, &st) == 0 || errno != ENOENT;
  tess_status s = open_connection(d, &make_database);
  if (s == TESS_OK) set_up(d);
  if (s == TESS_OK && make_database && !d->readonly)
    s = database_make_tables(d);
  if (s != TESS_OK && !was_there) remove_made(d);
  if (s == TESS_OK) s = check_objects(d);
  if (s == TESS_OK) s = check_version(d);
  if (s == TESS_OK) s = database_migrate(d);
  if (s == TESS_OK) s = database_add_functions(d);
  return s == TESS_OK
             ? database_run(d, "PRAGMA synchronous = NORMAL", "opening")
             : s;
}

typedef struct open_work {
  tess_context *c;
  const char *path;
  bool readonly;
  database *d;
} open_work;

static tess_status make_database(void *ud) {
  open_work *w = ud;
  w->d = mem_new(&w->c->heap, database);
  *w->d = (database){.c = w->c, .readonly = w->readonly};
  str_init(&w->d->shapes, &w->c->heap);
  w->d->path = ctx_text(w->c, w->path, strlen(w->path));
  tess_status s = database_check_patience(w->c);
  return s == TESS_OK ? open_file(w->d) : s;
}

static tess_status open_as(open_work w, tess_database **out) {
  tess_status s = ctx_run(w.c, make_database, &w);
  *out = s == TESS_OK ? w.d : NULL;
  if (s != TESS_OK) database_free(w.d);
  return s;
}

tess_status database_open(tess_context *c, const char *path,
                          tess_database **out) {
  return open_as((open_work){.c = c, .path = path}, out);
}

tess_status database_open_readonly(tess_context *c, const char *path,
                                   tess_database **out) {
  return open_as((open_work){.c = c, .path = path, .readonly = true}, out);
}

void database_free(tess_database *d) {
  if (!d) return;
  database_end_filter(d);
  str_free(&d->shapes);
  sqlite3_finalize(d->run);
  sqlite3_close(d->db);
  tess_text_free(d->c, d->path);
  mem_free(&d->c->heap, d, sizeof *d);
}

/* ---- writing ------------------------------------------------------------ */

static void bind_text(sqlite3_stmt *q, int i, const char *s) {
  sqlite3_bind_text(q, i, s ? s : "", -1, SQLITE_STATIC);
}

void database_bind_key(sqlite3_stmt *q, const database_key *k) {
  sqlite3_bind_int64(q, 1, (sqlite3_int64)k->workload);
  bind_text(q, 2, k->target);
  bind_text(q, 3, k->policy);
}

static tess_status run_once(database *d, sqlite3_stmt *q, const char *what) {
  int code = sqlite3_step(q);
  tess_status s = code == SQLITE_DONE ? TESS_OK : database_fail(d, what);
  sqlite3_reset(q);
  return s;
}

typedef struct storing {
  database *d;
  const database_key *k;
  tess_program *p, *was;
  strbuf bytes;
} storing;

tess_status database_workload(database *d, uint64_t hash, tess_program **out) {
  sqlite3_stmt *q;
  *out = NULL;
  tess_status s =
      database_prepare(d, "SELECT program FROM workload WHERE hash = ?1", &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_int64(q, 1, (sqlite3_int64)hash);
  if (sqlite3_step(q) == SQLITE_ROW)
    s = database_restore(d, sqlite3_column_blob(q, 0),
                         (size_t)sqlite3_column_bytes(q, 0), out);
  sqlite3_finalize(q);
  return s == TESS_NOMEM || s == TESS_LIMIT ? s : TESS_OK;
}

static tess_status save_workload(void *ud) {
  storing *w = ud;
  if (w->was) vm_intrin_adopt(w->d->c, &w->p->p, &w->was->p);
  ir_save(&w->p->p, &w->bytes);
  return str_status(&w->bytes);
}

static tess_status write_workload(storing *w) {
  sqlite3_stmt *q;
  tess_status s =
      database_prepare(w->d,
                       "INSERT INTO workload VALUES (?1, ?2, ?3) "
                       "ON CONFLICT DO UPDATE SET program = excluded.program",
                       &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_int64(q, 1, (sqlite3_int64)w->k->workload);
  bind_text(q, 2, tess_program_name(w->p));
  sqlite3_bind_blob64(q, 3, w->bytes.v, w->bytes.n, SQLITE_STATIC);
  s = run_once(w->d, q, "storing a workload");
  sqlite3_finalize(q);
  return s;
}

tess_status database_put_workload(database *d, const database_key *k,
                                  tess_program *p) {
  storing w = {.d = d, .k = k, .p = p};
  tess_status s = database_run(d, "BEGIN IMMEDIATE", "beginning to store");
  if (s != TESS_OK) return s;
  str_init(&w.bytes, &d->c->heap);
  s = database_workload(d, k->workload, &w.was);
  if (s == TESS_OK) s = ctx_run(d->c, save_workload, &w);
  if (s == TESS_OK) s = write_workload(&w);
  if (s == TESS_OK) s = database_run(d, "COMMIT", "storing a workload");
  if (s != TESS_OK) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  tess_program_free(w.was);
  str_free(&w.bytes);
  return s;
}

static void bind_decisions(sqlite3_stmt *q, int i, const database_record *r) {
  sqlite3_bind_blob64(q, i, r->n ? (const void *)r->d : "", r->n * sizeof *r->d,
                      SQLITE_STATIC);
}

static tess_status put_record(database *d, sqlite3_stmt *q,
                              const database_key *k, const database_record *r) {
  database_bind_key(q, k);
  bind_text(q, 4, tess_version());
  sqlite3_bind_int64(q, 5, (sqlite3_int64)r->sketch);
  bind_decisions(q, 6, r);
  bind_text(q, 7, tess_status_name(r->status));
  bind_text(q, 8, r->message);
  if (r->status == TESS_OK)
    sqlite3_bind_double(q, 9, r->seconds);
  else
    sqlite3_bind_null(q, 9);
  sqlite3_bind_blob64(q, 10, r->nsample ? (const void *)r->sample : "",
                      r->nsample * sizeof *r->sample, SQLITE_STATIC);
  sqlite3_bind_int64(q, 11, (sqlite3_int64)r->program_hash);
  bind_text(q, 12, r->trace);
  sqlite3_bind_int(q, 13, r->checked);
  sqlite3_bind_int64(q, 14, r->run);
  sqlite3_bind_int64(q, 15, r->round);
  sqlite3_bind_int64(q, 16, r->slot);
  sqlite3_bind_double(q, 17, r->elapsed); /* NaN: NULL */
  sqlite3_bind_double(q, 18, r->predicted);
  return run_once(d, q, "storing a record");
}

static tess_status put_next(database *d, const database_key *k, uint64_t seed,
                            uint64_t next) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "INSERT INTO session VALUES (?1, ?2, ?3, ?4, ?5)"
      " ON CONFLICT DO UPDATE SET next = max(next, excluded.next)",
      &q);
  if (s != TESS_OK) return s;
  database_bind_key(q, k);
  sqlite3_bind_int64(q, 4, (sqlite3_int64)seed);
  sqlite3_bind_int64(q, 5, (sqlite3_int64)next);
  s = run_once(d, q, "storing the session's state");
  sqlite3_finalize(q);
  return s;
}

tess_status database_put_records(database *d, const database_key *k, uint32_t n,
                                 const database_record *r) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "INSERT INTO record (workload, target, policy, "
      "engine, sketch, decisions, status, message, seconds, samples, "
      "program_hash, trace, checked, run, round, slot, elapsed, predicted) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
      "?15, ?16, ?17, ?18)",
      &q);
  for (uint32_t i = 0; s == TESS_OK && i < n; i++)
    s = put_record(d, q, k, &r[i]);
  sqlite3_finalize(q);
  return s;
}

tess_status database_put(database *d, const database_key *k, uint32_t n,
                         const database_record *r, uint64_t seed,
                         uint64_t next) {
  if (sqlite3_exec(d->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(d, "beginning to store");
  tess_status s = database_put_records(d, k, n, r);
  if (s == TESS_OK) s = put_next(d, k, seed, next);
  if (s == TESS_OK &&
      sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
    s = database_fail(d, "storing");
  if (s != TESS_OK) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  return s;
}

tess_status database_compared(database *d, const database_key *k,
                              const database_record *r) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "UPDATE record SET status = ?6, message = ?7, checked = ?6 = 'OK', "
      "seconds = CASE ?6 WHEN 'OK' THEN seconds END, "
      "samples = CASE ?6 WHEN 'OK' THEN samples ELSE x'' END "
      "WHERE workload = ?1 AND target = ?2 AND policy = ?3 AND sketch = ?4 "
      "AND decisions = ?5 AND status = 'OK'",
      &q);
  if (s != TESS_OK) return s;
  database_bind_key(q, k);
  sqlite3_bind_int64(q, 4, (sqlite3_int64)r->sketch);
  bind_decisions(q, 5, r);
  bind_text(q, 6, tess_status_name(r->status));
  bind_text(q, 7, r->message);
  s = run_once(d, q, "storing the result of a comparison");
  sqlite3_finalize(q);
  return s;
}

/* ---- reading ------------------------------------------------------------ */

/* The status of that name; INTERNAL for an unknown one. */
static tess_status status_of(const char *name) {
#define STATUS(id, value, text) \
  if (name && !strcmp(name, #id)) return TESS_##id;
#include <tessera/status.def>
#undef STATUS
  return TESS_INTERNAL;
}

const double database_least_time = 1e-10;
const double database_greatest_time = 366 * 86400.0;

bool database_has_time(database *d, sqlite3_stmt *q, int time, int64_t id) {
  int type = sqlite3_column_type(q, time);
  bool is_number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
  double seconds = is_number ? sqlite3_column_double(q, time) : 0;
  char what[48] = "is no number";
  if (seconds >= database_least_time && seconds <= database_greatest_time)
    return true;
  if (is_number) snprintf(what, sizeof what, "cannot be %g s", seconds);
  ctx_warn(d->c, hash_mix(hash_bytes(d->path, strlen(d->path)), (uint64_t)id),
           "database %s: record %lld: its time %s, so the record is left out",
           d->path, (long long)id, what);
  return false;
}

typedef struct each_work {
  database *d;
  tess_status (*f)(void *, const database_record *);
  void *ud;
} each_work;

static tess_status give_record(void *ud, sqlite3_stmt *q) {
  const each_work *w = ud;
  tess_status status = status_of((const char *)sqlite3_column_text(q, 2));
  if (status == TESS_OK &&
      !database_has_time(w->d, q, 4, sqlite3_column_int64(q, 8)))
    return TESS_OK;
  database_record r = {
      .sketch = (uint64_t)sqlite3_column_int64(q, 0),
      .d = sqlite3_column_blob(q, 1),
      .n = (uint32_t)(sqlite3_column_bytes(q, 1) / (int)sizeof(int64_t)),
      .status = status,
      .message = (const char *)sqlite3_column_text(q, 3),
      .seconds = sqlite3_column_double(q, 4),
      .program_hash = (uint64_t)sqlite3_column_int64(q, 5),
      .trace = (const char *)sqlite3_column_text(q, 6),
      .checked = sqlite3_column_int(q, 7) != 0,
      .damaged = sqlite3_column_type(q, 9) == SQLITE_NULL,
      .traced = (uint64_t)sqlite3_column_int64(q, 9),
      .id = sqlite3_column_int64(q, 8),
      .run = sqlite3_column_int64(q, 10),
      .round = (uint32_t)sqlite3_column_int64(q, 11),
      .slot = (uint32_t)sqlite3_column_int64(q, 12),
      .elapsed = sqlite3_column_double(q, 13)};
  return w->f(w->ud, &r);
}

tess_status database_each(database *d, const database_key *k,
                          tess_status (*f)(void *, const database_record *),
                          void *ud) {
  each_work w = {d, f, ud};
  sqlite3_stmt *q;
  tess_status s = database_prepare(
      d,
      "SELECT sketch, decisions, status, message, "
      "seconds, program_hash, trace, checked, id, sketch_of(decisions, trace), "
      "run, round, slot, elapsed "
      "FROM record WHERE workload = ?1 AND target = ?2 AND policy = ?3 "
      "ORDER BY id",
      &q);
  if (s != TESS_OK) return s;
  database_bind_key(q, k);
  return database_each_row(d, q, give_record, &w);
}

tess_status database_next(database *d, const database_key *k, uint64_t seed,
                          uint64_t *next) {
  sqlite3_stmt *q;
  *next = 0;
  tess_status s =
      database_prepare(d,
                       "SELECT next FROM session WHERE workload = ?1 "
                       "AND target = ?2 AND policy = ?3 AND seed = ?4",
                       &q);
  if (s != TESS_OK) return s;
  database_bind_key(q, k);
  sqlite3_bind_int64(q, 4, (sqlite3_int64)seed);
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW)
    *next = (uint64_t)sqlite3_column_int64(q, 0);
  else if (code != SQLITE_DONE)
    s = database_fail(d, "reading");
  sqlite3_finalize(q);
  return s;
}
