/* SPDX-License-Identifier: Apache-2.0
 * Objects that are linked without Tessera: the kernel's function becomes
 * internal, and gets a small runtime, for callers without one of their own,
 * and two exported functions in C's calling convention.
 *
 * The runtime is written in LLVM's IR, so that no compiler of C is needed when
 * a kernel is saved.  A parallel loop runs on libgomp's threads where the
 * program that holds the object links libgomp, and else on the caller's. */
#include "backends/llvm/emit.h"
#include "backends/llvm/llvm.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <string.h>

static const char runtime_ir[] =
    "declare extern_weak void @GOMP_parallel(ptr, ptr, i32, i32)\n"
    "declare extern_weak i32 @omp_get_thread_num()\n"
    "declare extern_weak i32 @omp_get_num_threads()\n"
    "declare i32 @posix_memalign(ptr, i64, i64)\n"
    "declare void @free(ptr)\n"
    /* The layout of tess_runtime. */
    "@own_runtime = internal constant { i32, ptr, ptr, ptr, ptr } { i32 40, "
    "ptr null, ptr @own_parallel_for, ptr @own_alloc, ptr @own_free }\n"
    "define internal ptr @own_alloc(ptr %ud, i64 %bytes, i64 %align) {\n"
    "  %at = alloca ptr\n"
    "  %none = icmp eq i64 %bytes, 0\n"
    "  %n = select i1 %none, i64 1, i64 %bytes\n"
    "  %small = icmp ult i64 %align, 16\n"
    "  %a = select i1 %small, i64 16, i64 %align\n"
    "  %bad = call i32 @posix_memalign(ptr %at, i64 %a, i64 %n)\n"
    "  %failed = icmp ne i32 %bad, 0\n"
    "  %p = load ptr, ptr %at\n"
    "  %r = select i1 %failed, ptr null, ptr %p\n"
    "  ret ptr %r\n"
    "}\n"
    "define internal void @own_free(ptr %ud, ptr %p) {\n"
    "  call void @free(ptr %p)\n"
    "  ret void\n"
    "}\n"
    "%job = type { i64, ptr, ptr, i32 }\n"
    "define internal i32 @own_parallel_for(ptr %ud, i64 %n, ptr %fn, "
    "ptr %closure) {\n"
    "  %many = icmp sgt i64 %n, 1\n"
    "  %there = icmp ne ptr @GOMP_parallel, null\n"
    "  %threads = and i1 %many, %there\n"
    "  br i1 %threads, label %shared, label %alone\n"
    "alone:\n"
    "  %all = call i32 %fn(ptr %closure, i64 0, i64 %n)\n"
    "  ret i32 %all\n"
    "shared:\n"
    "  %job = alloca %job\n"
    "  %f = getelementptr %job, ptr %job, i32 0, i32 1\n"
    "  %c = getelementptr %job, ptr %job, i32 0, i32 2\n"
    "  %s = getelementptr %job, ptr %job, i32 0, i32 3\n"
    "  store i64 %n, ptr %job\n"
    "  store ptr %fn, ptr %f\n"
    "  store ptr %closure, ptr %c\n"
    "  store i32 0, ptr %s\n"
    "  call void @GOMP_parallel(ptr @own_share, ptr %job, i32 0, i32 0)\n"
    "  %status = load i32, ptr %s\n"
    "  ret i32 %status\n"
    "}\n"
    /* Of n iterations the share of one of k threads: n / k, and one more for
     * the first n % k of them. */
    "define internal void @own_share(ptr %job) {\n"
    "  %f = getelementptr %job, ptr %job, i32 0, i32 1\n"
    "  %c = getelementptr %job, ptr %job, i32 0, i32 2\n"
    "  %s = getelementptr %job, ptr %job, i32 0, i32 3\n"
    "  %n = load i64, ptr %job\n"
    "  %fn = load ptr, ptr %f\n"
    "  %closure = load ptr, ptr %c\n"
    "  %t32 = call i32 @omp_get_thread_num()\n"
    "  %k32 = call i32 @omp_get_num_threads()\n"
    "  %t = sext i32 %t32 to i64\n"
    "  %k = sext i32 %k32 to i64\n"
    "  %q = udiv i64 %n, %k\n"
    "  %r = urem i64 %n, %k\n"
    "  %early = icmp ult i64 %t, %r\n"
    "  %ahead = select i1 %early, i64 %t, i64 %r\n"
    "  %base = mul i64 %q, %t\n"
    "  %begin = add i64 %base, %ahead\n"
    "  %more = zext i1 %early to i64\n"
    "  %len = add i64 %q, %more\n"
    "  %end = add i64 %begin, %len\n"
    "  %any = icmp ne i64 %len, 0\n"
    "  br i1 %any, label %work, label %done\n"
    "work:\n"
    "  %status = call i32 %fn(ptr %closure, i64 %begin, i64 %end)\n"
    "  %bad = icmp ne i32 %status, 0\n"
    "  br i1 %bad, label %fail, label %done\n"
    "fail:\n"
    "  store atomic i32 %status, ptr %s monotonic, align 4\n"
    "  br label %done\n"
    "done:\n"
    "  ret void\n"
    "}\n";

/* NAME_kernel(args, sizes, rt): rt NULL is the runtime above. */
static void put_raw(strbuf *out, const char *name) {
  str_printf(out,
             "declare i32 @" EMIT_KERNEL "(ptr, ptr, ptr)\n"
             "define i32 @%s_kernel(ptr %%args, ptr %%sizes, ptr %%rt) {\n"
             "  %%none = icmp eq ptr %%rt, null\n"
             "  %%use = select i1 %%none, ptr @own_runtime, ptr %%rt\n"
             "  %%r = call i32 @" EMIT_KERNEL
             "(ptr %%args, ptr %%sizes, ptr %%use)\n"
             "  ret i32 %%r\n}\n",
             name);
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

/* NAME(each parameter, each size), on the runtime above. */
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

static tess_status link_text(emit *m, const strbuf *text) {
  LLVMModuleRef more = NULL;
  char *why = NULL;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text->v, text->n, "deploy");
  if (LLVMParseIRInContext(m->ctx, buffer, &more, &why))
    return deploy_failed(m, why);
  if (LLVMLinkModules2(m->module, more)) return deploy_failed(m, NULL);
  LLVMSetLinkage(LLVMGetNamedFunction(m->module, EMIT_KERNEL),
                 LLVMInternalLinkage);
  return TESS_OK;
}

tess_status llvm_deploy(emit *m) {
  const ir_func *f = ir_entry(m->p);
  char name[BACKEND_SYMBOL];
  strbuf text;
  backend_symbol(ir_text(m->p, f->name), name);
  str_init(&text, m->p->heap);
  str_puts(&text, runtime_ir);
  put_raw(&text, name);
  put_typed(&text, name, f->params.n, f->sizes.n);
  tess_status s = str_status(&text);
  if (!s) s = link_text(m, &text);
  str_free(&text);
  return s;
}
