/* SPDX-License-Identifier: Apache-2.0
 * A runtime that gives kernels the memory that they ask for while they run from
 * places in their graph's arena.  The text of this file is also part of each
 * saved model (save.c), behind its header. */
#ifndef GRAPH_WORKSPACE_H
#define GRAPH_WORKSPACE_H

#ifndef TESS_RUNTIME
#include <tessera/kernel.h>
#endif
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { WORKSPACE_THREADS = 256 };  /* at most */

typedef struct workspace {
  tess_runtime rt;         /* what kernels get; ud is this structure */
  const tess_runtime *by;  /* runs loops, and gives what has no place here;
                            * NULL: the kernel's own, and the C library */
  char *at;                /* for the kernel that runs now: */
  uint64_t own, thread;    /* bytes of the first place, and of all others */
  uint32_t n;              /* places */
  _Atomic uint8_t taken[WORKSPACE_THREADS + 1];
} workspace;

static inline int32_t workspace_loop(
    void *ud, int64_t n,
    int32_t (*fn)(void *closure, int64_t begin, int64_t end), void *closure) {
  const tess_runtime *by = ((workspace *)ud)->by;
  return by->parallel_for(by->ud, n, fn, closure);
}

/* The kernel takes the first place, before any thread takes one. */
static inline void *workspace_alloc(void *ud, uint64_t bytes, uint64_t align) {
  workspace *w = (workspace *)ud;
  uint32_t i = bytes > w->own;
  for (; i < w->n && bytes <= (i ? w->thread : w->own); i++)
    if (!atomic_exchange(&w->taken[i], 1))
      return w->at + (i ? w->own + (i - 1) * w->thread : 0);
  if (w->by) return w->by->alloc(w->by->ud, bytes, align);
  return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static inline void workspace_free(void *ud, void *ptr) {
  workspace *w = (workspace *)ud;
  uint64_t at = (uint64_t)((uintptr_t)ptr - (uintptr_t)w->at);
  if ((uintptr_t)ptr >= (uintptr_t)w->at &&
      at < w->own + (w->n - 1) * w->thread)
    atomic_store(&w->taken[at < w->own ? 0 : 1 + (at - w->own) / w->thread], 0);
  else if (w->by)
    w->by->free(w->by->ud, ptr);
  else
    free(ptr);
}

static inline void workspace_init(workspace *w, const tess_runtime *by) {
  const tess_runtime rt = {sizeof rt, w,
                           by && by->parallel_for ? workspace_loop : NULL,
                           workspace_alloc, workspace_free};
  for (uint32_t i = 0; i <= WORKSPACE_THREADS; i++)
    atomic_init(&w->taken[i], 0);
  w->rt = rt;
  w->by = by;
}

/* What the next kernel runs with: at `at` its own memory, then that of n - 1
 * threads. */
static inline const tess_runtime *workspace_for(workspace *w, char *at,
                                                uint64_t own, uint64_t thread,
                                                uint32_t n) {
  w->at = at;
  w->own = own;
  w->thread = thread;
  w->n = n;
  return &w->rt;
}

#endif
