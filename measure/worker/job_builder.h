/* SPDX-License-Identifier: Apache-2.0
 * The state of jobs that compile, shared by the files that perform them. */
#ifndef MEASURE_WORKER_JOB_BUILDER_H
#define MEASURE_WORKER_JOB_BUILDER_H

#include "measure/worker/job_state.h"
#include "vm/vm.h"

struct job_builder {
  vm_trace trace[JOB_KEPT];
  vm_machine machine;
  ir_program convert; /* what converts the parameters of machine.prog */
};

const vm_trace *job_trace(job_state *j, uint64_t key);
/* Leaves in s->m.prog the program with its outermost loops parallel, where they
 * may be, and where `moved` is not NULL with sums moved out of the loops along
 * which data lie; *moved is set where some are.  Of what is refused nothing
 * changes.  NOMEM, LIMIT.  `s` is to be freed, also where this unwinds. */
tess_status job_parallelise(mem_heap *heap, const ir_program *p, bool *moved,
                            vm_sched *s);
/* Lowers and compiles `p`, appending to `out`; *lower and *compile get the
 * seconds.  Sets j->err. */
tess_status job_compile(job_state *j, ir_program *p, backend_form form,
                        strbuf *out, double *lower, double *compile);
/* Operations that the host does in some seconds. */
#define JOB_HOST_OPERATIONS ((int64_t)1 << 31)
/* Binds the loops of an unscheduled program of that many operations or more to
 * threads; false: it has fewer, or too few results (job_bind.c). */
bool job_bind_reference(ir_program *p, int64_t operations);

#endif
