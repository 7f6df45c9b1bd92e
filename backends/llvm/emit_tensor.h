/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are one call: their parameters as the operands of
 * `instead` give them (lower/lower_tensor_calls.c). */
#ifndef BACKENDS_LLVM_EMIT_TENSOR_H
#define BACKENDS_LLVM_EMIT_TENSOR_H

#include "backends/llvm/emit.h"
#include "ir/tensor_call.h"

typedef struct emit_param {
  ir_buf buf;
  tess_dtype dtype;
  uint32_t ndim, lanes; /* lanes: all elements */
  int64_t extent[IR_TENSOR_CALL_PARAMS];
  LLVMValueRef stride[IR_TENSOR_CALL_PARAMS];
  LLVMValueRef first;
  uint32_t run; /* number of consecutive elements */
} emit_param;

typedef struct emit_calling {
  emit *m;
  ir_tensor_call call;
  uint32_t n;
  emit_param param[IR_TENSOR_CALL_PARAMS];
} emit_calling;

/* The address of element i, row-major. */
LLVMValueRef emit_element_address(emit *m, const emit_param *p, uint32_t i);
/* Inline assembly (emit_asm.c). */
void emit_call_asm(emit_calling *k);

#endif
