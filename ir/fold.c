/* SPDX-License-Identifier: Apache-2.0
 * Constant folding and peephole rules that hold for any type, under wrapping
 * and rounding: constants are folded exactly as the type computes, identity
 * operands are removed, comparisons are decided by value ranges.  No load is
 * ever dropped or added, and no float operation is reassociated.
 *
 * Floats are folded only if the result is exact, so that the program remains
 * the same computation in exact arithmetic, which the interpreter compares; the
 * compiler folds the others. */
#include "ir/arith/arith.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/scalar.h"

#include <math.h>

/* ---- constants ---------------------------------------------------------- */

/* The scalar of which e is a splat: e itself or what it broadcasts. */
static const ir_node *lane_of(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_BROADCAST ? ir_at(p, n->a) : n;
}

/* A multiple of 1/256 of moderate size, or an infinity: the constants that the
 * interpreter represents exactly in residue arithmetic. */
static bool is_short(double v) {
  return isinf(v) || (fabs(v) < 0x1p32 && v * 256 == floor(v * 256));
}

/* Is r, rounded for type t, exactly a op b? */
static bool is_exact(ir_op op, double a, double b, double r) {
  if (!isfinite(a) || !isfinite(b) || !isfinite(r)) return false;
  switch (op) {
  case IR_ADD: return r == a + b;
  case IR_SUB: return r == a - b;
  case IR_MUL: return fma(a, b, -r) == 0;
  case IR_DIV: return fma(r, b, -a) == 0;
  default: return true;
  }
}

static ir_expr fold_real(ir_program *p, ir_op op, tess_dtype t, double a,
                         double b) {
  if (!is_short(a) || !is_short(b)) return 0;
  double r = ir_fold_real(op, t, a, b);
  if (op != IR_MIN && op != IR_MAX && !is_exact(op, a, b, r)) return 0;
  return ir_real(p, ir_binary_dtype(op, t), r);
}

static ir_expr fold_binary(ir_program *p, ir_op op, const ir_node *x,
                           const ir_node *y, tess_dtype t) {
  tess_dtype r = ir_binary_dtype(op, t);
  if (x->op == IR_INT && y->op == IR_INT)
    return ir_int(p, r, ir_fold_int(op, t, x->i, y->i));
  if (x->op != IR_REAL || y->op != IR_REAL) return 0;
  if (!ir_is_cmp(op)) return fold_real(p, op, t, x->f, y->f);
  if (!is_short(x->f) || !is_short(y->f)) return 0;
  return ir_int(p, r, ir_compare_real(op, x->f, y->f));
}

/* ---- integers of any width ---------------------------------------------- */

/* `keep`, if dropping `drop` drops no load. */
static ir_expr drop_operand(const ir_program *p, ir_expr keep, ir_expr drop) {
  return ir_at(p, drop)->has_load ? 0 : keep;
}

/* The constant v, if dropping both operands drops no load. */
static ir_expr fold_to(ir_program *p, ir_op op, ir_expr a, ir_expr b,
                       int64_t v) {
  if (ir_at(p, a)->has_load || ir_at(p, b)->has_load) return 0;
  return ir_int(p, ir_binary_dtype(op, ir_at(p, a)->dtype), v);
}

/* a op c for a constant c. */
static ir_expr with_right(ir_program *p, ir_op op, ir_expr a, ir_expr b,
                          int64_t c) {
  const ir_node *x = ir_at(p, a);
  switch (op) {
  case IR_ADD:
  case IR_SUB: return c == 0 ? a : 0;
  case IR_MUL: return c == 1 ? a : c == 0 ? drop_operand(p, b, a) : 0;
  case IR_DIV:
    if (c == 1) return a;
    return c == 0 || (x->lo >= 0 && x->hi < c) ? fold_to(p, op, a, b, 0) : 0;
  case IR_MOD:
    if (c == 0 || c == 1) return fold_to(p, op, a, b, 0);
    return x->lo >= 0 && x->hi < c ? a : 0;
  default: return 0;
  }
}

