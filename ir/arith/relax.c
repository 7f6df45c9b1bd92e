/* SPDX-License-Identifier: Apache-2.0
 * Relaxation: symbolic minimum and maximum of an expression while some of its
 * variables range over their domains.
 *
 * A sum is relaxed term by term, which is exact if its terms attain their
 * extremes together: they share no relaxed variable, or are all monotonic in it
 * in the same direction. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct relaxing {
  ir_program *p;
  arena *scratch;
  uint32_t n, vars;
  const ir_var *var;
  const ir_expr *lo, *extent;
  bool exact;
  uint32_t steps; /* left */
} relaxing;

/* Expressions are walked as trees, which sharing may make exponentially larger;
 * after this many nodes constant bounds are used. */
enum { MAX_STEPS = 1 << 14 };

static bool is_out_of_steps(relaxing *r) {
  if (r->steps) r->steps--;
  return !r->steps;
}

typedef struct span {
  ir_expr min, max;
} span;

static bool relax(relaxing *r, ir_expr e, span *out);

/* The index of a relaxed variable; r->n: it is not relaxed. */
static uint32_t find_var(const relaxing *r, ir_var v) {
  uint32_t i = 0;
  while (i < r->n && r->var[i] != v) i++;
  return i;
}

static uint64_t bit_of(uint32_t i) { return UINT64_C(1) << (i < 63 ? i : 63); }

/* The relaxed variables that e uses, as a bit set; beyond 64, the last bit
 * stands for all the rest. */
static uint64_t relaxed_vars(const relaxing *r, ir_expr e) {
  const ir_node *x = ir_at(r->p, e);
  uint64_t used = 0;
  if (x->op == IR_INT || x->op == IR_REAL || !(x->vars & r->vars)) return 0;
  if (x->op == IR_VAR) {
    uint32_t i = find_var(r, x->a);
    return i < r->n ? bit_of(i) : 0;
  }
  for (uint32_t i = 0; i < r->n; i++)
    if ((x->vars >> r->var[i] % 32 & 1) && ir_uses_var(r->p, e, r->var[i]))
      used |= bit_of(i);
  return used;
}

/* ---- attaining the extremes together ------------------------------------ */

/* Monotonicity of an expression: the relaxed variables in which it is
 * non-decreasing and those in which it is non-increasing; a variable in both is
 * neither. */
typedef struct motion {
  uint64_t up, down;
} motion;

static motion motion_negate(motion m, bool over) {
  return over ? (motion){m.down, m.up} : m;
}

static motion add_motions(motion a, motion b) {
  return (motion){a.up | b.up, a.down | b.down};
}

static motion motion_of(relaxing *r, ir_expr e) {
  uint64_t used = relaxed_vars(r, e);
  const ir_node *n = ir_at(r->p, e);
  motion any = {used, used};
  int64_t c;
  if (!used || is_out_of_steps(r)) return any;
  switch ((ir_op)n->op) {
  case IR_VAR: return (motion){used, 0};
  case IR_ADD:
  case IR_SUB:
  case IR_MIN:
  case IR_MAX:
    return add_motions(motion_of(r, n->a),
                       motion_negate(motion_of(r, n->b), n->op == IR_SUB));
  case IR_MUL:
    if (ir_const_int(r->p, n->b, &c))
      return motion_negate(motion_of(r, n->a), c < 0);
    return any;
  case IR_DIV:
    return ir_const_int(r->p, n->b, &c) && c > 0 ? motion_of(r, n->a) : any;
  default: return any;
  }
}

/* Are a and b disjoint digits of one variable that starts at 0, which take all
 * combinations of their values?  Then they are as good as independent
 * variables. */
