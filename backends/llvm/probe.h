/* SPDX-License-Identifier: Apache-2.0
 * Probes of processors' features: LLVM's C API does not list those that a
 * processor's name implies, but its inliner compares them.  A function is
 * inlined only into one whose target has all of its features, so that the
 * answers are read off a module of small functions, each called once, after
 * that pass. */
#ifndef BACKENDS_LLVM_PROBE_H
#define BACKENDS_LLVM_PROBE_H

#include "backends/target.h"
#include <llvm-c/Core.h>

typedef struct llvm_probe {
  LLVMContextRef ctx;
  LLVMModuleRef module;
  LLVMTypeRef type; /* of all functions: void() */
} llvm_probe;

void llvm_probe_start(llvm_probe *p, const char *triple);
void llvm_probe_end(llvm_probe *p);
/* A function for this processor with these features, "+a,-b", that calls
 * `callee` (NULL: nothing) and returns. */
LLVMValueRef llvm_probe_add(llvm_probe *p, const char *cpu,
                            const char *features, LLVMValueRef callee);
/* Inlines what can be, by the rules of t's architecture. */
tess_status llvm_probe_inline(llvm_probe *p, const target *t, err_state *e);
/* After that: has the caller all features of its callee? */
bool llvm_probe_has(LLVMValueRef caller);

#endif
