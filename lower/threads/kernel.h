/* SPDX-License-Identifier: Apache-2.0
 * Kernel formation: an outermost thread loop and its body, on the way to one
 * nest of thread loops around the code of a thread (SPMD).
 *
 * Before, a thread loop has the semantics of a loop (fork-join): its iterations
 * run in any order and join at its end, and a buffer allocated in it is private
 * to the iteration, whatever its storage scope.  That leads to three decisions.
 *
 *   - A loop nested in another one of the same axis is executed by the threads
 *     cooperatively, each its part, where all of them would compute the same;
 *     else each thread executes all of it.
 *   - A private buffer to which all threads write the same values is merged
 *     into one for all of them: always in a shared scope, else where a
 *     cooperative loop needs it.
 *   - A buffer that threads share goes to shared memory, unless each thread may
 *     access only elements of its own.
 *
 * All three rest on proof, with a conservative answer where it fails. */
#ifndef LOWER_THREADS_KERNEL_H
#define LOWER_THREADS_KERNEL_H

#include "lower/pass.h"

/* Sets of threadIdx axes: bit 0 for .x, 1 for .y, 2 for .z. */
typedef uint8_t kernel_axes;

typedef struct kernel_buf {
  ir_stmt alloc;           /* in the kernel; 0: it lives outside */
  kernel_axes around;      /* of thread loops around its allocation */
  kernel_axes merged;      /* of these, where all threads write the same */
  kernel_axes under;       /* of thread loops below it, around an access */
  bool is_private;         /* to a thread, in the end */
  ir_stmt within;          /* the innermost spread loop it is allocated in */
} kernel_buf;

typedef struct kernel {
  ir_program *p;
  arena *scratch;
  err_state *e;
  ir_stmt top;             /* its outermost thread loop */
  int64_t extent[IR_THREAD_COUNT];  /* 0: there is no such loop; of `grid`, the
                                     * greatest value */
  ir_expr grid[3];         /* axes of blockIdx: how many blocks there are */
  ir_var index[IR_THREAD_COUNT];    /* a thread's own place */
  bool *spread;            /* thread loop -> its iterations are threads */
  ir_stmt *within;         /* statement -> the innermost spread loop that was
                            * around it, of the first nwithin statements */
  uint32_t nwithin;
  kernel_axes *axis;       /* of each spread loop that was */
  int64_t *count;          /* its iterations */
  kernel_axes *var_axes;   /* variable -> of the threads that may see another
                            * value of it */
  uint32_t nbuf;
  kernel_buf *buf;         /* of the first nbuf buffers */
  lower_accesses access;
} kernel;

/* The axis of a thread loop as a set; empty for those of the grid. */
static inline kernel_axes kernel_axis(const ir_stmt_rec *r) {
  if (r->thread == IR_WARP) return 1;
  return r->thread >= IR_THREADIDX_X && r->thread <= IR_THREADIDX_Z
           ? (kernel_axes)(1u << (r->thread - IR_THREADIDX_X)) : 0;
}
static inline bool kernel_is_grid(unsigned thread) {
  return thread <= IR_BLOCKIDX_Z;
}
/* What all lanes of a warp do together counts as an iteration of a loop over
 * the lanes, by an agent of the warp's own. */
static inline bool kernel_is_warp(const ir_stmt_rec *r) {
  return ir_is_thread_loop(r) && r->thread == IR_WARP;
}
/* Axes of the spread thread loops around s and below `above` (0: all). */
kernel_axes kernel_axes_around(const kernel *k, ir_stmt s, ir_stmt above);

/* Removes loops of no iteration, and records the extents of the others; else
 * k->e has the refusal (kernel_grid.c). */
bool kernel_find_extents(kernel *k);
/* A grid whose extent may turn out to be 0 has a block nevertheless where there
 * is something to do outside of the loops along that axis. */
void kernel_keep_first_blocks(kernel *k);
/* Has the loop an iteration for each place of its axis? */
bool kernel_covers_axis(const kernel *k, const ir_stmt_rec *r);
/* Axes of the grid whose loops are around s, below `above`; bit 0 for .x. */
unsigned kernel_grid_around(const kernel *k, ir_stmt s, ir_stmt above);
/* Blocks of threads share only global memory, and each element there is
 * accessed by one block; else k->e has the refusal. */
bool kernel_check_grid(kernel *k);

/* Checks that warp-collective blocks have IR_WARP_LANES lanes, and fragments no
 * other accesses; else k->e has the refusal (kernel_warp.c). */
bool kernel_check_warps(kernel *k);

/* Finds out which loops are spread, and what becomes of each buffer but for
 * is_private (kernel_share.c). */
void kernel_share(kernel *k);

/* The axes along which different threads provably access disjoint elements by
 * v[0 .. n), given that they do not differ in the axes `known`
 * (kernel_own.c). */
kernel_axes kernel_owned(const kernel *k, uint32_t n,
                         const lower_access *const *v, kernel_axes known);

/* Puts a condition around what not all threads, or blocks of them, do
 * (kernel_guard.c). */
void kernel_add_conditions(kernel *k);

/* Inserts barriers between conflicting accesses of different threads
 * (kernel_sync.c); body: the group around the code of a thread. */
tess_status kernel_sync(kernel *k, ir_stmt body);

#endif