static bool are_free_digits(const relaxing *r, ir_expr a, ir_expr b) {
  lin_digit x, y;
  int64_t extent;
  if (!lin_as_digit(r->p, a, &x) || !lin_as_digit(r->p, b, &y) ||
      x.var != y.var)
    return false;
  uint32_t i = find_var(r, x.var);
  if (i == r->n || !ir_is_const(r->p, r->lo[i], 0) ||
      !ir_const_int(r->p, r->extent[i], &extent))
    return false;
  lin_digit low = x.d < y.d ? x : y, high = x.d < y.d ? y : x;
  return low.m && high.d % (low.d * low.m) == 0 && extent % high.d == 0 &&
         (!high.m || extent % (high.d * high.m) == 0);
}

/* Do x and y (negated if `over`) attain their extremes at the same values of
 * the variables? */
static bool attain_together(relaxing *r, ir_expr x, ir_expr y, bool over) {
  if (!(relaxed_vars(r, x) & relaxed_vars(r, y)) || are_free_digits(r, x, y))
    return true;
  motion m = add_motions(motion_of(r, x), motion_negate(motion_of(r, y), over));
  return !(m.up & m.down);
}

/* ---- operators ---------------------------------------------------------- */

static ir_expr span_binary(relaxing *r, ir_op op, ir_expr a, ir_expr b) {
  return ir_binary(r->p, op, a, b);
}

/* Constant bounds of e, the fallback. */
static bool relax_bounds(relaxing *r, ir_expr e, span *out) {
  const ir_node *n = ir_at(r->p, e);
  int64_t lo = n->lo, hi = n->hi;
  tess_dtype t = n->dtype;
  r->exact = false;
  if (n->has_load || !ir_is_int(t) || lo == INT64_MIN || hi == INT64_MAX)
    return false;
  *out = (span){ir_int(r->p, t, lo), ir_int(r->p, t, hi)};
  return true;
}

static bool relax_var(relaxing *r, ir_var v, span *out) {
  uint32_t i = find_var(r, v);
  ir_expr last = span_binary(r, IR_SUB, r->extent[i], ir_index(r->p, 1));
  *out = (span){r->lo[i], span_binary(r, IR_ADD, r->lo[i], last)};
  return true;
}

/* Does e, a sum of relaxed variables with known extents, take every value
 * between its extremes?  Each coefficient may be at most the span of the
 * smaller ones plus 1. */
static bool is_dense(const relaxing *r, ir_expr e) {
  lin x;
  int64_t reach = 0, extent;
  uint64_t seen = 0;
  lin_of(r->p, e, &x);
  for (uint32_t left = x.n; left > 0;) {
    bool progress = false;
    for (uint32_t i = 0; i < x.n; i++) {
      int64_t k = x.t[i].k < 0 ? -x.t[i].k : x.t[i].k, width;
      const ir_node *n = ir_at(r->p, x.t[i].atom);
      uint32_t j = n->op == IR_VAR ? find_var(r, n->a) : r->n;
      if (seen >> i & 1) continue;
      bool fixed = !relaxed_vars(r, x.t[i].atom);
      if (!fixed && (k > reach + 1 || j == r->n ||
                     !ir_const_int(r->p, r->extent[j], &extent) ||
                     __builtin_mul_overflow(k, extent - 1, &width) ||
                     __builtin_add_overflow(reach, width, &reach)))
        continue;
      seen |= UINT64_C(1) << i;
      left--;
      progress = true;
    }
    if (!progress) return false;
  }
  return true;
}

/* The remainder of an expression that stays between two multiples of m is
 * monotonic in it; else its bounds are 0 and m - 1, which is exact if the
 * expression must cross a multiple. */
