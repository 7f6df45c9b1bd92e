/* SPDX-License-Identifier: Apache-2.0
 * Interval evaluation of expressions over the free variables of an access:
 * iters and lets have the value of their binding, loads of read-only parameters
 * any value of the declared range. */
#include "ir/query.h"
#include "ir/scalar.h"
#include "ir/verify/witness.h"

enum { DEEPEST = 400 };             /* operands, bindings and lets */
#define FARTHEST (INT64_C(1) << 40) /* iterations that are looked at */

static arith_range wt_unknown(tess_dtype t) {
  if (!ir_is_int(t)) return ARITH_ALL;
  return (arith_range){ir_int_min(t), ir_int_max(t)};
}

/* The expression whose value the variable has; 0: it has none. */
static ir_expr wt_definition(const ir_program *p, ir_var v) {
  const ir_var_rec *r = &p->var.v[v];
  if (r->kind == IR_VAR_LET) return ir_st(p, r->owner)->let_value;
  if (r->kind != IR_VAR_ITER) return 0;
  ir_span it = ir_blk(p, r->owner)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].var == v) return p->iter.v[i].bind;
  return 0;
}

/* May an element have any value of the declared range? */
static bool wt_is_free_load(const witness_finder *w, const ir_node *n) {
  const ir_buf_rec *b = &w->p->buf.v[n->a];
  return !n->c && n->dtype.lanes == 1 && w->fixed[n->a] &&
         (b->role == IR_ROLE_INPUT || b->role == IR_ROLE_LAYOUT_FREE) &&
         (b->holds & IR_HOLDS_RANGE) &&
         !(n->dtype.code == TESS_DTYPE_UINT && n->dtype.bits == 64);
}

/* ---- free variables ----------------------------------------------------- */

static uint64_t wt_add_slot(witness_finder *w, ir_expr e, arith_range r) {
  if (r.lo > r.hi) w->hopeless = true;
  if (w->nslot == WITNESS_SLOTS) {
    w->hopeless = true;
    return 0;
  }
  w->slot[w->nslot] = (witness_slot){e, r};
  witness_changed(w);
  return UINT64_C(1) << w->nslot++;
}

/* If only sizes bound the loop, its variable ranges over the iterations that
 * there are for all sizes. */
static uint64_t wt_collect_loop(witness_finder *w, ir_expr e, ir_var v) {
  const ir_stmt_rec *s = ir_st(w->p, w->p->var.v[v].owner);
  uint64_t deps = witness_collect(w, s->lo) | witness_collect(w, s->extent);
  arith_range lo = witness_value(w, s->lo), n = witness_value(w, s->extent);
  arith_range r = {lo.hi, arith_add_hi(lo.lo, n.lo - 1)};
  if (n.lo == INT64_MIN) r.hi = INT64_MIN;
  if (deps) {
    r = (arith_range){lo.lo, arith_add_hi(lo.hi, arith_add_hi(n.hi, -1))};
    if (r.lo == INT64_MIN) w->hopeless = true;
  }
  if (r.hi > arith_add_hi(r.lo, FARTHEST)) r.hi = r.lo + FARTHEST;
  return wt_add_slot(w, e, r);
}

static uint64_t wt_collect_operands(witness_finder *w, ir_expr e) {
  const uint32_t *op;
  uint32_t fixed[3], n = ir_operands(w->p, e, &op, fixed);
  uint64_t deps = 0;
  for (uint32_t i = 0; i < n; i++) deps |= witness_collect(w, op[i]);
  return deps;
}

static uint64_t wt_collect_load(witness_finder *w, ir_expr e) {
  const ir_node *n = ir_at(w->p, e);
  uint64_t deps = wt_collect_operands(w, e);
  if (n->op == IR_LOAD && w->p->buf.v[n->a].role == IR_ROLE_CONSTANT)
    return deps;
  if (n->op != IR_LOAD || !wt_is_free_load(w, n)) return 0;
  const ir_buf_rec *b = &w->p->buf.v[n->a];
  return wt_add_slot(w, e, (arith_range){b->least, b->most});
}

