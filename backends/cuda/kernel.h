/* SPDX-License-Identifier: Apache-2.0
 * Kernels of a lowered program, as the host program launches them, and the
 * state of the one that is being emitted. */
#ifndef BACKENDS_CUDA_KERNEL_H
#define BACKENDS_CUDA_KERNEL_H

#include "backends/device/device.h"
#include "backends/llvm/emit.h"

enum { CUDA_NAME = 320 };

/* Of a grid along .y and .z. */
enum { CUDA_MOST_BLOCKS = 65535 };

/* Code begins with so many bytes, the device's number, before what
 * device_load takes. */
enum { CUDA_HEAD = sizeof(uint64_t) };

/* A kernel of the host program, whose arguments are its buffers and then its
 * variables. */
typedef struct cuda_kernel {
  char name[CUDA_NAME];
  const device_kernel *part;
  uint64_t static_shared, dynamic_shared; /* bytes of a block */
} cuda_kernel;

typedef struct cuda_kernels {
  uint32_t n;
  cuda_kernel *v;
} cuda_kernels;

/* The statements of the kernel and all below them. */
#define CUDA_EACH(p, k, s)                                                 \
  for (ir_stmt s##_top = (k)->part->first; s##_top;                        \
       s##_top = s##_top == (k)->part->last ? 0 : ir_st(p, s##_top)->next) \
    for (ir_stmt s = s##_top; s; s = ir_next(p, s, s##_top))

/* What is being emitted: the device's data of an emitter (emit.ud). */
typedef struct cuda_emit {
  cuda_kernels *all;
  const cuda_kernel *k;
  int capability;             /* 80 of sm_80 */
  bool has_mma;               /* fragments by mma.sync, not wmma */
  bool async;                 /* between async_begin and _commit */
  LLVMValueRef shared;        /* the kernel's block of it */
  ir_buf in_warp;             /* a fragment of what a warp runs */
  struct cuda_layout *layout; /* by ir_buf: of fragments */
} cuda_emit;

/* Names the kernels and places their shared memory; UNSUPPORTED for what
 * exceeds the target's limits (kernels.c). */
tess_status cuda_plan_kernels(ir_program *p, arena *scratch, const target *t,
                              const device_split *split, cuda_kernels *out,
                              err_state *e);
void cuda_kernel_name(const char *entry, uint32_t number, char *out);

extern const emit_device cuda_kernels_device;

/* Sets `out`, which is empty, to machine code of the PTX, where the target is
 * the card of this machine and ptxas is found and takes it; else nothing
 * (assemble.c). */
void cuda_assemble(const target *t, const char *ptx, size_t n, strbuf *out);

/* Emits all kernels (kernel.c). */
void cuda_emit_module(emit *m);

/* Call of "llvm.nvvm.<name>", which is not overloaded. */
LLVMValueRef cuda_nvvm(emit *m, const char *name, unsigned n,
                       LLVMValueRef *args);
LLVMValueRef cuda_i32(emit *m, int64_t v);
/* Orders the memory accesses of the lanes of a warp. */
void cuda_warp_barrier(emit *m);
/* Must it, before or after the warp-collective statement `at` with these
 * accesses to memory, by ir_buf (warp_order.c)? */
bool cuda_must_synchronize(emit *m, ir_stmt at, const uint8_t *reads,
                           const uint8_t *writes, bool before);

/* Collectives of a warp, and asynchronous copies (warp.c, async.c). */
LLVMValueRef cuda_call(emit *m, ir_expr e);
LLVMValueRef cuda_copies_call(emit *m, const ir_node *n);
bool cuda_store(emit *m, const ir_stmt_rec *s);
/* Emits the store where it is an atomic update (atomic.c). */
bool cuda_atomic(emit *m, const ir_stmt_rec *s);

#endif
