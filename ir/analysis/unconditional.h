/* SPDX-License-Identifier: Apache-2.0
 * Selects that an expression evaluates unconditionally.  A select that both
 * arms of another select evaluate can be hoisted before it: emitted as a tree,
 * both arms would contain it, and nested selects would grow exponentially. */
#ifndef IR_ANALYSIS_UNCONDITIONAL_H
#define IR_ANALYSIS_UNCONDITIONAL_H

#include "ir/edit.h"

/* A set is an offset into the pool, where a count and that many nodes are
 * stored. */
typedef struct ir_unconditional {
  uint32_t *pool, n, cap;
  uint32_t *both;            /* by select: the set of those that both arms
                              * evaluate; NULL: there are none */
} ir_unconditional;

/* Analyzes all nodes that the program has now. */
void ir_unconditional_find(ir_unconditional *s, const ir_program *p,
                           arena *memory);

/* The n selects that both arms of select e evaluate; operands precede uses. */
static inline const ir_expr *
ir_unconditional_in_both(const ir_unconditional *s, ir_expr e,
                                          uint32_t *n) {
  const uint32_t *set = s->pool + s->both[e];
  *n = set[0];
  return set + 1;
}

#endif
