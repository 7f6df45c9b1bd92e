/* SPDX-License-Identifier: Apache-2.0
 * A block seen from an outer statement: the loops in between, the bindings of
 * its iters, and guarded splits undone. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- the loops around --------------------------------------------------- */

bool ir_loops_between(const ir_program *p, arena *scratch, ir_stmt top,
                      ir_stmt st, ir_loops *out) {
  uint32_t n = 0;
  bool plain = true;
  for (ir_stmt a = ir_st(p, st)->parent; a && a != top; a = ir_st(p, a)->parent)
    if (ir_is_loop(p, a))
      n++;
    else
      plain = false;
  *out = (ir_loops){.n = n,
                    .var = arena_array(scratch, ir_var, n),
                    .lo = arena_array(scratch, ir_expr, n),
                    .extent = arena_array(scratch, ir_expr, n)};
  for (ir_stmt a = ir_st(p, st)->parent; n; a = ir_st(p, a)->parent) {
    const ir_stmt_rec *r = ir_st(p, a);
    if (r->kind != IR_LOOP) continue;
    out->var[--n] = r->var;
    out->lo[n] = r->lo;
    out->extent[n] = r->extent;
  }
  return plain;
}

bool ir_loops_coupled(const ir_program *p, const ir_loops *l) {
  uint32_t vars = 0;
  for (uint32_t i = 0; i < l->n; i++)
    vars |= ir_vars(p, l->lo[i]) | ir_vars(p, l->extent[i]);
  for (uint32_t k = 0; k < l->n; k++)
    for (uint32_t i = 0; (vars >> l->var[k] % 32 & 1) && i < l->n; i++)
      if (ir_uses_var(p, l->lo[i], l->var[k]) ||
          ir_uses_var(p, l->extent[i], l->var[k]))
        return true;
  return false;
}

bool ir_loops_may_be_empty(const ir_program *p, const ir_loops *l) {
  for (uint32_t i = 0; i < l->n; i++)
    if (ir_at(p, l->extent[i])->lo < 1) return true;
  return false;
}

/* The index of variable v among a block's iters, or -1. */
static int iter_index(const ir_program *p, ir_span iters, ir_var v) {
  for (uint32_t k = 0; k < iters.n; k++)
    if (p->iter.v[iters.at + k].var == v) return (int)k;
  return -1;
}

void ir_bind_iters(ir_program *p, arena *scratch, ir_stmt block, uint32_t n,
                   ir_expr *e) {
  ir_span iters = ir_blk(p, block)->iters;
  ir_subst s;
  bool ready = false;
  for (uint32_t i = 0; i < n; i++) {
    const ir_node *x = ir_at(p, e[i]);
    if (x->op == IR_INT) continue;
    if (x->op == IR_VAR) {
      int k = iter_index(p, iters, x->a);
      if (k >= 0) e[i] = p->iter.v[iters.at + (uint32_t)k].bind;
      continue;
    }
    if (!ready) {
      ir_subst_init(&s, p, scratch);
      for (uint32_t k = iters.at; k < iters.at + iters.n; k++)
        ir_subst_var(&s, p->iter.v[k].var, p->iter.v[k].bind);
      ready = true;
    }
    e[i] = ir_subst_expr(&s, e[i]);
  }
}

typedef struct asked_loops {
  const ir_loops *l;
} asked_loops;

/* Nodes that are neither arithmetic nor comparisons (loads, calls) count as
 * outer: what they depend on is not known here. */
static ir_walk find_outer(const ir_program *p, ir_expr e, void *ud) {
  const ir_loops *l = ((const asked_loops *)ud)->l;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_INT) return IR_WALK_SKIP;
  if (n->op != IR_VAR)
    return n->op < IR_ADD || n->op > IR_OR ? IR_WALK_FOUND : IR_WALK_DESCEND;
  for (uint32_t i = 0; i < l->n; i++)
    if (l->var[i] == n->a) return IR_WALK_SKIP;
  return IR_WALK_FOUND;
}

/* Does e use a variable that none of the loops binds? */
static bool uses_outer(const ir_program *p, ir_expr e, const ir_loops *l) {
  asked_loops asked = {l};
  return ir_any(p, e, find_outer, &asked);
}

/* ---- undoing guarded splits --------------------------------------------- */

enum { MOST_CONJUNCTS = 16, MOST_TERMS = 16 };

/* The conjuncts of a predicate, in `out`; those beyond a limit are dropped,
 * which weakens the predicate. */
static uint32_t conjuncts(const ir_program *p, ir_expr pred, uint32_t n,
                          ir_expr *out) {
  const ir_node *x = ir_at(p, pred);
  if (x->op == IR_AND)
    return conjuncts(p, x->b, conjuncts(p, x->a, n, out), out);
  if (n < MOST_CONJUNCTS) out[n++] = pred;
  return n;
}

