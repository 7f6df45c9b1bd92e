/* SPDX-License-Identifier: Apache-2.0
 * Comparing a scheduled program on the emulated device with the interpreter. */
#ifndef SUPPORT_GPU_COMPARE_H
#define SUPPORT_GPU_COMPARE_H

#include "support/gpu_program.h"
#include "support/test.h"

typedef struct gpu_compared {
  uint32_t right, refused;
  gpu_counts counts, all; /* of the last one that ran; of all */
  char why[256];          /* the last refusal */
} gpu_compared;

/* `scheduled` on the device, threads first to last and last to first, computes
 * on small integers what the interpreter does for `base`; else the test fails.
 * false: the target does not take it, or a launch exceeds a limit, which is
 * counted.  `sizes`: the values of symbolic extents. */
bool gpu_compare_at(mem_heap *heap, const ir_program *base,
                    const ir_program *scheduled, const char *target,
                    uint32_t nsizes, const int64_t *sizes, gpu_compared *out);
bool gpu_compare(mem_heap *heap, const ir_program *base,
                 const ir_program *scheduled, const char *target,
                 gpu_compared *out);
/* Makes programs by tests/support/gpu_cases.lua, and compares them all.
 * TESS_GPU_CASES=N makes so many of each, as was done once. */
void gpu_compare_cases(const char *kind, uint32_t count, const char *target,
                       gpu_compared *out);

#endif
