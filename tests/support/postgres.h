/* SPDX-License-Identifier: Apache-2.0
 * A PostgreSQL server of a test's own: in a folder below /tmp, run by an
 * unprivileged user, stopped and removed at the end. */
#ifndef TESTS_SUPPORT_POSTGRES_H
#define TESTS_SUPPORT_POSTGRES_H

#include <stddef.h>

typedef struct postgres {
  char dir[64];
  int port;
  char url[192]; /* of its superuser, through a socket in the folder */
  char tcp[192]; /* the same through TCP */
} postgres;

/* Starts one, with the schema of a fleet whose leases last so many seconds; 0:
 * with an empty database. */
void postgres_start(postgres *p, double lease);
void postgres_end(postgres *p);
/* "fast", "immediate" (as a crash: what is in memory is lost) */
void postgres_stop(postgres *p, const char *how);
/* Kills all of its processes. */
void postgres_kill(postgres *p);
void postgres_restart(postgres *p);
/* What a statement gives, as psql prints it without decoration; lives until
 * the next call. */
const char *postgres_ask(const postgres *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Waits until it gives what is wanted. */
void postgres_await(const postgres *p, const char *wanted, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What the history shows to be wrong makes the test fail. */
void postgres_check(const postgres *p);

#endif
