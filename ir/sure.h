/* SPDX-License-Identifier: Apache-2.0
 * The choices (selects) that computing an expression computes whichever way
 * they go.  One that both sides of another choice compute can be computed
 * before it: code that follows the sides as a tree would have it in both,
 * and where choices stand in one another, exponentially often. */
#ifndef IR_SURE_H
#define IR_SURE_H

#include "ir/ir.h"

/* A set is a place in the pool, where a count and so many nodes stand. */
typedef struct ir_sure {
  uint32_t *pool, n, cap;
  uint32_t *both;            /* by select: the set of what both sides
                              * compute; NULL: there are none */
} ir_sure;

/* Looks at all nodes that the program has now. */
void ir_sure_make(ir_sure *s, const ir_program *p, arena *memory);

/* The n selects that both sides of select e compute; what is made of others
 * comes after them. */
static inline const ir_expr *ir_sure_both(const ir_sure *s, ir_expr e,
                                          uint32_t *n) {
  const uint32_t *set = s->pool + s->both[e];
  *n = set[0];
  return set + 1;
}

#endif
