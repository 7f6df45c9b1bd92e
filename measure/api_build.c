/* SPDX-License-Identifier: Apache-2.0
 * The public functions that make kernels, and what they are made of:
 * tess_build, tess_kernel_save, tess_kernel_load, tess_kernel_source,
 * tess_kernel_function, tess_default_runtime.
 */
#include "ir/query.h"
#include "measure/context.h"
#include "measure/kernel_file.h"

typedef struct building {
  tess_context *c;
  tess_program *p;
  const char *target;
  backend_form form;
  measure_build b;
  tess_kernel **kernel;
  char **text;
} building;

static tess_status build_kernel(void *ud) {
  building *w = ud;
  tess_status s = kernel_build(w->c, w->p, w->target, w->form, &w->b);
  if (s) return s;
  if (w->kernel)
    return kernel_load(w->c, w->p, w->target, &w->b.code, w->kernel);
  *w->text = ctx_text(w->c, str_get(&w->b.code), w->b.code.n);
  return TESS_OK;
}

/* Verifies the program here, where the error has a place; a worker would only
 * reject it. */
static tess_status api_check_program(void *ud) {
  building *w = ud;
  arena scratch;
  strbuf why;
  arena_init(&scratch, &w->c->heap);
  str_init(&why, &w->c->heap);
  bool ok = ir_verify(&w->p->p, &scratch, &why) &&
            ir_verify_bounds(&w->p->p, false, &scratch, &why);
  arena_free(&scratch);
  tess_status s = ok ? TESS_OK : why.bad ? str_status(&why) : TESS_INVALID;
  if (s == TESS_INVALID)
    ctx_fail(w->c, s, "the program cannot be compiled: %s", str_get(&why));
  str_free(&why);
  return s;
}

tess_status tess_build(tess_program *p, tess_target *t, tess_kernel **out) {
  building w = {.c = p->c,
                .p = p,
                .target = t ? tess_target_text(t) : "llvm",
                .form = BACKEND_CODE,
                .kernel = out};
  *out = NULL;
  ctx_begin_work(w.c);
  tess_status s = ctx_run(w.c, api_check_program, &w);
  if (!s) s = ctx_run(w.c, build_kernel, &w);
  ctx_end_work(w.c);
  measure_build_free(&w.b);
  if (s && *out) {
    tess_kernel_free(*out);
    *out = NULL;
  }
  return s;
}

const char *tess_kernel_name(tess_kernel *k) {
  return tess_program_name(k->program);
}

tess_program *tess_kernel_program(tess_kernel *k) {
  return program_hold(k->program);
}

tess_status tess_kernel_source(tess_kernel *k, const char *what, char **out) {
  building w = {
      .c = k->c, .p = k->program, .target = k->target_text, .text = out};
  *out = NULL;
  ctx_clear(k->c);
  tess_status s = backend_find_source(backend_find(k->target.kind), what,
                                      &w.form, &k->c->err);
  if (s) return s;
  ctx_begin_work(w.c);
  s = ctx_run(w.c, build_kernel, &w);
  ctx_end_work(w.c);
  measure_build_free(&w.b);
  return s;
}

tess_status tess_kernel_save(tess_kernel *k, const char *path,
                             const char *header) {
  if (!k) return TESS_INVALID;
  return path ? kernel_save(k, path, header)
              : ctx_fail(k->c, TESS_INVALID, "the path of a kernel is NULL");
}

tess_status tess_kernel_load(tess_context *c, const char *path,
                             tess_kernel **out) {
  *out = NULL;
  return path ? kernel_file_read(c, path, out)
              : ctx_fail(c, TESS_INVALID, "the path of a kernel is NULL");
}

tess_kernel_fn tess_kernel_function(tess_kernel *k) {
  const backend *b = k->code.backend;
  return k->foreign || k->remote.n || !b->entry ? NULL
                                                : b->entry(k->code.kernel);
}

typedef struct runtime_asking {
  tess_context *c;
  uint32_t threads;
  const runtime *rt;
} runtime_asking;

static tess_status find_runtime(void *ud) {
  runtime_asking *a = ud;
  a->rt = context_runtime(a->c, a->threads);
  return TESS_OK;
}

const tess_runtime *tess_default_runtime(tess_context *c, uint32_t threads) {
  runtime_asking a = {c, threads ? threads : thread_cpus(), NULL};
  ctx_run(c, find_runtime, &a);
  return a.rt ? &a.rt->rt : NULL;
}