/* A mixed-radix number: a sum of variables x[i] * coef[i], smallest coefficient
 * first, with coef[i + 1] = coef[i] * the number of values of x[i].  The first
 * may be a quotient, x // scale; then all is scaled up. */
typedef struct count {
  int n;
  ir_var x[MOST_TERMS];
  int64_t coef[MOST_TERMS], size[MOST_TERMS], c, scale;
  ir_expr open; /* the extent of the last one, if not constant; else 0 */
} count;

/* Sorts terms by their coefficients. */
static void sort_terms(int n, ir_expr *atom, int64_t *coef) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && coef[k] < coef[k - 1]; k--) {
      int64_t t = coef[k];
      ir_expr u = atom[k];
      coef[k] = coef[k - 1];
      atom[k] = atom[k - 1];
      coef[k - 1] = t;
      atom[k - 1] = u;
    }
}

static bool has_var(const ir_loops *l, ir_var v, uint32_t *at) {
  for (*at = 0; *at < l->n; (*at)++)
    if (l->var[*at] == v) return true;
  return false;
}

/* Does variable v range over [0, *size)?  By its loop, if the view has loops
 * (which may have fewer values than the variable's bounds), else by its
 * bounds. */
static bool ranges_from_0(const ir_program *p, const ir_loops *l, ir_var v,
                          int64_t *size) {
  const ir_var_rec *r = &p->var.v[v];
  uint32_t at;
  if (l->var)
    return has_var(l, v, &at) && ir_is_const(p, l->lo[at], 0) &&
           ir_const_int(p, l->extent[at], size) && *size > 0;
  return r->lo == 0 && !__builtin_add_overflow(r->hi, 1, size);
}

/* The symbolic extent of variable v, if its loop starts at 0; 0: none. */
static ir_expr symbolic_extent(const ir_program *p, const ir_loops *l,
                               ir_var v) {
  uint32_t at;
  int64_t size;
  if (!l->var || !has_var(l, v, &at) || !ir_is_const(p, l->lo[at], 0) ||
      ir_const_int(p, l->extent[at], &size))
    return 0;
  return l->extent[at];
}

static bool is_count(const ir_program *p, const ir_loops *l, ir_expr e,
                     count *out) {
  ir_expr atom[MOST_TERMS];
  int64_t next = 1;
  out->n = arith_terms(p, e, MOST_TERMS, atom, out->coef, &out->c);
  out->scale = 1;
  out->open = 0;
  sort_terms(out->n, atom, out->coef);
  for (int i = 0; i < out->n; i++) {
    const ir_node *n = ir_at(p, atom[i]);
    if (!i && n->op == IR_DIV && ir_const_int(p, n->b, &out->scale))
      n = ir_at(p, n->a);
    if (n->op != IR_VAR || out->scale < 1) return false;
    out->x[i] = n->a;
    if (i && __builtin_mul_overflow(out->coef[i], out->scale, &out->coef[i]))
      return false;
    if (out->coef[i] != next) return false;
    if (i && i + 1 == out->n && (out->open = symbolic_extent(p, l, n->a)))
      break;
    if (!ranges_from_0(p, l, n->a, &out->size[i]) ||
        (!i && out->size[i] % out->scale) ||
        __builtin_mul_overflow(next, out->size[i], &next))
      return false;
  }
  return out->n > 0 && !__builtin_mul_overflow(out->c, out->scale, &out->c);
}

bool ir_is_invariant(const ir_program *p, ir_expr e) {
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_VAR) return p->var.v[n.a].kind == IR_VAR_SIZE;
  if (n.op < IR_ADD || n.op > IR_MAX) return n.op == IR_INT;
  return ir_is_invariant(p, n.a) && ir_is_invariant(p, n.b);
}

/* If the constant `end` cuts the number short: how many values of it are left;
 * 0: it does not. */
static ir_expr left_of(ir_program *p, const count *k, int64_t end) {
  if (k->open || end > INT64_MAX / 2 / k->scale || end < 0) return 0;
  int64_t n = end * k->scale - k->c;
  bool early = n > 0 && n < k->coef[k->n - 1] * k->size[k->n - 1];
  return early ? ir_index(p, n) : 0;
}

/* The same for a symbolic end and a last variable of symbolic extent. */
static ir_expr symbolic_left_of(ir_program *p, const count *k, ir_expr end) {
  if (!k->open || k->scale != 1 || !ir_is_invariant(p, end)) return 0;
  ir_expr n = ir_sub(p, end, ir_index(p, k->c));
  ir_expr all = ir_mul(p, k->open, ir_index(p, k->coef[k->n - 1]));
  return ir_at(p, n)->lo >= 1 && arith_prove_le(p, n, all) ? n : 0;
}

