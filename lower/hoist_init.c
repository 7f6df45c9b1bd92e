/* SPDX-License-Identifier: Apache-2.0
 * Hoists a first-iteration conditional out of its loop: the init of a
 * reduction that was not decomposed.
 *
 *     for k: { if k == 0: C = 0;  C = C + A[k] }
 * becomes
 *     C = 0;  for k: C = C + A[k] */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* The conjunction without its term `variable == start`; 0 when it has no such
 * term. */
static ir_expr without_start(ir_program *p, ir_expr cond, ir_expr start) {
  if (cond == start) return ir_bool(p, true);
  const ir_node n = *ir_at(p, cond);
  if (n.op != IR_AND) return 0;
  ir_expr a = without_start(p, n.a, start);
  if (a) return ir_and(p, a, n.b);
  ir_expr b = without_start(p, n.b, start);
  return b ? ir_and(p, n.a, b) : 0;
}

/* May the loop's first statement be hoisted?  It must not clobber the loop's
 * bounds.  The condition that remains, or 0. */
static ir_expr hoistable_condition(ir_program *p, ir_stmt loop) {
  const ir_stmt_rec r = *ir_st(p, loop);
  if (r.kind != IR_LOOP || r.loop_kind != IR_SERIAL || !r.body) return 0;
  const ir_stmt_rec first = *ir_st(p, r.body);
  if (first.kind != IR_IF || first.alt || ir_at(p, r.extent)->lo < 1) return 0;
  if (ir_may_clobber(p, r.body, r.lo) || ir_may_clobber(p, r.body, r.extent))
    return 0;
  ir_expr start = ir_binary(p, IR_EQ, ir_ref(p, r.var), r.lo);
  ir_expr rest = without_start(p, first.cond, start);
  return rest && !ir_uses_var(p, rest, r.var) ? rest : 0;
}

static void hoist_first(ir_program *p, arena *scratch, ir_stmt loop,
                        ir_expr cond) {
  ir_stmt s = ir_st(p, loop)->body;
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(&sub, ir_st(p, loop)->var, ir_st(p, loop)->lo);
  ir_detach(p, s);
  ir_st(p, s)->cond = cond;
  ir_subst_stmt(&sub, s);
  ir_insert_before(p, loop, s);
  if (ir_is_const(p, cond, 1)) lower_splice(p, s);
}

/* Post-order, so that a statement can be hoisted out of several loops. */
static void hoist_below(ir_program *p, arena *scratch, ir_stmt s) {
  for (int alt = 0; alt < 2; alt++)
    for (ir_stmt c = alt ? ir_st(p, s)->alt : ir_st(p, s)->body, next; c;
         c = next) {
      next = ir_st(p, c)->next;
      hoist_below(p, scratch, c);
    }
  ir_expr cond = hoistable_condition(p, s);
  if (cond) hoist_first(p, scratch, s, cond);
}

LOWER_PASS(hoist_init) {
  (void)o, (void)e;
  hoist_below(p, scratch, ir_entry(p)->root);
  return TESS_OK;
}
