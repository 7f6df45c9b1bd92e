/* SPDX-License-Identifier: Apache-2.0
 * Compiled programs as bytes, and as read again. */
#ifndef BACKENDS_DAE_CODE_H
#define BACKENDS_DAE_CODE_H

#include "backends/dae/dae.h"

/* A piece of memory: a parameter, or a constant with its contents. */
typedef struct code_buffer {
  uint64_t at, bytes;
  bool written;
  const char *data;      /* NULL: a parameter */
} code_buffer;

typedef struct code_host {
  uint32_t nbuf, nvar;
  uint64_t *buf;         /* where its arguments are in memory */
  const void *code;
  uint64_t bytes;
} code_host;

typedef struct code_item {
  dae_stream s;
  uint64_t cycles;
  uint32_t host;         /* plus 1 */
  int64_t *value;
} code_item;

typedef struct dae_code {
  dae_machine m;
  uint64_t bytes;        /* of memory */
  VEC(code_buffer) buffer; /* parameters first */
  uint32_t nparam;
  VEC(code_host) host;
  VEC(code_item) item;
} dae_code;

/* In the arena, with pointers into the bytes.  PARSE: they are damaged.
 * Unwinds; the streams are the heap's. */
tess_status dae_read(dae_code *out, arena *a, const void *bytes, size_t n,
                     err_state *e);
void dae_code_free(dae_code *c, mem_heap *heap);

#endif
