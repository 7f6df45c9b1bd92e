/* SPDX-License-Identifier: Apache-2.0
 * What expr.c, local.c and arith/ share: making nodes as they are. */
#ifndef IR_EXPR_H
#define IR_EXPR_H

#include "ir/edit.h"

/* The node equal to *n (which is not in the table itself: that may move),
 * found or made; its flags, variables and bounds are worked out here.  args:
 * the n->n operands of a load or call. */
ir_expr ir_intern(ir_program *p, const ir_node *n, const uint32_t *args);
/* Works out again what is known about every node, and the hash table, for
 * nodes that came from elsewhere and whose operands are in order; false when
 * two of them are the same. */
bool ir_reintern(ir_program *p);
/* Whether what is kept about e is what would be worked out now, and the hash
 * table finds it. */
bool ir_is_true(const ir_program *p, ir_expr e);
/* The node `a op b` without simplifying. */
ir_expr ir_binary_node(ir_program *p, ir_op op, ir_expr a, ir_expr b);

/* Temporary work: everything made since the mark is forgotten, as if it had
 * never been.  Only for what nobody else has seen. */
typedef struct ir_mark { uint32_t node, var, arg; } ir_mark;
ir_mark ir_get_mark(const ir_program *p);
void ir_forget_since(ir_program *p, ir_mark m);

static inline bool ir_is_cmp(ir_op op) { return op >= IR_EQ && op <= IR_LE; }
static inline bool ir_is_logic(ir_op op) {
  return op == IR_AND || op == IR_OR;
}
/* Index arithmetic a op b that may leave int64 as far as its bounds tell, but
 * is taken not to: it is made of sizes, and of no number beyond them. */
bool ir_takes_to_fit(const ir_program *p, ir_op op, ir_expr a, ir_expr b);
/* Type of `a op b` for operands of type t. */
static inline tess_dtype ir_binary_dtype(ir_op op, tess_dtype t) {
  return op >= IR_EQ ? (tess_dtype){TESS_DTYPE_BOOL, 8, t.lanes} : t;
}
/* An int64 that index algebra may rearrange. */
static inline bool ir_is_algebra(const ir_node *n) {
  return n->is_index && n->dtype.code == TESS_DTYPE_INT;
}

/* The one integer that all lanes of e hold, when it is a constant. */
static inline bool ir_splat(const ir_program *p, ir_expr e, int64_t *v) {
  const ir_node *n = ir_at(p, e);
  return ir_const_int(p, n->op == IR_BROADCAST ? n->a : e, v);
}
/* The zero of any type. */
static inline ir_expr ir_zero(ir_program *p, tess_dtype t) {
  return ir_is_float(t) ? ir_real(p, t, 0) : ir_int(p, t, 0);
}

/* Rules that hold whatever the operands are (local.c); 0: none applies. */
ir_expr ir_local_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b);
ir_expr ir_local_not(ir_program *p, ir_expr a);
ir_expr ir_local_cast(ir_program *p, tess_dtype t, ir_expr a);

#endif
