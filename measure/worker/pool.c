/* SPDX-License-Identifier: Apache-2.0
 * Creates and frees worker pools and tasks, and keeps the ledger. */
#include "base/clock.h"
#include "measure/externs.h"
#include "measure/worker/pool.h"
#include "base/hash.h"
#include "ir/query.h"
#include "measure/bench.h"
#include <stdio.h>
#include <string.h>

void pool_log(measure_pool *p, int level, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  if (!p->config.log) return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  p->config.log(p->config.log_ud, level, text);
}

/* ---- pools -------------------------------------------------------------- */

typedef struct pool_making {
  mem_heap *heap;
  const measure_config *o;
  measure_pool *p;
  err_state *e;
} pool_making;

static const char *copy_text(mem_heap *heap, const char *s) {
  if (!s) return NULL;
  size_t n = strlen(s) + 1;
  return memcpy(mem_resize(heap, NULL, 0, n), s, n);
}

static void free_text(mem_heap *heap, const char *s) {
  if (s) mem_free(heap, (void *)(uintptr_t)s, strlen(s) + 1);
}

static tess_status find_worker(measure_pool *p, const measure_config *o,
                               err_state *e) {
  char path[8192];
  tess_status s = worker_find(o->worker_path, path, sizeof path, e);
  if (s) return s;
  p->config.worker_path = copy_text(p->heap, path);
  return TESS_OK;
}

/* The command is one of the shell's, that the runner's path ends. */
static tess_status set_runner(measure_pool *p, const measure_config *o,
                              err_state *e) {
  strbuf command;
  if (o->in_process)
    return err_set(e, TESS_UNSUPPORTED,
                   "a runner is another process, and this context starts none "
                   "(in_process)");
  str_init(&command, p->heap);
  str_printf(&command, "exec %s %s", o->via, o->runner);
  const char *text = str_get(&command);
  if (text) p->via = copy_text(p->heap, text);
  str_free(&command);
  return text ? TESS_OK : mem_refusal(p->heap);
}

/* Workers do so themselves. */
static tess_status load_externs(const measure_pool *p, err_state *e) {
  const char *problem = externs_load(p->config.externs);
  if (!problem) return TESS_OK;
  return err_set(e, TESS_UNSUPPORTED, "external functions: %s", problem);
}

static tess_status make_pool(void *ud) {
  pool_making *m = ud;
  measure_pool *p = m->p;
  p->config.externs = copy_text(p->heap, m->o->externs);
  tess_status s =
      p->config.in_process ? load_externs(p, m->e) : find_worker(p, m->o, m->e);
  if (!s && m->o->via) s = set_runner(p, m->o, m->e);
  if (s) return s;
  uint32_t n = p->nbuilders;
  p->builder = mem_resize(p->heap, NULL, 0, n * sizeof *p->builder);
  for (uint32_t i = 0; i < n; i++) worker_init(&p->builder[i], p->heap);
  p->local = mem_resize(p->heap, NULL, 0, (n + 1) * sizeof(job_state *));
  memset((void *)p->local, 0, (n + 1) * sizeof *p->local);
  return TESS_OK;
}

tess_status measure_pool_new(mem_heap *heap, const measure_config *o,
                             measure_pool **out, err_state *e) {
  measure_pool *p = mem_try_resize(heap, NULL, 0, sizeof *p);
  *out = NULL;
  if (!p) return err_ran_out(e, heap, mem_refusal(heap), "a pool of workers");
  *p = (measure_pool){.heap = heap, .config = *o};
  p->config.worker_path = p->config.externs = NULL;
  p->config.via = p->config.runner = NULL;
  p->nbuilders = o->workers ? o->workers : thread_cpus();
  worker_init(&p->runner, heap);
  worker_init(&p->caller, heap);
  worker_init(&p->referee, heap);
  pool_making m = {heap, o, p, e};
  err_clear(e);
  tess_status s = mem_protect(heap, make_pool, &m);
  if (s) {
    measure_pool_free(p);
    return e->code == s ? s : err_ran_out(e, heap, s, "a pool of workers");
  }
  *out = p;
  return TESS_OK;
}

void measure_pool_free(measure_pool *p) {
  if (!p) return;
  mem_heap *heap = p->heap;
  for (uint32_t i = 0; p->builder && i < p->nbuilders; i++)
    worker_free(&p->builder[i]);
  worker_free(&p->runner);
  worker_free(&p->caller);
  worker_free(&p->referee);
  if (p->builder) mem_free(heap, p->builder, p->nbuilders * sizeof *p->builder);
  for (uint32_t i = 0; p->local && i <= p->nbuilders; i++)
    job_state_free(p->local[i]);
  if (p->local)
    mem_free(heap, (void *)p->local, (p->nbuilders + 1) * sizeof *p->local);
  free_text(heap, p->config.worker_path);
  free_text(heap, p->config.externs);
  free_text(heap, p->via);
  mem_free(heap, p, sizeof *p);
}

const measure_ledger *measure_get_ledger(const measure_pool *p) {
  return &p->ledger;
}

/* ---- tasks -------------------------------------------------------------- */

typedef struct task_making {
  measure_task *t;
  const ir_program *base;
} task_making;

static tess_status make_task(void *ud) {
  task_making *m = ud;
  ir_save(m->base, &m->t->program);
  return str_status(&m->t->program);
}