static bool relax_mod(relaxing *r, const ir_node *n, span *out) {
  ir_expr one = ir_index(r->p, 1), zero = ir_index(r->p, 0);
  span y;
  if (relaxed_vars(r, n->b) || ir_at(r->p, n->b)->lo <= 0 ||
      !relax(r, n->a, &y))
    return false;
  ir_expr first = span_binary(r, IR_DIV, y.min, n->b);
  ir_expr last = span_binary(r, IR_DIV, y.max, n->b);
  if (arith_prove_eq(r->p, first, last)) {
    *out = (span){span_binary(r, IR_MOD, y.min, n->b),
                  span_binary(r, IR_MOD, y.max, n->b)};
    return true;
  }
  *out = (span){zero, span_binary(r, IR_SUB, n->b, one)};
  if (!is_dense(r, n->a) ||
      !arith_prove_le(r->p, span_binary(r, IR_ADD, first, one), last))
    r->exact = false;
  if (ir_at(r->p, y.min)->lo >= 0)
    out->max = span_binary(r, IR_MIN, out->max, y.max);
  return true;
}

static bool relax_div(relaxing *r, const ir_node *n, span *out) {
  span y;
  if (relaxed_vars(r, n->b) || ir_at(r->p, n->b)->lo <= 0 ||
      !relax(r, n->a, &y))
    return false;
  *out = (span){span_binary(r, IR_DIV, y.min, n->b),
                span_binary(r, IR_DIV, y.max, n->b)};
  return true;
}

/* A product of two nonnegative operands, or with an operand of fixed sign. */
static bool relax_mul(relaxing *r, const ir_node *n, span *out) {
  span x, y;
  if (!relax(r, n->a, &x) || !relax(r, n->b, &y)) return false;
  const ir_node *xmin = ir_at(r->p, x.min), *ymin = ir_at(r->p, y.min);
  if (xmin->lo < 0 || ymin->lo < 0) return false;
  if (!attain_together(r, n->a, n->b, false)) r->exact = false;
  ir_expr least = span_binary(r, IR_MUL, x.min, y.min);
  *out = (span){least, span_binary(r, IR_MUL, x.max, y.max)};
  return true;
}

static bool relax_choice(relaxing *r, const ir_node *n, span *out) {
  ir_op op = (ir_op)n->op;
  span x, y;
  if (!relax(r, n->a, &x) || !relax(r, n->b, &y)) return false;
  if (!attain_together(r, n->a, n->b, false)) r->exact = false;
  ir_expr least = span_binary(r, op, x.min, y.min);
  *out = (span){least, span_binary(r, op, x.max, y.max)};
  return true;
}

static bool relax_select(relaxing *r, const ir_node *n, span *out) {
  span x, y;
  if (!relax(r, n->b, &x) || !relax(r, n->c, &y)) return false;
  if (!relaxed_vars(r, n->a)) {
    ir_expr least = ir_select(r->p, n->a, x.min, y.min);
    *out = (span){least, ir_select(r->p, n->a, x.max, y.max)};
    return true;
  }
  r->exact = false;
  ir_expr least = span_binary(r, IR_MIN, x.min, y.min);
  *out = (span){least, span_binary(r, IR_MAX, x.max, y.max)};
  return true;
}

/* ---- sums --------------------------------------------------------------- */

static bool relax_atom(relaxing *r, ir_expr e, span *out) {
  const ir_node n = *ir_at(r->p, e);
  bool was_exact = r->exact, done = false;
  switch ((ir_op)n.op) {
  case IR_VAR: return relax_var(r, n.a, out);
  case IR_DIV: done = relax_div(r, &n, out); break;
  case IR_MOD: done = relax_mod(r, &n, out); break;
  case IR_MUL: done = relax_mul(r, &n, out); break;
  case IR_MIN:
  case IR_MAX: done = relax_choice(r, &n, out); break;
  case IR_SELECT: done = relax_select(r, &n, out); break;
  default: break;
  }
  if (done) return true;
  r->exact = was_exact;
  return relax_bounds(r, e, out);
}

/* Minimum and maximum of the terms of a sum so far. */
typedef struct ends {
  lin min, max;
} ends;

/* Adds k times expression e. */
static bool add_expr(const ir_program *p, lin *x, ir_expr e, int64_t k) {
  lin y;
  int64_t c;
  if (ir_const_int(p, e, &c))
    return !__builtin_mul_overflow(c, k, &c) && lin_add_const(x, c);
  lin_of(p, e, &y);
  return lin_add(p, x, &y, k);
}

