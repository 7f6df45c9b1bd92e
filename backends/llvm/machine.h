/* SPDX-License-Identifier: Apache-2.0
 * LLVM target machines. */
#ifndef BACKENDS_LLVM_MACHINE_H
#define BACKENDS_LLVM_MACHINE_H

#include "backends/target.h"
#include <llvm-c/TargetMachine.h>

/* Registers this machine's architecture in LLVM's target registry, once. */
void llvm_initialize(void);
/* A target machine that generates code for `t`; the caller disposes of it. */
tess_status llvm_machine_new(const target *t, LLVMTargetMachineRef *out,
                             err_state *e);

/* Puts barriers to the compiler between the stores of long basic blocks, after
 * optimisation, so that scheduling them takes linear time. */
void llvm_split_stores(LLVMModuleRef module, LLVMTargetDataRef layout);

#endif
