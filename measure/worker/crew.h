/* SPDX-License-Identifier: Apache-2.0
 * Having jobs done by workers: handing them out, watching deadlines, and
 * telling what ended a worker that did not answer. */
#ifndef MEASURE_WORKER_CREW_H
#define MEASURE_WORKER_CREW_H

#include "measure/worker/pool.h"

/* Seconds that a worker may take to begin what it was asked for. */
double crew_patience(const measure_pool *pool);

/* Some jobs of one kind. */
typedef struct crew_work {
  uint32_t n;
  /* Sends job i to w, and first what w lacks for it; INFRA: w does not
   * read.  NOMEM ends the whole. */
  tess_status (*send)(struct crew_work *c, uint32_t i, worker *w);
  /* The reply; false: it is malformed.  May unwind. */
  frame_type reply;
  bool (*take)(struct crew_work *c, uint32_t i, worker *w, const void *body,
               size_t n);
  /* Job i has no reply: its class, and why. */
  void (*fail)(struct crew_work *c, uint32_t i, tess_status s, const char *why);
  double limit[JOB_CHECKING + 1]; /* seconds that a phase may last */
  bool is_stuck; /* preparing tensors took too long, and would again */
} crew_work;

/* Has all of it done by `nworkers` workers.  CANCELLED: fail was called for
 * what was not done; NOMEM, LIMIT: nothing was for some jobs. */
tess_status crew_run(measure_pool *pool, worker *workers, uint32_t nworkers,
                     crew_work *c);

/* What the end of a worker in the middle of a job means. */
tess_status crew_judge(const worker *w, int wait_status, char *why, size_t n);

#endif
