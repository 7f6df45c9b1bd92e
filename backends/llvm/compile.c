/* SPDX-License-Identifier: Apache-2.0
 * Compilation driver: emit LLVM IR, verify, optimize, generate code.
 *
 * The pass pipeline is short because lowered programs are in canonical form:
 * loops are rotated, vectors explicit, addresses sums.  What is left is CSE
 * across unrolled copies, LICM, and scalar promotion of reduction accumulators,
 * which LICM does once instcombine has made addresses comparable; and stores of
 * it that are dead, of which a large tile's inner loop has many.  This takes a
 * quarter of the time of "default<O1>" and gives the same inner loops. */
#include "backends/llvm/emit.h"
#include "backends/llvm/llvm.h"
#include "backends/llvm/machine.h"
#include "backends/llvm/recipe.h"
#include "base/clock.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

static const char passes[] =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm),early-cse<memssa>,dse,simplifycfg)";

typedef struct compile {
  emit m;
  const llvm_recipe *recipe;
  LLVMContextRef ctx;
  LLVMTargetMachineRef machine;
  LLVMTargetDataRef layout;
  backend_form form;
  strbuf *out;
  llvm_times times;
} compile;

/* Errors that LLVM reports without ending the process. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ud) {
  emit *m = ud;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  emit_refuse(m, TESS_BUILD_ERROR, "LLVM: %s", text);
  LLVMDisposeMessage(text);
}

static tess_status emit_all(void *ud) {
  compile *c = ud;
  c->recipe->emit(&c->m);
  return c->m.refused ? c->m.err->code : TESS_OK;
}

static tess_status verify_module(compile *c) {
  char *text = NULL;
  bool bad = LLVMVerifyModule(c->m.module, LLVMReturnStatusAction, &text) != 0;
  if (bad) emit_refuse(&c->m, TESS_BUILD_ERROR, "LLVM's verifier: %s", text);
  LLVMDisposeMessage(text);
  return bad ? TESS_BUILD_ERROR : TESS_OK;
}

static tess_status optimize(compile *c) {
  LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
  LLVMErrorRef e = LLVMRunPasses(c->m.module, c->recipe->passes, c->machine, o);
  LLVMDisposePassBuilderOptions(o);
  if (!e) return TESS_OK;
  char *text = LLVMGetErrorMessage(e);
  emit_refuse(&c->m, TESS_BUILD_ERROR, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return TESS_BUILD_ERROR;
}

static tess_status print_ir(compile *c) {
  char *text = LLVMPrintModuleToString(c->m.module);
  str_puts(c->out, text);
  LLVMDisposeMessage(text);
  return TESS_OK;
}

static tess_status generate(compile *c) {
  LLVMCodeGenFileType type = c->form == BACKEND_ASM || c->form == BACKEND_PTX
                                 ? LLVMAssemblyFile
                                 : LLVMObjectFile;
  LLVMMemoryBufferRef code = NULL;
  char *text = NULL;
  /* Comments name the blocks, which are named after loops. */
  LLVMSetTargetMachineAsmVerbosity(c->machine, c->form == BACKEND_ASM);
  if (LLVMTargetMachineEmitToMemoryBuffer(c->machine, c->m.module, type, &text,
                                          &code)) {
    emit_refuse(&c->m, TESS_BUILD_ERROR, "LLVM: %s", text);
    LLVMDisposeMessage(text);
    return TESS_BUILD_ERROR;
  }
  str_write(c->out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
  LLVMDisposeMemoryBuffer(code);
  return c->m.refused ? TESS_BUILD_ERROR : TESS_OK;
}

/* Runs and times the stages. */
static tess_status run_stages(compile *c) {
  double t0 = clock_now();
  mem_note(c->m.p->heap, "code generation", "llvm");
  tess_status s = mem_protect(c->m.p->heap, emit_all, c);
  double t1 = clock_now();
  c->times.emit = t1 - t0;
  if (!s && c->form == BACKEND_OBJECT) s = llvm_deploy(&c->m);
  if (!s) s = verify_module(c);
  double t2 = clock_now();
  c->times.verify = t2 - t1;
  if (!s) s = optimize(c);
  double t3 = clock_now();
  c->times.optimize = t3 - t2;
  if (!s && c->form != BACKEND_IR && !c->m.device)
    llvm_split_stores(c->m.module, c->layout);
  if (!s) s = c->form == BACKEND_IR ? print_ir(c) : generate(c);
  c->times.codegen = clock_now() - t3;
  if (!s) s = str_status(c->out);
  if (s && !c->m.refused)
    err_ran_out(c->m.err, c->m.p->heap, s, "compiling '%s'",
                ir_text(c->m.p, ir_entry(c->m.p)->name));
  mem_note(c->m.p->heap, NULL, NULL);
  return s;
}

tess_status llvm_compile_by(const llvm_recipe *r, ir_program *p, arena *scratch,
                            const target *t, backend_form form, strbuf *out,
                            llvm_times *times, err_state *e) {
  compile c = {.recipe = r, .form = form, .out = out};
  c.m = (emit){.p = p,
               .scratch = scratch,
               .target = t,
               .err = e,
               .device = r->device,
               .ud = r->ud};
  tess_status s = r->machine(t, &c.machine, e);
  if (s) return s;
  arena_mark mark = arena_get_mark(scratch);
  c.layout = LLVMCreateTargetDataLayout(c.machine);
  c.ctx = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(c.ctx, on_diagnostic, &c.m);
  emit_open(&c.m, c.ctx, t->triple, c.layout);
  s = run_stages(&c);
  if (times) *times = c.times;
  emit_close(&c.m);
  LLVMContextDispose(c.ctx);
  LLVMDisposeTargetData(c.layout);
  LLVMDisposeTargetMachine(c.machine);
  arena_reset_to(scratch, mark);
  return s;
}

tess_status llvm_compile(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, llvm_times *times,
                         err_state *e) {
  static const llvm_recipe native = {
      .emit = emit_kernel, .passes = passes, .machine = llvm_machine_new};
  return llvm_compile_by(&native, p, scratch, t, form, out, times, e);
}
