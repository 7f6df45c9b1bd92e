/* SPDX-License-Identifier: Apache-2.0
 * Tight value ranges of linear forms whose atoms are dependent, such as the
 * difference of two quotients.  One atom at a time is expanded: a minimum to
 * either operand, m * (y // m) to y less something in [0, m), a product to at
 * least one factor times the minimum of the other. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

enum { OPENINGS = 4 }; /* nesting of expansions */

static int64_t min2(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max2(int64_t a, int64_t b) { return a > b ? a : b; }

static arith_range intersect(arith_range a, arith_range b) {
  return (arith_range){max2(a.lo, b.lo), min2(a.hi, b.hi)};
}

static arith_range tight(ir_program *p, const lin *x, int depth);

/* The range of x with its term i replaced by k * e. */
static arith_range replaced(ir_program *p, const lin *x, uint32_t i, ir_expr e,
                            int64_t k, int depth) {
  lin y, z;
  lin_copy(&y, x);
  lin_remove(&y, i);
  lin_of(p, e, &z);
  if (!lin_add(p, &y, &z, k) || (y.digits && !lin_recombine(p, &y)))
    return ARITH_ALL;
  return tight(p, &y, depth);
}

/* Term i is k * min(a, b) or the like: x is the lesser or greater of x with
 * either operand, or for a select one of the two. */
static arith_range open_choice(ir_program *p, const lin *x, uint32_t i,
                               int depth) {
  ir_node n = *ir_at(p, x->t[i].atom);
  int64_t k = x->t[i].k;
  bool select = n.op == IR_SELECT, lesser = (n.op == IR_MIN) == (k > 0);
  arith_range r = replaced(p, x, i, select ? n.b : n.a, k, depth);
  arith_range s = replaced(p, x, i, select ? n.c : n.b, k, depth);
  if (select) return (arith_range){min2(r.lo, s.lo), max2(r.hi, s.hi)};
  return lesser ? (arith_range){min2(r.lo, s.lo), min2(r.hi, s.hi)}
                : (arith_range){max2(r.lo, s.lo), max2(r.hi, s.hi)};
}

/* Term i is k * (y // m): m * x is m * (the rest) + k * y - k * [0, m - 1]. */
static arith_range open_quotient(ir_program *p, const lin *x, uint32_t i,
                                 ir_expr y, int64_t m, int depth) {
  lin mx;
  int64_t k = x->t[i].k;
  lin_copy(&mx, x);
  lin_remove(&mx, i);
  if (!lin_scale(&mx, m)) return ARITH_ALL;
  lin z;
  lin_of(p, y, &z);
  if (!lin_add(p, &mx, &z, k) || (mx.digits && !lin_recombine(p, &mx)))
    return ARITH_ALL;
  arith_range r = tight(p, &mx, depth);
  arith_range off = arith_range_scale((arith_range){0, m - 1}, -k);
  r = (arith_range){arith_add_lo(r.lo, off.lo), arith_add_hi(r.hi, off.hi)};
  if (r.lo != INT64_MIN) r.lo = arith_cdiv(r.lo, m);
  if (r.hi != INT64_MAX) r.hi = arith_fdiv(r.hi, m);
  return r;
}

/* Term i is k * a * b with nonnegative a, b: a * b is at least min(a) * b and
 * at least a * min(b). */
static arith_range open_product(ir_program *p, const lin *x, uint32_t i,
                                int depth) {
  const ir_node n = *ir_at(p, x->t[i].atom);
  const ir_expr factor[2] = {n.a, n.b};
  arith_range r = ARITH_ALL;
  int64_t least[2] = {ir_at(p, n.a)->lo, ir_at(p, n.b)->lo}, k;
  if (least[0] < 0 || least[1] < 0) return r;
  for (int side = 0; side < 2; side++) {
    if (__builtin_mul_overflow(x->t[i].k, least[side], &k)) continue;
    arith_range s = replaced(p, x, i, factor[1 - side], k, depth);
    if (x->t[i].k > 0)
      s.hi = INT64_MAX;
    else
      s.lo = INT64_MIN;
    r = intersect(r, s);
  }
  return r;
}

static bool is_choice(ir_op op) {
  return op == IR_MIN || op == IR_MAX || op == IR_SELECT;
}

/* Expanding pays off only if terms share variables. */
static bool shares_vars(const ir_program *p, const lin *x, uint32_t i) {
  uint32_t vars = ir_at(p, x->t[i].atom)->vars;
  for (uint32_t j = 0; j < x->n; j++)
    if (j != i && (ir_at(p, x->t[j].atom)->vars & vars)) return true;
  return false;
}

static arith_range tight(ir_program *p, const lin *x, int depth) {
  arith_range r = lin_range(p, x);
  for (uint32_t i = 0; depth > 0 && i < x->n; i++) {
    const ir_node *n = ir_at(p, x->t[i].atom);
    int64_t m;
    if (n->wraps || !shares_vars(p, x, i)) continue;
    if (is_choice((ir_op)n->op))
      r = intersect(r, open_choice(p, x, i, depth - 1));
    else if (n->op == IR_DIV && ir_const_int(p, n->b, &m) && m > 0)
      r = intersect(r, open_quotient(p, x, i, n->a, m, depth - 1));
    else if (n->op == IR_MUL)
      r = intersect(r, open_product(p, x, i, depth - 1));
  }
  return r;
}

arith_range lin_tight_range(ir_program *p, const lin *x) {
  ir_mark mark = ir_get_mark(p);
  arith_range r = tight(p, x, OPENINGS);
  ir_rollback(p, mark);
  return r;
}
