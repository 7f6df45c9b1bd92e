/* SPDX-License-Identifier: Apache-2.0
 * The runtime of kernels whose host brings none: parallel loops on a
 * team of threads, and a caching allocator, because page faults of fresh memory
 * cost more than the work on it. */
#ifndef BACKENDS_RUNTIME_H
#define BACKENDS_RUNTIME_H

#include "backends/team.h"
#include "base/mem.h"
#include "base/thread.h"
#include <tessera/tessera.h>

typedef struct runtime {
  tess_runtime rt;              /* what kernels see; ud is this structure */
  tess_allocator alloc;         /* called by one thread at a time */
  uint32_t threads;
  thread_mutex lock;            /* around alloc and idle */
  struct runtime_block *idle;   /* freed blocks, for reuse */
  size_t idle_bytes;
  team team;
  double began, until; /* of the launch that is watched; until 0: none is */
  double expected;     /* what runtime_unwatch gives */
} runtime;

/* r must not move afterwards. */
void runtime_init(runtime *r, tess_allocator alloc, uint32_t threads);
/* No kernel may be running on it, nor hold its memory. */
void runtime_free(runtime *r);

/* The launch that follows is not to last longer than that: parallel loops end
 * after the piece at which it has, with TIMEOUT.  INFINITY: it is not
 * watched. */
void runtime_watch(runtime *r, double seconds);
/* After it: 0, or, of a launch that was ended so, how long it would have taken
 * up to the end of the loop that it was in, by the share that was done. */
double runtime_unwatch(runtime *r);

#endif
