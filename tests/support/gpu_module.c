/* SPDX-License-Identifier: Apache-2.0
 * Compiles a device's LLVM IR for this machine: intrinsics become calls, and
 * accesses to global and shared memory are announced. */
#include "support/gpu_parts.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rewrite {
  gpu_module *m;
  LLVMContextRef ctx;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  LLVMTypeRef none, ptr, i32, call, note;
  LLVMValueRef call_fn, note_fn;
} rewrite;

static LLVMValueRef constant_address(rewrite *r, const void *at) {
  LLVMTypeRef i64 = LLVMInt64TypeInContext(r->ctx);
  return LLVMConstIntToPtr(LLVMConstInt(i64, (uintptr_t)at, false), r->ptr);
}

/* ---- intrinsics --------------------------------------------------------- */

static gpu_op *new_op(gpu_module *m, const char *name) {
  gpu_op *op = calloc(1, sizeof *op);
  snprintf(op->name, sizeof op->name, "%s", name + strlen("llvm.nvvm."));
  op->next = m->ops;
  return m->ops = op;
}

/* A function of the intrinsic's type: all operands, and the result, in
 * memory. */
static void replace_intrinsic(rewrite *r, LLVMValueRef fn, const char *name) {
  LLVMTypeRef type = LLVMGlobalGetValueType(fn);
  unsigned n = LLVMCountParams(fn);
  char own[128];
  snprintf(own, sizeof own, "gpu.%s", name);
  LLVMValueRef made = LLVMAddFunction(r->module, own, type);
  LLVMPositionBuilderAtEnd(r->b,
                           LLVMAppendBasicBlockInContext(r->ctx, made, ""));
  LLVMTypeRef list = LLVMArrayType2(r->ptr, n + 1);
  LLVMValueRef args = LLVMBuildAlloca(r->b, list, "");
  for (unsigned i = 0; i < n; i++) {
    LLVMValueRef v = LLVMGetParam(made, i);
    LLVMValueRef at = LLVMBuildAlloca(r->b, LLVMTypeOf(v), "");
    LLVMValueRef by[2] = {LLVMConstInt(r->i32, 0, false),
                          LLVMConstInt(r->i32, i, false)};
    LLVMBuildStore(r->b, v, at);
    LLVMBuildStore(r->b, at, LLVMBuildGEP2(r->b, list, args, by, 2, ""));
  }
  LLVMTypeRef gives = LLVMGetReturnType(type);
  bool some = LLVMGetTypeKind(gives) != LLVMVoidTypeKind;
  LLVMValueRef result = LLVMBuildAlloca(r->b, some ? gives : r->i32, "");
  LLVMValueRef operands[3] = {constant_address(r, new_op(r->m, name)), result,
                              args};
  LLVMBuildCall2(r->b, r->call, r->call_fn, operands, 3, "");
  if (some)
    LLVMBuildRet(r->b, LLVMBuildLoad2(r->b, gives, result, ""));
  else
    LLVMBuildRetVoid(r->b);
  LLVMReplaceAllUsesWith(fn, made);
  LLVMDeleteFunction(fn);
}

/* ---- accesses ----------------------------------------------------------- */

static void announce(rewrite *r, LLVMTargetDataRef layout, LLVMValueRef at,
                     LLVMTypeRef type, bool writes, LLVMValueRef before) {
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(at));
  if (space != 1 && space != 3) return;
  unsigned long long bytes = LLVMStoreSizeOfType(layout, type);
  unsigned flags =
      (space == 3 ? GPU_SHARED : 0) | (writes ? (unsigned)GPU_WRITES : 0);
  LLVMPositionBuilderBefore(r->b, before);
  LLVMValueRef args[4] = {LLVMBuildAddrSpaceCast(r->b, at, r->ptr, ""),
                          LLVMConstInt(r->i32, bytes, false),
                          LLVMConstInt(r->i32, flags, false),
                          LLVMConstInt(r->i32, r->m->nsites++, false)};
  LLVMBuildCall2(r->b, r->note, r->note_fn, args, 4, "");
}

static void announce_all(rewrite *r, LLVMValueRef fn) {
  LLVMTargetDataRef layout = LLVMGetModuleDataLayout(r->module);
  for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb;
       bb = LLVMGetNextBasicBlock(bb))
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i;
         i = LLVMGetNextInstruction(i)) {
      if (LLVMIsALoadInst(i))
        announce(r, layout, LLVMGetOperand(i, 0), LLVMTypeOf(i), false, i);
      if (LLVMIsAAtomicRMWInst(i)) {
        LLVMValueRef at = LLVMGetOperand(i, 0), v = LLVMGetOperand(i, 1);
        announce(r, layout, at, LLVMTypeOf(v), false, i);
        announce(r, layout, at, LLVMTypeOf(v), true, i);
      }
      if (LLVMIsAStoreInst(i))
        announce(r, layout, LLVMGetOperand(i, 1),
                 LLVMTypeOf(LLVMGetOperand(i, 0)), true, i);
    }
}

