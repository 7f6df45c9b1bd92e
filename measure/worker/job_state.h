/* SPDX-License-Identifier: Apache-2.0
 * The state of jobs, shared by the files that perform them. */
#ifndef MEASURE_WORKER_JOB_STATE_H
#define MEASURE_WORKER_JOB_STATE_H

#include "backends/interp/interp.h"
#include "measure/bench.h"
#include "measure/bundle.h"
#include "measure/cores.h"
#include "measure/worker/job.h"
#include "vm/text/text.h"

/* A tensor on a device. */
typedef struct job_resident {
  uint64_t id; /* the host's name */
  const struct device_driver *driver;
  void *ud, *memory;
  uint64_t bytes;
} job_resident;

struct job_state {
  mem_heap heap;
  arena scratch;
  job_hooks hooks;
  job_ring programs, traces;
  strbuf bytes[JOB_KEPT]; /* of programs, whose constants point into them */
  ir_program program[JOB_KEPT];
  vm_trace trace[JOB_KEPT];
  tess_status program_is[JOB_KEPT], trace_is[JOB_KEPT]; /* OK: usable */
  vm_machine machine;
  ir_program convert;     /* what converts the parameters of machine.prog */
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
const vm_trace *job_trace(job_state *j, uint64_t key);
/* Reads a program; its constants point into the bytes, which must outlive
 * it. */
tess_status job_restore(job_state *j, ir_program *p, const void *v, size_t n);
/* Makes j->target that of the text. */
tess_status job_set_target(job_state *j, const char *text);
/* Leaves in s->m.prog the program with its outermost loops parallel, where they
 * may be; of a refused one nothing changes.  NOMEM, LIMIT. */
tess_status job_parallelise(mem_heap *heap, const ir_program *p, vm_sched *s);
/* Lowers and compiles `p`, appending to `out`; *lower and *compile get the
 * seconds.  Sets j->err. */
tess_status job_compile(job_state *j, ir_program *p, backend_form form,
                        strbuf *out, double *lower, double *compile);
/* Operations that the host does in some seconds. */
#define JOB_HOST_OPERATIONS ((int64_t)1 << 31)
/* Binds the loops of an unscheduled program of that many operations or more to
 * threads; false: it has fewer, or too few results (job_bind.c). */
bool job_bind_reference(ir_program *p, int64_t operations);
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
