/* SPDX-License-Identifier: Apache-2.0
 * Rewrites the contained statements in terms of the new block's iters; see
 * nesting.h. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/nesting_work.h"

/* ---- in the terms of the new block -------------------------------------- */

static ir_var derived(ir_program *p, ir_var of, ir_name_form form, ir_expr lo,
                      ir_expr extent) {
  int64_t min, max;
  ir_domain_bounds(p, lo, extent, &min, &max);
  ir_var v = ir_var_new(p, IR_VAR_ITER, p->var.v[of].name, IR_INDEX, min, max);
  p->var.v[v].form = (uint8_t)form;
  p->var.v[v].from[0] = of;
  return v;
}

static void make_vars(nest_work *w) {
  ir_program *p = w->p;
  for (uint32_t i = 0; i < w->no; i++) {
    nest_outer *o = &w->o[i];
    o->var = derived(p, o->from, IR_NAME_OUTER, o->lo, o->extent);
  }
  for (uint32_t i = 0; i < w->n; i++)
    for (uint32_t k = 0; k < w->m[i].n; k++) {
      nest_part *t = &w->m[i].part[k];
      if (t->inner)
        t->var = derived(p, t->old.var, IR_NAME_INNER, t->lo, t->extent);
    }
  ir_subst_init(&w->known, p, w->s->scratch);
  for (uint32_t i = 0; i < w->no; i++) {
    const ir_node *n = ir_at(p, w->o[i].bind);
    if (n->op == IR_VAR && p->var.v[n->a].kind == IR_VAR_LOOP)
      ir_subst_var(&w->known, n->a, ir_ref(p, w->o[i].var));
  }
}

/* Takes k times the binding of an iter out of the sum x, if it is in there,
 * and puts k times the iter in. */
static bool replace_binding(const nest_work *w, lin *x, const nest_outer *o) {
  const ir_program *p = w->p;
  lin y, was;
  lin_of(p, o->bind, &y);
  lin_copy(&was, x);
  uint32_t i = 0;
  while (i < x->n && y.n && x->t[i].atom != y.t[0].atom) i++;
  if (!y.n || i == x->n || x->t[i].k % y.t[0].k) return true;
  int64_t k = x->t[i].k / y.t[0].k;
  uint32_t n = x->n;
  if (!lin_add(p, x, &y, -k)) return false;
  if (x->n + y.n != n) {
    lin_copy(x, &was);
    return true;
  }
  return lin_add_term(p, x, ir_ref(p, o->var), k);
}

static ir_expr terms_inside(nest_work *w, ir_expr e);

static ir_expr inside_sum(nest_work *w, ir_expr e) {
  lin x;
  lin_of(w->p, e, &x);
  for (uint32_t i = 0; i < w->no; i++)
    if (!replace_binding(w, &x, &w->o[i])) return e;
  return lin_build(w->p, &x);
}

/* e over iters of the new block instead of the loops around it; 0: it cannot
 * be said so. */
static ir_expr terms_inside(nest_work *w, ir_expr e) {
  ir_program *p = w->p;
  if (!nest_uses_loop(p, e, w->outside)) return e;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_AND || n.op == IR_LT || n.op == IR_LE) {
    ir_expr a = terms_inside(w, n.a), b = terms_inside(w, n.b);
    return a && b ? ir_binary(p, (ir_op)n.op, a, b) : 0;
  }
  if (ir_is_algebra(&n)) e = inside_sum(w, e);
  e = ir_subst_expr(&w->known, e);
  return nest_uses_loop(p, e, w->outside) ? 0 : e;
}

/* Does something inside change what e reads? */
static bool changes(const nest_work *w, ir_expr e) {
  ir_buf buf;
  for (ir_stmt t = w->first; t; t = t == w->last ? 0 : ir_st(w->p, t)->next)
    if (ir_first_clobber(w->p, t, e, &buf)) return true;
  return false;
}

/* What of a predicate is decided inside, where it speaks of loops or reads
 * what changes there, and the rest. */
static void part_predicate(nest_work *w, nest_member *m, ir_expr e) {
  ir_program *p = w->p;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_AND) {
    part_predicate(w, m, n.a);
    part_predicate(w, m, n.b);
  } else if (nest_uses_loop(p, e, m->loops) || changes(w, e)) {
    m->pred = ir_and(p, m->pred, e);
  } else {
    m->around = ir_and(p, m->around, e);
  }
}

/* The domain of an iter holds all that it is bound to, whatever a predicate
 * said. */
static bool widen_domain(nest_work *w, nest_outer *o) {
  ir_program *p = w->p;
  arith_range r = arith_bounds(p, o->bind);
  int64_t n;
  if (r.lo == INT64_MIN || r.hi == INT64_MAX ||
      __builtin_sub_overflow(r.hi, r.lo - 1, &n))
    return sch_refuse(w->s, SCH_R_OUTER_UNKNOWN, .s = {w->first, w->first});
  o->lo = ir_index(p, r.lo);
  o->extent = ir_index(p, n);
  return true;
}