static uint64_t wt_collect_node(witness_finder *w, ir_expr e) {
  const ir_node *n = ir_at(w->p, e);
  if (n->op == IR_LOAD) return ir_is_int(n->dtype) ? wt_collect_load(w, e) : 0;
  if (n->op == IR_CALL && !ir_can_apply((ir_fn)n->a, n->dtype)) return 0;
  if (n->op != IR_VAR) return wt_collect_operands(w, e);
  if (w->p->var.v[n->a].kind == IR_VAR_LOOP) return wt_collect_loop(w, e, n->a);
  ir_expr value = wt_definition(w->p, n->a);
  return value ? witness_collect(w, value) : 0;
}

uint64_t witness_collect(witness_finder *w, ir_expr e) {
  if (w->known[e] == w->query) return w->deps[e];
  if (w->depth == DEEPEST || w->hopeless) {
    w->hopeless = true;
    return 0;
  }
  w->depth++;
  uint64_t deps = wt_collect_node(w, e);
  w->depth--;
  w->known[e] = w->query;
  w->deps[e] = deps;
  return deps;
}

/* ---- values ------------------------------------------------------------- */

/* The row-major position of an element; false: it is not one, or outside. */
static bool wt_position(witness_finder *w, const ir_node *load, int64_t *at,
                        int64_t *count) {
  *at = 0;
  *count = 1;
  for (uint32_t d = 0; d < load->n; d++) {
    arith_range i = witness_value(w, w->p->arg.v[load->b + d]);
    arith_range n = witness_value(w, ir_dim(w->p, load->a, d));
    if (i.lo != i.hi || n.lo != n.hi || i.lo < 0 || i.lo >= n.lo) return false;
    if (__builtin_mul_overflow(*at, n.lo, at) ||
        __builtin_add_overflow(*at, i.lo, at) ||
        __builtin_mul_overflow(*count, n.lo, count))
      return false;
  }
  return true;
}

/* The element of a constant, where its position is one. */
static arith_range wt_constant_value(witness_finder *w, const ir_node *n,
                                     arith_range r) {
  const ir_program *p = w->p;
  int64_t at, count;
  size_t size = ir_dtype_bytes(n->dtype);
  for (uint32_t i = 0; i < p->constant.n; i++) {
    const ir_const *c = &p->constant.v[i];
    if (c->buf != n->a || !wt_position(w, n, &at, &count)) continue;
    if (n->dtype.lanes != 1 || ((size_t)at + 1) * size > c->bytes) continue;
    int64_t v = ir_get_int(n->dtype, (const char *)c->data + (size_t)at * size);
    if (n->dtype.code != TESS_DTYPE_UINT || v >= 0) return (arith_range){v, v};
  }
  return r;
}

static arith_range wt_leaf_value(witness_finder *w, ir_expr e) {
  const ir_node *n = ir_at(w->p, e);
  uint64_t deps = witness_deps(w, e);
  ir_expr value = n->op == IR_VAR ? wt_definition(w->p, n->a) : 0;
  if (value) return witness_value(w, value);
  if (n->op == IR_LOAD && w->p->buf.v[n->a].role == IR_ROLE_CONSTANT)
    return wt_constant_value(w, n, (arith_range){n->lo, n->hi});
  for (uint32_t i = 0; deps && i < w->nslot; i++)
    if (w->slot[i].node == e) return w->slot[i].range;
  return (arith_range){n->lo, n->hi};
}

static arith_range wt_select_value(witness_finder *w, const ir_node *n) {
  arith_range cond = witness_value(w, n->a);
  if (n->dtype.lanes == 1 && cond.lo > 0) return witness_value(w, n->b);
  if (n->dtype.lanes == 1 && cond.hi <= 0) return witness_value(w, n->c);
  return arith_operator_range(w->p, n, cond, witness_value(w, n->b),
                              witness_value(w, n->c));
}

/* ---- values at a point -------------------------------------------------- */

