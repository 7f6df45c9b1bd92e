/* SPDX-License-Identifier: Apache-2.0
 * Programs and traces of records, restored; a trace that gives another program
 * now than was measured is warned of. */
#include "search/database/database.h"
#include "base/hash.h"

#include <inttypes.h>

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
  if (database_ends_reading(st)) return st;
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
  s = tess_trace_from_json(d->c, database_text(q, 0), p, out);
  tess_program_free(p);
  if (s != TESS_OK) return blame_record(d, id, s);
  if (strcmp(database_text(q, 2), "OK")) return s;
  s = check_meaning(d, id, (uint64_t)sqlite3_column_int64(q, 3), *out);
  if (s == TESS_OK) return s;
  tess_trace_free(*out);
  *out = NULL;
  return s;
}

tess_status database_trace(tess_database *d, int64_t id, tess_trace **out) {
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
