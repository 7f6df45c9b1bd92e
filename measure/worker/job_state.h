/* SPDX-License-Identifier: Apache-2.0
 * The state of jobs, shared by the files that perform them. */
#ifndef MEASURE_WORKER_JOB_STATE_H
#define MEASURE_WORKER_JOB_STATE_H

#include "measure/bench.h"
#include "measure/bundle.h"
#include "measure/cores.h"
#include "measure/worker/job.h"

/* A tensor on a device. */
typedef struct job_resident {
  uint64_t id; /* the host's name */
  const struct device_driver *driver;
  void *ud, *memory;
  uint64_t bytes;
} job_resident;

/* What compiling needs: the traces, the machine that replays them, the program
 * that results, and what converts its parameters (job_builder.c). */
typedef struct job_builder job_builder;

struct job_state {
  mem_heap heap;
  arena scratch;
  job_hooks hooks;
  job_ring programs, traces;
  strbuf bytes[JOB_KEPT]; /* of programs, whose constants point into them */
  ir_program program[JOB_KEPT];
  tess_status program_is[JOB_KEPT], trace_is[JOB_KEPT]; /* OK: usable */
  job_builder *builder;   /* NULL in programs that only run code */
  char target_text[4096]; /* what `target` was parsed from */
  target target;
  const backend *backend;
  bool no_threads; /* thread loops are lowered to serial ones */
  strbuf *note;    /* of lowering what is built; NULL: not wanted */
  bench bench;
  bool has_bench;
  cpu_set_t cpus;  /* that this process may use */
  uint32_t pinned; /* threads that it was bound for, or 0 */
  uint64_t bench_base;
  ir_program bench_program; /* what the bench is of */
  strbuf bench_bytes;
  uint32_t bench_threads;
  uint64_t bench_inputs, inputs_key; /* those of the bench; those put last */
  strbuf inputs;
  bundle called;        /* the kernel of the last call */
  uint64_t called_hash; /* of its target and code; 0: none */
  VEC(job_resident) resident;
  err_state err;
};

static inline void job_enter(job_state *j, job_phase phase) {
  if (j->hooks.phase) j->hooks.phase(j->hooks.ud, phase);
}

/* The program of that key; NULL: it was not sent or could not be read (in
 * j->err). */
const ir_program *job_program(job_state *j, uint64_t key);
/* Sets the error for a thing of a ring that is not there or not readable. */
void job_set_missing(job_state *j, uint32_t at, const tess_status *is,
                     const char *what);
/* May unwind; the state is freed then. */
void job_builder_start(job_state *j);
void job_builder_free(job_state *j);
/* Reads the trace of a place in the ring. */
tess_status job_put_trace(job_state *j, uint32_t at, job_bytes b);
/* Reads a program; its constants point into the bytes, which must outlive
 * it. */
tess_status job_restore(job_state *j, ir_program *p, const void *v, size_t n);
/* Makes j->target that of the text. */
tess_status job_set_target(job_state *j, const char *text);
/* LAUNCH_ERROR with what the backend knows of the failed run of `code` (by
 * NULL: nothing), or else its status (job_run.c). */
tess_status job_launch_failed(job_state *j, const backend *by,
                              const backend_code *code, int32_t status);
/* The message of failure s: j->err's, or that of the heap. */
const char *job_why(job_state *j, tess_status s);
/* NULL: it was lost with the worker that had it. */
job_resident *job_find_resident(job_state *j, uint64_t id);
tess_status job_lost_resident(err_state *e);
/* Copies its contents to the host's memory.  Sets j->err. */
tess_status job_read_resident(job_state *j, uint64_t id, void *to);
void job_free_residents(job_state *j);
/* Makes j->bench that of the request. */
tess_status job_set_bench(job_state *j, const job_bench *r);

#endif
