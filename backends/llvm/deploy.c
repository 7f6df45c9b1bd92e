/* SPDX-License-Identifier: Apache-2.0
 * Objects that are linked without Tessera: the kernel's function becomes
 * internal, and gets a small runtime, for callers without one of their own,
 * and two exported functions in C's calling convention.
 *
 * The runtime, a thread pool (saved/pool.c), is here as LLVM's IR, so that no
 * compiler of C is needed when a kernel is saved. */
#include "backends/llvm/emit.h"
#include "backends/llvm/llvm.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

/* Of saved/pool.c. */
static const char *const pool_ir[] = {
#include "backends/llvm/saved/pool.inc"
};

/* What pool.c is given: the number of the call futex, and a spin loop's hint to
 * the core. */
static const struct {
  const char *arch;
  int futex;
  const char *pause;
} processors[] = {{"x86_64-", 202, "void @llvm.x86.sse2.pause()"},
                  {"aarch64-", 98, "void @llvm.aarch64.hint(i32 1)"},
                  {"riscv64-", 98, "void @llvm.donothing()"}};

static bool put_runtime(emit *m, strbuf *out) {
  const char *triple = m->target->triple;
  size_t i = 0, n = sizeof processors / sizeof *processors;
  while (i < n &&
         strncmp(triple, processors[i].arch, strlen(processors[i].arch)) != 0)
    i++;
  if (i == n || !strstr(triple, "linux")) {
    emit_refuse(m, TESS_UNSUPPORTED,
                "a kernel is saved for a 64-bit Linux (x86_64, aarch64, "
                "riscv64), not for '%s'",
                triple);
    return false;
  }
  for (size_t k = 0; k < sizeof pool_ir / sizeof *pool_ir; k++)
    str_puts(out, pool_ir[k]);
  str_printf(out,
             "declare void @llvm.x86.sse2.pause()\n"
             "declare void @llvm.aarch64.hint(i32)\n"
             "declare void @llvm.donothing()\n"
             "@tess_pool_futex = internal constant i64 %d\n"
             "define internal void @tess_pool_pause() {\n"
             "  call %s\n  ret void\n}\n",
             processors[i].futex, processors[i].pause);
  return true;
}

/* Linux gives the tiles of AMX to a process that asks for them: the first call
 * of the kernel does, by arch_prctl(ARCH_REQ_XCOMP_PERM, 18). */
static void put_request(strbuf *out) {
  str_puts(out,
           "  %asked = load atomic i8, ptr @tess_tiles_asked monotonic, "
           "align 1\n"
           "  %first = icmp eq i8 %asked, 0\n"
           "  br i1 %first, label %ask, label %ready\n"
           "ask:\n"
           "  %given = call i64 (i64, ...) @syscall(i64 158, i64 4131, "
           "i64 18)\n"
           "  store atomic i8 1, ptr @tess_tiles_asked monotonic, align 1\n"
           "  br label %ready\n"
           "ready:\n");
}

/* NAME_kernel(args, sizes, rt): rt, or its loops, NULL are the pool's. */
static void put_raw(strbuf *out, const char *name, bool uses_tiles) {
  str_printf(out,
             "declare i32 @" EMIT_KERNEL "(ptr, ptr, ptr)\n"
             "declare ptr @tess_pool_complete(ptr, ptr)\n"
             "@tess_tiles_asked = internal global i8 0\n"
             "declare i64 @syscall(i64, ...)\n"
             "define i32 @%s_kernel(ptr %%args, ptr %%sizes, ptr %%rt) {\n"
             "  %%own = alloca [%u x i8], align 16\n",
             name, (unsigned)sizeof(tess_runtime));
  if (uses_tiles) put_request(out);
  str_puts(out,
           "  %use = call ptr @tess_pool_complete(ptr %rt, ptr %own)\n"
           "  %r = call i32 @" EMIT_KERNEL "(ptr %args, ptr %sizes, ptr %use)\n"
           "  ret i32 %r\n}\n");
}