/* The blocks below run unconditionally. */
static bool must_run(const nest_work *w, ir_stmt top) {
  const ir_program *p = w->p;
  for (ir_stmt s = top; s; s = sch_next_outside(p, s, top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_IF) return false;
    if (r->kind == IR_LOOP && ir_at(p, r->extent)->lo < 1) return false;
    if (r->kind == IR_BLOCK && s == top) break;
  }
  return true;
}

/* What all blocks ask of the loops around goes to the new block; where that
 * is not all that decides whether they run, it runs where they do not. */
static bool part_predicates(nest_work *w) {
  bool same = true;
  for (uint32_t i = 0; i < w->n; i++) {
    ir_expr pred = ir_blk(w->p, w->m[i].block)->pred;
    if (pred) part_predicate(w, &w->m[i], pred);
    same = same && w->m[i].around == w->m[0].around;
  }
  if (same && w->n) w->pred = w->m[0].around;
  for (uint32_t i = 0; i < w->n && !same; i++)
    w->m[i].pred = ir_and(w->p, w->m[i].around, w->m[i].pred);
  bool sure = same;
  for (ir_stmt t = w->first; t && sure;
       t = t == w->last ? 0 : ir_st(w->p, t)->next)
    sure = must_run(w, t);
  for (uint32_t i = 0; i < w->no && !sure; i++)
    if (!widen_domain(w, &w->o[i])) return false;
  return true;
}

static bool unknown(nest_work *w, ir_stmt s) {
  return sch_refuse(w->s, SCH_R_OUTER_UNKNOWN, .s = {s, w->first});
}

static bool see_block(nest_work *w, nest_member *m) {
  ir_expr pred = m->pred ? terms_inside(w, m->pred) : 0;
  if (m->pred && !pred) return unknown(w, m->block);
  m->pred = pred && ir_is_const(w->p, pred, 1) ? 0 : pred;
  for (uint32_t k = 0; k < m->n; k++) {
    nest_part *t = &m->part[k];
    if (!t->inner) continue;
    t->lo = terms_inside(w, t->lo);
    t->extent = terms_inside(w, t->extent);
    if (!t->lo || !t->extent) return unknown(w, m->block);
  }
  return true;
}

/* Loops and conditions below `top`, itself included, blocks' insides not. */
static bool see_heads(nest_work *w, ir_stmt top) {
  const ir_program *p = w->p;
  for (ir_stmt s = top; s;) {
    const ir_stmt_rec r = *ir_st(p, s);
    nest_head h = {s, 0, 0};
    if (r.kind == IR_LOOP) {
      h.a = terms_inside(w, r.lo);
      h.b = terms_inside(w, r.extent);
      if (!h.a || !h.b) return unknown(w, s);
    } else if (r.kind == IR_IF) {
      h.a = terms_inside(w, r.cond);
      if (!h.a) return unknown(w, s);
    }
    if (h.a) w->h[w->nhead++] = h;
    if (r.kind == IR_BLOCK && s == top) break;
    s = sch_next_outside(p, s, top);
  }
  return true;
}

static bool see_all(nest_work *w) {
  const ir_program *p = w->p;
  w->h = arena_array(w->s->scratch, nest_head, p->stmt.n);
  for (uint32_t i = 0; i < w->n; i++)
    if (!see_block(w, &w->m[i])) return false;
  for (ir_stmt s = w->first; s; s = s == w->last ? 0 : ir_st(p, s)->next)
    if (!see_heads(w, s)) return false;
  return true;
}

/* ---- what variables claim ----------------------------------------------- */

/* The value of an iter that was. */
static ir_expr terms_value_of(const nest_work *w, const nest_part *t) {
  ir_program *p = w->p;
  ir_expr base = t->base;
  if (t->outer)
    base = ir_mul(p, ir_ref(p, w->o[t->outer - 1].var), ir_index(p, t->scale));
  if (!t->inner) return base;
  return base ? ir_add(p, base, ir_ref(p, t->var)) : ir_ref(p, t->var);
}

ir_subst nest_values(const nest_work *w, const nest_member *m) {
  ir_subst sub;
  ir_subst_init(&sub, w->p, w->s->scratch);
  for (uint32_t k = 0; k < m->n; k++)
    ir_subst_var(&sub, m->part[k].old.var, terms_value_of(w, &m->part[k]));
  return sub;
}

/* Loops and iters stay within what their variables claim: the new iters may
 * be known less closely than what they represent. */
static bool all_fit(nest_work *w) {
  const ir_program *p = w->p;
  for (uint32_t i = 0; i < w->nhead; i++) {
    const nest_head h = w->h[i];
    if (h.b &&
        !sch_domain_fits(w->s, h.s, ir_st(p, h.s)->var, h.a, h.b, w->first))
      return false;
  }
  for (uint32_t i = 0; i < w->n; i++) {
    const nest_member *m = &w->m[i];
    for (uint32_t k = 0; k < m->n; k++) {
      const nest_part *t = &m->part[k];
      if (t->inner &&
          !sch_domain_fits(w->s, m->block, t->var, t->lo, t->extent, w->first))
        return false;
    }
    ir_subst values = nest_values(w, m);
    if (!sch_domains_fit(w->s, m->block, &values, w->first)) return false;
  }
  return true;
}

bool nest_terms(nest_work *w) {
  if (!part_predicates(w)) return false;
  make_vars(w);
  return see_all(w) && all_fit(w);
}
