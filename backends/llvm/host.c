/* SPDX-License-Identifier: Apache-2.0
 * Is code for a target executable on this machine? */
#include "backends/llvm/llvm.h"
#include "backends/llvm/probe.h"
#include <llvm-c/TargetMachine.h>
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

enum { MAX_FEATURES = 256, MAX_NAME = 64 };

typedef struct lacking {
  uint32_t n;
  char feature[MAX_FEATURES][MAX_NAME]; /* "+fma4" */
  LLVMValueRef caller[MAX_FEATURES];    /* inlines what needs it */
} lacking;

/* For each feature that this machine lacks: does the target have it? */
static void ask_each(llvm_probe *p, const char *cpu, const char *features,
                     const char *own, lacking *l) {
  for (const char *at = own; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    if (*at == '-' && n < MAX_NAME && l->n < MAX_FEATURES) {
      char *name = l->feature[l->n];
      snprintf(name, MAX_NAME, "+%.*s", (int)n - 1, at + 1);
      l->caller[l->n++] =
          llvm_probe_add(p, cpu, features, llvm_probe_add(p, "", name, NULL));
    }
    at += n;
  }
}

static tess_status refuse_features(const target *t, const lacking *l,
                                   err_state *e) {
  char names[512] = "";
  size_t at = 0;
  for (uint32_t i = 0; i < l->n && at + MAX_NAME < sizeof names; i++)
    if (llvm_probe_has(l->caller[i]))
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
#define TUNING(name)
#define SYSTEM(name) ",-" name
#include "backends/llvm/feature.def"
#undef FEATURE
#undef TUNING
#undef SYSTEM
    ;

/* The features that code for the target may use; a leading ',' is harmless. */
static void needed_features(const target *t, char *out, size_t size) {
  bool is_x86 = strstr(t->triple, "86") != NULL;
  snprintf(out, size, "%s%s", t->features, is_x86 ? without_system : "");
}

static tess_status check_features(const target *t, const target *host,
                                  err_state *e) {
  llvm_probe p;
  lacking l = {.n = 0};
  char needed[TARGET_FEATURES_MAX + sizeof without_system];
  llvm_probe_start(&p, host->triple);
  needed_features(t, needed, sizeof needed);
  LLVMValueRef all = llvm_probe_add(&p, host->cpu, host->features,
                                    llvm_probe_add(&p, t->cpu, needed, NULL));
  ask_each(&p, t->cpu, needed, host->features, &l);
  tess_status s = llvm_probe_inline(&p, host, e);
  if (!s && !llvm_probe_has(all)) s = refuse_features(t, &l, e);
  llvm_probe_end(&p);
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
