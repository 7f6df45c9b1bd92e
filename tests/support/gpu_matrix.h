/* SPDX-License-Identifier: Apache-2.0
 * Matrix instructions of the emulated device. */
#ifndef SUPPORT_GPU_MATRIX_H
#define SUPPORT_GPU_MATRIX_H

#include "support/gpu_parts.h"

/* wmma, mma.sync m16n8k16 or ldmatrix of all 32 lanes; false: a fault. */
bool gpu_matrix(gpu_module *m, gpu_thread *lane, const char *name);

#endif
