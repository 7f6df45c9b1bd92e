/* SPDX-License-Identifier: Apache-2.0
 * Serialization of requests and results as bodies of frames.  Parsing trusts
 * nothing: a body that is too short, too long or has an impossible value is
 * rejected. */
#ifndef MEASURE_WORKER_WIRE_H
#define MEASURE_WORKER_WIRE_H

#include "measure/tensor/guard.h"
#include "measure/worker/job.h"

typedef struct wire_reader {
  const unsigned char *at, *end;
  bool bad;
} wire_reader;

typedef struct wire_put {
  uint32_t what; /* job_thing */
  uint64_t key;
  job_bytes bytes;
} wire_put;

typedef struct wire_hello {
  tess_status status; /* not OK: it cannot work; message says why */
  const char *message;
  const char *version; /* of the engine */
} wire_hello;

/* In place of a result. */
typedef struct wire_refusal {
  tess_status status; /* NOMEM, LIMIT */
  const char *why;
} wire_refusal;

/* A worker's message about the signal that ends it. */
typedef struct wire_crash {
  uint32_t signal;
  uint32_t hit; /* guard_hit */
  uint64_t distance, address;
  char name[64]; /* of the tensor that was hit */
} wire_crash;

void wire_write_put(strbuf *out, const wire_put *p);
void wire_write_build(strbuf *out, const job_build *r);
void wire_write_bench(strbuf *out, const job_bench *r);
void wire_write_run(strbuf *out, const job_run *r);
void wire_write_call(strbuf *out, const job_call *r);
void wire_write_memory(strbuf *out, const job_memory *r);
void wire_write_hello(strbuf *out, const wire_hello *h);
void wire_write_phase(strbuf *out, job_phase phase);
void wire_write_refused(strbuf *out, const wire_refusal *r);
void wire_write_built(strbuf *out, const measure_build *b);
void wire_write_reference(strbuf *out, const job_reference *r);
void wire_write_ran(strbuf *out, uint32_t n, const measure_result *r,
                    const job_times *t);
void wire_write_called(strbuf *out, const measure_result *r,
                       const strbuf *contents);
/* Safe in a signal handler; gives the bytes written, at most WIRE_CRASH. */
enum { WIRE_CRASH = 96 };
size_t wire_write_crash(unsigned char out[WIRE_CRASH], const wire_crash *c);

/* All take the whole body; false: malformed.  Texts and bytes are borrowed
 * from it, arrays are made in `a`. */
bool wire_read_put(const void *body, size_t n, wire_put *out);
bool wire_read_build(const void *body, size_t n, arena *a, job_build *out);
bool wire_read_bench(const void *body, size_t n, job_bench *out);
bool wire_read_run(const void *body, size_t n, job_run *out);
bool wire_read_call(const void *body, size_t n, job_call *out);
bool wire_read_memory(const void *body, size_t n, job_memory *out);
bool wire_read_hello(const void *body, size_t n, wire_hello *out);
bool wire_read_phase(const void *body, size_t n, job_phase *out);
bool wire_read_refused(const void *body, size_t n, wire_refusal *out);
bool wire_read_crash(const void *body, size_t n, wire_crash *out);
/* Into results that are initialised, with strings and samples of `heap`;
 * after false they hold something, to be freed. */
bool wire_read_built(const void *body, size_t n, measure_build *out);
bool wire_read_reference(const void *body, size_t n, job_reference *out);
bool wire_read_ran(const void *body, size_t n, mem_heap *heap, uint32_t k,
                   measure_result *out, job_times *times);
/* *contents: borrowed from the body. */
bool wire_read_called(const void *body, size_t n, mem_heap *heap,
                      measure_result *out, job_bytes *contents);

#endif
