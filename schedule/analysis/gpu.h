/* SPDX-License-Identifier: Apache-2.0
 * What a kernel of a scheduled program takes on a GPU, or a nest on the chip of
 * an accelerator, found without lowering it. */
#ifndef SCHEDULE_GPU_H
#define SCHEDULE_GPU_H

#include "schedule/sch.h"

typedef struct sch_kernel_use {
  int64_t threads, vthreads; /* of a block of threads */
  int64_t shared;            /* bytes of shared memory */
  int64_t registers;         /* of a thread, 4 bytes each: its buffers */
} sch_kernel_use;

/* Do the threads of the loop, virtual ones too, share a buffer of this scope,
 * so that what any of them needs is computed for all? */
bool sch_threads_share(ir_scope scope, const ir_stmt_rec *loop);

/* Of the kernel whose outermost thread loop is given.
 *
 * Shared memory is what lowering allocates: each shared buffer as large as the
 * box of it that is accessed while it lives, with storage_align's strides, as
 * many versions of it as a pipeline keeps, and one element a thread for each
 * result that threads reduce together.  What lowering moves to shared memory
 * since threads read each other's elements of a private buffer is not in it. */
void sch_measure_kernel(sch_state *s, ir_stmt kernel, sch_kernel_use *out);

/* Is it a storage scope of an access-execute machine? */
static inline bool sch_is_on_chip(uint32_t scope) {
  return scope >= IR_SCOPE_DAE_INP && scope <= IR_SCOPE_DAE_ACC;
}

typedef struct sch_chip_use {
  int64_t inp, wgt, acc; /* bytes of the buffers of an access-execute machine */
} sch_chip_use;

/* Of a statement of the root: its buffers in those scopes, and what lives
 * around it, each as large as lowering makes it. */
void sch_measure_chip(sch_state *s, ir_stmt nest, sch_chip_use *out);

/* Instructions of such a machine that the statement of the root takes at least:
 * 0 where that is not known, as where the host does a part
 * (analysis/stream.c). */
int64_t sch_least_instructions(const ir_program *p, ir_stmt nest);

#endif