/* Where all operands are points, the value is what the interpreter computes,
 * wrapped, divided by zero and rounded as it does; of a float the bits of a
 * double. */

static bool wt_is_point(arith_range r) { return r.lo == r.hi; }

static double wt_real(int64_t bits) {
  double f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static int64_t wt_bits(double f) {
  int64_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

static bool wt_has_points(tess_dtype t) {
  return t.lanes == 1 && !(t.code == TESS_DTYPE_UINT && t.bits == 64);
}

static int64_t wt_cast_point(tess_dtype to, tess_dtype from, int64_t v) {
  if (ir_is_int(from))
    return ir_is_int(to) ? ir_cast_int(to, from, v)
                         : wt_bits(ir_cast_int_to_real(to, from, v));
  return ir_is_int(to) ? ir_cast_real_to_int(to, wt_real(v))
                       : wt_bits(ir_round_real(to, wt_real(v)));
}

static int64_t wt_binary_point(ir_op op, tess_dtype t, int64_t a, int64_t b) {
  if (ir_is_int(t)) return ir_fold_int(op, t, a, b);
  if (op == IR_EQ || op == IR_NE || op == IR_LT || op == IR_LE)
    return ir_compare_real(op, wt_real(a), wt_real(b));
  return wt_bits(ir_fold_real(op, t, wt_real(a), wt_real(b)));
}

static int64_t wt_call_point(const ir_node *n, const int64_t *x) {
  double f[3];
  if (ir_is_int(n->dtype)) return ir_apply_int((ir_fn)n->a, n->dtype, x);
  for (uint32_t i = 0; i < n->n; i++) f[i] = wt_real(x[i]);
  return wt_bits(ir_apply_real((ir_fn)n->a, n->dtype, f));
}

static bool wt_point_value(witness_finder *w, ir_expr e, int64_t *v) {
  const ir_program *p = w->p;
  const ir_node *n = ir_at(p, e);
  const uint32_t *op;
  uint32_t fixed[3], count = ir_operands(p, e, &op, fixed);
  int64_t x[3];
  if (n->op == IR_REAL) return *v = wt_bits(n->f), wt_has_points(n->dtype);
  if (n->op == IR_VAR || n->op == IR_LOAD || n->op == IR_SELECT || !count ||
      count > 3 || !wt_has_points(n->dtype))
    return false;
  tess_dtype t = ir_at(p, op[0])->dtype;
  if (n->op == IR_CALL &&
      (!ir_can_apply((ir_fn)n->a, n->dtype) || !ir_dtype_eq(t, n->dtype)))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    arith_range r = witness_value(w, op[i]);
    if (!ir_dtype_eq(ir_at(p, op[i])->dtype, t) || !wt_has_points(t) ||
        !wt_is_point(r))
      return false;
    x[i] = r.lo;
  }
  if (n->op == IR_CALL) return *v = wt_call_point(n, x), true;
  if (n->op == IR_CAST) return *v = wt_cast_point(n->dtype, t, x[0]), true;
  if (n->op == IR_NOT) return *v = !x[0], true;
  if (count != 2) return false;
  return *v = wt_binary_point((ir_op)n->op, t, x[0], x[1]), true;
}

/* ---- values in a box ---------------------------------------------------- */

/* Does an operand have no range, being a float? */
static bool wt_is_of_floats(const witness_finder *w, ir_expr e) {
  const uint32_t *op;
  uint32_t fixed[3], count = ir_operands(w->p, e, &op, fixed);
  return count && !ir_is_int(ir_at(w->p, op[0])->dtype);
}

static arith_range wt_abs_value(witness_finder *w, const ir_node *n) {
  arith_range a = witness_value(w, w->p->arg.v[n->b]);
  int64_t least = ir_int_min(n->dtype);
  if (a.lo <= least) return (arith_range){n->lo, n->hi};
  if (a.lo >= 0) return a;
  if (a.hi <= 0) return (arith_range){-a.hi, -a.lo};
  return (arith_range){0, -a.lo > a.hi ? -a.lo : a.hi};
}

static arith_range wt_node_value(witness_finder *w, ir_expr e) {
  const ir_node *n = ir_at(w->p, e);
  int64_t v;
  if (n->op == IR_SELECT && !ir_is_int(n->dtype)) return ARITH_ALL;
  if (wt_point_value(w, e, &v)) return (arith_range){v, v};
  if (!ir_is_int(n->dtype)) return ARITH_ALL;
  if (n->wraps) return wt_unknown(n->dtype);
  if (n->op != IR_LOAD && n->op != IR_SELECT && wt_is_of_floats(w, e))
    return wt_unknown(n->dtype);
  switch ((ir_op)n->op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL: return (arith_range){n->lo, n->hi};
  case IR_CALL:
    return n->a == IR_FN_ABS ? wt_abs_value(w, n) : (arith_range){n->lo, n->hi};
  case IR_VAR:
  case IR_LOAD: return wt_leaf_value(w, e);
  case IR_SELECT: return wt_select_value(w, n);
  case IR_NOT:
  case IR_CAST:
  case IR_BROADCAST: {
    arith_range a = witness_value(w, n->a);
    return arith_operator_range(w->p, n, a, a, a);
  }
  default: {
    arith_range a = witness_value(w, n->a), b = witness_value(w, n->b);
    return arith_operator_range(w->p, n, a, b, b);
  }
  }
}

arith_range witness_value(witness_finder *w, ir_expr e) {
  if (w->seen[e] == w->round) return w->value[e];
  if (w->depth == DEEPEST) return wt_unknown(ir_at(w->p, e)->dtype);
  w->depth++;
  arith_range r = wt_node_value(w, e);
  w->depth--;
  w->seen[e] = w->round;
  return w->value[e] = r;
}

/* ---- contents ----------------------------------------------------------- */

/* May the element at position i of n have value v, whatever the others are? */
static bool wt_fits_alone(const ir_buf_rec *b, int64_t i, int64_t n,
                          int64_t v) {
  if (b->holds & IR_HOLDS_ENDS &&
      ((i == 0 && v != b->least) || (i == n - 1 && v != b->most)))
    return false;
  if (!(b->holds & IR_HOLDS_SORTED) || !(b->holds & IR_HOLDS_UNIQUE))
    return true;
  return v - b->least >= i && b->most - v >= n - 1 - i;
}

/* May the elements at positions i and j have values v and x together? */
static bool wt_fit_together(const ir_buf_rec *b, int64_t i, int64_t j,
                            int64_t v, int64_t x) {
  if (i == j) return v == x;
  if (b->holds & IR_HOLDS_UNIQUE && v == x) return false;
  if (!(b->holds & IR_HOLDS_SORTED)) return true;
  int64_t gap = b->holds & IR_HOLDS_UNIQUE ? (i < j ? j - i : i - j) : 0;
  return i < j ? x - v >= gap : v - x >= gap;
}

static bool wt_slot_agrees(witness_finder *w, uint32_t k) {
  const ir_node *n = ir_at(w->p, w->slot[k].node), *m;
  if (n->op != IR_LOAD) return true;
  const ir_buf_rec *b = &w->p->buf.v[n->a];
  int64_t at, other, count, v = w->slot[k].range.lo;
  bool sited = wt_position(w, n, &at, &count);
  if (b->holds != IR_HOLDS_RANGE && (!sited || !wt_fits_alone(b, at, count, v)))
    return false;
  for (uint32_t i = 0; i < k; i++) {
    m = ir_at(w->p, w->slot[i].node);
    if (m->op != IR_LOAD || m->a != n->a) continue;
    if (!sited || !wt_position(w, m, &other, &count) ||
        !wt_fit_together(b, at, other, v, w->slot[i].range.lo))
      return false;
  }
  return true;
}

bool witness_loads_agree(witness_finder *w) {
  for (uint32_t k = 0; k < w->nslot; k++)
    if (!wt_slot_agrees(w, k)) return false;
  return true;
}
