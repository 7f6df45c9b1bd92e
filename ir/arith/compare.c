/* SPDX-License-Identifier: Apache-2.0
 * Canonicalization of comparisons: order comparisons become `sum <
 * constant`, reduced, and are written with positive coefficients on the left:
 * `i < 17`, `i
 * <= j + 2`, `1 <= i`. Equality is `sum == constant` likewise. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"

/* sum < c over x's terms: x->c is unused. */
typedef struct inequality {
  lin x;
  int64_t c;
} inequality;

/* Divides by the greatest common divisor of the coefficients: exact for an
 * order comparison of integers, with the constant rounded up. */
static int64_t common_factor(const lin *x) {
  int64_t g = 0;
  for (uint32_t i = 0; i < x->n && g != 1; i++) g = arith_gcd(x->t[i].k, g);
  return g;
}

static void divide_terms(lin *x, int64_t g) {
  if (g <= 1) return;
  for (uint32_t i = 0; i < x->n; i++) x->t[i].k /= g;
  x->built = 0;
}

/* g * (some terms) + (the others) < c is equivalent to (some terms) < q if the
 * range of the others fits between multiples of g: drops the others. */
static bool drop_low(const ir_program *p, inequality *q, int64_t g) {
  arith_range low = {0, 0};
  uint32_t dropped = 0;
  lin *x = &q->x;
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->t[i].k % g == 0) continue;
    arith_range t = arith_range_scale(arith_bounds(p, x->t[i].atom), x->t[i].k);
    low = (arith_range){arith_add_lo(low.lo, t.lo), arith_add_hi(low.hi, t.hi)};
    dropped++;
  }
  int64_t lo, hi;
  if (!dropped || low.lo == INT64_MIN || low.hi == INT64_MAX ||
      __builtin_sub_overflow(q->c, low.lo, &lo) ||
      __builtin_sub_overflow(q->c, low.hi, &hi) ||
      arith_cdiv(lo, g) != arith_cdiv(hi, g))
    return false;
  for (uint32_t i = 0; i < x->n;)
    if (x->t[i].k % g)
      lin_remove(x, i);
    else
      i++;
  q->c = arith_cdiv(lo, g);
  divide_terms(x, g);
  return true;
}

static bool drop_some(const ir_program *p, inequality *q) {
  for (uint32_t i = 0; i < q->x.n; i++) {
    int64_t k = q->x.t[i].k, g = k < 0 ? -k : k;
    if (g > 1 && drop_low(p, q, g)) return true;
  }
  return false;
}

/* y // m < c is equivalent to y < c * m, and -(y // m) < c to -y < (c - 1) * m
 * + 1. */
static bool multiply_out(const ir_program *p, inequality *q) {
  int64_t k = q->x.n == 1 ? q->x.t[0].k : 0, m, c = q->c;
  const ir_node *n = q->x.n ? ir_at(p, q->x.t[0].atom) : NULL;
  if ((k != 1 && k != -1) || n->op != IR_DIV || !ir_const_int(p, n->b, &m) ||
      m <= 0)
    return false;
  if (__builtin_mul_overflow(k > 0 ? c : c - 1, m, &c) ||
      (k < 0 && __builtin_add_overflow(c, 1, &c)))
    return false;
  lin y;
  lin_of(p, n->a, &y);
  if (!lin_scale(&y, k) || __builtin_sub_overflow(c, y.c, &c)) return false;
  y.c = 0;
  lin_copy(&q->x, &y);
  q->c = c;
  return true;
}

/* Rounds, drops and multiplies out to a fixed point. */
static void reduce_inequality(const ir_program *p, inequality *q) {
  do {
    int64_t g = common_factor(&q->x);
    if (g > 1) {
      divide_terms(&q->x, g);
      q->c = arith_cdiv(q->c, g);
    }
  } while (drop_some(p, q) || multiply_out(p, q));
}

/* ---- writing ------------------------------------------------------------ */

/* The terms of one sign, negated if they are negative. */
static void lin_side(const ir_program *p, const lin *x, bool positive,
                     lin *out) {
  lin_zero(out);
  for (uint32_t i = 0; i < x->n; i++)
    if ((x->t[i].k > 0) == positive)
      (void)lin_add_term(p, out, x->t[i].atom,
                         positive ? x->t[i].k : -x->t[i].k);
}

static ir_expr write_inequality(ir_program *p, ir_op op, const lin *x,
                                int64_t c) {
  lin left, right;
  lin_side(p, x, true, &left);
  lin_side(p, x, false, &right);
  if (op == IR_LT && left.n == 0)
    return ir_binary_node(p, IR_LE, ir_index(p, 1 - c), lin_build(p, &right));
  if (op == IR_LT && right.n > 0 && c == 1)
    return ir_binary_node(p, IR_LE, lin_build(p, &left), lin_build(p, &right));
  right.c = c;
  ir_expr a = lin_build(p, &left);
  return ir_binary_node(p, op, a, lin_build(p, &right));
}

/* ---- deciding ----------------------------------------------------------- */

/* a < b + slack. */
static ir_expr compare_order(ir_program *p, ir_expr a, ir_expr b,
                             int64_t slack) {
  inequality q;
  if (!lin_diff(p, a, b, &q.x) || (q.x.digits && !lin_recombine(p, &q.x)) ||
      __builtin_sub_overflow(slack, q.x.c, &q.c))
    return 0;
  q.x.c = 0;
  reduce_inequality(p, &q);
  arith_range r = lin_term_range(p, &q.x);
  if (r.hi < q.c) return ir_bool(p, true);
  if (r.lo >= q.c) return ir_bool(p, false);
  if (q.c <= INT64_MIN + 1) return 0;
  return write_inequality(p, IR_LT, &q.x, q.c);
}

static ir_expr compare_equal(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  lin x;
  int64_t c;
  if (!lin_diff(p, a, b, &x) || (x.digits && !lin_recombine(p, &x)) ||
      __builtin_sub_overflow(0, x.c, &c))
    return 0;
  x.c = 0;
  int64_t g = common_factor(&x);
  arith_range r = lin_term_range(p, &x);
  if (x.n == 0 || c < r.lo || c > r.hi || c % g)
    return ir_bool(p, (op == IR_EQ) == (x.n == 0 && c == 0));
  if (x.t[0].k < 0) g = -g;
  for (uint32_t i = 0; i < x.n; i++) x.t[i].k /= g;
  x.built = 0;
  return write_inequality(p, op, &x, c / g);
}

/* Decides an order comparison by constant ranges alone, which suffices
 * for most redundant guards: 1, 0, or -1 for undecided. */
static int by_bounds(const ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  arith_range x = arith_bounds(p, a), y = arith_bounds(p, b);
  if (op == IR_LT) return x.hi < y.lo ? 1 : x.lo >= y.hi ? 0 : -1;
  if (op == IR_LE) return x.hi <= y.lo ? 1 : x.lo > y.hi ? 0 : -1;
  return -1;
}

ir_expr arith_compare(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  int known = by_bounds(p, op, a, b);
  if (known >= 0) return ir_bool(p, known);
  ir_expr e = op == IR_LT   ? compare_order(p, a, b, 0)
              : op == IR_LE ? compare_order(p, a, b, 1)
                            : compare_equal(p, op, a, b);
  return e ? e : ir_binary_node(p, op, a, b);
}
