/* SPDX-License-Identifier: Apache-2.0
 * The table of backends. */
#include "backends/cuda/cuda.h"
#include "backends/dae/dae.h"
#include "backends/llvm/llvm.h"
#include "backends/opencl/opencl.h"

const backend *const backend_table[] = {&llvm_backend, &cuda_backend,
                                        &opencl_backend, &dae_backend, NULL};
