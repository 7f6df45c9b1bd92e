/* SPDX-License-Identifier: Apache-2.0
 * Which epilogues can be fused into a reduction: those that commute with its
 * reducer.
 *
 * A step of the reduction makes x + f of x (+: its operation).  An epilogue e
 * commutes with that when e(x + f) = e(x) + g for a g made of f alone: then e
 * of the initial value, and g in each step, give e of the whole.  Each
 * operation of e is one of
 *   x + c, x - c           g is f;
 *   c - x                  g is the opposite of f;
 *   x * c                  g is f * c: of integers, which wrap around, or by
 *                          -1, as in -x, which neither rounds nor overflows;
 *   min, max of a max, min g is the same min, max of f (a lattice)
 * and so for products, and for truth values. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include <math.h>

/* The other operand of the one that reads `buf`; 0: both do. */
static ir_expr beside(const ir_program *p, ir_expr e, ir_buf buf,
                      ir_expr *inside) {
  const ir_node *n = ir_at(p, e);
  bool a = ir_has_load(p, n->a, buf), b = ir_has_load(p, n->b, buf);
  *inside = a ? n->a : n->b;
  return a && b ? 0 : a ? n->b : n->a;
}

static bool is_lattice(ir_op how, ir_op op) {
  return how == IR_MIN || how == IR_MAX  ? op == IR_MIN || op == IR_MAX
         : how == IR_AND || how == IR_OR ? op == IR_AND || op == IR_OR
                                         : false;
}

/* Multiplying by c, of type t, before adding up is the same as after. */
static bool scales_exactly(const ir_program *p, tess_dtype t, ir_expr c) {
  if (ir_is_int(t)) return true;
  return ir_is_float(t) && ir_at(p, c)->op == IR_REAL &&
         fabs(ir_at(p, c)->f) == 1;
}

static bool commutes(const ir_program *p, ir_op how, ir_expr e, ir_buf buf) {
  const ir_node *n = ir_at(p, e);
  ir_op op = (ir_op)n->op;
  ir_expr inside, other;
  if (op == how || is_lattice(how, op)) return true;
  if (how != IR_ADD || op != IR_MUL) return how == IR_ADD && op == IR_SUB;
  other = beside(p, e, buf, &inside);
  return other && scales_exactly(p, n->dtype, other);
}

static ir_op reducing_op(const ir_program *p, ir_stmt reduction) {
  uint32_t reducer = ir_blk(p, reduction)->reducer;
  const ir_reducer *r = &p->reducer.v[reducer];
  if (!reducer || r->n != 1) return IR_NONE;
  const ir_node *n = ir_at(p, p->arg.v[r->combine.at]);
  ir_expr x = ir_ref(p, p->arg.v[r->lhs.at]);
  ir_expr y = ir_ref(p, p->arg.v[r->rhs.at]);
  bool known = n->op == IR_ADD || n->op == IR_MUL || n->op == IR_MIN ||
               n->op == IR_MAX || n->op == IR_AND || n->op == IR_OR;
  bool both = known && ((n->a == x && n->b == y) || (n->a == y && n->b == x));
  return both ? (ir_op)n->op : IR_NONE;
}

/* The update is `old + added`, or the other way round. */
static ir_expr find_added(const ir_program *p, const sch_def *made, ir_op how) {
  ir_expr old;
  if (!how || ir_at(p, made->value)->op != how) return 0;
  ir_expr added = beside(p, made->value, made->buf, &old);
  const ir_node *n = ir_at(p, old);
  return n->op == IR_LOAD && n->a == made->buf ? added : 0;
}

ir_expr sch_added(const ir_program *p, ir_stmt reduction, const sch_def *made,
                  ir_op *how) {
  *how = reducing_op(p, reduction);
  return find_added(p, made, *how);
}

/* A load of the element that the update stores. */
static bool is_old(const ir_program *p, const sch_def *made, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && n->a == made->buf && !n->c && n->n == made->n &&
         !memcmp(p->arg.v + n->b, made->idx, made->n * sizeof *made->idx);
}

ir_expr sch_added_to_any(const ir_program *p, const sch_def *made, ir_op *how) {
  static const ir_op known[] = {IR_ADD, IR_MUL, IR_MIN, IR_MAX, IR_AND, IR_OR};
  *how = (ir_op)ir_at(p, made->value)->op;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    ir_expr old, added;
    if (*how != known[i]) continue;
    added = beside(p, made->value, made->buf, &old);
    return added && is_old(p, made, old) ? added : 0;
  }
  return 0;
}

bool sch_epilogue_fits(sch_state *s, ir_stmt block, const sch_def *def,
                       ir_stmt reduction, const sch_def *made,
                       sch_epilogue *out) {
  const ir_program *p = s->p;
  ir_op how;
  ir_expr e = def->value, added = sch_added(p, reduction, made, &how);
  *out = (sch_epilogue){how, made->buf, e, added};
  if (!out->added) return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {reduction});
  if (!ir_has_load(p, e, made->buf))
    return sch_refuse(s, SCH_R_EPILOGUE_OTHER, .s = {block, reduction});
  for (uint32_t d = 0; d < def->n; d++)
    if (ir_has_load(p, def->idx[d], made->buf))
      return sch_refuse(s, SCH_R_EPILOGUE_TWICE, .s = {block, reduction});
  while (ir_at(p, e)->op != IR_LOAD) {
    if (!commutes(p, how, e, made->buf))
      return sch_refuse(s, SCH_R_EPILOGUE_OTHER, .s = {block, reduction});
    if (!beside(p, e, made->buf, &e))
      return sch_refuse(s, SCH_R_EPILOGUE_TWICE, .s = {block, reduction});
  }
  if (ir_at(p, e)->a != made->buf)
    return sch_refuse(s, SCH_R_EPILOGUE_OTHER, .s = {block, reduction});
  return true;
}

static ir_expr step_at(ir_subst *sub, const sch_epilogue *e, ir_expr at) {
  ir_program *p = sub->p;
  const ir_node x = *ir_at(p, at);
  if (x.op == IR_LOAD) return e->added;
  ir_expr inside, other = beside(p, at, e->buf, &inside);
  ir_expr step = step_at(sub, e, inside);
  if (x.op == e->op || (x.op == IR_SUB && inside == x.a)) return step;
  if (x.op != IR_SUB)
    return ir_binary(p, (ir_op)x.op, step, ir_subst_expr(sub, other));
  ir_expr zero =
      ir_is_float(x.dtype) ? ir_real(p, x.dtype, 0) : ir_int(p, x.dtype, 0);
  return ir_sub(p, zero, step);
}

ir_expr sch_epilogue_step(ir_subst *sub, const sch_epilogue *e) {
  return step_at(sub, e, e->value);
}
