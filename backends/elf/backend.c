/* SPDX-License-Identifier: Apache-2.0
 * The backend of programs that only run kernels, in the place of LLVM's: it
 * takes its targets as they are, and compiles nothing. */
#include "backends/elf/elf.h"
#include "base/thread.h"

struct backend_code {
  mem_heap *heap;
  elf_image image;
};

static tess_status elf_complete(target *t, err_state *e) {
  return (void)t, (void)e, TESS_OK;
}

static bool elf_has(const target *t, const char *feature) {
  return (void)t, (void)feature, false;
}

/* An object says itself which processor it is for. */
static tess_status elf_runs_here(const target *t, err_state *e) {
  return (void)t, (void)e, TESS_OK;
}

static tess_status elf_compile(ir_program *p, arena *scratch, const target *t,
                               backend_form form, strbuf *out, err_state *e) {
  (void)p, (void)scratch, (void)t, (void)form, (void)out;
  return err_set(e, TESS_UNSUPPORTED, "this program compiles nothing");
}

static void elf_drop(backend_code *c) {
  elf_unload(&c->image);
  mem_delete(c->heap, c);
}

static tess_status elf_load_kernel(mem_heap *heap, const void *code, size_t n,
                                   backend_code **out, err_state *e) {
  backend_code *c = mem_try_resize(heap, NULL, 0, sizeof *c);
  if (!c) return err_ran_out(e, heap, mem_refusal(heap), "loading a kernel");
  *c = (backend_code){.heap = heap};
  err_clear(e);
  tess_status s = elf_load(code, n, &c->image, e);
  if (s == TESS_OK)
    *out = c;
  else
    elf_drop(c);
  return s;
}

static int32_t elf_launch(const backend_code *c, void **args,
                          const int64_t *sizes, const tess_runtime *rt) {
  return c->image.entry(args, sizes, rt);
}

static tess_kernel_fn elf_entry(const backend_code *c) {
  return c->image.entry;
}

static tess_status elf_facts(uint32_t device, strbuf *out, err_state *e) {
  (void)device, (void)e;
  str_printf(out, " -num-cores=%u", thread_cpus());
  return str_status(out);
}

const backend elf_backend = {
    .name = "llvm",
    .complete = elf_complete,
    .has = elf_has,
    .runs_here = elf_runs_here,
    .compile = elf_compile,
    .load = elf_load_kernel,
    .launch = elf_launch,
    .entry = elf_entry,
    .facts = elf_facts,
    .unload = elf_drop,
};
