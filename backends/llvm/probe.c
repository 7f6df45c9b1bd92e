/* SPDX-License-Identifier: Apache-2.0
 * Probes of processors' features, and whether a target has one. */
#include "backends/llvm/probe.h"
#include "backends/llvm/llvm.h"
#include "backends/llvm/machine.h"
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

/* ---- probes ------------------------------------------------------------- */

void llvm_probe_start(llvm_probe *p, const char *triple) {
  p->ctx = LLVMContextCreate();
  p->module = LLVMModuleCreateWithNameInContext("probe", p->ctx);
  p->type = LLVMFunctionType(LLVMVoidTypeInContext(p->ctx), NULL, 0, false);
  LLVMSetTarget(p->module, triple);
}

void llvm_probe_end(llvm_probe *p) {
  LLVMDisposeModule(p->module);
  LLVMContextDispose(p->ctx);
}

static void set_probe_text(llvm_probe *p, LLVMValueRef fn, const char *name,
                           const char *text) {
  LLVMAddAttributeAtIndex(
      fn, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(p->ctx, name, (unsigned)strlen(name), text,
                                (unsigned)strlen(text)));
}

/* Tuning is the same for all of them, so that it is not compared. */
LLVMValueRef llvm_probe_add(llvm_probe *p, const char *cpu,
                            const char *features, LLVMValueRef callee) {
  LLVMValueRef fn = LLVMAddFunction(p->module, "", p->type);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->ctx);
  set_probe_text(p, fn, "target-cpu", cpu);
  set_probe_text(p, fn, "tune-cpu", "generic");
  set_probe_text(p, fn, "target-features", features);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->ctx, fn, ""));
  if (callee) LLVMBuildCall2(b, p->type, callee, NULL, 0, "");
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  return fn;
}

tess_status llvm_probe_inline(llvm_probe *p, const target *t, err_state *e) {
  LLVMTargetMachineRef machine;
  tess_status s = llvm_machine_new(t, &machine, e);
  if (s) return s;
  LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(p->module, "cgscc(inline)", machine, o);
  LLVMDisposePassBuilderOptions(o);
  LLVMDisposeTargetMachine(machine);
  if (!error) return TESS_OK;
  char *text = LLVMGetErrorMessage(error);
  s = err_set(e, TESS_INTERNAL, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return s;
}

bool llvm_probe_has(LLVMValueRef caller) {
  LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(caller));
  return LLVMGetInstructionOpcode(first) == LLVMRet;
}

/* ---- what a target's features imply ------------------------------------- */

static const char *const asked_x86[] = {
#define FEATURE(name) name,
#define TUNING(name)
#define SYSTEM(name)
#include "backends/llvm/feature.def"
    NULL};
static const char *const asked_aarch64[] = {
#include "backends/llvm/feature_aarch64.def"
#undef FEATURE
#undef TUNING
#undef SYSTEM
    NULL};

static bool is_asked(const target *t, const char *feature) {
  bool arm =
      !strncmp(t->triple, "aarch64", 7) || !strncmp(t->triple, "arm64", 5);
  const char *const *name = arm ? asked_aarch64 : asked_x86;
  while (*name && strcmp(*name, feature) != 0) name++;
  return *name != NULL;
}

/* Whether the feature changes nothing for a processor is whether it has it. */
bool llvm_has_feature(const target *t, const char *feature) {
  llvm_probe p;
  err_state unused = {.code = TESS_OK};
  char more[TARGET_FEATURES_MAX + 64];
  if (!is_asked(t, feature)) return false;
  snprintf(more, sizeof more, "%s%s+%s", t->features, t->features[0] ? "," : "",
           feature);
  llvm_initialize();
  llvm_probe_start(&p, t->triple);
  LLVMValueRef caller = llvm_probe_add(&p, t->cpu, t->features,
                                       llvm_probe_add(&p, t->cpu, more, NULL));
  bool has = !llvm_probe_inline(&p, t, &unused) && llvm_probe_has(caller);
  llvm_probe_end(&p);
  return has;
}
