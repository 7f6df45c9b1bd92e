/* SPDX-License-Identifier: Apache-2.0
 * The state that a worker keeps between jobs: caches of programs and traces,
 * the target and the tensors. */
#include "ir/query.h"
#include "measure/worker/job_state.h"
#include <string.h>

/* ---- rings -------------------------------------------------------------- */

uint32_t job_ring_find(const job_ring *r, uint64_t key) {
  for (uint32_t i = 0; i < r->n; i++)
    if (r->key[i] == key) return i;
  return JOB_KEPT;
}

uint32_t job_ring_add(job_ring *r, uint64_t key) {
  uint32_t at = r->next;
  r->key[at] = key;
  r->next = (at + 1) % JOB_KEPT;
  if (r->n < JOB_KEPT) r->n++;
  return at;
}

/* ---- life --------------------------------------------------------------- */

/* The memory cap of a job's state: larger programs are not measured. */
#define JOB_MEMORY ((size_t)4 << 30)

static tess_status start_state(void *ud) {
  job_state *j = ud;
  arena_init(&j->scratch, &j->heap);
  for (int i = 0; i < JOB_KEPT; i++) {
    ir_program_init(&j->program[i], &j->heap);
    str_init(&j->bytes[i], &j->heap);
  }
  ir_program_init(&j->bench_program, &j->heap);
  str_init(&j->bench_bytes, &j->heap);
  str_init(&j->inputs, &j->heap);
  job_builder_start(j);
  return TESS_OK;
}

job_state *job_state_new(tess_allocator alloc, job_hooks hooks) {
  mem_heap heap;
  mem_heap_init(&heap, alloc, JOB_MEMORY);
  heap.owner = "for compiling and measuring a program";
  job_state *j = mem_try_resize(&heap, NULL, 0, sizeof *j);
  if (!j) return NULL;
  memset(j, 0, sizeof *j);
  j->heap = heap;
  j->hooks = hooks;
  sched_getaffinity(0, sizeof j->cpus, &j->cpus);
  if (mem_protect(&j->heap, start_state, j) == TESS_OK) return j;
  job_state_free(j);
  return NULL;
}

static void drop_bench(job_state *j) {
  if (j->has_bench) bench_close(&j->bench);
  j->has_bench = false;
}

void job_state_free(job_state *j) {
  if (!j) return;
  drop_bench(j);
  bundle_unload(&j->called);
  job_free_residents(j);
  for (int i = 0; i < JOB_KEPT; i++) {
    ir_program_free(&j->program[i]);
    str_free(&j->bytes[i]);
  }
  ir_program_free(&j->bench_program);
  str_free(&j->bench_bytes);
  str_free(&j->inputs);
  job_builder_free(j);
  arena_free(&j->scratch);
  mem_heap heap = j->heap;
  mem_free(&heap, j, sizeof *j);
}

const bench *job_state_bench(const job_state *j) {
  return j->has_bench ? &j->bench : NULL;
}

/* ---- programs and traces ------------------------------------------------ */

typedef struct putting {
  job_state *j;
  job_thing what;
  uint64_t key;
  job_bytes bytes;
} putting;

tess_status job_restore(job_state *j, ir_program *p, const void *v, size_t n) {
  strbuf why;
  str_init(&why, &j->heap);
  tess_status s = ir_restore(p, &j->scratch, v, n, &why);
  if (s && why.bad)
    s = str_status(&why);
  else if (s)
    s = err_set(&j->err, TESS_INFRA, "a program that was sent is malformed: %s",
                str_get(&why));
  str_free(&why);
  return s;
}

/* The slot for a key: the one it has, if it was put before and could not be
 * read, else the oldest. */
static uint32_t ring_slot(job_ring *r, uint64_t key) {
  uint32_t at = job_ring_find(r, key);
  return at < JOB_KEPT ? at : job_ring_add(r, key);
}

static tess_status put_program(job_state *j, uint32_t at, job_bytes b) {
  strbuf *own = &j->bytes[at];
  j->program_is[at] = TESS_NOMEM; /* if it unwinds */
  str_clear(own);
  str_write(own, b.v, b.n);
  if (own->bad) return str_status(own);
  return j->program_is[at] = job_restore(j, &j->program[at], own->v, own->n);
}

