/* SPDX-License-Identifier: Apache-2.0
 * The operations that one execution of a store does, by kind, and the loads
 * in it.  A value used several times is computed, and counted, once; a sum of
 * which a product is an operand is one multiply-add. */
#include "search/feature/nest.h"

static bool is_product(const ir_program *p, ir_expr e) {
  return ir_at(p, e)->op == IR_MUL;
}

static nest_op of_type(tess_dtype t, nest_op op) {
  return ir_is_float(t) ? op : op + (NEST_INT_MAD - NEST_MAD);
}

static void count_call(const ir_node *n, double *op) {
  ir_fn_kind kind = ir_fn_kind_of((ir_fn)n->a);
  if (n->a == IR_FN_FMA)
    op[of_type(n->dtype, NEST_MAD)]++;
  else if (kind == IR_FN_COSTLY || kind == IR_FN_CHEAP)
    op[of_type(n->dtype, NEST_MATH)]++;
  else
    op[of_type(n->dtype, NEST_CALL)]++;
}

/* Of the node itself. */
static void count_node(const ir_program *p, const ir_node *n, double *op) {
  switch ((ir_op)n->op) {
  case IR_ADD:
  case IR_SUB:
    if (is_product(p, n->a) || is_product(p, n->b)) {
      op[of_type(n->dtype, NEST_MAD)]++;
      op[of_type(n->dtype, NEST_MUL)]--; /* which is counted by itself */
    } else
      op[of_type(n->dtype, NEST_ADD)]++;
    break;
  case IR_MUL: op[of_type(n->dtype, NEST_MUL)]++; break;
  case IR_DIV:
  case IR_MOD: op[of_type(n->dtype, NEST_DIV)]++; break;
  case IR_MIN:
  case IR_MAX: op[of_type(n->dtype, NEST_CMP)]++; break;
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: op[of_type(ir_at(p, n->a)->dtype, NEST_CMP)]++; break;
  case IR_AND:
  case IR_OR:
  case IR_NOT: op[NEST_BOOL]++; break;
  case IR_SELECT: op[NEST_SELECT]++; break;
  case IR_CALL: count_call(n, op); break;
  default: break;
  }
}

static void add_load(nest_loads *l, ir_expr e) {
  if (l->n == l->cap) {
    uint32_t cap = l->cap ? 2 * l->cap : 8;
    ir_expr *v = arena_array(l->scratch, ir_expr, cap);
    if (l->n) memcpy(v, l->v, l->n * sizeof *v);
    l->v = v;
    l->cap = cap;
  }
  l->v[l->n++] = e;
}

/* Inside of a load's indices only further loads matter; index arithmetic is
 * no work of the program's. */
static void visit(const ir_program *p, nest_chain *c, ir_expr e, double *op,
                  nest_loads *loads, bool in_index) {
  const ir_node *n = ir_at(p, e);
  if (n->op <= IR_VAR || (n->is_index && !n->has_load)) return;
  if (c->seen[e] == c->era) return;
  c->seen[e] = c->era;
  const uint32_t *ops;
  uint32_t fixed[3], count = ir_operands(p, e, &ops, fixed);
  bool load = n->op == IR_LOAD;
  if (load) add_load(loads, e);
  for (uint32_t i = 0; i < count; i++)
    visit(p, c, ops[i], op, loads, in_index || load);
  if (!in_index) count_node(p, n, op);
}

void nest_count(const ir_program *p, nest_chain *c, ir_expr e, double *op,
                nest_loads *loads) {
  c->era++;
  visit(p, c, e, op, loads, false);
  for (int i = 0; i < NEST_OPS; i++)
    if (op[i] < 0) op[i] = 0; /* one product in several sums */
}
