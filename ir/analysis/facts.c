/* SPDX-License-Identifier: Apache-2.0
 * What the statements around one say when it runs, and what of a condition
 * follows from that. */
#include "ir/analysis/analysis.h"
#include "ir/query.h"

/* lo <= v < lo + extent, without constant ends, which are in the variable's
 * bounds. */
static ir_expr in_domain(ir_program *p, ir_var v, ir_expr lo, ir_expr extent) {
  ir_expr x = ir_ref(p, v), end = ir_add(p, lo, extent);
  return ir_and(p, ir_binary(p, IR_LE, lo, x), ir_binary(p, IR_LT, x, end));
}

ir_expr ir_domain_of(ir_program *p, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(p, s);
  ir_expr e = 0;
  if (r.kind == IR_LOOP) return in_domain(p, r.var, r.lo, r.extent);
  if (r.kind != IR_BLOCK) return 0;
  ir_span iters = ir_blk(p, s)->iters;
  for (uint32_t i = iters.at; i < iters.at + iters.n; i++) {
    ir_iter it = p->iter.v[i];
    e = ir_and(p, e, in_domain(p, it.var, it.lo, it.extent));
  }
  return e;
}

ir_expr ir_fact_of(ir_program *p, ir_stmt s, bool alt) {
  const ir_stmt_rec r = *ir_st(p, s);
  switch ((ir_kind)r.kind) {
  case IR_LOOP: return ir_domain_of(p, s);
  case IR_BLOCK: return ir_and(p, ir_domain_of(p, s), ir_blk(p, s)->pred);
  case IR_IF: return alt ? ir_not(p, r.cond) : r.cond;
  case IR_LET:
    if (!ir_dtype_eq(ir_at(p, r.let_value)->dtype, IR_INDEX)) return 0;
    return ir_binary(p, IR_EQ, ir_ref(p, r.let_var), r.let_value);
  default: return 0;
  }
}

/* What was loaded when a loop began, or a condition was evaluated, may have
 * changed since. */
static ir_expr add_lasting(ir_program *p, ir_expr e, ir_expr fact) {
  return fact && !ir_at(p, fact)->has_load ? ir_and(p, e, fact) : e;
}

ir_expr ir_facts_around(ir_program *p, ir_stmt s) {
  ir_expr e = 0;
  for (ir_stmt up; (up = ir_st(p, s)->parent); s = up)
    e = add_lasting(p, e, ir_fact_of(p, up, ir_st(p, s)->in_alt));
  return e;
}

ir_expr ir_domains_around(ir_program *p, ir_stmt s) {
  ir_expr e = 0;
  while ((s = ir_st(p, s)->parent)) e = add_lasting(p, e, ir_domain_of(p, s));
  return e;
}

bool ir_is_digit_below(ir_program *p, arena *scratch, ir_expr e, ir_expr end,
                       ir_expr given) {
  const ir_node n = *ir_at(p, e);
  if ((n.op != IR_DIV && n.op != IR_MOD) || !n.is_index ||
      ir_at(p, n.b)->lo < 1)
    return false;
  if (n.op == IR_MOD)
    return arith_prove(p, scratch, ir_binary(p, IR_LE, n.b, end), given);
  ir_expr all = ir_mul(p, end, n.b);
  ir_expr in = ir_and(p, ir_binary(p, IR_LE, ir_index(p, 0), n.a),
                      ir_binary(p, IR_LT, n.a, all));
  return arith_prove(p, scratch, in, given) ||
         ir_is_digit_below(p, scratch, n.a, all, given);
}

/* A digit below or at a bound. */
static bool bounds_digit(ir_program *p, arena *scratch, const ir_node *n,
                         ir_expr given) {
  if ((n->op != IR_LT && n->op != IR_LE) || !ir_at(p, n->a)->is_index)
    return false;
  ir_expr end = n->op == IR_LT ? n->b : ir_add(p, n->b, ir_index(p, 1));
  return ir_is_digit_below(p, scratch, n->a, end, given);
}

static bool follows(ir_program *p, arena *scratch, ir_expr cond,
                    ir_expr given) {
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND)
    return follows(p, scratch, n.a, given) && follows(p, scratch, n.b, given);
  return !n.has_load && (arith_prove(p, scratch, cond, given) ||
                         bounds_digit(p, scratch, &n, given));
}

ir_expr ir_needed_condition(ir_program *p, arena *scratch, ir_expr cond,
                            ir_expr given) {
  const ir_node n = *ir_at(p, cond);
  if (n.op != IR_AND) return follows(p, scratch, cond, given) ? 0 : cond;
  ir_expr a = ir_needed_condition(p, scratch, n.a, given);
  ir_expr b = ir_needed_condition(p, scratch, n.b, given);
  return ir_and(p, a, b);
}
