/* SPDX-License-Identifier: Apache-2.0
 * Builds batches of candidates, in worker processes or on threads of this
 * process. */
#include "base/hash.h"
#include "ir/query.h"
#include "measure/clock.h"
#include "measure/worker/crew.h"
#include "vm/text/text.h"
#include <string.h>

/* A trace that candidates of a batch replay, serialized once. */
typedef struct sketch {
  const vm_trace *trace;
  uint64_t key;
  strbuf json;
} sketch;

typedef struct batch {
  crew_work work;
  measure_pool *pool;
  const measure_task *task;
  const measure_candidate *candidate;
  measure_build *out;
  VEC(sketch) sketch;
} batch;

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

static tess_status build_by_workers(batch *b, uint32_t n) {
  b->work = (crew_work){.n = n,
                        .send = send_build,
                        .reply = FRAME_BUILT,
                        .take = take_built,
                        .fail = fail_build};
  b->work.limit[JOB_IDLE] = crew_patience(b->pool);
  b->work.limit[JOB_BUILDING] = b->task->policy.build_timeout;
  return crew_run(b->pool, b->pool->builder, b->pool->nbuilders, &b->work);
}

/* ---- in process --------------------------------------------------------- */

/* Runs on a thread: accesses only its own state and result, which stays on the
 * state's heap until the calling thread copies it. */
static bool build_item(void *ud, uint32_t i, uint32_t thread) {
  batch *b = ud;
  err_state e;
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

static tess_status build_here(batch *b, uint32_t n) {
  measure_pool *p = b->pool;
  for (uint32_t i = 0; i < n; i++) measure_build_free(&b->out[i]);
  memset(b->out, 0, n * sizeof *b->out);
  bool all = thread_run(p->nbuilders, n, build_item, b);
  for (uint32_t i = 0; i < n; i++) {
    measure_build *out = &b->out[i];
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

typedef struct whole {
  batch b;
  uint32_t n;
} whole;

static tess_status run_batch(void *ud) {
  whole *w = ud;
  batch *b = &w->b;
  for (uint32_t i = 0; i < w->n; i++)
    if (b->candidate[i].trace) add_sketch(b, b->candidate[i].trace);
  for (uint32_t i = 0; i < b->sketch.n; i++)
    if (b->sketch.v[i].json.bad) return str_status(&b->sketch.v[i].json);
  if (b->pool->config.in_process) return build_here(b, w->n);
  return build_by_workers(b, w->n);
}

/* The pool has no memory for the result of a build. */
static void drop_build(measure_pool *pool, measure_build *out) {
  err_state e;
  err_clear(&e);
  err_ran_out(&e, pool->heap, mem_refusal(pool->heap), "building a candidate");
  pool_set_build(pool, out, e.code, e.message);
}

tess_status measure_build_batch(measure_pool *pool, const measure_task *t,
                                uint32_t n, const measure_candidate *c,
                                measure_build *out) {
  double start = clock_now();
  whole w = {{.pool = pool, .task = t, .candidate = c, .out = out}, n};
  memset(out, 0, n * sizeof *out);
  for (uint32_t i = 0; i < n; i++)
    pool_set_build(pool, &out[i], TESS_NOMEM, "out of memory");
  tess_status s = n ? mem_protect(pool->heap, run_batch, &w) : TESS_OK;
  for (uint32_t i = 0; i < w.b.sketch.n; i++) str_free(&w.b.sketch.v[i].json);
  vec_free(pool->heap, &w.b.sketch);
  for (uint32_t i = 0; i < n; i++)
    if (out[i].code.bad || out[i].message.bad) drop_build(pool, &out[i]);
  pool->ledger.build_wall += clock_now() - start;
  return s;
}
