/* SPDX-License-Identifier: Apache-2.0
 * The database of measured candidates: a SQLite file in WAL mode, which several
 * processes of one host may write at once.  A record has all that is needed to
 * reproduce it: workload, target, measuring policy, trace, decisions, times,
 * engine version and the hash of the scheduled program. */
#ifndef SEARCH_DATABASE_DATABASE_H
#define SEARCH_DATABASE_DATABASE_H

#include "vm/object.h"
#include <sqlite3.h>

#define DATABASE_SCHEMA 1
/* The policy of times that a host's function gave, which " name=NAME" may
 * follow. */
#define DATABASE_OF_FUNCTION "v1 measure=function"

/* Of which records tess_database_row gives the rows; NULL: of any. */
typedef struct database_filter {
  bool of_workload, checked, failed;
  uint64_t workload;
  char *name, *target, *policy, *before;
  char *sketches; /* of other ones than these: a list of JSON */
} database_filter;

typedef struct tess_database database;
struct tess_database {
  tess_context *c;
  sqlite3 *db;
  sqlite3_stmt *rows;       /* of tess_database_row, made when asked for */
  sqlite3_stmt *row;        /* and with them: the rest of the row */
  sqlite3_stmt *run;        /* of tess_database_run */
  sqlite3_stmt *group;      /* of tess_database_group, at row group_at */
  uint64_t group_at;
  bool passed_over, second; /* some are; which the second round gives */
  bool readonly;            /* as it was opened */
  bool interruptible;       /* tess_stop ends what SQLite is doing */
  uint64_t at;              /* the row it stands at, from 0 */
  database_filter filter;
  bool has_shapes; /* of the program with the hash shapes_of */
  uint64_t shapes_of;
  strbuf shapes;
  tess_status lacked; /* why sketch_of had no memory; OK: it had */
  char *path;
};

tess_status database_open(tess_context *c, const char *path,
                          tess_database **out);
tess_status database_open_readonly(tess_context *c, const char *path,
                                   tess_database **out);
void database_free(tess_database *d);
/* Sets the error from SQLite's last one; `what`: the action that failed. */
tess_status database_fail(const database *d, const char *what);
/* Around what a call of the host's does, which tess_stop ends with CANCELLED;
 * a run stores what it has after it was stopped.  database_end gives s. */
void database_begin(database *d);
tess_status database_end(database *d, tess_status s);
/* For sqlite3_finalize. */
tess_status database_prepare(database *d, const char *sql, sqlite3_stmt **q);
/* Calls f(ud, q) at each row until one fails, and finalizes q. */
tess_status database_each_row(database *d, sqlite3_stmt *q,
                              tess_status (*f)(void *ud, sqlite3_stmt *q),
                              void *ud);
/* Whether a call that failed so ends the reading of rows, of which others that
 * cannot be read are passed over. */
static inline bool database_ends_reading(tess_status s) {
  return s == TESS_NOMEM || s == TESS_LIMIT || s == TESS_CANCELLED;
}

/* ---- schema (schema.c) ----------------------------------------- */

tess_status database_make_tables(database *d);
tess_status database_migrate(database *d);
/* Milliseconds to wait for another process's lock: thirty seconds, or the
 * environment variable TESSERA_DATABASE_PATIENCE. */
int database_patience(void);
/* INVALID where the variable is set to something else. */
tess_status database_check_patience(tess_context *c);
/* Statements without results. */
tess_status database_run(database *d, const char *sql, const char *what);

/* The key of records whose times are comparable. */
typedef struct database_key {
  uint64_t workload; /* hash of the unscheduled program */
  const char *target, *policy;
} database_key;

typedef struct database_record {
  uint64_t sketch; /* hash of the open trace */
  uint32_t n;      /* decisions, encoded as vm_decisions */
  const int64_t *d;
  tess_status status;
  const char *message;
  double seconds;
  bool checked; /* compared with the reference, and equal */
  const double *sample;
  uint32_t nsample;
  uint64_t program_hash;
  const char *trace;    /* JSON with decisions */
  bool damaged;         /* read: trace or decisions are unreadable */
  uint64_t traced;      /* read, undamaged: vm_sketch_hash of it */
  int64_t id;           /* read: its number */
  int64_t run;          /* of which run it is; 0: unknown */
  uint32_t round, slot; /* its batch of the run, its place there */
  double elapsed;       /* seconds since the run began */
  double predicted;     /* score of the cost model; NAN: none */
} database_record;

/* As parameters 1 to 3 of a statement. */
void database_bind_key(sqlite3_stmt *q, const database_key *k);
/* Stores the workload.  If it is stored already the program gets the tensor
 * intrinsics that were stored with it. */
tess_status database_put_workload(database *d, const database_key *k,
                                  tess_program *p);
/* The program stored under a workload's hash; *out NULL: none, or a damaged
 * one. */
tess_status database_workload(database *d, uint64_t hash, tess_program **out);
/* The bytes of a workload's program, restored. */
tess_status database_restore(database *d, const void *bytes, size_t n,
                             tess_program **out);
/* Defines the SQL function sketch_of(decisions, trace): the hash of a record's
 * trace as a sketch (vm_sketch_hash); NULL: the record is damaged, that is, one
 * of them cannot be read or they do not belong together. */
