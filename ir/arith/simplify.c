/* SPDX-License-Identifier: Apache-2.0
 * Canonicalization of index arithmetic: sums and products; files of their own
 * handle the other operators. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/scalar.h"

/* ---- sums --------------------------------------------------------------- */

/* a + sign * b; 0: does not fit. */
static ir_expr add_forms(ir_program *p, ir_expr a, ir_expr b, int64_t sign) {
  lin x;
  ir_op op = (ir_op)ir_at(p, b)->op;
  bool ok;
  if (ir_is_const(p, b, 0)) return a;
  if (sign > 0 && ir_is_const(p, a, 0)) return b;
  lin_of(p, a, &x);
  if (op == IR_ADD || op == IR_SUB || op == IR_MUL) {
    lin y;
    lin_of(p, b, &y);
    ok = lin_add(p, &x, &y, sign);
  } else if (op == IR_INT) {
    ok = sign > 0 ? lin_add_const(&x, ir_at(p, b)->i)
                  : !__builtin_sub_overflow(x.c, ir_at(p, b)->i, &x.c);
  } else {
    ok = lin_add_term(p, &x, b, sign);
  }
  if (!ok || (x.digits && !lin_recombine(p, &x))) return 0;
  return lin_build(p, &x);
}

/* ---- products ----------------------------------------------------------- */

static ir_expr scale_form(ir_program *p, ir_expr a, int64_t k) {
  lin x;
  if (k == 1) return a;
  lin_of(p, a, &x);
  return lin_scale(&x, k) ? lin_build(p, &x) : 0;
}

bool lin_factors(const ir_program *p, ir_expr e, ir_expr *f, uint32_t *n) {
  for (;;) {
    const ir_node *x = ir_at(p, e);
    ir_expr last = x->op == IR_MUL ? x->b : e;
    if (*n == LIN_FACTORS) return false;
    uint32_t at = (*n)++;
    for (; at > 0 && f[at - 1] > last; at--) f[at] = f[at - 1];
    f[at] = last;
    if (x->op != IR_MUL) return true;
    e = x->a;
  }
}

/* The product of two atoms, itself an atom. */
static ir_expr multiply_atoms(ir_program *p, ir_expr a, ir_expr b) {
  ir_expr f[LIN_FACTORS];
  uint32_t n = 0;
  if (!lin_factors(p, a, f, &n) || !lin_factors(p, b, f, &n)) return 0;
  ir_expr e = f[0];
  for (uint32_t i = 1; i < n; i++) e = ir_binary_node(p, IR_MUL, e, f[i]);
  return e;
}

/* Distributes over sums while the result is small. */
static ir_expr multiply(ir_program *p, ir_expr a, ir_expr b) {
  lin x, y, sum;
  lin_of(p, a, &x);
  lin_of(p, b, &y);
  if ((x.n + 1) * (y.n + 1) > LIN_MAX) return 0;
  lin_zero(&sum);
  bool ok = lin_add(p, &sum, &x, y.c) && lin_add(p, &sum, &y, x.c);
  int64_t k;
  ok = ok && !__builtin_mul_overflow(x.c, y.c, &k) &&
       !__builtin_sub_overflow(sum.c, k, &sum.c);
  for (uint32_t i = 0; ok && i < x.n * y.n; i++) {
    lin_term s = x.t[i / y.n], t = y.t[i % y.n];
    ir_expr e = multiply_atoms(p, s.atom, t.atom);
    ok = e && !__builtin_mul_overflow(s.k, t.k, &k) &&
         lin_add_term(p, &sum, e, k);
  }
  if (!ok || (sum.digits && !lin_recombine(p, &sum))) return 0;
  return lin_build(p, &sum);
}

static ir_expr multiply_forms(ir_program *p, ir_expr a, ir_expr b) {
  int64_t k;
  if (ir_const_int(p, b, &k)) return scale_form(p, a, k);
  if (ir_const_int(p, a, &k)) return scale_form(p, b, k);
  return multiply(p, a, b);
}

static ir_expr simplify(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  const ir_node *x = ir_at(p, a), *y = ir_at(p, b);
  if (x->op == IR_INT && y->op == IR_INT)
    return ir_int(p, ir_binary_dtype(op, IR_INDEX),
                  ir_fold_int(op, IR_INDEX, x->i, y->i));
  switch (op) {
  case IR_ADD: return add_forms(p, a, b, 1);
  case IR_SUB: return add_forms(p, a, b, -1);
  case IR_MUL: return multiply_forms(p, a, b);
  case IR_DIV:
  case IR_MOD: return arith_divide_by(p, op, a, b);
  case IR_MIN:
  case IR_MAX: return arith_minmax(p, op, a, b);
  default: return arith_compare(p, op, a, b);
  }
}

/* An operation whose canonical form contains an operand that may wrap is left
 * as it is, unless only the form shows that it may: (n * 2^31) * 2^31, for a
 * size n. */
ir_expr arith_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  ir_expr e = simplify(p, op, a, b);
  bool keep = e && (!ir_at(p, e)->wraps || ir_assumes_no_wrap(p, op, a, b));
  return keep ? e : ir_binary_node(p, op, a, b);
}
