/* SPDX-License-Identifier: Apache-2.0
 * Heaps: an allocator, a byte cap, and non-local exit when memory runs out.
 *
 * Core code (ir, schedule, vm) never tests for exhausted memory: its
 * allocations either succeed or unwind to the enclosing mem_protect(), over
 * frames that hold nothing but heap-owned tables and arenas. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/thread.h"
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tessera/types.h>

typedef struct mem_heap {
  tess_allocator alloc;
  size_t used;          /* bytes now allocated through this heap */
  size_t cap;           /* refuse to go above this many bytes; 0: no cap */
  uint64_t calls;       /* allocations made so far (bench, fault loop) */
  uint64_t capped;      /* and refused because of the cap */
  tess_status refusal;  /* why the last refused one was */
  struct mem_trap *trap;/* innermost mem_protect, NULL outside of one */
  /* For the message of TESS_LIMIT (err_unwound); all may be NULL. */
  const char *owner;    /* owner of the cap: "option memory_cap of ..." */
  const char *limit;    /* the limit that was exceeded; NULL: the cap */
  char whose[300];      /* what exceeded it; "" where it has no name */
  const char *doing[2]; /* the operation in progress: "primitive", "split" */
} mem_heap;

/* The allocator used where a host gives none: realloc and free. */
extern const tess_allocator mem_default_allocator;

/* A host's allocator behind a mutex: heaps of several threads may use the
 * allocator that mem_gate_init() returns, and the host's function is called by
 * one thread at a time.  The gate must not move. */
typedef struct mem_gate {
  tess_allocator host;
  thread_mutex lock;
} mem_gate;
tess_allocator mem_gate_init(mem_gate *g, tess_allocator host);
void mem_gate_free(mem_gate *g);

void mem_heap_init(mem_heap *h, tess_allocator alloc, size_t cap);

/* Resize `ptr` (NULL: none yet) from `osize` to `nsize` bytes; unwinds with
 * TESS_NOMEM (allocator said no) or TESS_LIMIT (cap reached). */
void *mem_resize(mem_heap *h, void *ptr, size_t osize, size_t nsize);
/* The same, but returns NULL instead of unwinding; mem_refusal() is why. */
void *mem_try_resize(mem_heap *h, void *ptr, size_t osize, size_t nsize);
/* Why the heap last refused: TESS_NOMEM or TESS_LIMIT, as above. */
static inline tess_status mem_refusal(const mem_heap *h) {
  return h->refusal == TESS_LIMIT ? TESS_LIMIT : TESS_NOMEM;
}
void mem_free(mem_heap *h, void *ptr, size_t size);

#define mem_new(h, T) ((T *)mem_resize((h), NULL, 0, sizeof(T)))
#define MEM_HUGE_BYTES ((size_t)4 << 20)
/* Where a block has that many bytes the system is asked for huge pages, which
 * is no matter of right or wrong: loops that go down a column touch a page a
 * row, of more rows than a TLB has entries. */
void mem_advise_huge(void *at, size_t bytes);
#define mem_delete(h, p) mem_free((h), (p), sizeof *(p))

/* Run fn(ud); an unwinding below ends here.  Returns fn's status, or the
 * status that was unwound with.  Nests. */
tess_status mem_protect(mem_heap *h, tess_status (*fn)(void *ud), void *ud);
/* Unwind to the innermost mem_protect of `h`.  Never returns. */
_Noreturn void mem_unwind(mem_heap *h, tess_status why);
/* The same with mem_refusal(). */
_Noreturn void mem_unwind_refused(mem_heap *h);
/* The same with TESS_LIMIT for a limit other than the cap.  `limit`, a static
 * text, is the message: "a block accesses more than 256 buffers"; `whose`
 * (copied; NULL: it has no name) is the object that exceeds it. */
_Noreturn void mem_unwind_limit(mem_heap *h, const char *limit,
                                const char *whose);
/* Records the operation in progress, for the message of a limit; both texts
 * live until the next call.  NULL: it has no name. */
static inline void mem_note(mem_heap *h, const char *kind, const char *name) {
  h->doing[0] = kind;
  h->doing[1] = name;
}

#endif
