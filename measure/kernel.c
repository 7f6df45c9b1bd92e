/* SPDX-License-Identifier: Apache-2.0
 * Builds a program and loads its kernel into this process, unless only workers
 * may load it. */
#include "measure/kernel.h"
#include "base/hash.h"
#include "measure/externs.h"
#include <string.h>

tess_status kernel_build(tess_context *c, tess_program *p,
                         const char *target_text, backend_form form,
                         measure_build *out) {
  measure_pool *pool;
  measure_task *task;
  measure_policy policy = measure_default_policy(1);
  measure_candidate candidate = {.form = form};
  *out = (measure_build){.status = TESS_INFRA};
  policy.build_timeout = 300; /* one that was asked for by name */
  tess_status s = measure_context_pool(c, &pool);
  if (!s)
    s = measure_task_new(pool, &p->p, target_text, &policy, &task, &c->err);
  if (s) return s;
  s = measure_build_batch(pool, task, 1, &candidate, out);
  measure_task_free(task);
  if (s == TESS_NOMEM || s == TESS_LIMIT) return s;
  if (!s || s == TESS_CANCELLED) s = out->status;
  const char *why = str_get(&out->message);
  if (s && why && *why) return err_set(&c->err, s, "%s", why);
  if (!s && why && *why)
    ctx_warn(c, hash_bytes(why, strlen(why)), "program '%s': %s",
             tess_program_name(p), why);
  return s ? err_unwound(&c->err, &c->heap, s) : s;
}

tess_status measure_runs_here(const char *text, err_state *e) {
  target t;
  tess_status s = target_parse(&t, text, e);
  return s ? s : backend_find(t.kind)->runs_here(&t, e);
}

tess_status measure_check_policy(const char *text, const measure_policy *p,
                                 err_state *e) {
  target t;
  tess_status s = target_parse(&t, text, e);
  if (s || !p->warm_cache) return s;
  const backend_device *device = backend_find(t.kind)->device;
  if (device && device->keep_caches) return s;
  return err_set(e, TESS_INVALID,
                 "warm_cache is of targets whose caches are cleared before "
                 "each run, and those of '%s' are not: leave it out",
                 t.kind);
}

/* A kernel for another machine is kept unloaded, for its source. */
static tess_status load_kernel(tess_kernel *k, const strbuf *code) {
  tess_context *c = k->c;
  const backend *b = backend_find(k->target.kind);
  tess_status s = b->runs_here(&k->target, &c->err);
  if (!s && b->own_process && !c->in_process) {
    str_write(&k->remote, code->v, code->n);
    return str_status(&k->remote);
  }
  if (!s) s = backend_check_host(b, &c->err);
  if (!s) s = externs_ready(&k->program->p, NULL, &c->err);
  if (!s) return bundle_load(&c->heap, b, code->v, code->n, &k->code, &c->err);
  if (s != TESS_UNSUPPORTED) return s;
  k->foreign = ctx_text(c, c->err.message, strlen(c->err.message));
  err_clear(&c->err);
  return TESS_OK;
}

tess_status kernel_load(tess_context *c, tess_program *p,
                        const char *target_text, const strbuf *code,
                        tess_kernel **out) {
  tess_kernel *k = mem_new(&c->heap, tess_kernel);
  *k = (tess_kernel){.c = c, .refs = 1, .program = program_hold(p)};
  str_init(&k->remote, &c->heap);
  *out = k; /* the caller's to free, should memory run out */
  tess_status s = target_parse(&k->target, target_text, &c->err);
  if (!s) s = load_kernel(k, code);
  if (s) {
    tess_kernel_free(k);
    *out = NULL;
    return s;
  }
  k->target_text = ctx_text(c, target_text, strlen(target_text));
  return TESS_OK;
}

void tess_kernel_free(tess_kernel *k) {
  if (!k || --k->refs) return;
  tess_context *c = k->c;
  bundle_args_free(&k->made);
  bundle_unload(&k->code);
  str_free(&k->remote);
  tess_text_free(c, k->target_text);
  tess_text_free(c, k->foreign);
  tess_program_free(k->program);
  mem_delete(&c->heap, k);
}
