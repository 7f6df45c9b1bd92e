/* SPDX-License-Identifier: Apache-2.0
 * The encoding of host programs, in 64-bit words.
 *
 * Expressions are in prefix form, each operator followed by its operands:
 *   IR_INT value · IR_VAR place · IR_CAST to from operand · IR_NOT operand ·
 *   IR_SELECT condition yes no · a binary operator, type, operands
 * with types packed by code_type().  Statements are:
 *   LOOP place lo extent n (n words of body) · LET place value ·
 *   IF condition n (n words) m (m words) · ALLOC slot bytes extent n (n words)
 *   LAUNCH kernel, the grid's extents (.x, .y, .z), slots of its buffers,
 *   places of its variables
 * where `bytes` is of one element. */
#ifndef BACKENDS_DEVICE_CODE_H
#define BACKENDS_DEVICE_CODE_H

#include "ir/ir.h"

enum {
  CODE_LOOP = 1,
  CODE_LET,
  CODE_IF,
  CODE_ALLOC,
  CODE_LAUNCH
};

/* A kernel in the header: block, numbers of buffers and variables. */
enum { CODE_KERNEL_WORDS = 5 };

#define CODE_MAGIC INT64_C(0x3245434956454454) /* "TDEVICE2" */

static inline int64_t code_type(tess_dtype t) {
  return t.code | (int64_t)t.bits << 8;
}
static inline tess_dtype code_get_type(int64_t word) {
  return (tess_dtype){(uint8_t)(word & 255), (uint8_t)(word >> 8 & 255), 1};
}

#endif
