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
#include "ir/query.h"
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

typedef struct compiling {
  ir_program *p;
  arena *scratch;
  const target *t;
  backend_form form;
  strbuf *out;
  err_state *e;
  device_split split;
  cuda_kernels all;
} compiling;

/* For the driver: the device's number, the host program, the entry's name,
 * bytes of dynamic shared memory of each kernel, the PTX, and for the card of
 * this machine its machine code. */
static void write_head(compiling *c) {
  const char *name = ir_text(c->p, ir_entry(c->p)->name);
  uint64_t device = (uint64_t)c->t->device;
  str_write(c->out, (const char *)&device, sizeof device);
  device_write(&c->split, c->out);
  str_write(c->out, name, strlen(name) + 1);
  for (uint32_t i = 0; i < c->all.n; i++)
    str_write(c->out, (const char *)&c->all.v[i].dynamic_shared,
              sizeof c->all.v[i].dynamic_shared);
}

static tess_status plan(void *ud) {
  compiling *c = ud;
  tess_status s = device_split_program(&c->split, c->p, c->scratch, c->e);
  if (!s)
    s = cuda_plan_kernels(c->p, c->scratch, c->t, &c->split, &c->all, c->e);
  if (!s && c->form == BACKEND_CODE) write_head(c);
  return s;
}

static tess_status compile_kernels(compiling *c) {
  cuda_emit x = {.all = &c->all,
                 .capability = cuda_capability(c->t),
                 .has_mma = !strcmp(c->t->tensor_cores, "mma") ||
                            ir_asks_for_mma(c->p)};
  llvm_recipe r = {.emit = cuda_emit_module,
                   .passes = cuda_passes,
                   .machine = machine_new,
                   .device = &cuda_kernels_device,
                   .ud = &x};
  backend_form form = c->form == BACKEND_IR ? c->form : BACKEND_PTX;
  return llvm_compile_by(&r, c->p, c->scratch, c->t, form, c->out, NULL, c->e);
}

/* Behind the PTX, which begins at `ptx`. */
static tess_status write_tail(compiling *c, size_t ptx) {
  strbuf code;
  str_init(&code, c->p->heap);
  cuda_assemble(c->t, c->out->v + ptx, c->out->n - ptx, &code);
  str_write(c->out, "", 1);
  if (code.n) str_write(c->out, code.v, code.n);
  tess_status s = str_status(c->out);
  str_free(&code);
  return s;
}

tess_status cuda_compile(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, err_state *e) {
  compiling c = {
      .p = p, .scratch = scratch, .t = t, .form = form, .out = out, .e = e};
  arena_mark mark = arena_get_mark(scratch);
  tess_status s = backend_generate(p, "cuda", plan, &c, out, e);
  size_t ptx = out->n;
  if (!s) s = compile_kernels(&c);
  if (!s && form == BACKEND_CODE) s = write_tail(&c, ptx);
  device_split_free(&c.split);
  arena_reset_to(scratch, mark);
  return s;
}

static const backend_device cuda_device = {
    .time = cuda_time,
    .why = cuda_why,
    .keep_caches = cuda_keep_caches,
    .clocks = cuda_clocks,
    .memory = cuda_memory,
};

const backend cuda_backend = {
    .name = "cuda",
    .own_process = true,
    .reference = "llvm",
    .forms = 1u << BACKEND_CODE | 1u << BACKEND_IR | 1u << BACKEND_PTX,
    .complete = cuda_complete_target,
    .runs_here = cuda_runs_here,
    .compile = cuda_compile,
    .load = cuda_load,
    .device = &cuda_device,
    .unload = cuda_unload,
    .on_fatal = cuda_on_fatal,
};
