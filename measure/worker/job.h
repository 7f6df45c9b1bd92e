/* SPDX-License-Identifier: Apache-2.0
 * The work itself: building candidates and running them, from requests that
 * are plain data.  A worker process does it for frames that come over a
 * socket, a pool without processes calls it directly.
 *
 * Programs and traces are put once and then named by keys.  Both sides keep
 * the last few of each, by the same rule (job_ring), so that the one who
 * asks knows what the other one has. */
#ifndef MEASURE_WORKER_JOB_H
#define MEASURE_WORKER_JOB_H

#include "measure/measure.h"

/* ---- what was put ------------------------------------------------------- */

enum { JOB_KEPT = 16 };

/* The keys of the last JOB_KEPT things. */
typedef struct job_ring {
  uint64_t key[JOB_KEPT];
  uint32_t n, next;
} job_ring;

/* The place of a key, or JOB_KEPT. */
uint32_t job_ring_find(const job_ring *r, uint64_t key);
/* Enters a key in the place of the oldest one; gives the place. */
uint32_t job_ring_add(job_ring *r, uint64_t key);

typedef enum job_thing {
  JOB_PROGRAM, /* bytes of ir_save */
  JOB_TRACE,   /* JSON */
  JOB_THINGS
} job_thing;

/* ---- requests ----------------------------------------------------------- */

typedef struct job_bytes {
  const void *v;
  size_t n;
} job_bytes; /* borrowed */

typedef enum job_kind { JOB_OF_BASE, JOB_OF_TRACE, JOB_OF_PROGRAM } job_kind;

typedef struct job_build {
  uint64_t base;
  const char *target;
  uint32_t kind, form; /* job_kind, measure_form */
  uint64_t trace;      /* JOB_OF_TRACE */
  bool given;          /* with these decisions, else its own */
  const int64_t *decisions;
  uint32_t ndecisions;
  job_bytes program; /* JOB_OF_PROGRAM: bytes of ir_save */
} job_build;

/* Which tensors: a bench is made for the first such request and kept until
 * another one is asked for. */
typedef struct job_bench {
  uint64_t base, seed;
  const char *target;
  uint32_t threads;
} job_bench;

enum { JOB_MAX_KERNELS = 64 };

typedef struct job_run {
  job_bench bench;
  uint32_t n; /* kernels; several: in turns, not checked */
  job_bytes code[JOB_MAX_KERNELS];
  uint32_t check;     /* measure_check */
  bool only_check;    /* no samples */
  bool has_reference; /* here it is; else it is known, or none is needed */
  job_bytes reference;
  double min_time, timeout, cutoff, best;
  uint32_t repeats;
} job_run;

/* ---- results ------------------------------------------------------------ */

/* Outputs of the unscheduled program, and what is to be said about them. */
typedef struct job_reference {
  tess_status status;
  strbuf message, note;
  strbuf outputs;
  double seconds; /* all of it */
  double launch;  /* the unscheduled program, once */
} job_reference;

/* Where the time of a run went, in seconds. */
typedef struct job_times {
  double prepare, kernel, check;
} job_times;

/* ---- working ------------------------------------------------------------ */

/* What is being done, for whoever watches: set before it is begun. */
typedef enum job_phase {
  JOB_IDLE,
  JOB_BUILDING,
  JOB_PREPARING,
  JOB_LOADING,
  JOB_RUNNING,
  JOB_CHECKING
} job_phase;

typedef struct job_state job_state;

typedef struct job_hooks {
  void (*phase)(void *ud, job_phase phase); /* may be NULL */
  void *ud;
  bool pin; /* this process may be bound to cores */
} job_hooks;

/* NULL: out of memory. */
job_state *job_state_new(tess_allocator alloc, job_hooks hooks);
void job_state_free(job_state *j);
/* The tensors in use; NULL: none. */
const struct bench *job_state_bench(const job_state *j);

tess_status job_put(job_state *j, job_thing what, uint64_t key, job_bytes bytes,
                    err_state *e);
/* Is it there, readable or not? */
bool job_has(const job_state *j, job_thing what, uint64_t key);
/* All initialise *out, with strings on the state's heap. */
void job_do_build(job_state *j, const job_build *r, measure_build *out);
void job_do_reference(job_state *j, const job_bench *r, job_reference *out);
/* out: r->n results. */
void job_do_run(job_state *j, const job_run *r, measure_result *out,
                job_times *times);

void job_reference_free(job_reference *r);
/* Sets a message, as far as memory goes. */
void job_say(strbuf *out, const char *text);

#endif