static bool is_of_device(const char *text) {
  target t;
  err_state e;
  return target_parse(&t, text, &e) == TESS_OK && backend_find(t.kind)->device;
}

tess_status measure_task_new(measure_pool *pool, const ir_program *base,
                             const char *target_text,
                             const measure_policy *policy, measure_task **out,
                             err_state *e) {
  mem_heap *heap = pool->heap;
  measure_task *t = mem_try_resize(heap, NULL, 0, sizeof *t);
  *out = NULL;
  if (!t) return err_ran_out(e, heap, mem_refusal(heap), "a task");
  *t = (measure_task){.pool = pool,
                      .policy = *policy,
                      .on_device = is_of_device(target_text),
                      .may_hang = externs_called(base)};
  strbuf *const texts[] = {&t->program, &t->target, &t->reference, &t->note,
                           &t->why,     &t->stuck,  &t->inputs};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    str_init(texts[i], heap);
  task_making m = {t, base};
  str_puts(&t->target, target_text);
  tess_status s = mem_protect(heap, make_task, &m);
  if (!s) s = str_status(&t->target);
  if (s) {
    measure_task_free(t);
    return err_ran_out(e, heap, s, "a task");
  }
  pool->silent = 0; /* it is tried again */
  t->key = hash_bytes(t->program.v, t->program.n);
  t->bench = hash_mix(hash_mix(t->key, policy->seed), policy->threads);
  if (policy->inputs) t->bench = hash_mix(t->bench, policy->inputs);
  *out = t;
  return TESS_OK;
}

void measure_task_free(measure_task *t) {
  if (!t) return;
  str_free(&t->program);
  str_free(&t->target);
  str_free(&t->reference);
  str_free(&t->note);
  str_free(&t->why);
  str_free(&t->stuck);
  str_free(&t->inputs);
  mem_free(t->pool->heap, t, sizeof *t);
}

void measure_task_give_inputs(measure_task *t, strbuf *contents) {
  str_free(&t->inputs);
  t->inputs = *contents;
  str_init(contents, t->inputs.heap);
}

double measure_task_launch(const measure_task *t) { return t->launch; }

const char *measure_task_note(const measure_task *t) {
  const char *s = str_get(&t->note);
  return s ? s : "";
}

tess_status measure_task_fits(const ir_program *base, bool in_process,
                              err_state *e) {
  return bench_fits(base, in_process ? UINT64_MAX : FRAME_MAX, e);
}

const char *measure_task_stuck(const measure_task *t, tess_status *s) {
  *s = t->asked == TESS_UNWRITTEN ? TESS_UNWRITTEN : TESS_TIMEOUT;
  return t->stuck.n ? str_get(&t->stuck) : NULL;
}

/* ---- what the others share ---------------------------------------------- */

job_state *pool_local(measure_pool *p, uint32_t i, const measure_task *t) {
  err_state e;
  if (!p->local[i])
    p->local[i] =
        job_state_new(p->heap->alloc, (job_hooks){.is_worker = false});
  if (!p->local[i]) return NULL;
  if (!job_has(p->local[i], JOB_PROGRAM, t->key))
    job_put(p->local[i], JOB_PROGRAM, t->key,
            (job_bytes){t->program.v, t->program.n}, &e);
  bool runs = i == p->nbuilders; /* builders need no contents */
  if (runs && t->policy.inputs &&
      !job_has(p->local[i], JOB_INPUTS, t->policy.inputs))
    job_put(p->local[i], JOB_INPUTS, t->policy.inputs,
            (job_bytes){t->inputs.v, t->inputs.n}, &e);
  return p->local[i];
}

static tess_status send_put(worker *w, job_thing what, uint64_t key,
                            const strbuf *bytes) {
  wire_put p = {what, key, {bytes->v, bytes->n}};
  strbuf body;
  str_init(&body, w->heap);
  wire_write_put(&body, &p);
  tess_status sent = worker_send(w, FRAME_PUT, &body);
  str_free(&body);
  return sent;
}

tess_status pool_send_thing(worker *w, job_thing what, uint64_t key,
                            const strbuf *bytes) {
  job_ring *ring = what == JOB_PROGRAM ? &w->programs : &w->traces;
  if (job_ring_find(ring, key) < JOB_KEPT) return TESS_OK;
  tess_status sent = send_put(w, what, key, bytes);
  if (!sent) job_ring_add(ring, key);
  return sent;
}

tess_status pool_send_inputs(worker *w, const measure_task *t) {
  if (w->inputs == t->policy.inputs) return TESS_OK;
  tess_status sent = send_put(w, JOB_INPUTS, t->policy.inputs, &t->inputs);
  w->inputs = sent ? 0 : t->policy.inputs;
  return sent;
}

void pool_set_build(measure_pool *p, measure_build *out, tess_status s,
                    const char *why) {
  if (!out->message.heap) {
    str_init(&out->message, p->heap);
    str_init(&out->code, p->heap);
  }
  out->status = s;
  str_clear(&out->message);
  str_puts(&out->message, why);
  str_clear(&out->code);
}

void pool_set_result(measure_pool *p, measure_result *out, tess_status s,
                     const char *why) {
  if (!out->message.heap) str_init(&out->message, p->heap);
  out->status = s;
  str_clear(&out->message);
  str_puts(&out->message, why);
}

void measure_build_free(measure_build *b) {
  if (!b->message.heap) return;
  str_free(&b->message);
  str_free(&b->code);
}
