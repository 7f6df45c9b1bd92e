/* SPDX-License-Identifier: Apache-2.0
 * Target machines, and completing a target from what LLVM knows. */
#include "backends/llvm/machine.h"
#include "backends/llvm/llvm.h"
#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>

static void initialize(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
}

/* LLVM's table is global; filling it twice at once is a race. */
void llvm_initialize(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize);
}

void llvm_on_fatal(void (*fn)(const char *message)) {
  LLVMInstallFatalErrorHandler(fn);
}

tess_status llvm_machine_new(const target *t, LLVMTargetMachineRef *out,
                             err_state *e) {
  LLVMTargetRef kind;
  char *text = NULL;
  llvm_initialize();
  if (LLVMGetTargetFromTriple(t->triple, &kind, &text)) {
    tess_status s = err_set(e, TESS_UNSUPPORTED, "LLVM: %s", text);
    LLVMDisposeMessage(text);
    return s;
  }
  *out = LLVMCreateTargetMachine(kind, t->triple, t->cpu, t->features,
                                 LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                 LLVMCodeModelDefault);
  return *out ? TESS_OK
              : err_set(e, TESS_UNSUPPORTED, "LLVM has no machine for '%s'",
                        t->triple);
}

/* ---- what this machine is ----------------------------------------------- */

static tess_status copy_text(char *to, size_t size, char *from,
                             const char *what, err_state *e) {
  bool fits = strlen(from) < size;
  if (fits) strcpy(to, from);
  LLVMDisposeMessage(from);
  return fits ? TESS_OK
              : err_set(e, TESS_LIMIT, "this machine's %s is too long", what);
}

static tess_status complete_triple(target *t, err_state *e) {
  return copy_text(t->triple, sizeof t->triple, LLVMGetDefaultTargetTriple(),
                   "triple", e);
}

static bool is_known_cpu(const target *t) {
  static const char *const names[] = {
#define CPU(name) name,
#include "backends/llvm/cpu.def"
#undef CPU
  };
  if (strncmp(t->triple, "x86_64", 6) != 0) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], t->cpu)) return true;
  return false;
}

/* The features of a processor that is not this one are those that its name
 * implies; those of this one are asked, since a virtual machine may hide
 * some. */
static tess_status complete_cpu(target *t, err_state *e) {
  char host[TARGET_CPU_MAX];
  tess_status s =
      copy_text(host, sizeof host, LLVMGetHostCPUName(), "processor", e);
  if (s) return s;
  if (!t->cpu[0]) strcpy(t->cpu, host);
  t->is_host = strcmp(t->cpu, host) == 0;
  if (!t->is_host && !is_known_cpu(t))
    return err_set(e, TESS_INVALID, "target: LLVM knows no processor '%s'",
                   t->cpu);
  if (!t->is_host || t->features[0]) return TESS_OK;
  return copy_text(t->features, sizeof t->features, LLVMGetHostCPUFeatures(),
                   "list of features", e);
}

/* ---- what LLVM knows about a processor ---------------------------------- */

/* Adds two vectors of 64 bytes: the assembly shows with what registers. */
static LLVMModuleRef probe_module(LLVMContextRef ctx) {
  LLVMModuleRef m = LLVMModuleCreateWithNameInContext("probe", ctx);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
  LLVMTypeRef ptr = LLVMPointerTypeInContext(ctx, 0);
  LLVMTypeRef type = LLVMVectorType(LLVMFloatTypeInContext(ctx), 16);
  LLVMTypeRef fn_type =
      LLVMFunctionType(LLVMVoidTypeInContext(ctx), &ptr, 1, false);
  LLVMValueRef fn = LLVMAddFunction(m, "probe", fn_type);
  LLVMAddAttributeAtIndex(
      fn, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(ctx, "prefer-vector-width", 19, "512", 3));
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(ctx, fn, ""));
  LLVMValueRef v = LLVMBuildLoad2(b, type, LLVMGetParam(fn, 0), "");
  LLVMBuildStore(b, LLVMBuildFAdd(b, v, v, ""), LLVMGetParam(fn, 0));
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  return m;
}

static tess_status probe_vectors(target *t, err_state *e) {
  LLVMTargetMachineRef machine;
  tess_status s = llvm_machine_new(t, &machine, e);
  if (s) return s;
  LLVMContextRef ctx = LLVMContextCreate();
  LLVMModuleRef m = probe_module(ctx);
  LLVMMemoryBufferRef code = NULL;
  char *text = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, m, LLVMAssemblyFile, &text,
                                          &code)) {
    s = err_set(e, TESS_BUILD_ERROR, "LLVM: %s", text);
    LLVMDisposeMessage(text);
  } else {
    const char *assembly = LLVMGetBufferStart(code);
    t->vector_bytes = strstr(assembly, "zmm")   ? 64
                      : strstr(assembly, "ymm") ? 32
                                                : 16;
    LLVMDisposeMemoryBuffer(code);
  }
  LLVMDisposeModule(m);
  LLVMContextDispose(ctx);
  LLVMDisposeTargetMachine(machine);
  return s;
}

tess_status llvm_complete_target(target *t, err_state *e) {
  tess_status s = t->triple[0] ? TESS_OK : complete_triple(t, e);
  if (!s) s = complete_cpu(t, e);
  if (!s && !t->vector_bytes) s = probe_vectors(t, e);
  return s;
}
