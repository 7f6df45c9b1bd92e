/* SPDX-License-Identifier: Apache-2.0
 * Probes of processors' features, and the list of those that a target has. */
#include "backends/llvm/probe.h"
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
};
static const char *const asked_aarch64[] = {
#include "backends/llvm/feature_aarch64.def"
#undef FEATURE
#undef TUNING
#undef SYSTEM
};
enum {
  NX86 = sizeof asked_x86 / sizeof *asked_x86,
  NAARCH64 = sizeof asked_aarch64 / sizeof *asked_aarch64,
  MOST_ASKED = NX86 > NAARCH64 ? NX86 : NAARCH64
};

/* Whether the feature changes nothing for a processor is whether it has it. */
static tess_status ask_features(const target *t, size_t n,
                                const char *const *name, bool *has,
                                err_state *e) {
  llvm_probe p;
  LLVMValueRef caller[MOST_ASKED];
  char more[TARGET_FEATURES_MAX + 64];
  const char *comma = t->features[0] ? "," : "";
  llvm_probe_start(&p, t->triple);
  for (size_t i = 0; i < n; i++) {
    snprintf(more, sizeof more, "%s%s+%s", t->features, comma, name[i]);
    caller[i] = llvm_probe_add(&p, t->cpu, t->features,
                               llvm_probe_add(&p, t->cpu, more, NULL));
  }
  tess_status s = llvm_probe_inline(&p, t, e);
  for (size_t i = 0; i < n && !s; i++) has[i] = llvm_probe_has(caller[i]);
  llvm_probe_end(&p);
  return s;
}

tess_status llvm_imply_features(target *t, bool is_x86, err_state *e) {
  const char *const *name = is_x86 ? asked_x86 : asked_aarch64;
  size_t n = is_x86 ? NX86 : NAARCH64, at = 0;
  bool has[MOST_ASKED] = {false};
  tess_status s = ask_features(t, n, name, has, e);
  for (size_t i = 0; i < n && !s; i++) {
    if (!has[i]) continue;
    at += (size_t)snprintf(t->implied + at, sizeof t->implied - at, "%s+%s",
                           at ? "," : "", name[i]);
    if (at >= sizeof t->implied)
      return err_set(e, TESS_LIMIT, "target: too many features");
  }
  return s;
}
