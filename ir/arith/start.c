/* SPDX-License-Identifier: Apache-2.0
 * Conditions that hold at the first iteration of loops if they hold at any. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct var_set {
  const uint8_t *set;
  uint8_t bits;
} var_set;

static ir_walk is_var_of_set(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  const var_set *s = ud;
  return n->op == IR_VAR && (s->set[n->a] & s->bits) ? IR_WALK_FOUND
                                                     : IR_WALK_DESCEND;
}

static bool start_uses_any(const ir_program *p, ir_expr e, const uint8_t *set,
                           uint8_t bits) {
  var_set s = {set, bits};
  return ir_any(p, e, is_var_of_set, &s);
}

/* Is e monotonic in every variable of the set, together: non-decreasing, or for
 * `sign` -1 non-increasing? */
static bool is_monotonic(const ir_program *p, ir_expr e, int sign,
                         const uint8_t *set, uint8_t bits) {
  ir_expr atom[32];
  int64_t coef[32], constant;
  int n = arith_terms(p, e, 32, atom, coef, &constant);
  if (n < 0) return false;
  for (int i = 0; i < n; i++) {
    if (!start_uses_any(p, atom[i], set, bits)) continue;
    const ir_node *a = ir_at(p, atom[i]);
    if ((coef[i] < 0) != (sign < 0)) return false;
    if (a->op == IR_VAR) continue;
    if (a->op != IR_DIV || ir_at(p, a->b)->op != IR_INT ||
        ir_at(p, a->b)->i <= 0 || !is_monotonic(p, a->a, 1, set, bits))
      return false;
  }
  return true;
}

bool arith_holds_at_start(const ir_program *p, ir_expr cond, const uint8_t *set,
                          uint8_t bits) {
  const ir_node *n = ir_at(p, cond);
  if (n->op == IR_AND)
    return arith_holds_at_start(p, n->a, set, bits) &&
           arith_holds_at_start(p, n->b, set, bits);
  /* Whichever side holds somewhere holds at the start. */
  if (n->op == IR_OR && ir_is_small(p, cond))
    return arith_holds_at_start(p, n->a, set, bits) &&
           arith_holds_at_start(p, n->b, set, bits);
  if (!start_uses_any(p, cond, set, bits)) return true;
  return (n->op == IR_LT || n->op == IR_LE) && ir_is_small(p, cond) &&
         is_monotonic(p, n->a, 1, set, bits) &&
         is_monotonic(p, n->b, -1, set, bits);
}
