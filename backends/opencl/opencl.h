/* SPDX-License-Identifier: Apache-2.0
 * The OpenCL backend: lowered kernels printed as OpenCL C 1.2, built and
 * launched through the ICD loader, which is opened at run time.
 *
 * A device's driver may bring a compiler of its own (PoCL an LLVM), so only
 * workers load kernels.  Code is the host program (backends/device/device.h)
 * and the source, which the driver compiles when it is loaded. */
#ifndef BACKENDS_OPENCL_OPENCL_H
#define BACKENDS_OPENCL_OPENCL_H

#include "backends/backend.h"
#include "backends/device/loader.h"

DEVICE_LOADER(opencl)
extern const backend opencl_backend;

/* backend.complete, backend.runs_here (target.c). */
tess_status opencl_complete_target(target *t, err_state *e);
tess_status opencl_runs_here(const target *t, err_state *e);
/* The name of kernel i of n, of a program of that name. */
void opencl_kernel_name(const char *program, uint32_t i, uint32_t n,
                        char out[BACKEND_SYMBOL + 24]);
/* Appends the source of the kernels (source.c).  UNSUPPORTED, LIMIT. */
tess_status opencl_print(const device_split *d, ir_program *p, arena *scratch,
                         const target *t, strbuf *out, err_state *e);

#endif
