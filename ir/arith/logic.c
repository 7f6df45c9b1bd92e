/* SPDX-License-Identifier: Apache-2.0
 * Canonicalization of conjunctions and disjunctions of conditions over index
 * variables: flattened, ordered, redundant operands removed. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

enum { CONDITIONS_MAX = 16 };

typedef struct conditions {
  ir_op op;
  bool decided; /* the whole is 0 (IR_AND) or 1 (IR_OR) */
  uint32_t n;
  ir_expr e[CONDITIONS_MAX];
} conditions;

/* An order comparison as `sum < c`. */
static bool as_inequality(const ir_program *p, ir_expr e, lin *x, int64_t *c) {
  const ir_node *n = ir_at(p, e);
  if ((n->op != IR_LT && n->op != IR_LE) || !ir_is_algebra(ir_at(p, n->a)) ||
      !lin_diff(p, n->a, n->b, x))
    return false;
  return !__builtin_sub_overflow((int64_t)(n->op == IR_LE), x->c, c);
}

/* Are the terms of x those of y, or (opposite) their negatives? */
static bool same_terms(const lin *x, const lin *y, bool opposite) {
  if (x->n != y->n) return false;
  for (uint32_t i = 0; i < x->n; i++)
    if (x->t[i].atom != y->t[i].atom ||
        x->t[i].k != (opposite ? -y->t[i].k : y->t[i].k))
      return false;
  return true;
}

/* How one condition relates to another; the last two can both hold. */
enum { IMPLIES = 1, IMPLIED = 2, EXCLUDES = 4, COVERS = 8 };

/* Relates x < c and y < d. */
static int relate_orders(const lin *x, int64_t c, const lin *y, int64_t d) {
  int64_t sum;
  if (same_terms(x, y, false)) return c <= d ? IMPLIES : IMPLIED;
  if (!same_terms(x, y, true) || __builtin_add_overflow(c, d, &sum)) return 0;
  return (sum <= 1 ? EXCLUDES : 0) | (sum >= 1 ? COVERS : 0);
}

static int relate_conditions(const ir_program *p, ir_expr a, ir_expr b) {
  lin x, y;
  int64_t c, d;
  const ir_node *m = ir_at(p, a), *n = ir_at(p, b);
  if (a == b) return IMPLIES;
  if (!(m->vars & n->vars)) return 0;
  if (m->a == n->a && m->b == n->b && m->op != n->op &&
      (m->op == IR_EQ || m->op == IR_NE) && (n->op == IR_EQ || n->op == IR_NE))
    return EXCLUDES | COVERS;
  if (!as_inequality(p, a, &x, &c) || !as_inequality(p, b, &y, &d)) return 0;
  return relate_orders(&x, c, &y, d);
}

/* Adds one operand; false: too many. */
static bool add_condition(const ir_program *p, conditions *o, ir_expr e) {
  bool all = o->op == IR_AND;
  uint32_t n = 0;
  for (uint32_t i = 0; i < o->n; i++) {
    int r = relate_conditions(p, o->e[i], e);
    if (r & (all ? IMPLIES : IMPLIED)) return true;
    if (r & (all ? EXCLUDES : COVERS)) o->decided = true;
  }
  for (uint32_t i = 0; i < o->n; i++)
    if (!(relate_conditions(p, o->e[i], e) & (all ? IMPLIED : IMPLIES)))
      o->e[n++] = o->e[i];
  o->n = n;
  if (n == CONDITIONS_MAX) return false;
  for (; n > 0 && e < o->e[n - 1]; n--) o->e[n] = o->e[n - 1];
  o->e[n] = e;
  o->n++;
  return true;
}

static bool add_conditions(const ir_program *p, conditions *o, ir_expr e) {
  for (; ir_at(p, e)->op == o->op; e = ir_at(p, e)->a)
    if (!add_condition(p, o, ir_at(p, e)->b)) return false;
  return add_condition(p, o, e);
}

ir_expr arith_logic(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  conditions o = {.op = op};
  if (ir_at(p, a)->op == IR_INT || ir_at(p, b)->op == IR_INT)
    return ir_local_binary(p, op, a, b);
  if (!add_conditions(p, &o, a) || !add_conditions(p, &o, b))
    return ir_binary_node(p, op, a, b);
  if (o.decided) return ir_bool(p, op == IR_OR);
  ir_expr e = o.e[0];
  for (uint32_t i = 1; i < o.n; i++) e = ir_binary_node(p, op, e, o.e[i]);
  return e;
}