tess_status database_add_functions(database *d);
/* Stores records and the session's count of candidates in one transaction. */
tess_status database_put(database *d, const database_key *k, uint32_t n,
                         const database_record *r, uint64_t seed,
                         uint64_t next);
/* Stores records only. */
tess_status database_put_records(database *d, const database_key *k, uint32_t n,
                                 const database_record *r);
/* Updates status and message of the candidate's stored success, after it was
 * compared with the reference. */
tess_status database_compared(database *d, const database_key *k,
                              const database_record *r);
/* Column i of the row as text; "" where it is none. */
static inline const char *database_text(sqlite3_stmt *q, int i) {
  const char *s = (const char *)sqlite3_column_text(q, i);
  return s ? s : "";
}
/* The condition of the filter on rows of `record` joined with `workload`; its
 * parameters are ?1 to ?8, which database_bind_filter sets. */
#define DATABASE_FILTERED                                              \
  " FROM record JOIN workload ON workload.hash = workload"             \
  " WHERE (?1 IS NULL OR workload = ?1) AND (?2 IS NULL OR name = ?2)" \
  " AND (?3 IS NULL OR target = ?3) AND (?4 IS NULL OR policy = ?4)"   \
  " AND (NOT ?5 OR (status = 'OK' AND checked))"                       \
  " AND (?6 IS NULL OR stored_at < ?6) AND (NOT ?7 OR status <> 'OK')" \
  " AND (?8 IS NULL OR sketch NOT IN (SELECT value FROM json_each(?8)))"
void database_bind_filter(const database *d, sqlite3_stmt *q);
/* Whether it lets only some records by. */
bool database_filters(const database_filter *f);

/* ---- as the public functions (include/tessera/database.h) ------ */

tess_status database_take_filter(tess_database *d, /* rows.c */
                                 const tess_record_filter *in);
tess_status database_count(tess_database *d, uint64_t *n);
tess_status database_row(tess_database *d, uint64_t k, tess_record *out);
tess_status database_group(tess_database *d, uint64_t k, /* groups.c */
                           tess_record_group *out);
tess_status database_get_run(tess_database *d, uint64_t k, tess_run *out);
tess_status database_trace(tess_database *d, int64_t id, tess_trace **out);
tess_status database_add(tess_database *d, tess_trace *t, const char *target,
                         const char *policy, uint32_t n,
                         const double *sample);
tess_status database_remove(tess_database *d, /* prune.c */
                            const tess_record_filter *f, uint32_t keep,
                            int dry, uint64_t *removed);
tess_status database_merge(tess_database *d, const char *path,
                           uint64_t *added);
tess_status database_export(tess_database *d, const char *path); /* lines.c */
tess_status database_import(tess_database *d, const char *path,
                            uint64_t *added);
tess_status database_verify(tess_database *d,
                            void (*found)(void *ud, const char *what),
                            void *ud);
/* tess_database_best_of; *groups: among how many it chose, whose times are not
 * comparable. */
tess_status database_best(tess_database *d, tess_program *p,
                          const tess_best_filter *f, tess_record *out,
                          uint32_t *groups);
/* Leaves the shapes of the workload's parameters in d->shapes. */
tess_status database_read_shapes(tess_database *d, uint64_t workload);
/* Ends the reading of groups. */
void database_end_groups(tess_database *d);
/* Drops the filter, and ends the reading of rows. */
void database_end_filter(database *d);
/* Times outside of these bounds, a cycle and years, are impossible. */
extern const double database_least_time, database_greatest_time;
/* Whether column `time` of the row is possible as a time of a success; else a
 * warning names record `id`, which is to be skipped. */
bool database_has_time(database *d, sqlite3_stmt *q, int time, int64_t id);
/* Calls f for each record of the key in the order of storing, except for
 * successes with an impossible time; a status other than TESS_OK ends the walk
 * and is returned. */
tess_status database_each(database *d, const database_key *k,
                          tess_status (*f)(void *ud, const database_record *r),
                          void *ud);
/* How many candidates a session of that seed had made; 0: none. */
tess_status database_next(database *d, const database_key *k, uint64_t seed,
                          uint64_t *next);

/* ---- runs (runs.c) --------------------------------------------- */

/* The key of a run, by which one that was broken off is found again. */
typedef struct database_run_key {
  uint64_t space, seed; /* space: hash of its sketches */
  const char *strategy, *model;
  uint32_t batch;
  bool transfer; /* other workloads' records may teach it */
} database_run_key;
typedef struct database_run_row {
  int64_t id, after; /* the last record before it */
  uint64_t first;    /* candidates that the session had made before */
  double seconds;    /* that it took so far */
  bool is_new;
} database_run_row;
/* The last run of the key, if it has not ended; else a new one, with `first`
 * of *out. */
tess_status database_begin_run(database *d, const database_key *k,
                               const database_run_key *r,
                               database_run_row *out);
/* How far it came; ended: its status, "" while it goes on; unscheduled: as of
 * tess_result_info. */
typedef struct database_run_state {
  double seconds, unscheduled;
  const char *funnel, *ledger, *ended;
} database_run_state;
tess_status database_put_run(database *d, int64_t id,
                             const database_run_state *now);

/* How well the model of that name predicted a batch of a run of that seed; one
 * row a batch (quality.c). */
tess_status database_put_quality(database *d, const database_key *k,
                                 uint64_t seed, const char *model,
                                 const tess_quality *x);

#endif
