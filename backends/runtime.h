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

enum { RUNTIME_LOOPS = 64 };

/* Launches that do a part of each parallel loop: its first iterations, as many
 * as are done in `longest` seconds, and no greater share than of those before,
 * on whose results they may depend; and again, with `longest` 0, as many as
 * before.  What is not written of temporaries is zero, but of small ones, which
 * are on the stack. */
typedef struct runtime_part {
  double longest;
  double left_out;             /* the greatest share of a loop; 0: they are
                                * done whole */
  double rest;                 /* seconds that what is left out would take */
  uint32_t at;                 /* the next loop, in the order of their calls */
  int64_t done[RUNTIME_LOOPS]; /* of each; later loops are done whole */
} runtime_part;

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
  runtime_part *part;  /* of the launches that follow; NULL: all of them */
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

/* The launches that follow do the part p, which must outlive them; NULL: all
 * that they are to do. */
void runtime_take_part(runtime *r, runtime_part *p);

#endif
