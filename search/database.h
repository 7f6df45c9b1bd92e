/* SPDX-License-Identifier: Apache-2.0
 * Records on one host: a SQLite file (WAL), which several processes may
 * write at once.  A record tells all that is needed to repeat it: workload,
 * target, measuring policy, trace, decisions, times, engine version and the
 * hash of the final program. */
#ifndef SEARCH_DATABASE_H
#define SEARCH_DATABASE_H

#include "vm/object.h"
#include <sqlite3.h>

#define DATABASE_SCHEMA 1

typedef struct tess_database database;
struct tess_database {
  tess_context *c;
  sqlite3 *db;
  sqlite3_stmt *rows;        /* of tess_database_row, made when asked for */
  sqlite3_stmt *row;         /* and with them: the rest of the row */
  bool passed_over, second;  /* some are; which the second round gives */
  uint64_t at;               /* the row it stands at, from 0 */
  tess_status lacked;        /* why sketch_of had no memory; OK: it had */
  char *path;
};

tess_status database_open(tess_context *c, const char *path,
                          tess_database **out);
/* What SQLite says has gone wrong while doing `what`. */
tess_status database_fail(const database *d, const char *what);

/* What of a program's records can be compared: their key. */
typedef struct database_key {
  uint64_t workload;         /* hash of the unscheduled program */
  const char *target, *policy;
} database_key;

typedef struct database_record {
  uint64_t sketch;           /* hash of the open trace */
  uint32_t n;                /* decisions, encoded as vm_decisions */
  const int64_t *d;
  tess_status status;
  const char *message;
  double seconds;
  bool checked;              /* it computes what the reference does */
  const double *sample;
  uint32_t nsample;
  uint64_t program_hash;
  const char *trace;         /* JSON with decisions */
  bool damaged;              /* read: trace or decisions say nothing */
  uint64_t traced;           /* read, undamaged: vm_sketch_hash of it */
} database_record;

/* Stores the workload; one that was stored before keeps the tensor intrinsics
 * that it knew, which the program gets. */
tess_status database_put_workload(database *d, const database_key *k,
                                  tess_program *p);
/* The bytes of a workload's program, restored. */
tess_status database_restore(database *d, const void *bytes, size_t n,
                             tess_program **out);
/* What its statements may call: sketch_of(decisions, trace) of a record, the
 * hash of its trace as a sketch (vm_sketch_hash); NULL: the record is damaged,
 * one of them cannot be read or they are not of one another. */
tess_status database_add_functions(database *d);
/* Some records, and how many candidates the session has made, in one
 * transaction. */
tess_status database_put(database *d, const database_key *k, uint32_t n,
                         const database_record *r, uint64_t seed,
                         uint64_t next);
/* What is stored of the record's candidate as a success gets its status and
 * message: it was compared with the reference afterwards. */
tess_status database_compared(database *d, const database_key *k,
                              const database_record *r);
/* Whether column `time` of the row has what can be the time of a success; else
 * a warning names record `id`, which nobody is to see. */
bool database_has_time(database *d, sqlite3_stmt *q, int time, int64_t id);
/* Calls f for each record of the key in the order of storing, but for
 * successes whose time none can be; a status that is not TESS_OK ends it and
 * is returned. */
tess_status database_each(database *d, const database_key *k,
                          tess_status (*f)(void *ud,
                                           const database_record *r),
                          void *ud);
/* How many candidates a session of that seed had made; 0: none. */
tess_status database_next(database *d, const database_key *k, uint64_t seed,
                          uint64_t *next);

#endif
