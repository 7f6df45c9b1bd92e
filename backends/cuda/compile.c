/* SPDX-License-Identifier: Apache-2.0
 * Compiles lowered programs to PTX.
 *
 * Lowered programs are in canonical form, so the passes are those of the
 * processor's pipeline, with one more scalar replacement of aggregates:
 * elements of a thread's own buffers become registers once instcombine has made
 * their indices constant. */
#include "backends/cuda/cuda.h"
#include "backends/cuda/kernel.h"
#include "backends/llvm/recipe.h"
#include <pthread.h>
#include <string.h>

static const char cuda_passes[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm),early-cse<memssa>,dse,simplifycfg,sroa)";

static void initialize(void) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

static tess_status machine_new(const target *t, LLVMTargetMachineRef *out,
                               err_state *e) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  LLVMTargetRef kind;
  char *text = NULL;
  pthread_once(&once, initialize);
  if (LLVMGetTargetFromTriple(t->triple, &kind, &text)) {
    err_set(e, TESS_UNSUPPORTED, "LLVM: %s", text);
    LLVMDisposeMessage(text);
    return e->code;
  }
  *out = LLVMCreateTargetMachine(kind, t->triple, t->cpu, t->features,
                                 LLVMCodeGenLevelAggressive, LLVMRelocDefault,
                                 LLVMCodeModelDefault);
  return *out ? TESS_OK
              : err_set(e, TESS_UNSUPPORTED, "LLVM has no machine for '%s'",
                        t->cpu);
}

tess_status cuda_compile(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, err_state *e) {
  arena_mark mark = arena_get_mark(scratch);
  cuda_kernels *all = arena_zalloc(scratch, sizeof *all);
  cuda_emit x = {.all = all,
                 .capability = cuda_capability(t),
                 .has_mma = !strcmp(t->tensor_cores, "mma")};
  llvm_recipe r = {.emit = cuda_emit_module,
                   .passes = cuda_passes,
                   .machine = machine_new,
                   .device = &cuda_device,
                   .ud = &x};
  tess_status s = cuda_find_kernels(p, scratch, t, all, e);
  if (!s)
    s = llvm_compile_by(&r, p, scratch, t,
                        form == BACKEND_IR ? form : BACKEND_PTX, out, NULL, e);
  arena_reset_to(scratch, mark);
  return s;
}
