/* SPDX-License-Identifier: Apache-2.0
 * Bounds what LLVM's instruction scheduler spends on a basic block.  It relates
 * each store to all accesses before it that it might alias, which takes seconds
 * for some thousand unrolled stores.  A barrier to the compiler, which is no
 * instruction, after every so many stores makes that linear; optimisation is
 * done by then, and within so many there is enough to reorder. */
#include "backends/llvm/machine.h"
#include <llvm-c/Core.h>

enum { STORES = 64, BYTES = 64 };

/* How many machine stores it becomes, about. */
static uint64_t machine_stores(LLVMTargetDataRef layout, LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMStore) return 0;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 0));
  return (LLVMStoreSizeOfType(layout, type) + BYTES - 1) / BYTES;
}

static void add_barrier(LLVMContextRef ctx, LLVMBuilderRef b,
                        LLVMValueRef next) {
  static const char clobber[] = "~{memory}";
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(ctx), NULL, 0, 0);
  LLVMValueRef nothing =
      LLVMGetInlineAsm(type, "", 0, clobber, sizeof clobber - 1, 1, 0,
                       LLVMInlineAsmDialectATT, 0);
  LLVMPositionBuilderBefore(b, next);
  LLVMBuildCall2(b, type, nothing, NULL, 0, "");
}

static void split_block(LLVMContextRef ctx, LLVMTargetDataRef layout,
                        LLVMBuilderRef b, LLVMBasicBlockRef block) {
  uint64_t n = 0;
  LLVMValueRef next;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = next) {
    next = LLVMGetNextInstruction(i);
    n += machine_stores(layout, i);
    if (n < STORES || !next) continue;
    add_barrier(ctx, b, next);
    n = 0;
  }
}

void llvm_split_stores(LLVMModuleRef module, LLVMTargetDataRef layout) {
  LLVMContextRef ctx = LLVMGetModuleContext(module);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
       f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
         block = LLVMGetNextBasicBlock(block))
      split_block(ctx, layout, b, block);
  LLVMDisposeBuilder(b);
}
