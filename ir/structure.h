/* SPDX-License-Identifier: Apache-2.0
 * What hashing and comparing share: structural hashes of expressions, in
 * which variables and buffers are the number of their binder.
 *
 * Index arithmetic is ordered by creation, which says nothing about what is
 * meant, so sums hash as what they are: a multiple of each atom and a
 * constant, in any order.  Other operators that may be reordered (min, max,
 * and, or, products of indices) hash as the set of their operands. */
#ifndef IR_STRUCTURE_H
#define IR_STRUCTURE_H

#include "ir/edit.h"

typedef struct hasher {
  const ir_program *p;
  uint64_t *node;      /* by expression: what hash_expr keeps, 0: not yet */
  uint32_t *var, *buf; /* by variable, buffer: the number of its binder */
  uint32_t next;       /* the number for the next binder */
} hasher;

void hash_start(hasher *h, const ir_program *p, arena *scratch);
uint64_t hash_expr(hasher *h, ir_expr e);
/* All functions; afterwards `node` holds what they use. */
uint64_t hash_program(hasher *h);
uint64_t hash_value(const ir_program *p, ir_val v);

/* Is e a sum or a constant multiple of an index? */
bool is_linear(const ir_program *p, ir_expr e);
/* May the operands of e be grouped and ordered at will? */
bool is_free_order(const ir_program *p, ir_expr e);

#endif
