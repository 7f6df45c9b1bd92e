/* SPDX-License-Identifier: Apache-2.0
 * Builds batches of candidates, in worker processes or on threads of this
 * process. */
#include "base/clock.h"
#include "base/hash.h"
#include "ir/query.h"
#include "measure/cores.h"
#include "measure/worker/crew.h"
#include "vm/text/text.h"
#include <string.h>

/* A trace that candidates of a batch replay, serialized once. */
typedef struct sketch {
  const vm_trace *trace;
  uint64_t key;
  strbuf json;
} sketch;

struct measure_building {
  crew_work work;
  measure_pool *pool;
  const measure_task *task;
  const measure_candidate *candidate;
  measure_build *out;
  uint32_t n, done; /* done: in process, so many */
  crew *crew;
  VEC(sketch) sketch;
};
typedef measure_building batch;

/* ---- requests ----------------------------------------------------------- */

static sketch *find_sketch(const batch *b, const vm_trace *t) {
  for (uint32_t i = 0; i < b->sketch.n; i++)
    if (b->sketch.v[i].trace == t) return &b->sketch.v[i];
  return NULL;
}

static void add_sketch(batch *b, const vm_trace *t) {
  if (find_sketch(b, t)) return;
  sketch s = {.trace = t};
  vec_reserve(b->pool->heap, &b->sketch, 1);
  str_init(&s.json, b->pool->heap);
  vm_write_json(t, NULL, &s.json);
  s.key = s.json.n ? hash_bytes(s.json.v, s.json.n) : 0;
  vec_push(b->pool->heap, &b->sketch, s);
}

/* `bytes` owns what the request borrows. */
static job_build build_request(const batch *b, uint32_t i, strbuf *bytes) {
  const measure_candidate *c = &b->candidate[i];
  job_build r = {.base = b->task->key,
                 .target = str_get(&b->task->target),
                 .kind = c->trace     ? JOB_OF_TRACE
                         : c->program ? JOB_OF_PROGRAM
                                      : JOB_OF_BASE,
                 .form = c->form,
                 .given = c->trace && c->decisions,
                 .decisions = c->decisions,
                 .ndecisions = c->trace && c->decisions ? c->ndecisions : 0};
  if (c->trace) r.trace = find_sketch(b, c->trace)->key;
  if (r.kind == JOB_OF_PROGRAM) {
    ir_save(c->program, bytes);
    r.program = (job_bytes){bytes->v, bytes->n};
  }
  return r;
}

/* ---- by workers --------------------------------------------------------- */

static tess_status send_build(crew_work *work, uint32_t i, worker *w) {
  batch *b = (batch *)work;
  strbuf bytes, body;
  str_init(&bytes, b->pool->heap);
  str_init(&body, b->pool->heap);
  job_build r = build_request(b, i, &bytes);
  tess_status sent = str_status(&bytes);
  if (!sent) sent = pool_send_thing(w, JOB_PROGRAM, r.base, &b->task->program);
  if (!sent && r.kind == JOB_OF_TRACE)
    sent = pool_send_thing(w, JOB_TRACE, r.trace,
                           &find_sketch(b, b->candidate[i].trace)->json);
  wire_write_build(&body, &r);
  if (!sent) sent = worker_send(w, FRAME_BUILD, &body);
  str_free(&body);
  str_free(&bytes);
  return sent;
}

static void add_to_ledger(measure_ledger *l, const measure_build *out) {
  l->builds++;
  l->replay += out->replay;
  l->lower += out->lower;
  l->compile += out->compile;
}

static bool take_built(crew_work *work, uint32_t i, worker *w, const void *body,
                       size_t n) {
  batch *b = (batch *)work;
  (void)w;
  if (!wire_read_built(body, n, &b->out[i])) return false;
  add_to_ledger(&b->pool->ledger, &b->out[i]);
  return true;
}

static void fail_build(crew_work *work, uint32_t i, tess_status s,
                       const char *why) {
  batch *b = (batch *)work;
  pool_set_build(b->pool, &b->out[i], s, why);
}

/* How many builders may work while something is timed, and where. */
static void find_spare(batch *b) {
  enum { MOST = 4 }; /* more would be felt in caches and clock rates */
  measure_pool *p = b->pool;
  uint32_t threads = b->task->policy.threads;
  cpu_set_t all;
  if (p->spared == threads) return;
  p->spared = threads;
  p->spare = sched_getaffinity(0, sizeof all, &all)
                 ? 0
                 : cores_left(threads, &all, &p->others);
  if (p->spare > p->nbuilders) p->spare = p->nbuilders;
  if (p->spare > MOST) p->spare = MOST;
}

static tess_status open_builders(batch *b) {
  b->work = (crew_work){.n = b->n,
                        .send = send_build,
                        .reply = FRAME_BUILT,
                        .take = take_built,
                        .fail = fail_build};
  b->work.limit[JOB_IDLE] = crew_patience(b->pool);
  b->work.limit[JOB_BUILDING] = b->task->policy.build_timeout;
  tess_status s = crew_open(b->pool, b->pool->builder, b->pool->nbuilders,
                            &b->work, &b->crew);
  if (s != TESS_OK) return s;
  find_spare(b);
  b->pool->behind = b->crew;
  return TESS_OK;
}

/* ---- in process --------------------------------------------------------- */

/* Runs on a thread: accesses only its own state and result, which stays on the
 * state's heap until the calling thread copies it. */
