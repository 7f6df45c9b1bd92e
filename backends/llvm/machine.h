/* SPDX-License-Identifier: Apache-2.0
 * LLVM's target machines, and what can be found out through them. */
#ifndef BACKENDS_LLVM_MACHINE_H
#define BACKENDS_LLVM_MACHINE_H

#include "backends/target.h"
#include <llvm-c/TargetMachine.h>

/* Fills LLVM's table of targets with this machine's kind, once. */
void llvm_initialize(void);
/* A machine that makes code for `t`; the caller disposes of it. */
tess_status llvm_machine_new(const target *t, LLVMTargetMachineRef *out,
                             err_state *e);

#endif
