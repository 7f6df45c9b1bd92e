/* SPDX-License-Identifier: Apache-2.0
 * Programs, schedules and a pool for the tests of measuring. */
#ifndef SUPPORT_MEASURED_H
#define SUPPORT_MEASURED_H

#include "measure/measure.h"
#include "support/test.h"
#include "vm/object.h"

typedef struct measured {
  tess_context *c;
  tess_target *target;
  measure_policy policy;       /* short */
  measure_pool *pool;
  measure_task *task;
  tess_program *program;       /* measured_take's, or NULL */
  tess_schedule *parallel;     /* measured_parallel's, or NULL */
  measure_build build;         /* measured_code's, or empty */
  err_state err;
} measured;

/* A context and a pool of two workers with the given extern functions (NULL:
 * none). */
void measured_start(measured *m, bool in_process, const char *externs);
/* With a task for measured_matmul of n. */
void measured_start_matmul(measured *m, bool in_process, int64_t n);
void measured_end(measured *m);
/* The task for a program (the one before is freed). */
void measured_task(measured *m, tess_program *p);
/* So, for one that is freed with m. */
void measured_take(measured *m, tess_program *p);

/* D = max(A x B, 0) of n x n float32 matrices. */
tess_program *measured_matmul(tess_context *c, int64_t n);
/* B[i] = fn(A[i]) for n elements of type float32, in block "B". */
tess_program *measured_extern(tess_context *c, const char *fn, int64_t n);

/* Applies a primitive with the operands given by name; the first output. */
tess_rv measured_call(tess_schedule *s, const char *prim, uint32_t n,
                      const tess_arg *args);
tess_rv measured_block(tess_schedule *s, const char *name);
/* The first loop of a block. */
tess_rv measured_loop(tess_schedule *s, const char *block);

/* A schedule of the program that was taken, in which the first loop of the
 * block is parallel; freed with m. */
tess_schedule *measured_parallel(measured *m, const char *block);

/* Builds one candidate: the trace of s, or (NULL) the task's program. */
tess_status measured_build(measured *m, tess_schedule *s,
                           measure_build *out);
/* Its code, which must be built; freed with m, or by the next call. */
const strbuf *measured_code(measured *m, tess_schedule *s);
/* Builds and runs it; the result's status, its message in m->err. */
tess_status measured_run(measured *m, tess_schedule *s, measure_check check,
                         measure_result *out);
/* Asserts that m->err's message has this in it. */
void measured_says(const measured *m, const char *part);

#endif
