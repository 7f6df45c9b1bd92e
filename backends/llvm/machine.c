/* SPDX-License-Identifier: Apache-2.0
 * LLVM target machines, and target completion from LLVM's knowledge. */
#include "backends/llvm/machine.h"
#include "backends/llvm/llvm.h"
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <pthread.h>
#include <string.h>

/* This machine's architecture, and AArch64, which code is generated for on
 * other machines too. */
static void initialize(void) {
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
#ifdef LLVM_HAS_AARCH64_TARGET
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#endif
}

/* LLVM's target registry is global; filling it concurrently is a race. */
void llvm_initialize(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize);
}

tess_status llvm_machine_new(const target *t, LLVMTargetMachineRef *out,
                             err_state *e) {
  LLVMTargetRef kind;
  char *text = NULL;
  llvm_initialize();
  if (LLVMGetTargetFromTriple(t->triple, &kind, &text)) {
    tess_status s = err_set(e, TESS_UNSUPPORTED,
                            "LLVM: %s: a triple must be of this machine's "
                            "architecture, or of AArch64",
                            text);
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

static bool is_x86(const target *t) {
  const char *s = t->triple;
  bool is_32 =
      s[0] == 'i' && s[1] >= '3' && s[1] <= '9' && s[2] == '8' && s[3] == '6';
  return is_32 || !strncmp(s, "x86_64", 6);
}

static bool is_aarch64(const target *t) {
  return !strncmp(t->triple, "aarch64", 7) || !strncmp(t->triple, "arm64", 5);
}

static bool is_known_cpu(const target *t) {
  static const struct {
    const char *name;
    bool is_32, is_x86;
  } cpu[] = {
#define CPU(name) {name, false, true},
#define CPU32(name) {name, true, true},
#include "backends/llvm/cpu.def"
#undef CPU
#undef CPU32
#define CPU(name) {name, false, false},
#include "backends/llvm/cpu_aarch64.def"
#undef CPU
  };
  bool x86 = is_x86(t), is_64 = t->triple[0] == 'x';
  if (!x86 && !is_aarch64(t)) return true;
  for (size_t i = 0; i < sizeof cpu / sizeof *cpu; i++)
    if (cpu[i].is_x86 == x86 && !strcmp(cpu[i].name, t->cpu))
      return !(is_64 && cpu[i].is_32);
  return false;
}

static const struct {
  const char *name;
  bool is_x86;
} known_features[] = {
#define FEATURE(name) {name, true},
#define TUNING(name) {name, true},
#define SYSTEM(name) {name, true},
#include "backends/llvm/feature.def"
#undef FEATURE
#undef TUNING
#undef SYSTEM
#define FEATURE(name) {name, false},
#define TUNING(name) {name, false},
#include "backends/llvm/feature_aarch64.def"
#undef FEATURE
#undef TUNING
};
enum { NKNOWN_FEATURES = sizeof known_features / sizeof *known_features };

static bool is_known_feature(const target *t, const char *name, size_t n) {
  bool x86 = is_x86(t);
  if (!x86 && !is_aarch64(t)) return true;
  for (size_t i = 0; i < NKNOWN_FEATURES; i++)
    if (known_features[i].is_x86 == x86 &&
        strlen(known_features[i].name) == n &&
        !memcmp(known_features[i].name, name, n))
      return true;
  return false;
}

/* Features of other architectures, whose names there are no lists of, may be
 * any. */
bool llvm_knows_feature(const target *t, const char *feature, nearest *near) {
  if (!strcmp(t->kind, "llvm") && !is_x86(t) && !is_aarch64(t)) return true;
  for (size_t i = 0; i < NKNOWN_FEATURES; i++) {
    if (!strcmp(known_features[i].name, feature)) return true;
    nearest_try(near, known_features[i].name);
  }
  return false;
}

/* LLVM itself ignores unknown features, with a warning on stderr. */
static tess_status check_features(const target *t, err_state *e) {
  const char *at = t->attr;
  for (bool more = *at != '\0'; more; at++) {
    size_t n = strcspn(at, ",");
    if (n < 2 || (*at != '+' && *at != '-'))
      return err_set(e, TESS_INVALID,
                     "target: '%.*s' in -mattr is not '+' or '-' and the name "
                     "of a feature",
                     (int)n, at);
    if (!is_known_feature(t, at + 1, n - 1))
      return err_set(e, TESS_INVALID, "target: LLVM knows no feature '%.*s'",
                     (int)n - 1, at + 1);
    at += n;
    more = *at == ',';
  }
  return TESS_OK;
}

/* LLVM knows the features of another processor by its name; those of this one
 * are detected, since a virtual machine may hide some.  The text's own come
 * last and so prevail. */
static tess_status complete_features(target *t, err_state *e) {
  if (t->is_host) {
    tess_status s = copy_text(t->features, sizeof t->features - sizeof t->attr,
                              LLVMGetHostCPUFeatures(), "list of features", e);
    if (s) return s;
  }
  if (t->features[0] && t->attr[0]) strcat(t->features, ",");
  strcat(t->features, t->attr);
  t->implies = (!t->is_host || t->attr[0]) && (is_x86(t) || is_aarch64(t));
  return TESS_OK;
}

/* Is the triple of another architecture than this machine's? */
static bool is_foreign(const target *t, err_state *e) {
  target host = {.kind = "llvm"};
  if (complete_triple(&host, e)) return false;
  return is_x86(t) != is_x86(&host) || is_aarch64(t) != is_aarch64(&host);
}

static tess_status complete_cpu(target *t, err_state *e) {
  char host[TARGET_CPU_MAX];
  bool foreign = is_foreign(t, e);
  tess_status s =
      copy_text(host, sizeof host, LLVMGetHostCPUName(), "processor", e);
  if (s) return s;
  if (!t->cpu[0]) strcpy(t->cpu, foreign ? "generic" : host);
  t->is_host = !foreign && strcmp(t->cpu, host) == 0;
  if (!t->is_host && !is_known_cpu(t))
    return err_set(e, TESS_INVALID, "target: LLVM knows no processor '%s'",
                   t->cpu);
  s = check_features(t, e);
  return s ? s : complete_features(t, e);
}

/* ---- what LLVM knows about a processor ---------------------------------- */

/* Adds two vectors of 64 bytes: the assembly shows the register width. */
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

static tess_status check_vector_bytes(const target *t, err_state *e) {
  int64_t v = t->vector_bytes;
  if (v >= 8 && v <= 256 && !(v & (v - 1))) return TESS_OK;
  return err_set(e, TESS_INVALID,
                 "target: -vector-bytes is a power of two from 8 to 256");
}

static tess_status check_fp_contract(const target *t, err_state *e) {
  if (!t->contract[0] || !strcmp(t->contract, "fast") ||
      !strcmp(t->contract, "off"))
    return TESS_OK;
  return err_set(e, TESS_INVALID, "target: -fp-contract is fast or off");
}

tess_status llvm_complete_target(target *t, err_state *e) {
  tess_status s = t->triple[0] ? TESS_OK : complete_triple(t, e);
  if (!s) s = complete_cpu(t, e);
  if (!s && !t->vector_bytes) s = probe_vectors(t, e);
  if (!s) s = check_vector_bytes(t, e);
  return s ? s : check_fp_contract(t, e);
}
