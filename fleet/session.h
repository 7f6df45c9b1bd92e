/* SPDX-License-Identifier: Apache-2.0
 * Sessions: what a tuning run asks of a fleet. */
#ifndef FLEET_SESSION_H
#define FLEET_SESSION_H

#include "fleet/link.h"
#include "fleet/work.h"

typedef struct fleet_session fleet_session;

typedef struct fleet_candidate {
  const vm_trace *trace; /* NULL: the unscheduled program */
  const int64_t *decisions;
  uint32_t n;
  const strbuf *code; /* instead: what a result of it has */
} fleet_candidate;

/* The target of the devices of a key, appended; NOT_FOUND: none is at work. */
tess_status fleet_find_target(mem_heap *heap, const char *url, const char *key,
                              strbuf *out, err_state *e);

/* A session on the key's devices, for candidates of `base`.  inputs: contents
 * of the policy's key.  NOT_FOUND: no agent of the key is at work. */
tess_status fleet_session_open(mem_heap *heap, const char *url,
                               const char *key, const char *name,
                               const ir_program *base, const char *target,
                               const measure_policy *policy, bool check_all,
                               const strbuf *inputs, fleet_session **out,
                               err_state *e);
void fleet_session_close(fleet_session *s);

/* Has n candidates measured by many devices (by one, where they are to be
 * compared with each other: FLEET_REMATCH), and gives `done` their results in
 * order, as soon as there are those before; non-zero ends it.  A result's code
 * says which candidate it is, and of which device; candidates of such a code
 * are compared on another one, where there is one.  `stop` raised: CANCELLED.
 * INFRA: the fleet is away for too long, or the key has stopped. */
tess_status fleet_session_measure(fleet_session *s, fleet_kind kind, uint32_t n,
                                  const fleet_candidate *c, double best,
                                  const thread_flag *stop, fleet_done done,
                                  void *done_ud, err_state *e);

/* What is to be said of the results so far: that they are of several
 * environments, that some were measured before; "": nothing. */
const char *fleet_session_note(const fleet_session *s);

#endif
