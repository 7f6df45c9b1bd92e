/* SPDX-License-Identifier: Apache-2.0
 * A team of threads for parallel regions: helpers that wait between regions,
 * spinning for a bounded time and then asleep.
 *
 * The calling thread waits only for helpers that have begun to work.  One that
 * the system has not scheduled yet, as on a busy machine, holds up nothing. */
#ifndef BACKENDS_TEAM_H
#define BACKENDS_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TEAM_MOST = 256 }; /* threads, with the caller's */

typedef struct team {
  _Atomic uint32_t state;    /* of the region: see team.c */
  _Atomic uint32_t sleepers; /* helpers that sleep, or are about to */
  atomic_bool owner_sleeps;
  atomic_flag taken;      /* a region runs */
  void (*fn)(void *data); /* of the region */
  void *data;
  int64_t spin; /* how long to spin, in nanoseconds */
  uint32_t n;   /* helpers that were started */
  bool failed;  /* the system gives no more threads */
  pid_t pid;    /* a fork has none of the helpers */
  pthread_t id[TEAM_MOST - 1];
} team;

/* Starts no threads yet.  OMP_WAIT_POLICY, if the host set it, says how long
 * waiting threads spin: "passive": not at all, "active": 100 ms. */
void team_init(team *t);
/* Joins the helpers; no region may run. */
void team_free(team *t);

/* Calls fn(data) on the calling thread and, at the same time, on up to
 * threads-1 helpers, which are started as needed; a helper may come late or
 * never, so fn must do all the work that is left and return when none is.
 * Within a region of this or any team, and while another thread runs one on
 * this team, fn runs on the calling thread alone. */
void team_run(team *t, uint32_t threads, void (*fn)(void *data), void *data);

#endif
