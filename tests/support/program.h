/* SPDX-License-Identifier: Apache-2.0
 * Small programs for tests, built statement by statement. */
#ifndef SUPPORT_PROGRAM_H
#define SUPPORT_PROGRAM_H

#include "ir/ir.h"

/* Into an initialised, empty program: C = A x B as block "C" under loops
 * i j k, then D = max(C, 0) as block "D" under i j.  May unwind. */
void test_matmul_relu(ir_program *p, int64_t m, int64_t n, int64_t k);
/* The same, but D = C + 1. */
void test_matmul_add(ir_program *p, int64_t m, int64_t n, int64_t k);
/* C = A + 1, then D = max(C, 0), both elementwise. */
void test_shift_relu(ir_program *p, int64_t m, int64_t n);
/* D[i] = C[i] + C[i + 2] of C[i] = i ? A[i - 1] : 0, two elements of D an
 * iteration of t, below which the four of C that they need are made. */
void test_windows(ir_program *p, int64_t m);
/* n <= 256 blocks "Baa", "Bab", ..., each filling an output of its own. */
void test_many_blocks(ir_program *p, uint32_t n);
/* The block of the entry function with this name; 0: none. */
ir_stmt test_find_block(const ir_program *p, const char *name);

#endif
