/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a lowered program: which there are, what they are called with, and
 * the state of the one that is being emitted. */
#ifndef BACKENDS_CUDA_KERNEL_H
#define BACKENDS_CUDA_KERNEL_H

#include "backends/llvm/emit.h"

enum { CUDA_MAX_KERNELS = 256, CUDA_NAME = 320 };

/* Parameters are the global buffers and then the variables that it uses and
 * that are not its own, each by ascending index. */
typedef struct cuda_kernel {
  char name[CUDA_NAME];
  ir_stmt top;                     /* its outermost thread loop */
  int64_t extent[IR_THREAD_COUNT]; /* of each axis, 1 where there is none */
  uint64_t static_shared, dynamic_shared; /* bytes of a block */
  uint32_t nbuf, nvar;
  ir_buf *buf;
  ir_var *var;
} cuda_kernel;

typedef struct cuda_kernels {
  uint32_t n;
  cuda_kernel v[CUDA_MAX_KERNELS];
} cuda_kernels;

/* What is being emitted: the device's data of an emitter (emit.ud). */
typedef struct cuda_emit {
  cuda_kernels *all;
  const cuda_kernel *k;
  int capability;             /* 80 of sm_80 */
  bool has_mma;               /* fragments by mma.sync, not wmma */
  bool async;                 /* between async_begin and _commit */
  bool in_warp;               /* what a warp runs together */
  struct cuda_layout *layout; /* by ir_buf: of fragments */
} cuda_emit;

/* Lists the kernels in the order of the program; UNSUPPORTED for statements
 * outside of them, which no device would run (kernels.c). */
tess_status cuda_find_kernels(ir_program *p, arena *scratch, const target *t,
                              cuda_kernels *out, err_state *e);

extern const emit_device cuda_device;

/* Emits all kernels (kernel.c). */
void cuda_emit_module(emit *m);

/* Call of "llvm.nvvm.<name>", which is not overloaded. */
LLVMValueRef cuda_nvvm(emit *m, const char *name, unsigned n,
                       LLVMValueRef *args);
LLVMValueRef cuda_i32(emit *m, int64_t v);
/* Orders the memory accesses of the lanes of a warp. */
void cuda_warp_barrier(emit *m);

/* Collectives of a warp, and asynchronous copies (warp.c, async.c). */
LLVMValueRef cuda_call(emit *m, ir_expr e);
LLVMValueRef cuda_copies_call(emit *m, const ir_node *n);
bool cuda_store(emit *m, const ir_stmt_rec *s);

#endif
