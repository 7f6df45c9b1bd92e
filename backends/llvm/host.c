/* SPDX-License-Identifier: Apache-2.0
 * Is code for a target executable on this machine?
 *
 * LLVM's C API does not list the features that a processor's name implies, but
 * its inliner knows them: a function is inlined only into one whose target has
 * all of its features.  So the answers are read off a module of small
 * functions, each called once, after that pass. */
#include "backends/llvm/llvm.h"
#include "backends/llvm/machine.h"
#include <llvm-c/Core.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <string.h>

/* ---- triples ------------------------------------------------------------ */

/* The i-th of a triple's parts (architecture, vendor, system, environment). */
static const char *part(const char *triple, int i, size_t *n) {
  for (; i > 0 && *triple; i--) {
    triple += strcspn(triple, "-");
    triple += *triple == '-';
  }
  *n = strcspn(triple, "-");
  return triple;
}

/* The vendor is irrelevant for code, and so is an environment left out. */
static bool is_same_system(const char *a, const char *b) {
  for (int i = 0; i < 4; i++) {
    size_t na, nb;
    const char *x = part(a, i, &na), *y = part(b, i, &nb);
    bool says_nothing = i == 1 || (i == 3 && (!na || !nb));
    if (!says_nothing && (na != nb || memcmp(x, y, na) != 0)) return false;
  }
  return true;
}

static tess_status check_triple(const target *t, const char *host,
                                err_state *e) {
  char *wanted = LLVMNormalizeTargetTriple(t->triple);
  char *own = LLVMNormalizeTargetTriple(host);
  bool same = is_same_system(wanted, own);
  LLVMDisposeMessage(wanted);
  LLVMDisposeMessage(own);
  return same ? TESS_OK
              : err_set(e, TESS_UNSUPPORTED,
                        "a kernel for '%s' cannot run on this machine, which "
                        "is '%s'",
                        t->triple, host);
}

/* ---- features ----------------------------------------------------------- */

typedef struct probe {
  LLVMContextRef ctx;
  LLVMModuleRef module;
  LLVMTypeRef type; /* of all functions: void() */
} probe;

static void set_text(probe *p, LLVMValueRef fn, const char *name,
                     const char *text) {
  LLVMAddAttributeAtIndex(
      fn, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(p->ctx, name, (unsigned)strlen(name), text,
                                (unsigned)strlen(text)));
}

/* A function that calls `callee` (NULL: nothing) and returns.  Tuning is the
 * same for all of them, so that it is not compared. */
static LLVMValueRef add_probe(probe *p, const char *cpu, const char *features,
                              LLVMValueRef callee) {
  LLVMValueRef fn = LLVMAddFunction(p->module, "", p->type);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->ctx);
  set_text(p, fn, "target-cpu", cpu);
  set_text(p, fn, "tune-cpu", "generic");
  set_text(p, fn, "target-features", features);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->ctx, fn, ""));
  if (callee) LLVMBuildCall2(b, p->type, callee, NULL, 0, "");
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  return fn;
}

static tess_status inline_calls(probe *p, const target *t, err_state *e) {
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

static bool was_inlined(LLVMValueRef caller) {
  LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(caller));
  return LLVMGetInstructionOpcode(first) == LLVMRet;
}

enum { MAX_FEATURES = 256, MAX_NAME = 64 };

typedef struct lacking {
  uint32_t n;
  char feature[MAX_FEATURES][MAX_NAME]; /* "+fma4" */
  LLVMValueRef caller[MAX_FEATURES];    /* inlines what needs it */
} lacking;

/* For each feature that this machine lacks: does the target have it? */
static void ask_each(probe *p, const char *cpu, const char *features,
                     const char *own, lacking *l) {
  for (const char *at = own; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    if (*at == '-' && n < MAX_NAME && l->n < MAX_FEATURES) {
      char *name = l->feature[l->n];
      snprintf(name, MAX_NAME, "+%.*s", (int)n - 1, at + 1);
      l->caller[l->n++] =
          add_probe(p, cpu, features, add_probe(p, "", name, NULL));
    }
    at += n;
  }
}

static tess_status refuse_features(const target *t, const lacking *l,
                                   err_state *e) {
  char names[512] = "";
  size_t at = 0;
  for (uint32_t i = 0; i < l->n && at + MAX_NAME < sizeof names; i++)
    if (was_inlined(l->caller[i]))
      at += (size_t)snprintf(names + at, sizeof names - at, "%s%s",
                             at ? ", " : ": ", l->feature[i] + 1);
  return err_set(e, TESS_UNSUPPORTED,
                 "a kernel for '%s'%s%s cannot run on this machine, which has "
                 "not all features of that processor%s",
                 t->cpu, t->attr[0] ? " with " : "", t->attr, names);
}

/* Virtual machines often hide features that generated code does not use. */
static const char without_system[] =
#define FEATURE(name)
#define SYSTEM(name) ",-" name
#include "backends/llvm/feature.def"
#undef FEATURE
#undef SYSTEM
    ;

/* The features that code for the target may use; a leading ',' is harmless. */
static void needed_features(const target *t, char *out, size_t size) {
  bool is_x86 = strstr(t->triple, "86") != NULL;
  snprintf(out, size, "%s%s", t->features, is_x86 ? without_system : "");
}

static tess_status check_features(const target *t, const target *host,
                                  err_state *e) {
  probe p = {.ctx = LLVMContextCreate()};
  lacking l = {.n = 0};
  char needed[TARGET_FEATURES_MAX + sizeof without_system];
  p.module = LLVMModuleCreateWithNameInContext("probe", p.ctx);
  p.type = LLVMFunctionType(LLVMVoidTypeInContext(p.ctx), NULL, 0, false);
  LLVMSetTarget(p.module, host->triple);
  needed_features(t, needed, sizeof needed);
  LLVMValueRef all = add_probe(&p, host->cpu, host->features,
                               add_probe(&p, t->cpu, needed, NULL));
  ask_each(&p, t->cpu, needed, host->features, &l);
  tess_status s = inline_calls(&p, host, e);
  if (!s && !was_inlined(all)) s = refuse_features(t, &l, e);
  LLVMDisposeModule(p.module);
  LLVMContextDispose(p.ctx);
  return s;
}

/* ---- both --------------------------------------------------------------- */

tess_status llvm_runs_here(const target *t, err_state *e) {
  target host = {.kind = "llvm", .vector_bytes = 16}; /* need not be probed */
  tess_status s = llvm_complete_target(&host, e);
  if (!s) s = check_triple(t, host.triple, e);
  if (s || !strcmp(t->features, host.features)) return s;
  return check_features(t, &host, e);
}
