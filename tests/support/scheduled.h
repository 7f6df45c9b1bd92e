/* SPDX-License-Identifier: Apache-2.0
 * Small programs for tests of scheduling, and calling primitives on them by
 * name, without a trace. */
#ifndef SUPPORT_SCHEDULED_H
#define SUPPORT_SCHEDULED_H

#include "ir/edit.h"
#include "schedule/sch.h"
#include "support/test.h"

enum { SCHEDULED_MAX = 64 };

typedef struct scheduled {
  test_heap heap;
  ir_program p, before, first;
  arena scratch, texts;
  sch_state s;
  uint64_t seed;           /* of decisions that are not given */
  bool untraced;           /* refused calls are not made again with a trace */
  uint32_t nout;           /* outputs of the last call */
  ir_stmt out[SCHEDULED_MAX];
  int64_t value[SCHEDULED_MAX];
  /* while describing */
  uint32_t nparams;
  ir_buf param[16];
  ir_stmt root, block, inner;
  ir_expr it[16];          /* iters of the block being described */
} scheduled;

void scheduled_start(scheduled *t);
void scheduled_end(scheduled *t);

/* ---- describing --------------------------------------------------------- */

/* A parameter, or with IR_ROLE_LOCAL a buffer of the root block. */
ir_buf scheduled_buf(scheduled *t, const char *name, ir_role role,
                     uint32_t ndim, const int64_t *shape);
/* Loops named a, b, ... with a block of iters va, vb, ..., one a letter of
 * `kinds` (S, R or O), bound in order; the iters stand in t->it. */
ir_stmt scheduled_block(scheduled *t, const char *name, const char *kinds,
                        const int64_t *extent);
ir_expr scheduled_load(scheduled *t, ir_buf b, ir_expr i, ir_expr j);
ir_expr scheduled_plus(scheduled *t, ir_expr e, int64_t c);
/* The block stores `value`, or with reduce adds it to what starts at 0. */
void scheduled_store(scheduled *t, ir_buf b, ir_expr i, ir_expr j,
                     ir_expr value, bool reduce);
/* The program is whole: regions are found, parameters are listed. */
void scheduled_finish(scheduled *t);

/* C[i, j] = sum over k of A[i, k] * B[k, j]; and then D = max(C + 1, 0). */
void scheduled_product(scheduled *t, int64_t m, int64_t n, int64_t k);
void scheduled_matmul(scheduled *t, int64_t m, int64_t n, int64_t k);

/* ---- calling ------------------------------------------------------------ */

typedef struct scheduled_arg {
  const char *name;
  uint32_t n;
  const void *v;           /* list */
  int64_t i;
  const char *s;
} scheduled_arg;
#define AT(NAME, STMT) {.name = #NAME, .i = (STMT)}
#define NUM(NAME, X) {.name = #NAME, .i = (X)}
#define SIDE(NAME, READ_OR_WRITE, I)                                        \
  {.name = #NAME, .s = #READ_OR_WRITE, .i = (I)}
#define STR(NAME, X) {.name = #NAME, .s = (X)}
#define LIST(NAME, ...)                                                     \
  {.name = #NAME, .v = (const ir_stmt[]){__VA_ARGS__},                      \
   .n = sizeof((const ir_stmt[]){__VA_ARGS__}) / sizeof(ir_stmt)}
#define INTS(NAME, ...)                                                     \
  {.name = #NAME, .v = (const int64_t[]){__VA_ARGS__},                      \
   .n = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)}
#define REALS(NAME, ...)                                                    \
  {.name = #NAME, .v = (const double[]){__VA_ARGS__},                       \
   .n = sizeof((const double[]){__VA_ARGS__}) / sizeof(double)}
#define RUN(t, PRIM, ...)                                                   \
  scheduled_call((t), #PRIM, (const scheduled_arg[]){__VA_ARGS__, {0}})

/* Calls a primitive: true when it applied.  When it refuses, the program must
 * be as it was, and so must program and trace when the call is recorded. */
bool scheduled_call(scheduled *t, const char *prim,
                    const scheduled_arg *args);
/* Makes the refused call in t->before again through the trace machine: it is
 * refused there, too, and neither program nor trace changes in a byte
 * (refused.c). */
void scheduled_refused(scheduled *t, const sch_prim *prim,
                       const scheduled_arg *args);
/* Applies; else the test fails with the refusal. */
#define DO(t, PRIM, ...)                                                    \
  scheduled_must((t), RUN(t, PRIM, __VA_ARGS__), #PRIM, __FILE__, __LINE__)
void scheduled_must(scheduled *t, bool ok, const char *prim,
                    const char *file, int line);
/* Refuses for that reason. */
#define REFUSED(t, REASON, PRIM, ...)                                       \
  (assert_false(RUN(t, PRIM, __VA_ARGS__)),                                 \
   assert_string_equal(sch_reason_name((sch_reason)(t)->s.refusal.reason),  \
                       #REASON))

ir_stmt scheduled_get(scheduled *t, const char *block);
/* Loop number k around a block, outer first. */
ir_stmt scheduled_loop(scheduled *t, ir_stmt block, uint32_t k);

/* The program as text, until the end of the test. */
const char *scheduled_text(scheduled *t);
/* Computes what it computed when it was finished: the oracle says so in the
 * residue domain, with loops that run at once racing. */
bool scheduled_same(scheduled *t);
void scheduled_expect(scheduled *t, const char *text);
/* The sentence of the last refusal. */
const char *scheduled_why(scheduled *t, const char *prim);

#endif