static void put_slots(strbuf *out, const char *array, const char *type,
                      char value, uint32_t n) {
  str_printf(out, "  %%%s = alloca [%u x %s]\n", array, n + 1, type);
  for (uint32_t i = 0; i < n; i++)
    str_printf(out,
               "  %%%c%up = getelementptr %s, ptr %%%s, i32 %u\n"
               "  store %s %%%c%u, ptr %%%c%up\n",
               value, i, type, array, i, type, value, i, value, i);
}

/* NAME(each parameter, each size), on the pool. */
static void put_typed(strbuf *out, const char *name, uint32_t nargs,
                      uint32_t nsizes) {
  const char *before = "";
  str_printf(out, "define i32 @%s(", name);
  for (uint32_t i = 0; i < nargs; i++, before = ", ")
    str_printf(out, "%sptr %%a%u", before, i);
  for (uint32_t i = 0; i < nsizes; i++, before = ", ")
    str_printf(out, "%si64 %%s%u", before, i);
  str_puts(out, ") {\n");
  put_slots(out, "args", "ptr", 'a', nargs);
  put_slots(out, "sizes", "i64", 's', nsizes);
  str_printf(out,
             "  %%r = call i32 @%s_kernel(ptr %%args, ptr %%sizes, ptr null)\n"
             "  ret i32 %%r\n}\n",
             name);
}

static tess_status deploy_failed(emit *m, char *text) {
  emit_refuse(m, TESS_BUILD_ERROR, "LLVM: %s", text ? text : "linking failed");
  LLVMDisposeMessage(text);
  return TESS_BUILD_ERROR;
}

static void hide(LLVMValueRef global) {
  LLVMSetVisibility(global, LLVMDefaultVisibility);
  LLVMSetLinkage(global, LLVMInternalLinkage);
}

static tess_status link_text(emit *m, const strbuf *text) {
  LLVMModuleRef more = NULL;
  char *why = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text->v, text->n, "deploy");
  if (LLVMParseIRInContext(m->ctx, buffer, &more, &why))
    return deploy_failed(m, why);
  if (LLVMLinkModules2(m->module, more)) return deploy_failed(m, NULL);
  return TESS_OK;
}

/* It would call itself. */
static bool calls_own_name(emit *m, const char *name) {
  LLVMValueRef f = LLVMGetNamedFunction(m->module, name);
  return f && LLVMIsDeclaration(f);
}

/* One module after the other: the names in the first, which are internal, give
 * way to the kernel's. */
static tess_status link_parts(emit *m, const char *name, strbuf *text) {
  const ir_func *f = ir_entry(m->p);
  tess_status s = put_runtime(m, text) ? str_status(text) : TESS_UNSUPPORTED;
  if (!s) s = link_text(m, text);
  if (s) return s;
  str_clear(text);
  put_raw(text, name, LLVMGetNamedGlobal(m->module, EMIT_USES_TILES) != NULL);
  put_typed(text, name, f->params.n, f->sizes.n);
  s = str_status(text);
  if (!s) s = link_text(m, text);
  if (s) return s;
  hide(LLVMGetNamedFunction(m->module, EMIT_KERNEL));
  LLVMValueRef frame = LLVMGetNamedGlobal(m->module, EMIT_FRAME);
  if (frame) LLVMDeleteGlobal(frame);
  hide(LLVMGetNamedGlobal(m->module, "tess_pool_runtime"));
  hide(LLVMGetNamedFunction(m->module, "tess_pool_complete"));
  return TESS_OK;
}

tess_status llvm_deploy(emit *m) {
  char name[BACKEND_SYMBOL];
  strbuf text;
  backend_symbol(ir_text(m->p, ir_entry(m->p)->name), name);
  if (calls_own_name(m, name)) {
    emit_refuse(m, TESS_INVALID,
                "program '%s' calls an external function of the same name: "
                "saved, it would call itself",
                name);
    return TESS_INVALID;
  }
  str_init(&text, m->p->heap);
  tess_status s = link_parts(m, name, &text);
  str_free(&text);
  return s;
}
