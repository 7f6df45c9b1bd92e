/* SPDX-License-Identifier: Apache-2.0
 * Loading, launching and timing of kernels by OpenCL (load.c), as
 * backends/backend.h describes these functions. */
#ifndef BACKENDS_OPENCL_LOAD_H
#define BACKENDS_OPENCL_LOAD_H

#include "backends/backend.h"

tess_status opencl_load(mem_heap *heap, const void *code, size_t n,
                        backend_code **out, err_state *e);
int32_t opencl_launch(const backend_code *c, void **args, const int64_t *sizes,
                      const tess_runtime *rt);
int32_t opencl_time(const backend_code *c, void **args, const int64_t *sizes,
                    const tess_runtime *rt, uint64_t runs, bool stay,
                    double *seconds);
void opencl_unload(backend_code *c);
void opencl_on_fatal(void (*fn)(const char *message));

#endif