/* Adds k times a relaxed variable; its range is mostly constant. */
static bool add_var(relaxing *r, ends *s, ir_var v, int64_t k) {
  uint32_t i = find_var(r, v);
  lin *low = k > 0 ? &s->min : &s->max, *high = k > 0 ? &s->max : &s->min;
  int64_t back;
  return !__builtin_sub_overflow(0, k, &back) &&
         add_expr(r->p, low, r->lo[i], k) &&
         add_expr(r->p, high, r->lo[i], k) &&
         add_expr(r->p, high, r->extent[i], k) && lin_add_const(high, back);
}

/* Adds a term; `fits` becomes false if the sum gets too large. */
static bool add_term(relaxing *r, ends *s, lin_term t, bool *fits) {
  const ir_node *n = ir_at(r->p, t.atom);
  span a;
  if (!relaxed_vars(r, t.atom)) {
    *fits = lin_add_term(r->p, &s->min, t.atom, t.k) &&
            lin_add_term(r->p, &s->max, t.atom, t.k);
    return true;
  }
  if (n->op == IR_VAR) {
    *fits = add_var(r, s, n->a, t.k);
    return true;
  }
  if (!relax_atom(r, t.atom, &a)) return false;
  *fits = add_expr(r->p, &s->min, t.k > 0 ? a.min : a.max, t.k) &&
          add_expr(r->p, &s->max, t.k > 0 ? a.max : a.min, t.k);
  return true;
}

static ir_expr build_end(relaxing *r, lin *x) {
  return x->digits && !lin_recombine(r->p, x) ? 0 : lin_build(r->p, x);
}

/* x is e.  A variable is older than its uses, so only terms that are no
 * variables can share one with an earlier term. */
static bool relax_sum(relaxing *r, ir_expr e, const lin *x, span *out) {
  ends s;
  bool fits = true;
  lin_zero(&s.min);
  lin_zero(&s.max);
  s.min.c = s.max.c = x->c;
  for (uint32_t i = 0; i < x->n && fits; i++) {
    lin_term t = x->t[i];
    for (uint32_t j = 0; j < i && ir_at(r->p, t.atom)->op != IR_VAR; j++)
      if (!attain_together(r, t.atom, x->t[j].atom,
                           (t.k > 0) != (x->t[j].k > 0)))
        r->exact = false;
    if (!add_term(r, &s, t, &fits)) return false;
  }
  if (!fits) return relax_bounds(r, e, out);
  out->min = build_end(r, &s.min);
  out->max = build_end(r, &s.max);
  return (out->min && out->max) || relax_bounds(r, e, out);
}

/* A saturating cast is monotonic. */
static bool relax_cast(relaxing *r, ir_expr e, span *out) {
  const ir_node n = *ir_at(r->p, e);
  if (!relax(r, n.a, out)) return false;
  ir_expr least = ir_cast(r->p, n.dtype, out->min);
  *out = (span){least, ir_cast(r->p, n.dtype, out->max)};
  return true;
}

static bool relax(relaxing *r, ir_expr e, span *out) {
  const ir_node *n = ir_at(r->p, e);
  *out = (span){e, e};
  if (!relaxed_vars(r, e)) return true;
  if (n->op == IR_VAR) return relax_var(r, n->a, out);
  if (is_out_of_steps(r)) return relax_bounds(r, e, out);
  if (ir_is_algebra(n)) {
    lin x;
    lin_of(r->p, e, &x);
    return relax_sum(r, e, &x, out);
  }
  if (n->op == IR_CAST && ir_is_int(n->dtype) &&
      n->dtype.code != TESS_DTYPE_BOOL && ir_is_algebra(ir_at(r->p, n->a)))
    return relax_cast(r, e, out);
  return relax_bounds(r, e, out);
}

/* ---- normalizing ranges ------------------------------------------------- */

