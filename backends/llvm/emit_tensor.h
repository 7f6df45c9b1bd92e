/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics that are one call, while the call is emitted. */
#ifndef BACKENDS_LLVM_EMIT_TENSOR_H
#define BACKENDS_LLVM_EMIT_TENSOR_H

#include "backends/llvm/emit.h"
#include "ir/tensor_call.h"

enum { EMIT_TENSOR_LANES = 1 << 16 }; /* of a vector, at most */

/* A parameter: its elements, as the operands of `instead` give them
 * (lower/lower_tensor_calls.c). */
typedef struct tensor_param {
  ir_buf buf;
  tess_dtype dtype;
  uint32_t ndim, lanes; /* lanes: all elements */
  int64_t extent[IR_TENSOR_CALL_PARAMS];
  LLVMValueRef stride[IR_TENSOR_CALL_PARAMS];
  LLVMValueRef first;
  uint32_t run;   /* number of consecutive elements */
  uint32_t align; /* bytes, of the first one */
} tensor_param;

typedef struct tensor_calling {
  emit *m;
  ir_tensor_call call;
  uint32_t n;
  tensor_param param[IR_TENSOR_CALL_PARAMS];
} tensor_calling;

/* Emits a call of LLVM's intrinsics. */
void emit_tensor_llvm(tensor_calling *k);
/* The type of a cast of vectors of these types to a tile of AMX; NULL: the
 * intrinsic is no such cast (emit_tensor_tiles.c). */
LLVMTypeRef emit_tiles_cast_type(emit *m, const char *name, unsigned n,
                                 LLVMTypeRef *types);
/* Adds the memory effects of a call of an intrinsic on tiles. */
void emit_tiles_called(emit *m, const char *name, LLVMValueRef call);
/* Emits inline assembly. */
void emit_tensor_asm(tensor_calling *k);
/* The address of element i of a parameter, row-major (emit_tensor_llvm.c). */
LLVMValueRef emit_tensor_element(emit *m, const tensor_param *p, uint32_t i);
/* Its alignment in bytes. */
uint32_t emit_tensor_align(const tensor_param *p, uint32_t i);

#endif
