/* SPDX-License-Identifier: Apache-2.0
 * The loops of an automatic copy: recognition, strip-mining for vectors,
 * cooperative distribution over threads. */
#ifndef LOWER_COPY_LOOPS_H
#define LOWER_COPY_LOOPS_H

#include "lower/pass.h"

enum { COPY_MAX_LOOPS = 16 };

/* The body of such a block: loops, perhaps a condition, one store. */
typedef struct copy_nest {
  uint32_t n;
  ir_stmt loop[COPY_MAX_LOOPS], store;
} copy_nest;

/* The nest in the block, whose loops are serial, from 0 and of constant extent,
 * or, `any`, of any kind; false: its body is another. */
bool copy_parse(const ir_program *p, ir_stmt block, bool any, copy_nest *out);

/* How its loops are to be scheduled. */
typedef struct copy_plan {
  int64_t bytes;            /* that a thread moves at once, at most */
  bool threads, lanes;      /* over the threads around the block; over lanes of
                             * a warp, to which no loop around it is bound */
} copy_plan;

/* Linearizes the nest and distributes it, so that consecutive threads (.x
 * fastest) store consecutive vectors; where the store is not injective, or no
 * threads take part, vectorizes the innermost loop.  Where the block is then no
 * longer proven to cover its region the buffer's lifetime scope would grow, and
 * threads that had private copies would conflict: nothing is done then. */
void copy_schedule(ir_program *p, arena *scratch, ir_stmt block,
                   const copy_plan *how);

#endif
