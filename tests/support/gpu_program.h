/* SPDX-License-Identifier: Apache-2.0
 * Runs scheduled programs on the emulated device: lowered and compiled for a
 * CUDA target, kernel by kernel, as a host would launch them. */
#ifndef SUPPORT_GPU_PROGRAM_H
#define SUPPORT_GPU_PROGRAM_H

#include "base/error.h"
#include "ir/ir.h"
#include "support/gpu.h"

typedef struct gpu_program_options {
  const char *target;           /* NULL: "cuda -arch=sm_80" */
  bool reversed;                /* threads run last to first */
} gpu_program_options;

/* `p` is lowered in place; args: the parameters' memory, in order; sizes: the
 * values of symbolic extents.  UNSUPPORTED as compiling gives it; WRONG_RESULT
 * where the emulator finds a fault.  *counts is added to; NULL: not wanted. */
tess_status gpu_run_program(ir_program *p, arena *scratch,
                            const gpu_program_options *o, void *const *args,
                            const int64_t *sizes, gpu_counts *counts,
                            err_state *e);

#endif
