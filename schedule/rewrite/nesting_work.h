/* SPDX-License-Identifier: Apache-2.0
 * State shared by nesting*.c; see nesting.h. */
#ifndef SCHEDULE_REWRITE_NESTING_WORK_H
#define SCHEDULE_REWRITE_NESTING_WORK_H

#include "ir/edit.h"
#include "schedule/rewrite/init.h"
#include "schedule/rewrite/nesting.h"

/* An iter of the new block. */
typedef struct nest_outer {
  ir_var from, var;
  uint32_t kind, used;   /* used: by this many blocks so far */
  ir_expr lo, extent, bind;
} nest_outer;

/* What becomes of an iter of a block inside: outer * scale + inner, where
 * either part may be missing. */
typedef struct nest_part {
  ir_iter old;
  uint32_t outer;        /* in work.o, from 1; 0: none, */
  ir_expr base;          /* and its part has this value (0: zero) */
  int64_t scale;
  bool inner;            /* there is an inner part: */
  ir_expr lo, extent, bind;
  ir_var var;
} nest_part;

typedef struct nest_member {
  ir_stmt block;
  sch_list loops;        /* around it, inside of the new block */
  uint32_t n;
  nest_part *part;
  ir_expr pred, around;  /* what stays inside of its predicate, what goes */
} nest_member;

/* New bounds of a loop, or the new condition. */
typedef struct nest_head { ir_stmt s; ir_expr a, b; } nest_head;

typedef struct nest_work {
  sch_state *s;
  ir_program *p;
  ir_stmt first, last;
  bool units, takes_init;
  bool conditions;       /* some are around the blocks inside */
  sch_list outside;      /* the loops around the new block, in its scope */
  uint32_t n, no, nhead;
  nest_member *m;
  nest_outer *o;
  nest_head *h;
  ir_expr pred;          /* of the new block */
  ir_subst known;        /* loops outside that an iter is bound to */
  sch_init init;
} nest_work;

/* Does e use one of the loops' variables? */
bool nest_uses_loop(const ir_program *p, ir_expr e, sch_list loops);
/* Finds the blocks inside and divides their iters (nesting_divide.c).  false:
 * refused. */
bool nest_divide(nest_work *w);
/* Says what is inside in terms of the new block, before any change
 * (nesting_terms.c).  false: refused. */
bool nest_terms(nest_work *w);
/* What the iters of a block inside were, in terms of those that are. */
ir_subst nest_values(const nest_work *w, const nest_member *m);

#endif