/* ---- kernels ------------------------------------------------------------ */

/* void gpu_entry.NAME(ptr args): calls it with what the addresses hold. */
static void add_entry(rewrite *r, LLVMValueRef fn, const char *name) {
  char own[360];
  LLVMValueRef args[256];
  unsigned n = LLVMCountParams(fn);
  snprintf(own, sizeof own, "gpu_entry.%s", name);
  LLVMTypeRef type = LLVMFunctionType(r->none, &r->ptr, 1, false);
  LLVMValueRef made = LLVMAddFunction(r->module, own, type);
  LLVMPositionBuilderAtEnd(r->b,
                           LLVMAppendBasicBlockInContext(r->ctx, made, ""));
  for (unsigned i = 0; i < n && i < 256; i++) {
    LLVMValueRef by = LLVMConstInt(r->i32, i, false);
    LLVMValueRef at =
        LLVMBuildGEP2(r->b, r->ptr, LLVMGetParam(made, 0), &by, 1, "");
    at = LLVMBuildLoad2(r->b, r->ptr, at, "");
    args[i] = LLVMBuildLoad2(r->b, LLVMTypeOf(LLVMGetParam(fn, i)), at, "");
  }
  LLVMBuildCall2(r->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
  LLVMBuildRetVoid(r->b);
}

static void strip_device(LLVMValueRef fn) {
  static const char *const own[] = {"target-cpu", "target-features",
                                    "prefer-vector-width"};
  LLVMSetFunctionCallConv(fn, LLVMCCallConv);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    LLVMRemoveStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, own[i],
                                     (unsigned)strlen(own[i]));
}

static void rewrite_functions(rewrite *r) {
  LLVMValueRef next, fn;
  for (fn = LLVMGetFirstFunction(r->module); fn; fn = next) {
    size_t n;
    char name[320];
    next = LLVMGetNextFunction(fn);
    snprintf(name, sizeof name, "%s", LLVMGetValueName2(fn, &n));
    if (!strncmp(name, "llvm.nvvm.", 10)) {
      replace_intrinsic(r, fn, name);
    } else if (!LLVMIsDeclaration(fn) && strncmp(name, "gpu", 3) != 0) {
      strip_device(fn);
      announce_all(r, fn);
      add_entry(r, fn, name);
    }
  }
}

/* Names for the static blocks of shared memory, to find their addresses. */
static void name_shared(rewrite *r) {
  for (LLVMValueRef g = LLVMGetFirstGlobal(r->module); g;
       g = LLVMGetNextGlobal(g)) {
    LLVMTypeRef type = LLVMGlobalGetValueType(g);
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != 3 ||
        LLVMIsDeclaration(g) || r->m->nshared == GPU_SHARED_BLOCKS)
      continue;
    char name[24];
    snprintf(name, sizeof name, "gpu_shared%u", r->m->nshared);
    LLVMSetValueName2(g, name, strlen(name));
    LLVMSetLinkage(g, LLVMExternalLinkage);
    LLVMSetInitializer(g, LLVMConstNull(type));
    r->m->shared[r->m->nshared++].bytes = LLVMGetArrayLength2(type);
  }
}

/* ---- linking ------------------------------------------------------------ */

float __extendhfsf2(uint16_t);
uint16_t __truncsfhf2(float);

static LLVMErrorRef define_own(gpu_module *m) {
  struct {
    const char *name;
    uintptr_t at;
  } own[] = {{"gpu_call", (uintptr_t)&gpu_call},
             {"gpu_note", (uintptr_t)&gpu_note},
             {"tess_dynamic_shared", (uintptr_t)m->dynamic}};
  enum { N = sizeof own / sizeof *own };
  LLVMOrcCSymbolMapPair pairs[N];
  for (size_t i = 0; i < N; i++) {
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(m->jit, own[i].name);
    pairs[i].Sym.Address = own[i].at;
    pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    pairs[i].Sym.Flags.TargetFlags = 0;
  }
  LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(m->jit);
  LLVMErrorRef e = LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(pairs, N));
  LLVMOrcDefinitionGeneratorRef process;
  if (!e)
    e = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
        &process, LLVMOrcLLJITGetGlobalPrefix(m->jit), NULL, NULL);
  if (!e) LLVMOrcJITDylibAddGenerator(lib, process);
  return e;
}

static bool find_shared(gpu_module *m) {
  for (uint32_t i = 0; i < m->nshared; i++) {
    char name[24];
    LLVMOrcExecutorAddress at = 0;
    snprintf(name, sizeof name, "gpu_shared%u", i);
    LLVMErrorRef e = LLVMOrcLLJITLookup(m->jit, &at, name);
    if (e) {
      LLVMConsumeError(e);
      return false;
    }
    m->shared[i].at = (char *)(uintptr_t)at;
  }
  return true;
}

