/* SPDX-License-Identifier: Apache-2.0
 * Reductions whose iterations are spread over threads: what is known of one
 * while it is taken apart. */
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
  ir_subst start;              /* loops that reduce, to where they start */
  ir_expr some;                /* where there is a result; 0: everywhere */
} cross;

/* Says why it cannot be done; false. */
bool lower_cross_refuse(cross *x, const char *why);
/* Does an iter of the block that reduces, or one of the others, follow the
 * loop? */
bool lower_cross_drives(const ir_program *p, ir_stmt loop, ir_stmt block,
                        bool reduce);

/* Finds x->some: for which iterations of all loops but those that reduce there
 * is a result (cross_where.c).  There is one where the first iteration of the
 * loops that reduce is one, if it is wherever any other is; and that is where
 * it is initialised.  false: refused, that cannot be told. */
bool lower_cross_find(cross *x);

#endif
