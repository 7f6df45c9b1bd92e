/* SPDX-License-Identifier: Apache-2.0
 * Tightens loop bounds: an upper bound on a loop's variable, in a guard over
 * all of its body, limits the loop's extent, so that the iterations of a tail
 * which the guard excludes are not run.
 *
 *     for i in range(32): if io * 32 + i < n: S
 * becomes
 *     for i in range(max(0, min(32, n - io * 32))): S
 *
 * Of serial loops only, after `unroll`: those that stay loops. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

/* The first value of v at which cond, a comparison that holds for all lower
 * ones, fails; 0: cond is not of that form, or reads what S may store. */
static ir_expr first_failure(ir_program *p, ir_expr cond, ir_var v) {
  enum { MAX_TERMS = 16 };
  const ir_node n = *ir_at(p, cond);
  ir_expr atom[MAX_TERMS], variable = ir_ref(p, v);
  int64_t coef[MAX_TERMS], constant, k = 0;
  if ((n.op != IR_LT && n.op != IR_LE) || !ir_uses_var(p, cond, v) ||
      !ir_dtype_eq(ir_at(p, n.a)->dtype, IR_INDEX) ||
      !lower_is_arithmetic(p, cond))
    return 0;
  int terms =
      arith_terms(p, ir_sub(p, n.a, n.b), MAX_TERMS, atom, coef, &constant);
  for (int i = 0; i < terms; i++)
    if (atom[i] == variable) k = coef[i];
  if (k <= 0) return 0;
  /* k v + rest < 0 (or <= 0) up to the quotient of -rest by k, rounded up. */
  ir_expr rest =
      ir_sub(p, ir_sub(p, n.a, n.b), ir_mul(p, variable, ir_index(p, k)));
  if (ir_uses_var(p, rest, v)) return 0;
  ir_expr least = ir_sub(p, ir_index(p, n.op == IR_LT ? k - 1 : k), rest);
  return ir_binary(p, IR_DIV, least, ir_index(p, k));
}

/* What is left of the conjunction; *end becomes the least bound, where there is
 * any. */
static ir_expr without_bounds(ir_program *p, ir_expr cond, ir_var v,
                              ir_expr *end) {
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) {
    ir_expr a = without_bounds(p, n.a, v, end);
    return ir_and(p, a, without_bounds(p, n.b, v, end));
  }
  ir_expr bound = first_failure(p, cond, v);
  if (!bound) return cond;
  *end = *end ? ir_binary(p, IR_MIN, *end, bound) : bound;
  return ir_bool(p, true);
}

static void tighten_loop(ir_program *p, ir_stmt loop) {
  const ir_stmt_rec r = *ir_st(p, loop);
  if (r.kind != IR_LOOP || r.loop_kind != IR_SERIAL || !r.body) return;
  ir_stmt guard = r.body;
  const ir_stmt_rec g = *ir_st(p, guard);
  if (g.kind != IR_IF || g.alt || g.next) return;
  ir_expr end = 0, rest = without_bounds(p, g.cond, r.var, &end);
  if (!end) return;
  ir_expr most = ir_binary(p, IR_MIN, r.extent, ir_sub(p, end, r.lo));
  ir_st(p, loop)->extent = ir_binary(p, IR_MAX, most, ir_index(p, 0));
  ir_st(p, guard)->cond = rest;
  if (ir_is_const(p, rest, 1)) lower_splice(p, guard);
}

LOWER_PASS(tighten_loop_bounds) {
  (void)scratch, (void)o, (void)e;
  LOWER_EACH(p, s) tighten_loop(p, s);
  return TESS_OK;
}