static bool no_llvm_error(char why[GPU_WHY], LLVMErrorRef e) {
  if (!e) return true;
  char *text = LLVMGetErrorMessage(e);
  snprintf(why, GPU_WHY, "%s", text);
  LLVMDisposeErrorMessage(text);
  return false;
}

static LLVMErrorRef scalarize(LLVMModuleRef module) {
  LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
  LLVMErrorRef e =
      LLVMRunPasses(module, "function(scalarize-masked-mem-intrin)", NULL, o);
  LLVMDisposePassBuilderOptions(o);
  return e;
}

/* Inline assembly is the device's: what it does is not known here. */
static bool has_assembly(LLVMValueRef fn, char why[GPU_WHY]) {
  for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb;
       bb = LLVMGetNextBasicBlock(bb))
    for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i;
         i = LLVMGetNextInstruction(i)) {
      if (!LLVMIsACallInst(i) || !LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
        continue;
      size_t n;
      const char *text = LLVMGetInlineAsmAsmString(LLVMGetCalledValue(i), &n);
      snprintf(why, GPU_WHY, "inline assembly is not emulated: %.*s",
               n > 100 ? 100 : (int)n, text);
      return true;
    }
  return false;
}

static bool is_emulated(LLVMModuleRef module, char why[GPU_WHY]) {
  for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn;
       fn = LLVMGetNextFunction(fn))
    if (has_assembly(fn, why)) return false;
  return true;
}

static bool rewrite_module(gpu_module *m, LLVMContextRef ctx,
                           LLVMModuleRef module, char why[GPU_WHY]) {
  rewrite r = {.m = m, .ctx = ctx, .module = module};
  char *text = NULL;
  if (!is_emulated(module, why)) return false;
  LLVMSetTarget(module, LLVMOrcLLJITGetTripleString(m->jit));
  LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(m->jit));
  if (!no_llvm_error(why, scalarize(module))) return false;
  r.b = LLVMCreateBuilderInContext(ctx);
  r.none = LLVMVoidTypeInContext(ctx);
  r.ptr = LLVMPointerTypeInContext(ctx, 0);
  r.i32 = LLVMInt32TypeInContext(ctx);
  LLVMTypeRef calls[3] = {r.ptr, r.ptr, r.ptr};
  LLVMTypeRef notes[4] = {r.ptr, r.i32, r.i32, r.i32};
  r.call = LLVMFunctionType(r.none, calls, 3, false);
  r.note = LLVMFunctionType(r.none, notes, 4, false);
  r.call_fn = LLVMAddFunction(module, "gpu_call", r.call);
  r.note_fn = LLVMAddFunction(module, "gpu_note", r.note);
  rewrite_functions(&r);
  name_shared(&r);
  LLVMDisposeBuilder(r.b);
  bool bad = LLVMVerifyModule(module, LLVMReturnStatusAction, &text) != 0;
  if (bad) snprintf(why, GPU_WHY, "%s", text);
  LLVMDisposeMessage(text);
  return !bad;
}

static bool link_ir(gpu_module *m, const char *ir, size_t n,
                    char why[GPU_WHY]) {
  if (!no_llvm_error(why, LLVMOrcCreateLLJIT(&m->jit, NULL)) ||
      !no_llvm_error(why, define_own(m)))
    return false;
  LLVMOrcThreadSafeContextRef safe = LLVMOrcCreateNewThreadSafeContext();
  LLVMContextRef ctx = LLVMOrcThreadSafeContextGetContext(safe);
  LLVMModuleRef module = NULL;
  char *text = NULL;
  bool ok = !LLVMParseIRInContext(
      ctx, LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, n, "gpu"), &module,
      &text);
  if (!ok) snprintf(why, GPU_WHY, "%s", text);
  LLVMDisposeMessage(text);
  if (ok && !rewrite_module(m, ctx, module, why)) {
    LLVMDisposeModule(module);
    ok = false;
  }
  if (ok)
    ok =
        no_llvm_error(why, LLVMOrcLLJITAddLLVMIRModule(
                               m->jit, LLVMOrcLLJITGetMainJITDylib(m->jit),
                               LLVMOrcCreateNewThreadSafeModule(module, safe)));
  LLVMOrcDisposeThreadSafeContext(safe);
  return ok && find_shared(m);
}

gpu_module *gpu_load(const char *ir, size_t n, char why[GPU_WHY]) {
  gpu_module *m = calloc(1, sizeof *m);
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  m->dynamic = aligned_alloc(128, GPU_DYNAMIC);
  snprintf(why, GPU_WHY, "shared memory is not found");
  if (link_ir(m, ir, n, why)) return m;
  gpu_unload(m);
  return NULL;
}

void gpu_unload(gpu_module *m) {
  if (!m) return;
  if (m->jit) LLVMConsumeError(LLVMOrcDisposeLLJIT(m->jit));
  while (m->ops) {
    gpu_op *next = m->ops->next;
    free(m->ops);
    m->ops = next;
  }
  free(m->dynamic);
  free(m->access);
  free(m);
}
