/* SPDX-License-Identifier: Apache-2.0
 * Hoists invariant guards out of loops whose whole body they guard (loop
 * unswitching, for conditionals that have no other branch).
 *
 *     for k: { if j < n: S;  if j < n: T }
 * becomes
 *     if j < n: for k: { S; T }
 *
 * Of conjunctions the invariant terms.  What vectorize and unroll repeat in
 * each copy of a body they guard once again, outside of the loops in which
 * scalar_replacement looks for what stays in registers. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* It may fail, where the loop does not run. */
static ir_walk find_division(const ir_program *p, ir_expr e, void *ud) {
  (void)ud;
  const ir_node *n = ir_at(p, e);
  bool divides = n->op == IR_DIV || n->op == IR_MOD;
  return divides && ir_at(p, n->b)->op != IR_INT ? IR_WALK_FOUND
                                                 : IR_WALK_DESCEND;
}

static bool is_guard(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind == IR_IF && !r->alt && r->body &&
         lower_is_arithmetic(p, r->cond) &&
         !ir_any(p, r->cond, find_division, NULL);
}

/* Guards with the same condition that follow one another become one. */
static void merge_guards(ir_program *p, ir_stmt first) {
  if (!is_guard(p, first)) return;
  ir_stmt next;
  while ((next = ir_st(p, first)->next) && is_guard(p, next) &&
         ir_st(p, next)->cond == ir_st(p, first)->cond) {
    ir_move_body(p, next, first);
    ir_detach(p, next);
    ir_kill(p, next);
  }
}

/* Takes the terms without v out of the conjunction. */
static ir_expr take_invariant(ir_program *p, ir_expr cond, ir_var v,
                              ir_expr *invariant) {
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) {
    ir_expr a = take_invariant(p, n.a, v, invariant);
    return ir_and(p, a, take_invariant(p, n.b, v, invariant));
  }
  if (ir_uses_var(p, cond, v)) return cond;
  *invariant = ir_and(p, *invariant, cond);
  return ir_bool(p, true);
}

static void unswitch(ir_program *p, ir_stmt loop) {
  const ir_stmt_rec r = *ir_st(p, loop);
  if (r.kind != IR_LOOP || r.loop_kind != IR_SERIAL || !r.body) return;
  ir_stmt guard = r.body;
  if (ir_st(p, guard)->next || !is_guard(p, guard)) return;
  ir_expr invariant = 0;
  ir_expr rest = take_invariant(p, ir_st(p, guard)->cond, r.var, &invariant);
  if (!invariant) return;
  ir_stmt outer = ir_if_new(p, invariant);
  ir_wrap(p, loop, outer);
  ir_st(p, guard)->cond = rest;
  if (ir_is_const(p, rest, 1)) lower_splice(p, guard);
}

/* Post-order, so that a guard leaves several loops. */
static void unswitch_below(ir_program *p, ir_stmt s) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      unswitch_below(p, c);
    }
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body; c;
         c = ir_st(p, c)->next)
      merge_guards(p, c);
  unswitch(p, s);
}

LOWER_PASS(hoist_guards) {
  (void)scratch, (void)o, (void)e;
  unswitch_below(p, ir_entry(p)->root);
  return TESS_OK;
}
