/* SPDX-License-Identifier: Apache-2.0
 * Stand-in agents, processes whose measuring is a table: the time of a
 * candidate is a function of its decisions. */
#ifndef TESTS_SUPPORT_FLEET_H
#define TESTS_SUPPORT_FLEET_H

#include "fleet/session.h"
#include "support/postgres.h"
#include <sys/types.h>

/* How a stand-in behaves. */
typedef struct standin {
  const char *url, *key, *name;
  double nap;       /* seconds that each job takes */
  double reference; /* of its reference kernel; 0: 1e-3 */
  const char *digest;
  const char *version; /* in its environment */
  int64_t deadly;   /* a first decision that ends the process; 0: none */
  int64_t faulty;   /*   at which the machinery fails */
  bool refuses;     /* every task, as unable */
  bool poll;
  int twin;         /* another process number than its own, to be another */
} standin;

/* The time of a candidate by its decisions. */
double standin_time(const int64_t *decisions, uint32_t n);
/* Starts a process; what it says goes to the file DIR/NAME.said, if dir. */
pid_t standin_start(const standin *s, const char *dir);
/* Starts `tessera agent` with the options; what it says goes to DIR/NAME.said.
 * `before`: words before the command, as "exec", or another clock. */
pid_t agent_start(const postgres *p, const char *dir, const char *name,
                  const char *before, const char *options);
/* Ends it with the signal, and waits; its wait status. */
int standin_end(pid_t pid, int signal);
/* Waits until so many agents of the key are at work. */
void standin_await(const postgres *p, const char *key, int n);
/* Waits until the agent of that name has said the words, in DIR/NAME.said. */
void agent_await_words(const char *dir, const char *name, const char *words);

/* A session of the key with the jobs {1}, {2}, ... {n}, so many at once.  Gives
 * how many had another status than OK; -1, having said why on stderr: the
 * session failed, or a time is not standin_time().  For processes that a test
 * made, too. */
int standin_session(const char *url, const char *key, uint32_t n,
                         uint32_t at_once);
/* The same with jobs of that kind. */
int standin_session_of(const char *url, const char *key, fleet_kind kind,
                       uint32_t n, uint32_t at_once);

#endif
