/* SPDX-License-Identifier: Apache-2.0
 * The internals of pools and tasks, shared by the files that use them. */
#ifndef MEASURE_WORKER_POOL_H
#define MEASURE_WORKER_POOL_H

#include "measure/measure.h"
#include "measure/early_stop.h"
#include "measure/worker/worker.h"
#include <sched.h>

typedef struct crew crew;

struct measure_pool {
  mem_heap *heap;
  measure_config config; /* its texts are copies of the pool's */
  uint32_t nbuilders;
  worker *builder; /* nbuilders processes that compile */
  worker runner;   /* the one that times */
  worker caller;   /* calls kernels for the host, and has what is on devices */
  worker referee;  /* computes references here, where the runner is elsewhere */
  const char *via; /* the command that starts runner and caller; NULL: they are
                    * workers, too */
  uint64_t residents; /* made so far, on devices */
  job_state **local;  /* in process: the same, and its last one times */
  measure_ledger ledger;
  crew *behind;     /* builds while others are timed; NULL: nothing does */
  uint32_t spare;   /* builders that may, on the cores of */
  cpu_set_t others; /*   these processing units */
  uint32_t spared;  /* for timing with that many threads; 0: not known */
  uint32_t tasks;   /* made so far */
  uint32_t silent;  /* consecutive workers without a handshake */
  bool greeted;     /* a worker completed the handshake */
  const char *mute; /* silent: the path or command of the last one */
  bool noted;       /* what the runner had to say was logged */
};

struct measure_task {
  measure_pool *pool;
  uint64_t key;   /* of the program's bytes */
  uint64_t bench; /* of program, seed and threads */
  strbuf program; /* bytes of ir_save */
  strbuf target;
  measure_policy policy;
  tess_status asked; /* status of computing the reference */
  bool has_reference;
  double launch; /* seconds of the unscheduled program, for the reference */
  early_stop stop; /* of its candidates */
  double prepare; /* seconds that a worker took for its tensors, at most */
  bool on_device; /* kernels run on a device */
  bool may_hang;  /* they call functions of the host, which may never end */
  strbuf reference, note, why;
  strbuf inputs; /* contents of its tensors, of policy.inputs; "": drawn */
  strbuf stuck;  /* why it cannot be measured; else empty */
};

static inline bool pool_is_cancelled(const measure_pool *p) {
  return p->config.cancel && thread_flag_is_raised(p->config.cancel);
}

static inline worker_program pool_program(const measure_pool *p,
                                          const worker *w) {
  bool there = w == &p->runner || w == &p->caller;
  return (worker_program){.path = p->config.worker_path,
                          .externs = p->config.externs,
                          .sandboxed = p->config.sandboxed,
                          .via = there ? p->via : NULL};
}

void pool_log(measure_pool *p, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* In process: the state of builder i (nbuilders: the runner), with the
 * task's program; NULL: out of memory.  May be called by several threads for
 * different i. */
job_state *pool_local(measure_pool *p, uint32_t i, const measure_task *t);
/* Sends the worker a program or trace that it lacks. */
tess_status pool_send_thing(worker *w, job_thing what, uint64_t key,
                            const strbuf *bytes);
/* Sends it the task's contents of tensors, if it lacks them. */
tess_status pool_send_inputs(worker *w, const measure_task *t);

/* A result that stands for `status`. */
void pool_set_build(measure_pool *p, measure_build *out, tess_status s,
                    const char *why);
void pool_set_result(measure_pool *p, measure_result *out, tess_status s,
                     const char *why);

#endif