/* c op b for a constant c. */
static ir_expr with_left(ir_program *p, ir_op op, ir_expr a, ir_expr b,
                         int64_t c) {
  switch (op) {
  case IR_ADD: return c == 0 ? b : 0;
  case IR_MUL: return c == 1 ? b : c == 0 ? drop_operand(p, a, b) : 0;
  case IR_DIV:
  case IR_MOD: return c == 0 ? drop_operand(p, a, b) : 0;
  default: return 0;
  }
}

/* a op a. */
static ir_expr with_itself(ir_program *p, ir_op op, ir_expr a) {
  switch (op) {
  case IR_MIN:
  case IR_MAX:
  case IR_AND:
  case IR_OR: return a;
  case IR_SUB:
  case IR_NE:
  case IR_LT: return fold_to(p, op, a, a, 0);
  case IR_EQ:
  case IR_LE: return fold_to(p, op, a, a, 1);
  default: return 0;
  }
}

static ir_expr by_bounds(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  arith_range x = arith_bounds(p, a), y = arith_bounds(p, b);
  if (op == IR_MIN || op == IR_MAX) {
    if (x.hi <= y.lo && x.hi != INT64_MAX)
      return op == IR_MIN ? drop_operand(p, a, b) : drop_operand(p, b, a);
    if (y.hi <= x.lo && y.hi != INT64_MAX)
      return op == IR_MIN ? drop_operand(p, b, a) : drop_operand(p, a, b);
    return 0;
  }
  if (op < IR_EQ) return 0;
  arith_range r = arith_range_of(op, x, y);
  return r.lo == r.hi ? fold_to(p, op, a, b, r.lo) : 0;
}

static ir_expr logic_with(ir_program *p, ir_op op, ir_expr a, ir_expr b,
                          bool v) {
  return v == (op == IR_AND) ? a : drop_operand(p, b, a);
}

static ir_expr int_rule(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  int64_t v;
  ir_expr e = a == b ? with_itself(p, op, a) : 0;
  if (!e && ir_splat(p, b, &v))
    e = ir_is_logic(op) ? logic_with(p, op, a, b, v)
                        : with_right(p, op, a, b, v);
  if (!e && ir_splat(p, a, &v))
    e = ir_is_logic(op) ? logic_with(p, op, b, a, v)
                        : with_left(p, op, a, b, v);
  return e ? e : by_bounds(p, op, a, b);
}

/* ---- vectors ------------------------------------------------------------ */

/* Base and stride of a ramp or splat of integers. */
static bool as_ramp(ir_program *p, ir_expr e, ir_expr *base, ir_expr *step) {
  const ir_node *n = ir_at(p, e);
  bool same = n->op == IR_BROADCAST;
  if (!same && n->op != IR_RAMP) return false;
  *base = n->a;
  *step = same ? ir_int(p, ir_at(p, n->a)->dtype, 0) : n->b;
  return true;
}

/* Sums of ramps, and products of a ramp with a splat, are ramps: both hold
 * modulo 2^bits. */
static ir_expr ramp_rule(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  ir_expr base[2], step[2];
  uint32_t lanes = ir_at(p, a)->dtype.lanes;
  if (!as_ramp(p, a, &base[0], &step[0]) || !as_ramp(p, b, &base[1], &step[1]))
    return 0;
  if (op == IR_ADD || op == IR_SUB) {
    ir_expr s = ir_binary(p, op, step[0], step[1]);
    return ir_ramp(p, ir_binary(p, op, base[0], base[1]), s, lanes);
  }
  int fixed = ir_at(p, b)->op == IR_BROADCAST ? 1 : 0;
  if (op != IR_MUL || ir_at(p, fixed ? b : a)->op != IR_BROADCAST) return 0;
  ir_expr s = ir_mul(p, step[1 - fixed], base[fixed]);
  return ir_ramp(p, ir_mul(p, base[0], base[1]), s, lanes);
}