static tess_status put_request(void *ud) {
  const putting *w = ud;
  job_state *j = w->j;
  switch (w->what) {
  case JOB_PROGRAM:
    return put_program(j, ring_slot(&j->programs, w->key), w->bytes);
  case JOB_TRACE:
    return job_put_trace(j, ring_slot(&j->traces, w->key), w->bytes);
  case JOB_INPUTS:
    j->inputs_key = 0;
    str_clear(&j->inputs);
    str_write(&j->inputs, w->bytes.v, w->bytes.n);
    if (!j->inputs.bad) j->inputs_key = w->key;
    return str_status(&j->inputs);
  default: return err_set(&j->err, TESS_INFRA, "an unknown thing was put");
  }
}

/* An unreadable thing keeps its slot, so that both sides agree on the contents
 * of the ring; jobs that name it fail. */
tess_status job_put(job_state *j, job_thing what, uint64_t key, job_bytes bytes,
                    err_state *e) {
  putting w = {j, what, key, bytes};
  err_clear(&j->err);
  tess_status s = mem_protect(&j->heap, put_request, &w);
  arena_reset(&j->scratch);
  if (s) err_unwound(&j->err, &j->heap, s);
  *e = j->err;
  return s;
}

bool job_has(const job_state *j, job_thing what, uint64_t key) {
  if (what == JOB_INPUTS) return j->inputs_key == key;
  bool program = what == JOB_PROGRAM;
  uint32_t at = job_ring_find(program ? &j->programs : &j->traces, key);
  return at < JOB_KEPT && !(program ? j->program_is : j->trace_is)[at];
}

void job_set_missing(job_state *j, uint32_t at, const tess_status *is,
                     const char *what) {
  if (at < JOB_KEPT && is[at] == TESS_NOMEM)
    err_set(&j->err, TESS_NOMEM, "%s", err_status_text(TESS_NOMEM));
  else
    err_set(&j->err, TESS_INFRA, "the %s of a request was not sent", what);
}

const ir_program *job_program(job_state *j, uint64_t key) {
  uint32_t at = job_ring_find(&j->programs, key);
  if (at < JOB_KEPT && !j->program_is[at]) return &j->program[at];
  job_set_missing(j, at, j->program_is, "program");
  return NULL;
}

/* ---- targets and tensors ------------------------------------------------ */

tess_status job_set_target(job_state *j, const char *text) {
  if (!strcmp(text, j->target_text)) return TESS_OK;
  j->target_text[0] = '\0';
  tess_status s = target_parse(&j->target, text, &j->err);
  if (s) return s;
  j->backend = backend_find(j->target.kind);
  if (strlen(text) < sizeof j->target_text) strcpy(j->target_text, text);
  return TESS_OK;
}

tess_status job_set_bench(job_state *j, const job_bench *r) {
  tess_status s =
      j->hooks.is_worker ? TESS_OK : backend_check_host(j->backend, &j->err);
  if (s) return s;
  if (j->has_bench && j->bench_base == r->base && j->bench.seed == r->seed &&
      j->bench_threads == r->threads && j->bench_inputs == r->inputs)
    return TESS_OK;
  if (r->inputs && j->inputs_key != r->inputs)
    return err_set(&j->err, TESS_INFRA,
                   "the inputs of a request were not sent");
  const ir_program *base = job_program(j, r->base);
  if (!base) return j->err.code;
  drop_bench(j);
  if (j->hooks.is_worker && j->pinned != r->threads) {
    cores_pin(r->threads, &j->cpus);
    j->pinned = r->threads;
  }
  const strbuf *bytes = &j->bytes[base - j->program];
  str_clear(&j->bench_bytes);
  str_write(&j->bench_bytes, bytes->v, bytes->n);
  s = str_status(&j->bench_bytes);
  if (!s)
    s = job_restore(j, &j->bench_program, j->bench_bytes.v, j->bench_bytes.n);
  if (s) return s;
  j->has_bench = true;
  j->bench_base = r->base;
  j->bench_threads = r->threads;
  j->bench_inputs = r->inputs;
  s = bench_open(&j->bench, &j->heap, &j->scratch, &j->bench_program, r->seed,
                 r->threads, r->inputs ? &j->inputs : NULL, &j->err);
  if (s) drop_bench(j);
  return s;
}

const char *job_why(job_state *j, tess_status s) {
  err_unwound(&j->err, &j->heap, s);
  return j->err.message;
}

void job_say(strbuf *out, const char *text) {
  str_clear(out);
  str_puts(out, text);
}
