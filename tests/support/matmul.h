/* SPDX-License-Identifier: Apache-2.0
 * A fixture for tests of the program itself: test_matmul_relu over a heap
 * that notices what is lost, a second program and a scratch arena. */
#ifndef SUPPORT_MATMUL_H
#define SUPPORT_MATMUL_H

#include "ir/query.h"
#include "support/program.h"
#include "support/test.h"

typedef struct matmul {
  test_heap heap;
  arena scratch;
  strbuf text;
  ir_program p, q;
  ir_stmt i, j, k, c; /* the loops and block of the product */
  ir_stmt i2, j2, d;  /* those of the maximum */
} matmul;

/* C = A x B, D = max(C, 0) for m x n x k = 128 x 64 x 32 in p; q is empty. */
void matmul_start(matmul *m);
void matmul_end(matmul *m);
/* Runs f over the fixture inside mem_protect, which must succeed. */
void matmul_run(matmul *m, void (*f)(matmul *m));
/* The program's text is as expected. */
void matmul_expect(matmul *m, const ir_program *p, const ir_print_opts *o,
                   const char *text);
/* p verifies; if not, the test fails with the reason. */
void matmul_verify(matmul *m, const ir_program *p);
/* p does not, and the reason is `why`. */
void matmul_refuse(matmul *m, const ir_program *p, const char *why);

#endif
