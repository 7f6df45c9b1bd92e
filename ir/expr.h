/* SPDX-License-Identifier: Apache-2.0
 * Making nodes without simplifying: shared by expr.c, fold.c and arith/. */
#ifndef IR_EXPR_H
#define IR_EXPR_H

#include "ir/edit.h"

/* Hash-conses *n (which must not be in the table itself: that may move):
 * returns the equal node, or makes it and computes its flags, variables and
 * bounds. args: the n->n operands of a load or call. */
ir_expr ir_intern(ir_program *p, const ir_node *n, const uint32_t *args);
/* Recomputes the cached facts of every node and the hash table, for nodes that
 * were loaded and whose operands are in order; false: two of them are equal. */
bool ir_reintern(ir_program *p);
/* Do the cached facts of e equal what would be computed now, and does the hash
 * table find it?  (Verification.) */
bool ir_node_is_consistent(const ir_program *p, ir_expr e);
/* The node `a op b` without simplifying. */
ir_expr ir_binary_node(ir_program *p, ir_op op, ir_expr a, ir_expr b);

/* Rollback of temporary expressions: removes everything made since the mark.
 * Only for nodes that nothing else refers to. */
typedef struct ir_mark { uint32_t node, var, arg; } ir_mark;
ir_mark ir_get_mark(const ir_program *p);
void ir_rollback(ir_program *p, ir_mark m);

static inline bool ir_is_cmp(ir_op op) { return op >= IR_EQ && op <= IR_LE; }
static inline bool ir_is_logic(ir_op op) {
  return op == IR_AND || op == IR_OR;
}
/* Is index arithmetic a op b, whose bounds do not exclude overflow of int64,
 * assumed not to overflow?  So if it is built from sizes and constants no
 * larger than sizes. */
bool ir_assumes_no_wrap(const ir_program *p, ir_op op, ir_expr a, ir_expr b);
/* The result type of `a op b` for operands of type t. */
static inline tess_dtype ir_binary_dtype(ir_op op, tess_dtype t) {
  return op >= IR_EQ ? (tess_dtype){TESS_DTYPE_BOOL, 8, t.lanes} : t;
}
/* An int64 to which index algebra applies. */
static inline bool ir_is_algebra(const ir_node *n) {
  return n->is_index && n->dtype.code == TESS_DTYPE_INT;
}

/* The value of e if it is an integer constant, or a splat of one. */
static inline bool ir_splat(const ir_program *p, ir_expr e, int64_t *v) {
  const ir_node *n = ir_at(p, e);
  return ir_const_int(p, n->op == IR_BROADCAST ? n->a : e, v);
}
/* The zero of any type. */
static inline ir_expr ir_zero(ir_program *p, tess_dtype t) {
  return ir_is_float(t) ? ir_real(p, t, 0) : ir_int(p, t, 0);
}

/* Local simplification by rules that hold for any type (fold.c); 0: none
 * applies. */
ir_expr ir_local_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b);
ir_expr ir_local_not(ir_program *p, ir_expr a);
ir_expr ir_local_cast(ir_program *p, tess_dtype t, ir_expr a);

#endif
