/* SPDX-License-Identifier: Apache-2.0
 * Loads compiled programs and runs them: memory is a block of the host's, the
 * streams are simulated, and the host's functions are called between them. */
#include "backends/dae/code.h"
#include "backends/dae/sim.h"
#include "backends/llvm/llvm.h"
#include "backends/runtime.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>

struct backend_code {
  mem_heap *heap;
  arena a;
  dae_code code;
  dae_state state;
  backend_code **host; /* by LLVM */
  runtime rt;          /* of the host's functions */
  bool has_rt, has_arguments;
  double seconds; /* of the streams, which take as long every time */
  void *argument[512];
  char why[160];
};
enum { MOST_ARGUMENTS = 512 };

/* ---- loading ----------------------------------------------------------- */

typedef struct loading {
  backend_code *x;
  const void *code;
  size_t n;
  err_state *e;
} loading;

static tess_status load_hosts(backend_code *x, err_state *e) {
  tess_status s = TESS_OK;
  uint32_t n = x->code.host.n;
  x->host = arena_zalloc(&x->a, (n + 1) * sizeof *x->host);
  for (uint32_t i = 0; !s && i < n; i++) {
    const code_host *h = &x->code.host.v[i];
    s = h->nbuf > MOST_ARGUMENTS
            ? err_set(e, TESS_PARSE, "the code is damaged")
            : llvm_backend.load(x->heap, h->code, h->bytes, &x->host[i], e);
  }
  if (!s && n) {
    runtime_init(&x->rt, x->heap->alloc, thread_cpus());
    x->has_rt = true;
  }
  return s;
}

static void sum_times(backend_code *x) {
  uint64_t cycles = 0;
  for (uint32_t i = 0; i < x->code.item.n; i++)
    cycles += x->code.item.v[i].cycles;
  x->seconds = (double)cycles / (1e6 * (double)x->code.m.clock);
}

static tess_status load_all(void *ud) {
  loading *l = ud;
  backend_code *x = l->x;
  char *copy = arena_alloc(&x->a, l->n);
  memcpy(copy, l->code, l->n);
  tess_status s = dae_read(&x->code, &x->a, copy, l->n, l->e);
  if (s) return s;
  dae_state_init(&x->state, &x->code.m, x->heap);
  x->state.bytes = x->code.bytes;
  x->state.dram = mem_resize(x->heap, NULL, 0, x->code.bytes);
  memset(x->state.dram, 0, x->code.bytes);
  for (uint32_t i = x->code.nparam; i < x->code.buffer.n; i++)
    memcpy(x->state.dram + x->code.buffer.v[i].at, x->code.buffer.v[i].data,
           x->code.buffer.v[i].bytes);
  sum_times(x);
  return load_hosts(x, l->e);
}

tess_status dae_load(mem_heap *heap, const void *code, size_t n,
                     backend_code **out, err_state *e) {
  *out = NULL;
  backend_code *x = mem_try_resize(heap, NULL, 0, sizeof *x);
  if (!x) return err_unwound(e, heap, mem_refusal(heap));
  memset(x, 0, sizeof *x);
  x->heap = heap;
  arena_init(&x->a, heap);
  loading l = {x, code, n, e};
  tess_status s = mem_protect(heap, load_all, &l);
  if (s) {
    if (e->code != s) err_unwound(e, heap, s);
    dae_unload(x);
  } else {
    *out = x;
  }
  return s;
}

void dae_unload(backend_code *x) {
  if (!x) return;
  for (uint32_t i = 0; x->host && i < x->code.host.n; i++)
    if (x->host[i]) llvm_backend.unload(x->host[i]);
  if (x->has_rt) runtime_free(&x->rt);
  mem_free(x->heap, x->state.dram, x->state.dram ? x->code.bytes : 0);
  dae_state_free(&x->state, x->heap);
  dae_code_free(&x->code, x->heap);
  arena_free(&x->a);
  mem_delete(x->heap, x);
}

/* ---- running ----------------------------------------------------------- */

static int32_t call_host(backend_code *x, const code_item *item,
                         double *seconds) {
  const code_host *h = &x->code.host.v[item->host - 1];
  for (uint32_t i = 0; i < h->nbuf; i++)
    x->argument[i] = x->state.dram + h->buf[i];
  double start = clock_now();
  int32_t status = llvm_backend.launch(x->host[item->host - 1], x->argument,
                                       item->value, &x->rt.rt);
  *seconds += clock_now() - start;
  return status;
}

static int32_t run_items(backend_code *x, bool streams, double *host) {
  for (uint32_t i = 0; i < x->code.item.n; i++) {
    const code_item *item = &x->code.item.v[i];
    uint32_t at;
    if (streams && !dae_execute(&x->state, &item->s, &at)) {
      snprintf(x->why, sizeof x->why,
               "instruction %u exceeds a buffer, or memory", at);
      return TESS_LAUNCH_ERROR;
    }
    int32_t status = item->host ? call_host(x, item, host) : 0;
    if (status) return status;
  }
  return 0;
}

static bool has_streams(const backend_code *x) {
  for (uint32_t i = 0; i < x->code.item.n; i++)
    if (x->code.item.v[i].s.insn.n) return true;
  return false;
}

static void copy_arguments(backend_code *x, void **args, bool back) {
  for (uint32_t i = 0; i < x->code.nparam; i++) {
    const code_buffer *b = &x->code.buffer.v[i];
    if (!back)
      memcpy(x->state.dram + b->at, args[i], b->bytes);
    else if (b->written)
      memcpy(args[i], x->state.dram + b->at, b->bytes);
  }
}

/* Streams are executed once, whatever `runs` is, and not again on what the call
 * before left: then the host's functions alone are measured. */
int32_t dae_time(const backend_code *c, void **args, void *const *resident,
                 const int64_t *sizes, uint64_t runs, double *seconds) {
  backend_code *x = (backend_code *)c;
  (void)resident, (void)sizes;
  double host = 0;
  x->why[0] = '\0';
  if (args) copy_arguments(x, args, false);
  if (!args && !x->has_arguments) return TESS_INVALID;
  x->has_arguments = true;
  uint64_t times = !has_streams(x) ? runs : args || x->code.host.n ? 1 : 0;
  int32_t status = 0;
  for (uint64_t i = 0; !status && i < times; i++)
    status = run_items(x, args && !i, &host);
  if (!status && args) copy_arguments(x, args, true);
  *seconds = (double)runs * (x->seconds + host / (double)(times ? times : 1));
  return status;
}

const char *dae_why(const backend_code *x) { return x->why; }