/* Is every relaxed term of the sum a variable? */
static bool is_linear(const relaxing *r, const lin *x) {
  for (uint32_t i = 0; i < x->n; i++)
    if (ir_at(r->p, x->t[i].atom)->op != IR_VAR &&
        relaxed_vars(r, x->t[i].atom))
      return false;
  return true;
}

/* Does variable i range over its own bounds, from 0? */
static bool runs_as_made(const relaxing *r, uint32_t i) {
  const ir_var_rec *v = &r->p->var.v[r->var[i]];
  return v->lo == 0 && ir_is_const(r->p, r->lo[i], 0) && v->hi != INT64_MAX &&
         ir_is_const(r->p, r->extent[i], v->hi + 1);
}

/* Replaces a variable x that ranges over [lo, lo + extent) by t + lo, where t
 * is a new one that starts at 0: this takes lo out of quotients. */
static ir_expr rebase(relaxing *r, ir_expr e) {
  ir_program *p = r->p;
  ir_var *var = arena_array(r->scratch, ir_var, r->n);
  ir_expr *lo = arena_array(r->scratch, ir_expr, r->n);
  ir_subst s;
  bool changed = false;
  ir_subst_init(&s, p, r->scratch);
  for (uint32_t i = 0; i < r->n; i++) {
    var[i] = r->var[i];
    lo[i] = r->lo[i];
    if (!ir_uses_var(p, e, var[i]) || runs_as_made(r, i)) continue;
    int64_t hi = ir_at(p, r->extent[i])->hi;
    ir_var t = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, 0,
                          hi == INT64_MAX ? hi
                          : hi > 0        ? hi - 1
                                          : 0);
    ir_subst_var(&s, var[i], ir_add(p, lo[i], ir_ref(p, t)));
    var[i] = t;
    lo[i] = ir_index(p, 0);
    changed = true;
  }
  r->var = var;
  r->lo = lo;
  for (uint32_t i = 0; i < r->n; i++) r->vars |= 1u << var[i] % 32;
  return changed ? ir_subst_expr(&s, e) : e;
}

static bool relax_once(relaxing *r, ir_expr e, span *out) {
  bool algebra = ir_is_algebra(ir_at(r->p, e));
  lin x;
  if (algebra) lin_of(r->p, e, &x);
  if (algebra && is_linear(r, &x)) return relax_sum(r, e, &x, out);
  return relax(r, relaxed_vars(r, e) ? rebase(r, e) : e, out);
}

/* If the range of one variable depends on another, the bounds found still
 * depend on that one, and are relaxed in turn. */
bool arith_relax(ir_program *p, arena *scratch, ir_expr e, uint32_t n,
                 const ir_var *var, const ir_expr *lo, const ir_expr *extent,
                 ir_expr *min, ir_expr *max, bool *exact) {
  relaxing first = {.p = p,
                    .scratch = scratch,
                    .n = n,
                    .var = var,
                    .lo = lo,
                    .extent = extent,
                    .exact = true,
                    .steps = MAX_STEPS};
  for (uint32_t i = 0; i < n; i++) first.vars |= 1u << var[i] % 32;
  relaxing r = first;
  arena_mark mark = arena_get_mark(scratch);
  span out, end;
  bool done = relax_once(&r, e, &out), is_exact = r.exact;
  for (uint32_t i = 0; done && i < n; i++) {
    if (!relaxed_vars(&first, out.min) && !relaxed_vars(&first, out.max)) break;
    r = first;
    done = relax_once(&r, out.min, &end);
    out.min = end.min;
    done = done && relax_once(&r, out.max, &end);
    out.max = end.max;
    is_exact = is_exact && r.exact;
  }
  done =
      done && !relaxed_vars(&first, out.min) && !relaxed_vars(&first, out.max);
  arena_reset_to(scratch, mark);
  *min = out.min;
  *max = out.max;
  if (exact) *exact = done && is_exact;
  return done;
}
