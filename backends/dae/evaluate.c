/* SPDX-License-Identifier: Apache-2.0
 * Evaluates integer expressions at compile time. */
#include "backends/dae/compile.h"
#include "ir/query.h"

static bool binary(const dae_compile *c, const ir_node *n, int64_t *out);

bool dae_evaluate(const dae_compile *c, ir_expr e, int64_t *out) {
  const ir_node *n = ir_at(c->p, e);
  int64_t v;
  switch (n->op) {
  case IR_INT: *out = n->i; return true;
  case IR_VAR: *out = c->value[n->a]; return c->bound[n->a];
  case IR_NOT:
    if (!dae_evaluate(c, n->a, &v)) return false;
    *out = !v;
    return true;
  case IR_CAST:
    /* Of indices, which their types represent. */
    return ir_is_int(n->dtype) && n->dtype.lanes == 1 &&
           ir_is_int(ir_at(c->p, n->a)->dtype) && n->dtype.bits >= 32 &&
           dae_evaluate(c, n->a, out);
  case IR_SELECT:
    if (!dae_evaluate(c, n->a, &v)) return false;
    return dae_evaluate(c, v ? n->b : n->c, out);
  default:
    return n->op >= IR_ADD && n->op <= IR_OR && ir_is_int(n->dtype) &&
           n->dtype.lanes == 1 && binary(c, n, out);
  }
}

static int64_t floor_quotient(int64_t a, int64_t b) {
  if (!b || b == -1) return b ? (int64_t)(0 - (uint64_t)a) : 0;
  return a / b - (a % b && (a < 0) != (b < 0));
}

static int64_t arithmetic(uint8_t op, int64_t a, int64_t b) {
  switch (op) {
  case IR_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
  case IR_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
  case IR_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
  case IR_DIV: return floor_quotient(a, b);
  case IR_MOD: return b ? a - floor_quotient(a, b) * b : 0;
  case IR_MIN: return a < b ? a : b;
  case IR_MAX: return a > b ? a : b;
  case IR_EQ: return a == b;
  case IR_NE: return a != b;
  case IR_LT: return a < b;
  case IR_LE: return a <= b;
  case IR_AND: return a && b;
  default: return a || b;
  }
}

static bool binary(const dae_compile *c, const ir_node *n, int64_t *out) {
  int64_t a, b;
  if (!ir_is_int(ir_at(c->p, n->a)->dtype)) return false;
  if (!dae_evaluate(c, n->a, &a)) return false;
  if (n->op == IR_AND && !a) return *out = 0, true;
  if (n->op == IR_OR && a) return *out = 1, true;
  if (!dae_evaluate(c, n->b, &b)) return false;
  *out = arithmetic(n->op, a, b);
  return true;
}