static ir_expr vector_rule(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  const ir_node *x = ir_at(p, a), *y = ir_at(p, b);
  uint32_t lanes = x->dtype.lanes;
  if (x->op == IR_BROADCAST && y->op == IR_BROADCAST)
    return ir_broadcast(p, ir_binary(p, op, x->a, y->a), lanes);
  return ir_is_int(x->dtype) ? ramp_rule(p, op, a, b) : 0;
}

ir_expr ir_local_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  tess_dtype t = ir_at(p, a)->dtype;
  ir_expr e = fold_binary(p, op, lane_of(p, a), lane_of(p, b), t);
  if (!e && ir_is_int(t)) e = int_rule(p, op, a, b);
  if (!e && t.lanes > 1) e = vector_rule(p, op, a, b);
  return e;
}

/* ---- one operand -------------------------------------------------------- */

ir_expr ir_local_not(ir_program *p, ir_expr a) {
  const ir_node *x = ir_at(p, a);
  switch ((ir_op)x->op) {
  case IR_INT: return ir_bool(p, !x->i);
  case IR_NOT: return x->a;
  case IR_BROADCAST: return ir_broadcast(p, ir_not(p, x->a), x->dtype.lanes);
  case IR_EQ: return ir_binary(p, IR_NE, x->a, x->b);
  case IR_NE: return ir_binary(p, IR_EQ, x->a, x->b);
  case IR_LT:
  case IR_LE:
    if (!ir_is_int(ir_at(p, x->a)->dtype)) return 0;
    return ir_binary(p, x->op == IR_LT ? IR_LE : IR_LT, x->b, x->a);
  case IR_AND:
  case IR_OR: {
    ir_op other = x->op == IR_AND ? IR_OR : IR_AND;
    ir_expr right = x->b, left = ir_not(p, x->a);
    return ir_binary(p, other, left, ir_not(p, right));
  }
  default: return 0;
  }
}

static ir_expr fold_cast(ir_program *p, tess_dtype t, const ir_node *x) {
  if (x->op == IR_INT)
    return ir_is_float(t)
               ? ir_real(p, t, ir_cast_int_to_real(t, x->dtype, x->i))
               : ir_int(p, t, ir_cast_int(t, x->dtype, x->i));
  if (!is_short(x->f) && !(ir_is_float(t) && ir_round_real(t, x->f) == x->f))
    return 0;
  if (ir_is_float(t)) return ir_real(p, t, x->f);
  return ir_int(p, t, ir_cast_real_to_int(t, x->f));
}

/* Skips an inner cast that loses nothing. */
static ir_expr cast_through(ir_program *p, tess_dtype t, const ir_node *x) {
  const ir_node *y = ir_at(p, x->a);
  if (!ir_is_int(x->dtype) || !ir_is_int(y->dtype) ||
      x->dtype.code == TESS_DTYPE_BOOL)
    return 0;
  bool fits = y->lo != INT64_MIN && y->hi != INT64_MAX &&
              y->lo >= ir_int_min(x->dtype) && y->hi <= ir_int_max(x->dtype);
  return fits ? ir_cast(p, t, x->a) : 0;
}

ir_expr ir_local_cast(ir_program *p, tess_dtype t, ir_expr a) {
  const ir_node *x = ir_at(p, a);
  tess_dtype one = t;
  one.lanes = 1;
  if (t.code == TESS_DTYPE_HANDLE || x->dtype.code == TESS_DTYPE_HANDLE)
    return 0;
  switch ((ir_op)x->op) {
  case IR_INT:
  case IR_REAL: return fold_cast(p, t, x);
  case IR_BROADCAST: return ir_broadcast(p, ir_cast(p, one, x->a), t.lanes);
  case IR_CAST: return cast_through(p, t, x);
  default: return 0;
  }
}
