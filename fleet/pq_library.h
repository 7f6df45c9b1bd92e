/* SPDX-License-Identifier: Apache-2.0
 * The functions of libpq that are used, found when a fleet is asked for.  Their
 * types are those of PostgreSQL's own header, whose values are stable. */
#ifndef FLEET_PQ_LIBRARY_H
#define FLEET_PQ_LIBRARY_H

#include <libpq-fe.h>
#include <stdbool.h>

typedef struct pq_library {
  PGconn *(*connect_start)(const char *const *keywords,
                           const char *const *values, int expand_dbname);
  PostgresPollingStatusType (*connect_poll)(PGconn *);
  ConnStatusType (*status)(const PGconn *);
  char *(*error_message)(const PGconn *);
  int (*socket)(const PGconn *);
  void (*finish)(PGconn *);
  PQnoticeProcessor (*set_notices)(PGconn *, PQnoticeProcessor, void *);
  int (*set_nonblocking)(PGconn *, int);
  int (*send)(PGconn *, const char *sql, int n, const Oid *types,
              const char *const *values, const int *lengths,
              const int *formats, int result_format);
  int (*flush)(PGconn *);
  int (*consume)(PGconn *);
  int (*is_busy)(PGconn *);
  PGresult *(*get_result)(PGconn *);
  PGnotify *(*notifies)(PGconn *);
  void (*freemem)(void *);
  ExecStatusType (*result_status)(const PGresult *);
  char *(*error_field)(const PGresult *, int field);
  int (*ntuples)(const PGresult *);
  char *(*value)(const PGresult *, int row, int column);
  int (*is_null)(const PGresult *, int row, int column);
  int (*length)(const PGresult *, int row, int column);
  void (*clear)(PGresult *);
  /* For what runs once, by the owner. */
  PGresult *(*exec)(PGconn *, const char *sql);
} pq_library;

/* false: it is not there, and `why` says how it was looked for. */
bool pq_load(pq_library *out, char why[256]);

#endif
