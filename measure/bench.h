/* SPDX-License-Identifier: Apache-2.0
 * The tensors that all candidates of a workload run on: allocated once, between
 * guard pages, with contents that depend on the seed alone.
 *
 * Inputs are write-protected, outputs are poisoned before a launch, and
 * in-place parameters are restored before each. */
#ifndef MEASURE_BENCH_H
#define MEASURE_BENCH_H

#include "backends/backend.h"
#include "backends/runtime.h"
#include "base/error.h"
#include "measure/tensor/fill.h"
#include "measure/tensor/guard.h"
#include "measure/range.h"

typedef struct bench_param {
  const char *name; /* of the program */
  tess_dtype dtype;
  uint32_t ndim;
  int64_t shape[16];
  uint64_t n; /* elements */
  size_t bytes;
  guard mem;
  bool written, in_place;
  void *initial;    /* in_place: its contents before a launch */
  size_t reference; /* written: where its reference is, in bytes */
  range_fact fact;  /* written: how exactly it must agree */
} bench_param;

typedef struct bench {
  mem_heap *heap;
  const ir_program *base;
  uint64_t seed;
  uint32_t n;
  bench_param *param;
  void **args;
  runtime rt;
  bool in_place; /* some parameter is */
  bool is_exact; /* all outputs must agree bit by bit */
  size_t reference_bytes;
  guard reference; /* what outputs must be; map NULL: not known yet */
} bench;

/* Whether a bench of the program could be opened (measure_task_fits), and its
 * reference has at most so many bytes; nothing is allocated.  UNSUPPORTED,
 * NOMEM, LIMIT. */
tess_status bench_fits(const ir_program *base, uint64_t most, err_state *e);
/* inputs: the contents of the parameters that are no outputs, one after the
 * other; NULL: they are drawn.  The program must outlive the bench.
 * UNSUPPORTED for a symbolic extent, NOMEM.  May unwind; bench_close it then,
 * too. */
tess_status bench_open(bench *b, mem_heap *heap, arena *scratch,
                       const ir_program *base, uint64_t seed, uint32_t threads,
                       const strbuf *inputs, err_state *e);
void bench_close(bench *b);

/* Moves all tensors to one end of their memory. */
void bench_place(bench *b, guard_side side);
/* Restores the state before a launch. */
void bench_reset(bench *b);
/* One launch; the kernel's status. */
static inline int32_t bench_launch(bench *b, const backend *by,
                                   const backend_code *code) {
  return backend_launch(by, code, b->args, NULL, &b->rt.rt);
}
/* After a launch that followed bench_reset: checks that each output was written
 * and that nothing beside a tensor was; WRONG_RESULT names the tensor. */
tess_status bench_inspect(const bench *b, err_state *e);
/* The second of these, of a launch that ended early. */
tess_status bench_check_guards(const bench *b, err_state *e);

/* The outputs' bytes, one after the other. */
void bench_get_outputs(const bench *b, strbuf *out);
/* Sets the reference, reference_bytes bytes. */
tess_status bench_set_reference(bench *b, const void *bytes, size_t n,
                                err_state *e);
/* How many elements of parameter i must be infinite or not-a-number. */
uint64_t bench_count_special(const bench *b, uint32_t i);
/* Compares the outputs with the reference: WRONG_RESULT says where they differ
 * and by how much. */
tess_status bench_compare(const bench *b, double *error, double *bound,
                          err_state *e);
/* The same with a reference of a launch that ended early: what that did not
 * write is not compared. */
tess_status bench_compare_part(const bench *b, err_state *e);

#endif
