/* SPDX-License-Identifier: Apache-2.0
 * Jobs: building, running and comparing candidates, from requests that are
 * plain data.  A worker process performs them for frames from a socket; an
 * in-process pool calls them directly.
 *
 * Programs and traces are sent once and then referred to by keys.  Both sides
 * cache the last few of each with the same replacement rule (job_ring), so that
 * the pool knows what a worker has. */
#ifndef MEASURE_WORKER_JOB_H
#define MEASURE_WORKER_JOB_H

#include "measure/measure.h"
#include "measure/timing.h"

/* ---- cached programs and traces ----------------------------------------- */

enum { JOB_KEPT = 16 };

/* The keys of the last JOB_KEPT things. */
typedef struct job_ring {
  uint64_t key[JOB_KEPT];
  uint32_t n, next;
} job_ring;

/* The slot of a key, or JOB_KEPT. */
uint32_t job_ring_find(const job_ring *r, uint64_t key);
/* Replaces the oldest key; returns the slot. */
uint32_t job_ring_add(job_ring *r, uint64_t key);

typedef enum job_thing {
  JOB_PROGRAM, /* bytes of ir_save */
  JOB_TRACE,   /* JSON */
  JOB_INPUTS,  /* contents of tensors, as bench_open takes them; one kept */
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
  uint32_t kind, form; /* job_kind, backend_form */
  uint64_t trace;      /* JOB_OF_TRACE */
  bool given;          /* with these decisions, else its own */
  const int64_t *decisions;
  uint32_t ndecisions;
  job_bytes program; /* JOB_OF_PROGRAM: bytes of ir_save */
} job_build;

/* The tensors of a request: a bench is made for the first such request and kept
 * until one for other tensors. */
typedef struct job_bench {
  uint64_t base, seed;
  uint64_t inputs; /* key of contents that were put; 0: they are drawn */
  const char *target;
  uint32_t threads;
} job_bench;

enum { JOB_MAX_KERNELS = 64 };

typedef struct job_run {
  job_bench bench;
  uint32_t n; /* kernels; several are interleaved and not checked */
  job_bytes code[JOB_MAX_KERNELS];
  uint32_t check;     /* measure_check */
  bool only_check;    /* no samples */
  bool has_reference; /* included; else the worker has it or needs none */
  job_bytes reference;
  double min_time, timeout, cutoff, best;
  timing_margins margin;
  uint32_t repeats;
  bool warm_cache;    /* as the policy's */
} job_run;

/* A kernel's launch on the caller's tensors, whose contents are copied. */
enum { JOB_MAX_ARGS = 256 };
typedef struct job_call {
  const char *target;
  job_bytes code;
  uint32_t n; /* arguments */
  job_bytes arg[JOB_MAX_ARGS];
  uint64_t resident[JOB_MAX_ARGS]; /* the tensor on the device that it is;
                                    * 0: contents */
  bool written[JOB_MAX_ARGS];      /* its contents are returned */
  uint32_t nsizes;
  int64_t sizes[64];
  double min_time; /* 0: it runs once, and is not timed */
  uint32_t repeats, threads;
} job_call;

/* Tensors in a device's memory: their contents to it, or back, or dropping
 * one, to which there is no answer; and what is known of the device. */
typedef enum job_memory_op {
  JOB_MEMORY_WRITE,
  JOB_MEMORY_READ,
  JOB_MEMORY_FREE,
  JOB_MEMORY_FACTS, /* the device's limits, as options of a target */
  JOB_MEMORY_MACHINE, /* what this machine's times depend on */
  JOB_MEMORY_OPS
} job_memory_op;

typedef struct job_memory {
  uint32_t op;
  bool is_new;        /* WRITE: it is allocated */
  uint64_t id;        /* the host's name for the tensor, never used again */
  const char *device; /* "opencl:0" */
  job_bytes contents; /* WRITE */
} job_memory;

/* ---- results ------------------------------------------------------------ */

/* Outputs of the unscheduled program, and notes about them. */
typedef struct job_reference {
  tess_status status;
  strbuf message, note;
  strbuf outputs;
  double seconds; /* all of it */
  double launch;  /* the unscheduled program, once, or what it would take */
} job_reference;

/* The seconds of a run by activity. */
typedef struct job_times {
  double prepare, kernel, check;
} job_times;

/* ---- working ------------------------------------------------------------ */

/* The phase of a job, reported before it begins, for time-outs and for
 * classifying crashes. */
typedef enum job_phase {
  JOB_IDLE,
  JOB_BUILDING,
  JOB_PREPARING,
  JOB_LOADING,
  JOB_RUNNING,
  JOB_SAMPLING, /* runs a kernel whose first launch was no longer than others */
  JOB_CHECKING
} job_phase;

typedef struct job_state job_state;

typedef struct job_hooks {
  void (*phase)(void *ud, job_phase phase); /* may be NULL */
  void *ud;
  bool is_worker; /* the process is nobody else's: it may be bound to
                   * cores, and load what a host must not */
} job_hooks;

/* NULL: out of memory. */
job_state *job_state_new(tess_allocator alloc, job_hooks hooks);
void job_state_free(job_state *j);
/* The tensors in use; NULL: none. */
const struct bench *job_state_bench(const job_state *j);

tess_status job_put(job_state *j, job_thing what, uint64_t key, job_bytes bytes,
                    err_state *e);
/* Whether it is cached, readable or not. */
bool job_has(const job_state *j, job_thing what, uint64_t key);
/* All initialise *out, with strings on the state's heap. */
void job_do_build(job_state *j, const job_build *r, measure_build *out);
void job_do_reference(job_state *j, const job_bench *r, job_reference *out);
/* out: r->n results. */
void job_do_run(job_state *j, const job_run *r, measure_result *out,
                job_times *times);

/* out: its samples, where it is timed; *contents: of the written arguments, one
 * after the other. */
void job_do_call(job_state *j, const job_call *r, measure_result *out,
                 strbuf *contents);

/* The answer to a job_memory; *contents: what was read. */
void job_do_memory(job_state *j, const job_memory *r, measure_result *out,
                   strbuf *contents);

void job_reference_free(job_reference *r);
/* Sets a message, as far as memory goes. */
void job_say(strbuf *out, const char *text);

#endif
