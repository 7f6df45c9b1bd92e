/* SPDX-License-Identifier: Apache-2.0
 * State of the lowering of one cross-thread reduction: a reduction whose
 * reduce loops are bound to threadIdx. */
#ifndef LOWER_THREADS_CROSS_THREAD_H
#define LOWER_THREADS_CROSS_THREAD_H

#include "ir/edit.h"
#include "lower/pass.h"

enum { MAX_LOOPS = 32, MAX_DIMS = 40, MAX_TERMS = 64, MAX_VALUES = 16 };

typedef enum role { SPATIAL, STEP, THREAD } role;

typedef struct cross {
  ir_program *p;
  arena *scratch;
  err_state *e;
  ir_stmt block, scope, top;   /* top: the outermost loop that reduces */
  uint32_t n, first;           /* loops, outer first; loop[first] is top */
  ir_stmt loop[MAX_LOOPS];
  role role[MAX_LOOPS];
  uint32_t nvalue;             /* of the reducer */
  ir_region write[MAX_VALUES]; /* where each goes */
  ir_buf parts[MAX_VALUES];
  ir_subst start;              /* reduce loops to their lower bounds */
  ir_expr some;                /* guard of the result; 0: unconditional */
  int64_t left;                /* parts after folding; 0: all */
} cross;

/* Refuses, with a reason; false. */
bool lower_cross_refuse(cross *x, const char *why);
/* Does a reduce iter of the block, or else one of the others, depend on the
 * loop? */
bool lower_cross_drives(const ir_program *p, ir_stmt loop, ir_stmt block,
                        bool reduce);

/* Finds x->some: for which iterations of the spatial loops the reduction has an
 * iteration at all (cross_thread_guard.c).  That is where the first iteration
 * of the reduce loops is not predicated off, provided that this is implied by
 * any other one; it is where the init runs.  false: refused, not provable. */
bool lower_cross_find(cross *x);

#endif
