/* SPDX-License-Identifier: Apache-2.0
 * A kernel's code and, where its schedule transformed the layout of
 * parameters, the function that converts them.  As bytes: the kernel's code
 * alone, or
 *
 *   "TSBUNDLE", how many parameters, for each its number and the bytes of
 *   its converted contents, the size of the converting function's code, that
 *   code, the kernel's code; numbers are 64-bit and little-endian. */
#ifndef MEASURE_BUNDLE_H
#define MEASURE_BUNDLE_H

#include "backends/backend.h"
#include "lower/lower.h"

typedef struct bundle {
  const backend *backend;
  backend_code *kernel, *convert; /* convert: NULL where nothing is converted */
  uint32_t n;
  uint32_t param[LOWER_MAX_PREPARED];
  uint64_t bytes[LOWER_MAX_PREPARED];
} bundle;

/* Writes the header; the caller appends the kernel's code. */
void bundle_write_head(strbuf *out, const lower_prepared *what,
                       const strbuf *convert);
/* *out must be unloaded also after a failure. */
tess_status bundle_load(mem_heap *heap, const backend *b, const void *code,
                        size_t n, bundle *out, err_state *e);
void bundle_unload(bundle *b);

/* A kernel's arguments: the caller's data, except for converted parameters,
 * whose memory is the runtime's. */
typedef struct bundle_args {
  const tess_runtime *rt;
  uint32_t n;
  void *made[LOWER_MAX_PREPARED];
} bundle_args;

/* Converts the parameters; 0, or the status of the converting function.  `out`
 * must be freed in any case. */
int32_t bundle_convert(const bundle *b, void *const *args,
                       const tess_runtime *rt, bundle_args *out);
/* Replaces converted parameters in args. */
void bundle_replace(const bundle *b, const bundle_args *made, void **args);
void bundle_args_free(bundle_args *a);

#endif
