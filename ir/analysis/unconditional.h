/* SPDX-License-Identifier: Apache-2.0
 * The choices (selects) that computing an expression computes whichever way
 * they go.  One that both sides of another choice compute can be computed
 * before it: code that follows the sides as a tree would have it in both,
 * and where choices stand in one another, exponentially often. */
#ifndef IR_ANALYSIS_UNCONDITIONAL_H
#define IR_ANALYSIS_UNCONDITIONAL_H

#include "ir/edit.h"

/* A set is a place in the pool, where a count and so many nodes stand. */
typedef struct ir_unconditional {
  uint32_t *pool, n, cap;
  uint32_t *both;            /* by select: the set of what both sides
                              * compute; NULL: there are none */
} ir_unconditional;

/* Looks at all nodes that the program has now. */
void ir_unconditional_find(ir_unconditional *s, const ir_program *p,
                           arena *memory);

/* The n selects that both sides of select e compute; what is made of others
 * comes after them. */
static inline const ir_expr *
ir_unconditional_in_both(const ir_unconditional *s, ir_expr e,
                                          uint32_t *n) {
  const uint32_t *set = s->pool + s->both[e];
  *n = set[0];
  return set + 1;
}

#endif
