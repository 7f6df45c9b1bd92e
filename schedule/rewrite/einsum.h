/* SPDX-License-Identifier: Apache-2.0
 * State of pad_einsum: a block whose loops are its iters, what it accesses, and
 * what its iters are padded to. */
#ifndef SCHEDULE_REWRITE_EINSUM_H
#define SCHEDULE_REWRITE_EINSUM_H

#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/window.h"

enum { EINSUM_OPERANDS = 16, EINSUM_DIMS = 16 };

/* An access of a buffer in one way. */
typedef struct einsum_operand {
  ir_buf buf;
  uint32_t n;
  ir_expr idx[EINSUM_DIMS];
  sch_window window[EINSUM_DIMS]; /* old 0: it is none */
  bool padded;                    /* some index uses a padded iter */
  ir_buf made;                    /* the padded copy */
} einsum_operand;

typedef struct einsum {
  sch_state *s;
  ir_stmt block, scope;
  sch_list loops; /* one an iter */
  ir_expr *to;    /* new extent of each iter; 0: it stays */
  sch_def def, init;
  uint32_t nop;
  einsum_operand op[EINSUM_OPERANDS]; /* the result first */
  bool many;                          /* more than there is room for */
  ir_expr fill[EINSUM_OPERANDS];      /* of its padding; 0: zero */
} einsum;

static inline ir_iter einsum_iter(const einsum *w, uint32_t k) {
  const ir_program *p = w->s->p;
  return p->iter.v[ir_blk(p, w->block)->iters.at + k];
}

static inline bool einsum_pads_any(const einsum *w) {
  for (uint32_t k = 0; k < w->loops.n; k++)
    if (w->to[k]) return true;
  return false;
}

/* Which iter the expression is; loops.n: none. */
uint32_t sch_einsum_iter_of(const einsum *w, ir_expr e);
/* Does one of the indices of the operand determine iter k? */
bool sch_einsum_tells(const einsum *w, const einsum_operand *o, uint32_t k);
/* Finds loops, new extents and accesses of w->block; false: refused
 * (einsum_check.c). */
bool sch_einsum_find(einsum *w, sch_ints padding);
/* Is every element of the buffer defined when the block's nest begins: as an
 * input, or since one block before has written them all?
 * (einsum_defined.c) */
bool sch_einsum_is_defined(const einsum *w, ir_buf buf);
/* What adds nothing: 0 of a sum, 1 of a product, the greatest of a minimum. */
ir_expr sch_einsum_identity(ir_program *p, ir_op how, tess_dtype t);
/* Finds what the padding holds, so that it adds nothing along reduce iters;
 * false: refused (einsum_fill.c). */
bool sch_einsum_find_fill(einsum *w);

#define SCH_EINSUM_REASONS                                                   \
  SCH_R_BODY_NOT_STORE, SCH_R_EINSUM_ACCESS, SCH_R_EINSUM_CHOOSES,           \
    SCH_R_EINSUM_HOLES, SCH_R_EINSUM_LOOPS, SCH_R_EXTENT_LARGE,              \
    SCH_R_FACTOR_NOT_POSITIVE, SCH_R_LOOP_MAY_BE_EMPTY,                      \
    SCH_R_LOOP_NOT_SERIAL, SCH_R_LOOP_START_NOT_ZERO, SCH_R_NOT_ONLY_CHILD,  \
    SCH_R_NOT_REDUCER, SCH_R_NOT_STATIC, SCH_R_OPAQUE_ACCESS,                \
    SCH_R_PADDING_COUNT, SCH_R_PAD_NOT_NEUTRAL, SCH_R_PLACE_REDUCED,         \
    SCH_R_SEVERAL_WRITES

#endif
