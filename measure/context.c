/* SPDX-License-Identifier: Apache-2.0
 * The measuring layer's part of a context: the worker pool and the runtimes. */
#include "measure/context.h"

typedef struct runtime_place {
  uint32_t threads;
  runtime *rt;
} runtime_place;

typedef struct part {
  tess_context *c;
  measure_pool *pool; /* NULL: not yet asked for */
  VEC(runtime_place) runtimes;
} part;

static void free_part(void *object) {
  part *x = object;
  mem_heap *heap = &x->c->heap;
  measure_pool_free(x->pool);
  for (uint32_t i = 0; i < x->runtimes.n; i++) {
    runtime_free(x->runtimes.v[i].rt);
    mem_delete(heap, x->runtimes.v[i].rt);
  }
  vec_free(heap, &x->runtimes);
  mem_delete(heap, x);
}

/* May unwind. */
static part *find_part(tess_context *c) {
  ctx_part *at = &c->part[CTX_PART_MEASURE];
  if (!at->object) {
    part *x = mem_new(&c->heap, part);
    *x = (part){.c = c};
    *at = (ctx_part){x, free_part};
  }
  return at->object;
}

typedef struct pool_asking {
  tess_context *c;
  measure_pool *pool;
} pool_asking;

static tess_status find_pool(void *ud) {
  pool_asking *a = ud;
  tess_context *c = a->c;
  part *x = find_part(c);
  if (!x->pool) {
    measure_config o = {.in_process = c->in_process,
                        .worker_path = c->worker_path,
                        .cancel = &c->stop,
                        .log = c->log,
                        .log_ud = c->log_ud};
    tess_status s = measure_pool_new(&c->heap, &o, &x->pool, &c->err);
    if (s) return s;
  }
  a->pool = x->pool;
  return TESS_OK;
}

tess_status measure_context_pool(tess_context *c, measure_pool **out) {
  pool_asking a = {c, NULL};
  tess_status s = mem_protect(&c->heap, find_pool, &a);
  *out = a.pool;
  return s;
}

const runtime *context_runtime(tess_context *c, uint32_t threads) {
  part *x = find_part(c);
  for (uint32_t i = 0; i < x->runtimes.n; i++)
    if (x->runtimes.v[i].threads == threads) return x->runtimes.v[i].rt;
  vec_reserve(&c->heap, &x->runtimes, 1);
  runtime_place place = {threads, mem_new(&c->heap, runtime)};
  runtime_init(place.rt, c->heap.alloc, threads);
  vec_push(&c->heap, &x->runtimes, place);
  return place.rt;
}
