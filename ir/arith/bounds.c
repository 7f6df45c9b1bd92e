/* SPDX-License-Identifier: Apache-2.0
 * Constant value ranges: interval arithmetic for every operator, and the range
 * of an expression whose variables are restricted further. */
#include "ir/arith/arith.h"
#include "ir/arith/range.h"
#include "ir/edit.h"
#include "ir/scalar.h"

static int64_t min2(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max2(int64_t a, int64_t b) { return a > b ? a : b; }

static bool is_finite(arith_range r) {
  return r.lo != INT64_MIN && r.hi != INT64_MAX;
}

/* ---- arithmetic --------------------------------------------------------- */

static arith_range add_range(arith_range a, arith_range b) {
  return (arith_range){arith_add_lo(a.lo, b.lo), arith_add_hi(a.hi, b.hi)};
}

/* -r; INT64_MIN, which has no negative, becomes unbounded. */
static arith_range range_negate(arith_range r) {
  return arith_range_scale(r, -1);
}

/* The hull of the four products of the ends.  If a side is unbounded only the
 * sign is known, and only if both operands have a fixed one. */
static arith_range mul_range(arith_range a, arith_range b) {
  if (b.lo == b.hi && b.lo != INT64_MIN && b.lo != INT64_MAX)
    return arith_range_scale(a, b.lo);
  if (a.lo == a.hi && a.lo != INT64_MIN && a.lo != INT64_MAX)
    return arith_range_scale(b, a.lo);
  arith_range r = {INT64_MAX, INT64_MIN};
  int64_t x[2] = {a.lo, a.hi}, y[2] = {b.lo, b.hi}, v;
  bool finite = is_finite(a) && is_finite(b);
  for (int i = 0; finite && i < 4; i++) {
    if (__builtin_mul_overflow(x[i >> 1], y[i & 1], &v)) finite = false;
    r = (arith_range){min2(r.lo, v), max2(r.hi, v)};
  }
  if (finite) return r;
  if (a.lo >= 0 && b.lo >= 0)
    return (arith_range){__builtin_mul_overflow(a.lo, b.lo, &v) ? 0 : v,
                         INT64_MAX};
  return ARITH_ALL;
}

/* a // b for 0 < b.lo: the quotient approaches 0 (or -1) as b grows. */
static arith_range div_positive(arith_range a, arith_range b) {
  arith_range r = ARITH_ALL;
  if (a.lo != INT64_MIN)
    r.lo = a.lo >= 0 ? (b.hi == INT64_MAX ? 0 : arith_fdiv(a.lo, b.hi))
                     : arith_fdiv(a.lo, b.lo);
  if (a.hi != INT64_MAX)
    r.hi = a.hi >= 0 ? arith_fdiv(a.hi, b.lo)
                     : (b.hi == INT64_MAX ? -1 : arith_fdiv(a.hi, b.hi));
  return r;
}

/* If the divisor may be 0 or of either sign: the quotient's magnitude is at
 * most the dividend's. */
static arith_range div_range(arith_range a, arith_range b) {
  if (b.lo > 0) return div_positive(a, b);
  if (b.hi < 0 && b.lo != INT64_MIN)
    return div_positive(range_negate(a), range_negate(b));
  if (!is_finite(a)) return ARITH_ALL;
  int64_t far = max2(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);
  return (arith_range){-far, far};
}

/* The largest remainder by divisors up to `hi`. */
static int64_t largest_remainder(int64_t hi) {
  return hi == INT64_MAX ? hi : hi > 0 ? hi - 1 : 0;
}

static arith_range mod_positive(arith_range a, arith_range b) {
  if (b.lo > 0 && b.lo == b.hi && is_finite(a) &&
      arith_fdiv(a.lo, b.lo) == arith_fdiv(a.hi, b.lo))
    return (arith_range){arith_fmod(a.lo, b.lo), arith_fmod(a.hi, b.lo)};
  int64_t hi = largest_remainder(b.hi);
  if (a.lo >= 0) {
    if (a.hi < b.lo) return a;
    hi = min2(hi, a.hi);
  }
  return (arith_range){0, hi};
}

static arith_range mod_range(arith_range a, arith_range b) {
  if (b.lo >= 0) return mod_positive(a, b);
  if (b.hi < 0 && b.lo != INT64_MIN)
    return range_negate(mod_positive(range_negate(a), range_negate(b)));
  return (arith_range){b.lo == INT64_MIN ? INT64_MIN : b.lo + 1,
                       largest_remainder(b.hi)};
}

/* ---- conditions --------------------------------------------------------- */

static const arith_range no = {0, 0}, yes = {1, 1}, either = {0, 1};

static arith_range not_range(arith_range a) {
  return (arith_range){a.hi == 0, a.lo <= 0};
}

static arith_range eq_range(arith_range a, arith_range b) {
  if (a.hi < b.lo || b.hi < a.lo) return no;
  return a.lo == a.hi && b.lo == b.hi && is_finite(a) && is_finite(b) ? yes
                                                                      : either;
}

/* Is every value of a <= every value of b? */
static bool never_above(arith_range a, arith_range b) {
  return a.hi <= b.lo && a.hi != INT64_MAX;
}

static arith_range compare_range(ir_op op, arith_range a, arith_range b) {
  switch (op) {
  case IR_EQ: return eq_range(a, b);
  case IR_NE: return not_range(eq_range(a, b));
  case IR_LT: return a.hi < b.lo ? yes : never_above(b, a) ? no : either;
  case IR_LE: return never_above(a, b) ? yes : b.hi < a.lo ? no : either;
  case IR_AND: return (arith_range){a.lo > 0 && b.lo > 0, a.hi > 0 && b.hi > 0};
  default: return (arith_range){a.lo > 0 || b.lo > 0, a.hi > 0 || b.hi > 0};
  }
}

arith_range arith_range_of(ir_op op, arith_range a, arith_range b) {
  switch (op) {
  case IR_ADD: return add_range(a, b);
  case IR_SUB: return add_range(a, range_negate(b));
  case IR_MUL: return mul_range(a, b);
  case IR_DIV: return div_range(a, b);
  case IR_MOD: return mod_range(a, b);
  case IR_MIN: return (arith_range){min2(a.lo, b.lo), min2(a.hi, b.hi)};
  case IR_MAX: return (arith_range){max2(a.lo, b.lo), max2(a.hi, b.hi)};
  default: return compare_range(op, a, b);
  }
}

/* ---- nodes -------------------------------------------------------------- */

/* An unbounded end of a 64-bit type may have wrapped around. */
static arith_range fit_range(tess_dtype t, arith_range r) {
  int64_t lo = ir_int_min(t), hi = ir_int_max(t);
  bool fits = is_finite(r) && r.lo >= lo && r.hi <= hi;
  return fits ? r : (arith_range){lo, hi};
}

static bool can_wrap(ir_op op) { return op >= IR_ADD && op <= IR_DIV; }

/* Saturation is monotonic, so the ends map to where they saturate. */
static arith_range cast_range(tess_dtype to, tess_dtype from, arith_range r) {
  if (!ir_is_int(to)) return ARITH_ALL;
  if (to.code == TESS_DTYPE_BOOL)
    return r.lo > 0 || r.hi < 0 ? yes : r.lo == 0 && r.hi == 0 ? no : either;
  arith_range all = {ir_int_min(to), ir_int_max(to)};
  if (!ir_is_int(from)) return all;
  return (arith_range){max2(min2(r.lo, all.hi), all.lo),
                       min2(max2(r.hi, all.lo), all.hi)};
}

/* From the base and the last lane; the other lanes are between them. */
static arith_range ramp_range(const ir_node *n, arith_range base,
                              arith_range stride) {
  arith_range last = add_range(
      base,
      mul_range(stride, (arith_range){n->dtype.lanes - 1, n->dtype.lanes - 1}));
  return fit_range(
      n->dtype, (arith_range){min2(base.lo, last.lo), max2(base.hi, last.hi)});
}

static arith_range literal_range(const ir_node *n) {
  if (n->dtype.code == TESS_DTYPE_UINT && n->i < 0)
    return (arith_range){0, INT64_MAX};
  return (arith_range){n->i, n->i};
}

/* An index keeps its bounds as computed: it is proven not to overflow. */
static arith_range binary_range(const ir_program *p, const ir_node *n,
                                arith_range a, arith_range b) {
  if (ir_is_float(ir_at(p, n->a)->dtype))
    return ir_is_float(n->dtype) ? ARITH_ALL : either;
  arith_range r = arith_range_of((ir_op)n->op, a, b);
  bool exact = (n->is_index && n->dtype.code == TESS_DTYPE_INT) ||
               !can_wrap((ir_op)n->op);
  return exact ? r : fit_range(n->dtype, r);
}

/* Masked-off lanes are 0. */
static arith_range load_range(const ir_program *p, const ir_node *n) {
  const ir_buf_rec *b = &p->buf.v[n->a];
  if (!ir_is_int(n->dtype)) return ARITH_ALL;
  if (!(b->holds & IR_HOLDS_RANGE))
    return (arith_range){ir_int_min(n->dtype), ir_int_max(n->dtype)};
  arith_range r = {b->least, b->most};
  return n->c ? (arith_range){min2(r.lo, 0), max2(r.hi, 0)} : r;
}

arith_range arith_operator_range(const ir_program *p, const ir_node *n,
                                 arith_range a, arith_range b, arith_range c) {
  switch ((ir_op)n->op) {
  case IR_NOT: return not_range(a);
  case IR_BROADCAST: return a;
  case IR_RAMP: return ramp_range(n, a, b);
  case IR_CAST: return cast_range(n->dtype, ir_at(p, n->a)->dtype, a);
  case IR_SELECT: return (arith_range){min2(b.lo, c.lo), max2(b.hi, c.hi)};
  default: return binary_range(p, n, a, b);
  }
}

arith_range arith_node_range(const ir_program *p, const ir_node *n) {
  switch ((ir_op)n->op) {
  case IR_INT: return literal_range(n);
  case IR_VAR:
    if (!ir_is_int(n->dtype)) return ARITH_ALL;
    return (arith_range){max2(p->var.v[n->a].lo, ir_int_min(n->dtype)),
                         min2(p->var.v[n->a].hi, ir_int_max(n->dtype))};
  case IR_NONE:
  case IR_REAL: return ARITH_ALL;
  case IR_LOAD: return load_range(p, n);
  case IR_CALL:
    if (!ir_is_int(n->dtype)) return ARITH_ALL;
    return (arith_range){ir_int_min(n->dtype), ir_int_max(n->dtype)};
  case IR_SELECT:
    return arith_operator_range(p, n, no, arith_bounds(p, n->b),
                                arith_bounds(p, n->c));
  case IR_NOT:
  case IR_BROADCAST:
  case IR_CAST:
    return arith_operator_range(p, n, arith_bounds(p, n->a), no, no);
  default:
    return arith_operator_range(p, n, arith_bounds(p, n->a),
                                arith_bounds(p, n->b), no);
  }
}

/* ---- restricted variables ----------------------------------------------- */

enum { RECENT = 64 };

/* A small cache of recent results avoids recomputing shared operands. */
typedef struct confined {
  const ir_program *p;
  uint32_t n, vars;
  const ir_var *var;
  const arith_range *range;
  bool within; /* no variable leaves its own bounds */
  ir_expr known[RECENT];
  arith_range answer[RECENT];
} confined;

static arith_range confine(confined *c, ir_expr e);

static arith_range confine_node(confined *c, const ir_node *n) {
  switch ((ir_op)n->op) {
  case IR_VAR:
    for (uint32_t i = 0; i < c->n; i++)
      if (c->var[i] == n->a) return c->range[i];
    return (arith_range){n->lo, n->hi};
  case IR_NOT: return not_range(confine(c, n->a));
  case IR_SELECT: {
    arith_range a = confine(c, n->b), b = confine(c, n->c);
    return (arith_range){min2(a.lo, b.lo), max2(a.hi, b.hi)};
  }
  case IR_CAST:
    return cast_range(n->dtype, ir_at(c->p, n->a)->dtype, confine(c, n->a));
  default: {
    arith_range a = confine(c, n->a);
    return arith_range_of((ir_op)n->op, a, confine(c, n->b));
  }
  }
}

/* Does restricting the variables change the range of n in a way that is
 * computed here? */
static bool is_followed(const confined *c, const ir_node *n) {
  if (n->op == IR_INT || n->op == IR_REAL || !(n->vars & c->vars)) return false;
  return n->is_index || n->op == IR_VAR || n->op == IR_CAST;
}

static arith_range confine(confined *c, ir_expr e) {
  const ir_node *n = ir_at(c->p, e);
  if (!is_followed(c, n)) return (arith_range){n->lo, n->hi};
  if (c->known[e % RECENT] == e) return c->answer[e % RECENT];
  arith_range r = confine_node(c, n);
  if (c->within) r = (arith_range){max2(r.lo, n->lo), min2(r.hi, n->hi)};
  c->known[e % RECENT] = e;
  c->answer[e % RECENT] = r;
  return r;
}

arith_range arith_bounds_with(const ir_program *p, arena *scratch, ir_expr e,
                              uint32_t n, const ir_var *var,
                              const arith_range *range) {
  confined *c = arena_alloc(scratch, sizeof *c);
  *c = (confined){.p = p, .n = n, .var = var, .range = range, .within = true};
  for (uint32_t i = 0; i < n; i++) {
    const ir_var_rec *v = &p->var.v[var[i]];
    c->vars |= 1u << var[i] % 32;
    c->within &= range[i].lo >= v->lo && range[i].hi <= v->hi;
  }
  return confine(c, e);
}
