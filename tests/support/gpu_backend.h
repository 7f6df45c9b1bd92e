/* SPDX-License-Identifier: Apache-2.0
 * The CUDA backend with the emulated device in place of the driver: what it
 * compiles holds the kernels' LLVM IR, too, and is loaded and run here. */
#ifndef SUPPORT_GPU_BACKEND_H
#define SUPPORT_GPU_BACKEND_H

#include "backends/backend.h"

extern const backend gpu_backend;

#endif
