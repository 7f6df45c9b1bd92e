/* SPDX-License-Identifier: Apache-2.0
 * Keeps a lease: a thread that renews it each third of its length. */
#ifndef FLEET_KEEPER_H
#define FLEET_KEEPER_H

#include "fleet/link.h"
#include <pthread.h>

typedef struct keeper {
  fleet_link *link;
  const char *agent, *batch, *token;
  double lease;
  thread_flag *lost; /* raised when it is */
  pthread_t id;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool runs, ends;
} keeper;

void keeper_init(keeper *k);
/* The texts and the flag outlive it. */
void keeper_start(keeper *k, fleet_link *link, const char *agent,
                  const char *batch, const char *token, double lease,
                  thread_flag *lost);
void keeper_stop(keeper *k);
/* The lease is somebody else's. */
static inline bool keeper_has_lost(const keeper *k) {
  return thread_flag_is_raised(k->lost);
}
static inline void keeper_give_up(keeper *k) { thread_flag_raise(k->lost); }

#endif
