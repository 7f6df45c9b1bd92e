/* SPDX-License-Identifier: Apache-2.0
 * Keeps a lease. */
#include "base/clock.h"
#include "fleet/keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* NULL is yes.  A server that is away takes no renewal, and gives the lease to
 * nobody. */
static void renew(keeper *k) {
  err_state e;
  fleet_answer a = {.is_null = true}; /* no text: nothing is allocated */
  static const char sql[] =
      "SELECT nullif(fleet.renew($1, $2, $3), true)::text";
  tess_status s =
      fleet_call(k->link, &a, &e, sql, k->agent, k->batch, k->token);
  if (s == TESS_OK && !a.is_null) thread_flag_raise(k->lost);
}

/* Waits for a third of the lease; false: it is to end. */
static bool await_turn(keeper *k) {
  double until = clock_now() + k->lease / 3;
  struct timespec t = {.tv_sec = (time_t)until};
  t.tv_nsec = (long)((until - (double)t.tv_sec) * 1e9);
  int code = 0;
  pthread_mutex_lock(&k->lock);
  while (!k->ends && code != ETIMEDOUT)
    code = pthread_cond_timedwait(&k->changed, &k->lock, &t);
  bool ends = k->ends;
  pthread_mutex_unlock(&k->lock);
  return !ends;
}

static void *keep_lease(void *ud) {
  keeper *k = ud;
  while (await_turn(k)) renew(k);
  return NULL;
}

void keeper_init(keeper *k) { memset(k, 0, sizeof *k); }

void keeper_start(keeper *k, fleet_link *link, const char *agent,
                  const char *batch, const char *token, double lease,
                  thread_flag *lost) {
  pthread_condattr_t monotonic;
  sigset_t all, before;
  *k = (keeper){.link = link,
                .agent = agent,
                .batch = batch,
                .token = token,
                .lease = lease,
                .lost = lost};
  pthread_mutex_init(&k->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&k->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  k->runs = pthread_create(&k->id, NULL, keep_lease, k) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!k->runs) thread_flag_raise(lost);
}

void keeper_stop(keeper *k) {
  pthread_mutex_lock(&k->lock);
  k->ends = true;
  pthread_cond_signal(&k->changed);
  pthread_mutex_unlock(&k->lock);
  if (k->runs) pthread_join(k->id, NULL);
  pthread_cond_destroy(&k->changed);
  pthread_mutex_destroy(&k->lock);
  k->runs = false;
}
