/* SPDX-License-Identifier: Apache-2.0
 * The backend for decoupled access-execute accelerators, which exist as a
 * simulator: a program compiles to streams of instructions, and to functions of
 * the host for what the machine cannot do; running it gives exact results, and
 * the cycles that the streams take. */
#ifndef BACKENDS_DAE_DAE_H
#define BACKENDS_DAE_DAE_H

#include "backends/backend.h"
#include "backends/dae/compile.h"

extern const backend dae_backend;

/* Appends what dae_load takes (code.c). */
void dae_write(const dae_compile *c, const char *machine, strbuf *out);

/* backend.load, time, why, unload (run.c). */
tess_status dae_load(mem_heap *heap, const void *code, size_t n,
                     backend_code **out, err_state *e);
int32_t dae_time(const backend_code *c, void **args, void *const *resident,
                 const int64_t *sizes, uint64_t runs, double *seconds);
const char *dae_why(const backend_code *c);
void dae_unload(backend_code *c);

#endif
