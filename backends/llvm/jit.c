/* SPDX-License-Identifier: Apache-2.0
 * Links object code into this process with LLVM's JIT linker (LLJIT), one
 * instance a kernel, so that unloading a kernel frees all of it.
 *
 * A kernel calls the host only through tess_runtime.  By name it may reference
 * the functions that code generation itself calls (code.h), and external
 * functions of the program, which are looked up in the process. */
#include "backends/llvm/code.h"
#include "backends/llvm/llvm.h"
#include "backends/llvm/machine.h"
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <string.h>

struct backend_code {
  mem_heap *heap;
  LLVMOrcLLJITRef jit;
  tess_kernel_fn entry;
  backend_frame frame;
  err_state *err; /* while loading: where errors go */
};

static tess_status fail_llvm(LLVMErrorRef error, err_state *e) {
  char *text = LLVMGetErrorMessage(error);
  tess_status s = err_set(e, TESS_BUILD_ERROR, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return s;
}

static LLVMErrorRef define_symbols(LLVMOrcLLJITRef jit) {
  enum { N = LLVM_NCALLED };
  LLVMOrcCSymbolMapPair pairs[N];
  for (size_t i = 0; i < N; i++) {
    pairs[i].Name =
        LLVMOrcLLJITMangleAndIntern(jit, llvm_called_functions[i].name);
    pairs[i].Sym.Address = (LLVMOrcExecutorAddress)llvm_called_functions[i].fn;
    pairs[i].Sym.Flags.GenericFlags =
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
    pairs[i].Sym.Flags.TargetFlags = 0;
  }
  LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
  LLVMErrorRef error =
      LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(pairs, N));
  LLVMOrcDefinitionGeneratorRef process;
  if (!error)
    error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
  if (!error) LLVMOrcJITDylibAddGenerator(lib, process);
  return error;
}

/* LLVM reports here which symbol is missing; a function's result has only that
 * something failed. */
static void on_error(void *ud, LLVMErrorRef error) {
  const backend_code *c = ud;
  char *text = LLVMGetErrorMessage(error);
  if (c->err) err_set(c->err, TESS_BUILD_ERROR, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
}

/* Most kernels have none. */
static void find_frame(backend_code *c, const char *code, size_t n) {
  LLVMOrcExecutorAddress at = 0;
  if (!memmem(code, n, EMIT_FRAME, sizeof EMIT_FRAME)) return;
  LLVMConsumeError(LLVMOrcLLJITLookup(c->jit, &at, EMIT_FRAME));
  if (at) memcpy(&c->frame, (const void *)(uintptr_t)at, sizeof c->frame);
}

static LLVMErrorRef link_code(backend_code *c, const void *code, size_t n) {
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&c->jit, NULL);
  if (error) return error;
  LLVMOrcExecutionSessionSetErrorReporter(
      LLVMOrcLLJITGetExecutionSession(c->jit), on_error, c);
  error = define_symbols(c->jit);
  if (!error)
    error = LLVMOrcLLJITAddObjectFile(
        c->jit, LLVMOrcLLJITGetMainJITDylib(c->jit),
        LLVMCreateMemoryBufferWithMemoryRangeCopy(code, n, "kernel"));
  LLVMOrcExecutorAddress at = 0;
  if (!error) error = LLVMOrcLLJITLookup(c->jit, &at, EMIT_KERNEL);
  c->entry = (tess_kernel_fn)at;
  if (!error) find_frame(c, code, n);
  return error;
}

static void llvm_unload(backend_code *c) {
  if (c->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(c->jit));
  mem_delete(c->heap, c);
}

static tess_status llvm_load(mem_heap *heap, const void *code, size_t n,
                             backend_code **out, err_state *e) {
  llvm_initialize();
  llvm_ask_for_tiles(code, n);
  backend_code *c = mem_try_resize(heap, NULL, 0, sizeof *c);
  if (!c) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *c = (backend_code){.heap = heap, .err = e};
  err_clear(e);
  LLVMErrorRef error = link_code(c, code, n);
  c->err = NULL;
  if (!error) {
    *out = c;
    return TESS_OK;
  }
  if (e->code)
    LLVMConsumeError(error);
  else
    fail_llvm(error, e);
  llvm_unload(c);
  return e->code;
}

static int32_t llvm_launch(const backend_code *c, void **args,
                           const int64_t *sizes, const tess_runtime *rt) {
  return c->entry(args, sizes, rt);
}

static tess_kernel_fn llvm_entry(const backend_code *c) { return c->entry; }

static backend_frame llvm_frame(const backend_code *c) { return c->frame; }

static tess_status llvm_compile_entry(ir_program *p, arena *scratch,
                                      const target *t, backend_form form,
                                      strbuf *out, err_state *e) {
  return llvm_compile(p, scratch, t, form, out, NULL, e);
}

static void llvm_on_fatal(void (*fn)(const char *message)) {
  LLVMInstallFatalErrorHandler(fn);
}

const backend llvm_backend = {
    .name = "llvm",
    .forms = 1u << BACKEND_CODE | 1u << BACKEND_OBJECT | 1u << BACKEND_IR |
             1u << BACKEND_ASM,
    .complete = llvm_complete_target,
    .has = llvm_has_feature,
    .knows = llvm_knows_feature,
    .runs_here = llvm_runs_here,
    .compile = llvm_compile_entry,
    .load = llvm_load,
    .launch = llvm_launch,
    .entry = llvm_entry,
    .frame = llvm_frame,
    .unload = llvm_unload,
    .on_fatal = llvm_on_fatal,
};
