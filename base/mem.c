/* SPDX-License-Identifier: Apache-2.0
 * Heaps: the allocator hook, the byte cap, unwinding by longjmp. */
#include "base/mem.h"
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct mem_trap {
  jmp_buf at;
  tess_status why;
  struct mem_trap *outer;
} mem_trap;

static void *default_fn(void *ud, void *ptr, size_t osize, size_t nsize) {
  (void)ud, (void)osize;
  if (nsize == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, nsize);
}

const tess_allocator mem_default_allocator = {default_fn, NULL};

static void *gate_fn(void *ud, void *ptr, size_t osize, size_t nsize) {
  mem_gate *g = ud;
  thread_lock(&g->lock);
  void *p = g->host.fn(g->host.ud, ptr, osize, nsize);
  thread_unlock(&g->lock);
  return p;
}

tess_allocator mem_gate_init(mem_gate *g, tess_allocator host) {
  g->host = host;
  thread_mutex_init(&g->lock);
  return (tess_allocator){gate_fn, g};
}

void mem_gate_free(mem_gate *g) { thread_mutex_free(&g->lock); }

void mem_heap_init(mem_heap *h, tess_allocator alloc, size_t cap) {
  *h = (mem_heap){.alloc = alloc, .cap = cap};
}

static bool over_cap(const mem_heap *h, size_t old, size_t nsize) {
  return h->cap && nsize > old &&
         (h->used > h->cap || nsize - old > h->cap - h->used);
}

void *mem_try_resize(mem_heap *h, void *ptr, size_t osize, size_t nsize) {
  size_t old = ptr ? osize : 0;
  if (nsize == 0) {
    mem_free(h, ptr, osize);
    return NULL;
  }
  if (over_cap(h, old, nsize)) {
    h->capped++;
    h->refusal = TESS_LIMIT;
    h->limit = NULL;
    h->whose[0] = '\0';
    return NULL;
  }
  h->calls++;
  void *p = h->alloc.fn(h->alloc.ud, ptr, old, nsize);
  if (p)
    h->used += nsize - old;
  else
    h->refusal = TESS_NOMEM;
  return p;
}

void *mem_resize(mem_heap *h, void *ptr, size_t osize, size_t nsize) {
  void *p = mem_try_resize(h, ptr, osize, nsize);
  if (p || !nsize) return p;
  mem_unwind_refused(h);
}

void mem_free(mem_heap *h, void *ptr, size_t size) {
  if (!ptr) return;
  TESS_ASSERT(size <= h->used);
  h->alloc.fn(h->alloc.ud, ptr, size, 0);
  h->used -= size;
}

void mem_advise_huge(void *at, size_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < MEM_HUGE_BYTES) return;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = -(uintptr_t)at % page;
  madvise((char *)at + skip, (bytes - skip) / page * page, MADV_HUGEPAGE);
#else
  (void)at, (void)bytes;
#endif
}

/* The trap is in this frame, so everything used after setjmp returns is in it
 * or reached through `h`, which the compiler cannot keep in a register across
 * the call of fn. */
tess_status mem_protect(mem_heap *h, tess_status (*fn)(void *ud), void *ud) {
  mem_trap trap;
  trap.outer = h->trap;
  trap.why = TESS_OK;
  h->trap = &trap;
  if (setjmp(trap.at) == 0) trap.why = fn(ud);
  h->trap = trap.outer;
  return trap.why;
}

/* Unwinding without a mem_protect is a fault of the caller: trap. */
void mem_unwind(mem_heap *h, tess_status why) {
  if (!h->trap) __builtin_trap();
  h->trap->why = why;
  longjmp(h->trap->at, 1);
}

void mem_unwind_refused(mem_heap *h) { mem_unwind(h, mem_refusal(h)); }

void mem_unwind_limit(mem_heap *h, const char *limit, const char *whose) {
  h->limit = limit;
  snprintf(h->whose, sizeof h->whose, "%s", whose ? whose : "");
  mem_unwind(h, TESS_LIMIT);
}