static bool build_item(void *ud, uint32_t i, uint32_t thread) {
  batch *b = ud;
  err_state e;
  i += b->done;
  if (pool_is_cancelled(b->pool)) return false;
  job_state *j = pool_local(b->pool, thread, b->task);
  if (!j) return true;
  strbuf bytes;
  mem_heap own;
  mem_heap_init(&own, b->pool->heap->alloc, 0);
  str_init(&bytes, &own);
  job_build r = build_request(b, i, &bytes);
  const sketch *s =
      b->candidate[i].trace ? find_sketch(b, b->candidate[i].trace) : NULL;
  if (s && !job_has(j, JOB_TRACE, s->key))
    job_put(j, JOB_TRACE, s->key, (job_bytes){s->json.v, s->json.n}, &e);
  job_do_build(j, &r, &b->out[i]);
  str_free(&bytes);
  return true;
}

/* To the pool's heap. */
static void move_text(mem_heap *heap, strbuf *s) {
  strbuf from = *s;
  str_init(s, heap);
  str_write(s, from.v, from.n);
  s->bad = s->bad || from.bad;
  str_free(&from);
}

static tess_status build_here(batch *b, uint32_t end) {
  measure_pool *p = b->pool;
  uint32_t n = end > b->done ? end - b->done : 0;
  measure_build *list = b->out + b->done;
  for (uint32_t i = 0; i < n; i++) measure_build_free(&list[i]);
  memset(list, 0, n * sizeof *list);
  bool all = thread_run(p->nbuilders, n, build_item, b);
  b->done += n;
  for (uint32_t i = 0; i < n; i++) {
    measure_build *out = &list[i];
    if (out->message.heap) {
      move_text(p->heap, &out->message);
      move_text(p->heap, &out->code);
      add_to_ledger(&p->ledger, out);
    } else {
      pool_set_build(p, out, all ? TESS_NOMEM : TESS_CANCELLED,
                     all ? "out of memory" : "cancelled");
    }
  }
  return all ? TESS_OK : TESS_CANCELLED;
}

/* ---- the batch ---------------------------------------------------------- */

static tess_status begin_building(void *ud) {
  batch *b = ud;
  for (uint32_t i = 0; i < b->n; i++)
    if (b->candidate[i].trace) add_sketch(b, b->candidate[i].trace);
  for (uint32_t i = 0; i < b->sketch.n; i++)
    if (b->sketch.v[i].json.bad) return str_status(&b->sketch.v[i].json);
  return b->pool->config.in_process ? TESS_OK : open_builders(b);
}

/* The pool has no memory for the result of a build. */
static void drop_build(measure_pool *pool, measure_build *out) {
  err_state e;
  err_clear(&e);
  err_ran_out(&e, pool->heap, mem_refusal(pool->heap), "building a candidate");
  pool_set_build(pool, out, e.code, e.message);
}

tess_status measure_build_begin(measure_pool *pool, const measure_task *t,
                                uint32_t n, const measure_candidate *c,
                                measure_build *out, measure_building **made) {
  *made = NULL;
  memset(out, 0, n * sizeof *out);
  for (uint32_t i = 0; i < n; i++)
    pool_set_build(pool, &out[i], TESS_NOMEM, "out of memory");
  batch *b = mem_try_resize(pool->heap, NULL, 0, sizeof *b);
  if (!b) return mem_refusal(pool->heap);
  *b = (batch){.pool = pool, .task = t, .candidate = c, .out = out, .n = n};
  tess_status s = mem_protect(pool->heap, begin_building, b);
  if (s == TESS_OK)
    *made = b;
  else
    measure_build_end(b);
  return s;
}

static tess_status build_on(void *ud) {
  batch *b = ((void **)ud)[0];
  uint32_t end = *(const uint32_t *)((void **)ud)[1];
  return b->crew ? crew_until(b->crew, end) : build_here(b, end);
}

uint32_t measure_build_part(const measure_building *b, uint32_t at) {
  enum { MANY = 4 }; /* a builder */
  const measure_pool *p = b->pool;
  bool goes_on = b->crew && p->spare;
  uint32_t part = at == 0 && goes_on ? p->nbuilders : MANY * p->nbuilders;
  return b->n - at > part ? at + part : b->n;
}

tess_status measure_build_until(measure_building *b, uint32_t end) {
  measure_pool *pool = b->pool;
  double start = clock_now();
  void *ud[] = {b, &end};
  tess_status s = mem_protect(pool->heap, build_on, ud);
  for (uint32_t i = 0; i < end; i++)
    if (b->out[i].code.bad || b->out[i].message.bad)
      drop_build(pool, &b->out[i]);
  pool->ledger.build_wall += clock_now() - start;
  return s;
}

void measure_build_end(measure_building *b) {
  if (!b) return;
  mem_heap *heap = b->pool->heap;
  if (b->crew) {
    b->pool->behind = NULL;
    crew_close(b->crew);
  }
  for (uint32_t i = 0; i < b->sketch.n; i++) str_free(&b->sketch.v[i].json);
  vec_free(heap, &b->sketch);
  mem_free(heap, b, sizeof *b);
}

tess_status measure_build_batch(measure_pool *pool, const measure_task *t,
                                uint32_t n, const measure_candidate *c,
                                measure_build *out) {
  measure_building *b;
  if (n == 0) return TESS_OK;
  tess_status s = measure_build_begin(pool, t, n, c, out, &b);
  if (s == TESS_OK) s = measure_build_until(b, n);
  measure_build_end(b);
  return s;
}
