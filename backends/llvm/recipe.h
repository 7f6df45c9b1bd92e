/* SPDX-License-Identifier: Apache-2.0
 * The compilation driver, as backends share it: what a backend emits, for
 * which machine, and the passes that run over it. */
#ifndef BACKENDS_LLVM_RECIPE_H
#define BACKENDS_LLVM_RECIPE_H

#include "backends/llvm/emit.h"
#include "backends/llvm/llvm.h"
#include <llvm-c/TargetMachine.h>

typedef struct llvm_recipe {
  void (*emit)(emit *m);     /* the whole module, after emit_open */
  const char *passes;        /* as LLVMRunPasses takes them */
  tess_status (*machine)(const target *t, LLVMTargetMachineRef *out,
                         err_state *e);
  const emit_device *device; /* NULL: a processor */
  void *ud;                  /* the device's */
} llvm_recipe;

/* backend.compile by a recipe; BACKEND_PTX is LLVM's assembly text.  `times`
 * may be NULL. */
tess_status llvm_compile_by(const llvm_recipe *r, ir_program *p, arena *scratch,
                            const target *t, backend_form form, strbuf *out,
                            llvm_times *times, err_state *e);

#endif
