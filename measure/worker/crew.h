/* SPDX-License-Identifier: Apache-2.0
 * Runs jobs on a set of worker processes: assignment, deadlines, retries, and
 * classification of how a worker ended. */
#ifndef MEASURE_WORKER_CREW_H
#define MEASURE_WORKER_CREW_H

#include "measure/worker/pool.h"

/* Seconds until a worker must have begun a job. */
double crew_patience(const measure_pool *pool);

/* A set of jobs of one kind. */
typedef struct crew_work {
  uint32_t n;
  /* Sends job i to w, preceded by the programs and traces that w lacks, with
   * the status of worker_send.  Memory that ran out ends the run. */
  tess_status (*send)(struct crew_work *c, uint32_t i, worker *w);
  /* Takes the reply; false: it is malformed.  May unwind. */
  frame_type reply;
  bool (*take)(struct crew_work *c, uint32_t i, worker *w, const void *body,
               size_t n);
  /* Job i has no reply: its class, and why. */
  void (*fail)(struct crew_work *c, uint32_t i, tess_status s, const char *why);
  double limit[JOB_CHECKING + 1]; /* seconds that a phase may last */
  bool is_stuck; /* preparing tensors timed out, and would again */
  bool is_slow;  /* a job was ended in its phase JOB_RUNNING */
} crew_work;

/* Runs all jobs on `nworkers` workers.  CANCELLED: `fail` was called for the
 * jobs that were not done; NOMEM, LIMIT: some jobs have no result. */
tess_status crew_run(measure_pool *pool, worker *workers, uint32_t nworkers,
                     crew_work *c);

/* The same in steps.  Between them, while another crew of the pool runs, this
 * one goes on with its jobs, on pool->spare workers at most. */
tess_status crew_open(measure_pool *pool, worker *workers, uint32_t nworkers,
                      crew_work *work, crew **out);
/* Runs all jobs below `end`, on all workers. */
tess_status crew_until(crew *c, uint32_t end);
/* Workers in the middle of a job are ended. */
void crew_close(crew *c);

/* Whether a candidate's kernel runs. */
static inline bool crew_is_running(job_phase phase) {
  return phase == JOB_RUNNING || phase == JOB_SAMPLING;
}

/* The class of a job whose worker ended in the middle of it, and why. */
tess_status crew_judge(const worker *w, int wait_status, char *why, size_t n);

#endif
