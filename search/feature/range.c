/* SPDX-License-Identifier: Apache-2.0
 * Interval arithmetic over index expressions, variables given as ranges. */
#include "search/feature/nest.h"

/* Far from where sums of a few could overflow. */
#define FAR (INT64_C(1) << 40)
enum { MAX_DEPTH = 24 };

static int64_t clip(int64_t x) { return x < -FAR ? -FAR : x > FAR ? FAR : x; }

static nest_range nest_range_of(int64_t lo, int64_t hi) {
  return (nest_range){clip(lo), clip(hi)};
}

static nest_range known_bounds(const ir_node *n) {
  return nest_range_of(n->lo, n->hi < n->lo ? n->lo : n->hi);
}

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static nest_range product(nest_range a, nest_range b) {
  nest_range r = {INT64_MAX, INT64_MIN};
  for (int k = 0; k < 4; k++) {
    int64_t x;
    if (__builtin_mul_overflow(k & 1 ? a.hi : a.lo, k & 2 ? b.hi : b.lo, &x))
      return (nest_range){-FAR, FAR};
    if (x < r.lo) r.lo = x;
    if (x > r.hi) r.hi = x;
  }
  return nest_range_of(r.lo, r.hi);
}

static nest_range remainder_of(nest_range a, int64_t c) {
  int64_t q = floor_div(a.lo, c);
  if (q == floor_div(a.hi, c)) return (nest_range){a.lo - q * c, a.hi - q * c};
  return (nest_range){0, c - 1};
}

static nest_range range_eval(const ir_program *p, const nest_range *var,
                             ir_expr e, uint32_t depth);

static nest_range binary(const ir_program *p, const nest_range *var,
                         const ir_node *n, uint32_t depth) {
  nest_range a = range_eval(p, var, n->a, depth),
             b = range_eval(p, var, n->b, depth);
  switch ((ir_op)n->op) {
  case IR_ADD: return nest_range_of(a.lo + b.lo, a.hi + b.hi);
  case IR_SUB: return nest_range_of(a.lo - b.hi, a.hi - b.lo);
  case IR_MUL: return product(a, b);
  case IR_DIV:
    if (b.lo != b.hi || b.lo < 1) break;
    return (nest_range){floor_div(a.lo, b.lo), floor_div(a.hi, b.lo)};
  case IR_MOD:
    if (b.lo != b.hi || b.lo < 1) break;
    return remainder_of(a, b.lo);
  case IR_MIN:
    return (nest_range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
  case IR_MAX:
    return (nest_range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
  default: break;
  }
  return known_bounds(n);
}

static nest_range range_eval(const ir_program *p, const nest_range *var,
                             ir_expr e, uint32_t depth) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT) return nest_range_of(n->i, n->i);
  if (n->op == IR_VAR) return var[n->a];
  if (depth >= MAX_DEPTH) return known_bounds(n);
  if (n->op >= IR_ADD && n->op <= IR_MAX && ir_is_int(n->dtype))
    return binary(p, var, n, depth + 1);
  if (n->op == IR_CAST && ir_is_int(n->dtype) &&
      ir_is_int(ir_at(p, n->a)->dtype))
    return range_eval(p, var, n->a, depth + 1);
  if (n->op == IR_SELECT && ir_is_int(n->dtype)) {
    nest_range a = range_eval(p, var, n->b, depth + 1);
    nest_range b = range_eval(p, var, n->c, depth + 1);
    return (nest_range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
  }
  return known_bounds(n);
}

nest_range nest_eval(const ir_program *p, const nest_range *var, ir_expr e) {
  return range_eval(p, var, e, 0);
}
