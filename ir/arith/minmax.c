/* SPDX-License-Identifier: Apache-2.0
 * Canonicalization of minimum and maximum: flattened, ordered, without operands
 * that another one dominates. */
#include "ir/arith/linear.h"
#include "ir/edit.h"

enum { OPERANDS_MAX = 8 };

typedef struct operands {
  ir_op op;
  uint32_t n;
  ir_expr e[OPERANDS_MAX];
} operands;

/* Is `a` always the result against `b`? Decided by their difference, or because
 * b is the opposite operator of a and something else. */
static bool dominates(const ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  const ir_node *n = ir_at(p, b);
  lin x;
  if (n->op == (op == IR_MIN ? IR_MAX : IR_MIN) && (n->a == a || n->b == a))
    return true;
  if (a == b) return true;
  if (!(op == IR_MIN ? lin_diff(p, a, b, &x) : lin_diff(p, b, a, &x)))
    return false;
  return lin_range(p, &x).hi <= 0;
}

/* Constants last, the others in order of creation. */
static bool operand_is_before(const ir_program *p, ir_expr a, ir_expr b) {
  bool ca = ir_at(p, a)->op == IR_INT, cb = ir_at(p, b)->op == IR_INT;
  return ca != cb ? cb : a < b;
}

static bool add_operand(const ir_program *p, operands *o, ir_expr e) {
  for (uint32_t i = 0; i < o->n; i++)
    if (dominates(p, o->op, o->e[i], e)) return true;
  uint32_t n = 0;
  for (uint32_t i = 0; i < o->n; i++)
    if (!dominates(p, o->op, e, o->e[i])) o->e[n++] = o->e[i];
  if (n == OPERANDS_MAX) return false;
  o->n = n + 1;
  for (; n > 0 && operand_is_before(p, e, o->e[n - 1]); n--)
    o->e[n] = o->e[n - 1];
  o->e[n] = e;
  return true;
}

/* Adds the operands of a nested operator of the same kind, else e itself. */
static bool add_operands(const ir_program *p, operands *o, ir_expr e) {
  while (ir_at(p, e)->op == o->op) {
    if (!add_operand(p, o, ir_at(p, e)->b)) return false;
    e = ir_at(p, e)->a;
  }
  return add_operand(p, o, e);
}

ir_expr arith_minmax(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  operands o = {.op = op};
  if (!add_operands(p, &o, a) || !add_operands(p, &o, b))
    return ir_binary_node(p, op, a, b);
  ir_expr e = o.e[0];
  for (uint32_t i = 1; i < o.n; i++) e = ir_binary_node(p, op, e, o.e[i]);
  return e;
}
