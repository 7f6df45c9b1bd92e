/* SPDX-License-Identifier: Apache-2.0
 * Loading, launching and timing of kernels by the CUDA driver (launch.c), as
 * backends/backend.h describes these functions. */
#ifndef BACKENDS_CUDA_LAUNCH_H
#define BACKENDS_CUDA_LAUNCH_H

#include "backends/backend.h"

tess_status cuda_load(mem_heap *heap, const void *code, size_t n,
                      backend_code **out, err_state *e);
int32_t cuda_launch(const backend_code *c, void **args, const int64_t *sizes,
                    const tess_runtime *rt);
int32_t cuda_time(const backend_code *c, void **args, const int64_t *sizes,
                  const tess_runtime *rt, uint64_t runs, bool stay,
                  double *seconds);
void cuda_unload(backend_code *c);
void cuda_on_fatal(void (*fn)(const char *message));

#endif
