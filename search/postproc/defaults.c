/* SPDX-License-Identifier: Apache-2.0
 * The default postprocessors of each kind of target. */
#include "ir/query.h"
#include "search/postproc/postproc.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct kind {
  const char *target;
  const char *postproc[8];
} kind;

/* In the order in which they run. */
static const kind kinds[] = {
    {"llvm",
     {"disallow_dynamic_loop", "rewrite_parallel_vectorize_unroll",
      "rewrite_reduction_block", "rewrite_layout"}},
    {"cuda",
     {"disallow_dynamic_loop", "rewrite_cooperative_fetch",
      "rewrite_unbound_block", "rewrite_parallel_vectorize_unroll",
      "rewrite_reduction_block", "verify_gpu_code"}},
    {"opencl",
     {"disallow_dynamic_loop", "rewrite_cooperative_fetch",
      "rewrite_unbound_block", "rewrite_parallel_vectorize_unroll",
      "rewrite_reduction_block", "verify_gpu_code"}},
    {"dae", {"disallow_dynamic_loop", "verify_chip_buffers"}},
};

static const kind *kind_of(tess_target *t) {
  const char *text = t ? tess_target_text(t) : "llvm";
  size_t n = strcspn(text, " ");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strlen(kinds[i].target) == n && !memcmp(kinds[i].target, text, n))
      return &kinds[i];
  return NULL;
}

static bool has_dynamic_loop(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt st = root; st; st = ir_next(p, st, root)) {
    int64_t extent;
    if (ir_is_loop(p, st) && !ir_const_int(p, ir_st(p, st)->extent, &extent))
      return true;
  }
  return false;
}

static bool has_free_layout(const ir_program *p) {
  ir_span params = ir_entry(p)->params;
  for (uint32_t i = params.at; i < params.at + params.n; i++)
    if (p->buf.v[p->arg.v[i]].role == IR_ROLE_LAYOUT_FREE) return true;
  return false;
}

/* Is there something that the postprocessor could change, or would refuse for
 * another reason than that the program is what it is? */
static bool suits_program(const char *postproc, const ir_program *p) {
  if (!strcmp(postproc, "disallow_dynamic_loop")) return !has_dynamic_loop(p);
  return strcmp(postproc, "rewrite_layout") != 0 || has_free_layout(p);
}

/* What a target says of its limits, and the operands that they are. */
static const struct limit {
  const char *field, *operand;
} limits[] = {{"max-threads-per-block", "max_threads_per_block"},
              {"shared-memory-per-block", "max_shared_memory_per_block"},
              {"max-shared-memory-per-block", "max_shared_memory_per_block"}};

/* A number that the text of the target's machine gives; 0: none. */
static int64_t machine_limit(tess_target *t, const char *operand) {
  char key[32];
  snprintf(key, sizeof key, "buffer.%s=", operand);
  const char *text = t ? strstr(tess_target_text(t), " -machine=") : NULL;
  const char *at = text ? strstr(text, key) : NULL;
  return at ? strtoll(at + strlen(key), NULL, 10) : 0;
}

static vm_value limit_of(tess_target *t, const char *operand) {
  int64_t found = machine_limit(t, operand);
  for (size_t i = 0; t && i < sizeof limits / sizeof *limits; i++) {
    if (strcmp(limits[i].operand, operand)) continue;
    int64_t v = tess_target_int(t, limits[i].field);
    if (v > found) found = v;
  }
  return found > 0 ? vm_int(found) : vm_nil();
}

/* Processors load vectors of any length in parts, and have the private memory
 * of a thread on a stack. */
static bool has_no_limit(const char *operand) {
  return !strcmp(operand, "max_vector_bytes") ||
         !strcmp(operand, "max_registers_per_thread");
}

static bool is_opencl_cpu(tess_target *t) {
  const char *text = t ? tess_target_text(t) : "";
  const char *model = strstr(text, " -model=cpu");
  return !strncmp(text, "opencl", 6) && model &&
         (model[11] == ' ' || model[11] == '\0');
}

void postproc_default(vm_trace *out, tess_target *t, const ir_program *p) {
  enum { NO_LIMIT = 1 << 20 };
  const kind *k = kind_of(t);
  vm_value operand[VM_MAX_SPECS];
  for (uint32_t i = 0; k && i < 8 && k->postproc[i]; i++) {
    const sch_prim *prim = sch_find_prim(k->postproc[i]);
    vm_failure why;
    vm_call c = {.prim = prim, .pool = out, .operand = operand};
    if (!suits_program(prim->name, p)) continue;
    bool is_free = !strcmp(prim->name, "verify_gpu_code") && is_opencl_cpu(t);
    for (uint32_t s = 0; s < prim->nspecs; s++)
      operand[s] = is_free && has_no_limit(prim->specs[s].name)
                       ? vm_int(NO_LIMIT)
                       : limit_of(t, prim->specs[s].name);
    vm_append(out, &c, 0, &why);
  }
}