/* If the condition cuts a mixed-radix number short: merges it into one
 * variable, of *size values, of which the old ones are digits. 0: it does
 * not. */
static ir_var merge_count(ir_program *p, const ir_loops *l, ir_expr cond,
                          count *k, ir_subst *step, ir_expr *size) {
  const ir_node n = *ir_at(p, cond);
  int64_t end;
  if ((n.op != IR_LT && n.op != IR_LE) || !is_count(p, l, n.a, k)) return 0;
  if (ir_const_int(p, n.b, &end))
    *size = end < INT64_MAX ? left_of(p, k, end + (n.op == IR_LE)) : 0;
  else
    *size = symbolic_left_of(
        p, k, n.op == IR_LE ? ir_add(p, n.b, ir_index(p, 1)) : n.b);
  if (!*size) return 0;
  int64_t most = ir_at(p, *size)->hi;
  ir_var t = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, 0,
                        most == INT64_MAX ? most : most - 1);
  for (int i = 0; i < k->n; i++) {
    ir_expr digit = ir_binary(p, IR_DIV, ir_ref(p, t), ir_index(p, k->coef[i]));
    if (i + 1 < k->n)
      digit = ir_binary(p, IR_MOD, digit, ir_index(p, k->size[i]));
    ir_subst_var(step, k->x[i], digit);
  }
  return t;
}

/* Are all variables that the condition bounds loops of the view (if it has
 * any)? */
static bool is_over_view(const ir_program *p, const ir_view *v, ir_expr cond) {
  const ir_node n = *ir_at(p, cond);
  return (n.op == IR_LT || n.op == IR_LE) &&
         (!v->l.var || !uses_outer(p, n.a, &v->l));
}

/* Applies the merge of conjunct i to the loops, to the bounds of others,
 * and to the other conjuncts. */
static bool merge_conjunct(ir_program *p, arena *scratch, ir_view *v,
                           uint32_t n, ir_expr *c, uint32_t i) {
  count k;
  ir_subst *step = &v->step[v->nsteps];
  ir_subst_init(step, p, scratch);
  ir_expr size;
  ir_var t = is_over_view(p, v, c[i])
                 ? merge_count(p, &v->l, c[i], &k, step, &size)
                 : 0;
  if (!t) return false;
  v->nsteps++;
  c[i] = ir_bool(p, true);
  for (uint32_t j = 0; j < n; j++) c[j] = ir_subst_expr(step, c[j]);
  if (!v->l.var) return true;
  uint32_t at;
  for (int j = 0; j < k.n; j++)
    if (has_var(&v->l, k.x[j], &at)) {
      v->l.n--;
      v->l.var[at] = v->l.var[v->l.n];
      v->l.lo[at] = v->l.lo[v->l.n];
      v->l.extent[at] = v->l.extent[v->l.n];
    }
  for (at = 0; at < v->l.n; at++) {
    v->l.lo[at] = ir_subst_expr(step, v->l.lo[at]);
    v->l.extent[at] = ir_subst_expr(step, v->l.extent[at]);
  }
  v->l.var[v->l.n] = t;
  v->l.lo[v->l.n] = ir_index(p, 0);
  v->l.extent[v->l.n++] = size;
  return true;
}

/* Short numbers first, repeated while one merge enables another. */
static void merge_all(ir_program *p, arena *scratch, ir_view *v, ir_expr pred) {
  ir_expr c[MOST_CONJUNCTS];
  uint32_t n = conjuncts(p, pred, 0, c);
  v->step = arena_array(scratch, ir_subst, n + 1);
  for (bool again = true; again;) {
    again = false;
    for (uint32_t i = 0; i < n && v->nsteps < n; i++)
      again |= merge_conjunct(p, scratch, v, n, c, i);
  }
  v->pred = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!ir_is_const(p, c[i], 1))
      v->pred = v->pred ? ir_and(p, v->pred, c[i]) : c[i];
}

void ir_view_condition(ir_program *p, arena *scratch, ir_expr given,
                       ir_view *out) {
  *out = (ir_view){.pred = given};
  merge_all(p, scratch, out, given);
}

bool ir_view_block(ir_program *p, arena *scratch, ir_stmt top, ir_stmt block,
                   ir_view *out) {
  ir_expr pred = ir_blk(p, block)->pred;
  *out = (ir_view){.pred = pred};
  if (!ir_loops_between(p, scratch, top, block, &out->l)) return false;
  if (pred && out->l.n) merge_all(p, scratch, out, pred);
  return true;
}

ir_expr ir_view_expr(const ir_view *v, ir_expr e) {
  for (uint32_t i = 0; i < v->nsteps; i++) e = ir_subst_expr(&v->step[i], e);
  return e;
}

bool ir_view_uses_outer(const ir_program *p, const ir_view *v, ir_expr e) {
  return uses_outer(p, e, &v->l);
}
