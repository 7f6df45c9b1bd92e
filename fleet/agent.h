/* SPDX-License-Identifier: Apache-2.0
 * Agents: a process that takes batches of a fleet's jobs, has them measured and
 * reports what came of each. */
#ifndef FLEET_AGENT_H
#define FLEET_AGENT_H

#include "fleet/link.h"
#include "fleet/sign.h"
#include "fleet/work.h"

/* What an agent measures with (measuring.c, or stand-ins in tests).  Its
 * functions are called by one thread. */
typedef struct fleet_measurer {
  /* The reference kernel: its seconds, 0 where this target has none, and what
   * it computed, "" likewise.  A failure is the device's. */
  tess_status (*health)(void *ud, double *seconds, char digest[32],
                        err_state *e);
  /* Performs the jobs, in order.  UNSUPPORTED: the device cannot honour the
   * task, as e says; INVALID: the object of the job that is next is not what a
   * build agent made; INFRA: the machinery failed.  `lost` is raised when
   * nobody wants the results any more. */
  tess_status (*measure)(void *ud, const fleet_batch *b, fleet_done done,
                         void *done_ud, err_state *e);
  thread_flag *lost;
  void *ud;
} fleet_measurer;

typedef enum fleet_role { FLEET_BOTH, FLEET_BUILD, FLEET_RUN } fleet_role;

typedef struct fleet_agent {
  const char *url, *key, *name, *target;
  fleet_role role;
  json_t *env;  /* what times depend on */
  bool poll;    /* the server has no LISTEN */
  const fleet_signer *signer; /* of a build agent; NULL: none */
  int pid;      /* 0: of this process */
  const fleet_measurer *measurer;
  const thread_flag *stop; /* raised: it ends after the job that it is at */
  void (*say)(void *ud, const char *line); /* events; may be NULL */
  void *say_ud;
} fleet_agent;

/* Works until `stop` is raised or it is told to drain.  An agent that cannot
 * begin (no server, no right, its name taken) fails; later a server that goes
 * away is waited for. */
tess_status fleet_agent_run(mem_heap *heap, const fleet_agent *a,
                            fleet_link *link, err_state *e);

#endif
