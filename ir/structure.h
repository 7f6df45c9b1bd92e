/* SPDX-License-Identifier: Apache-2.0
 * Structural hashes of expressions, shared by hashing and equality: bound
 * variables and buffers hash as the number of their binder (de Bruijn style).
 *
 * Index arithmetic is ordered by creation, which has no meaning, so a sum
 * hashes as a linear form: a multiset of (coefficient, atom) and a constant.
 * Other commutative operators (min, max, and, or, products of indices) hash as
 * the multiset of their operands. */
#ifndef IR_STRUCTURE_H
#define IR_STRUCTURE_H

#include "ir/edit.h"

typedef struct hasher {
  const ir_program *p;
  uint64_t *node;      /* by expression: memo of hash_expr, 0: not yet */
  uint32_t *var, *buf; /* by variable, buffer: the number of its binder */
  uint32_t next;       /* the number for the next binder */
} hasher;

void hash_start(hasher *h, const ir_program *p, arena *scratch);
uint64_t hash_expr(hasher *h, ir_expr e);
/* All functions; afterwards `node` is filled for what they use. */
uint64_t hash_program(hasher *h);
uint64_t hash_value(const ir_program *p, ir_val v);
/* What a reducer computes. */
uint64_t hash_reducer(hasher *h, uint64_t r, uint32_t reducer);

/* Is e a sum or a constant multiple of an index? */
bool is_linear(const ir_program *p, ir_expr e);
/* Is the operator of e associative and commutative? */
bool is_free_order(const ir_program *p, ir_expr e);

#endif
