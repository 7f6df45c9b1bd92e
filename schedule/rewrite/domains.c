/* SPDX-License-Identifier: Apache-2.0
 * Substitution of loop variables below a loop, and checks that the value
 * ranges of loops and iters still hold. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

/* ---- replacing variables in what is below a loop -------------------- */

typedef struct mapping {
  ir_program *p;
  arena *scratch;
  uint32_t n;
  const ir_var *var;
  const ir_expr *to;
  uint32_t bits;   /* bit v % 32 of each var */
  uint32_t budget; /* nodes that may yet be visited one by one */
} mapping;

static mapping mapping_of(sch_state *s, uint32_t n, const ir_var *var,
                          const ir_expr *to) {
  mapping m = {s->p, s->scratch, n, var, to, 0, 0};
  for (uint32_t i = 0; i < n; i++) m.bits |= 1u << var[i] % 32;
  return m;
}

/* The general way: remembers shared nodes and enumerates loads. */
static ir_expr map_deep(mapping *m, ir_expr e) {
  ir_subst s;
  ir_subst_init(&s, m->p, m->scratch);
  for (uint32_t i = 0; i < m->n; i++) ir_subst_var(&s, m->var[i], m->to[i]);
  return ir_subst_expr(&s, e);
}

/* Indices are small, so they are walked as trees; 0: too large or not plain
 * arithmetic. */
static ir_expr map_tree(void *ud, ir_expr e) {
  mapping *m = ud;
  const ir_node n = *ir_at(m->p, e);
  if (n.op == IR_INT || n.op == IR_REAL) return e;
  if (n.op == IR_VAR) {
    for (uint32_t i = 0; i < m->n; i++)
      if (m->var[i] == n.a) return m->to[i];
    return e;
  }
  if (n.op < IR_ADD || n.op > IR_OR || !m->budget) return 0;
  if (!(n.vars & m->bits) && !n.has_load) return e;
  m->budget--;
  if (n.is_index && (n.op == IR_ADD || n.op == IR_SUB)) {
    ir_expr r = lin_map(m->p, e, map_tree, m);
    if (r) return r;
  }
  ir_expr a = map_tree(m, n.a);
  ir_expr b = a ? map_tree(m, n.b) : 0;
  if (!b) return 0;
  return a == n.a && b == n.b ? e : ir_binary(m->p, n.op, a, b);
}

static ir_expr map_expr(mapping *m, ir_expr e) {
  if (!(ir_vars(m->p, e) & m->bits)) return e;
  m->budget = 64;
  ir_expr r = map_tree(m, e);
  return r ? r : map_deep(m, e);
}

ir_expr sch_replace_in(sch_state *s, ir_expr e, uint32_t n, const ir_var *var,
                       const ir_expr *to) {
  mapping m = mapping_of(s, n, var, to);
  return map_expr(&m, e);
}

static void map_stmt(mapping *m, ir_stmt st) {
  ir_program *p = m->p;
  if (ir_is_loop(p, st)) {
    ir_expr lo = map_expr(m, ir_st(p, st)->lo);
    ir_expr extent = map_expr(m, ir_st(p, st)->extent);
    ir_st(p, st)->lo = lo;
    ir_st(p, st)->extent = extent;
  } else if (ir_is_block(p, st)) {
    ir_span iters = ir_blk(p, st)->iters;
    for (uint32_t i = iters.at; i < iters.at + iters.n; i++) {
      ir_iter it = p->iter.v[i];
      it.lo = map_expr(m, it.lo);
      it.extent = map_expr(m, it.extent);
      it.bind = map_expr(m, it.bind);
      p->iter.v[i] = it;
    }
    ir_expr pred = map_expr(m, ir_blk(p, st)->pred);
    ir_blk(p, st)->pred = pred && ir_is_const(p, pred, 1) ? 0 : pred;
  } else {
    ir_subst s;
    ir_subst_init(&s, p, m->scratch);
    for (uint32_t i = 0; i < m->n; i++) ir_subst_var(&s, m->var[i], m->to[i]);
    ir_subst_stmt(&s, st);
  }
}

void sch_replace_vars(sch_state *s, ir_stmt top, uint32_t n, const ir_var *var,
                      const ir_expr *to) {
  ir_program *p = s->p;
  mapping m = mapping_of(s, n, var, to);
  ir_stmt st = ir_st(p, top)->body;
  while (st) {
    map_stmt(&m, st);
    bool whole = !ir_is_loop(p, st) && !ir_is_block(p, st);
    st = whole ? ir_skip(p, st, top) : sch_next_outside(p, st, top);
  }
  p->edits++;
}

bool sch_loop_takes_kind(sch_state *s, ir_stmt loop, ir_loop_kind kind) {
  static const char *const kept[] = {[IR_PARALLEL] = "parallel",
                                     [IR_VECTORIZED] = "vectorized",
                                     [IR_THREAD] = "bound to a thread axis"};
  ir_loop_kind is = ir_st(s->p, loop)->loop_kind;
  bool is_kept = is < sizeof kept / sizeof *kept && kept[is] && is != kind;
  return !is_kept || sch_refuse(s, SCH_R_LOOP_KIND, .s = {loop}, .t = kept[is]);
}

void sch_set_loop_kind(sch_state *s, ir_stmt loop, ir_loop_kind kind,
                       ir_thread thread) {
  ir_stmt_rec *r = ir_st(s->p, loop);
  r->loop_kind = (uint8_t)kind;
  r->thread = kind == IR_THREAD ? (uint8_t)thread : 0;
  s->p->edits++;
}

/* ---- guards ------------------------------------------------------------- */

/* A predicate that reads memory does so only where cond holds, of which its
 * indices may depend: both sides of an `and` are evaluated. */
static ir_expr hold_back(ir_program *p, ir_expr pred, ir_expr cond) {
  const ir_node n = *ir_at(p, pred);
  if (!n.has_load || !(n.vars & ir_at(p, cond)->vars)) return pred;
  if (n.op != IR_AND) return ir_select(p, cond, pred, ir_bool(p, false));
  ir_expr a = hold_back(p, n.a, cond);
  return ir_and(p, a, hold_back(p, n.b, cond));
}

void sch_guard_below(sch_state *s, ir_stmt top, ir_expr cond) {
  ir_program *p = s->p;
  ir_stmt st = ir_st(p, top)->body;
  while (st) {
    if (ir_is_block(p, st)) {
      ir_expr pred = ir_blk(p, st)->pred;
      if (pred) pred = hold_back(p, pred, cond);
      ir_blk(p, st)->pred = ir_and(p, pred, cond);
    } else if (!ir_is_loop(p, st)) {
      ir_stmt guard = ir_if_new(p, cond);
      ir_wrap(p, st, guard);
      st = ir_skip(p, guard, top);
      continue;
    }
    st = sch_next_outside(p, st, top);
  }
  p->edits++;
}

/* ---- bounds that need a loop's variable --------------------------------- */

bool sch_domain_needs(const ir_program *p, ir_stmt at, ir_var v) {
  const ir_stmt_rec *r = ir_st(p, at);
  if (r->kind == IR_LOOP)
    return ir_uses_var(p, r->lo, v) || ir_uses_var(p, r->extent, v);
  if (r->kind == IR_LET) return ir_uses_var(p, r->let_value, v);
  ir_span it = r->kind == IR_BLOCK ? ir_blk(p, at)->iters : (ir_span){0, 0};
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_uses_var(p, p->iter.v[i].lo, v) ||
        ir_uses_var(p, p->iter.v[i].extent, v))
      return true;
  return false;
}

void sch_replace_in_domains(sch_state *s, ir_stmt top, uint32_t n,
                            const ir_var *var, const ir_expr *to) {
  ir_program *p = s->p;
  mapping m = mapping_of(s, n, var, to);
  for (ir_stmt l = top; (l = sch_next_outside(p, l, top));) {
    ir_stmt_rec *r = ir_st(p, l);
    if (r->kind == IR_LOOP) {
      r->lo = map_expr(&m, r->lo);
      r->extent = map_expr(&m, r->extent);
    } else if (r->kind == IR_LET) {
      r->let_value = map_expr(&m, r->let_value);
    }
    ir_span it = r->kind == IR_BLOCK ? ir_blk(p, l)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      p->iter.v[i].lo = map_expr(&m, p->iter.v[i].lo);
      p->iter.v[i].extent = map_expr(&m, p->iter.v[i].extent);
    }
  }
  p->edits++;
}

/* Does v claim no less than its domain once that is replaced in? */
static bool claims(mapping *m, ir_var v, ir_expr lo, ir_expr extent) {
  const ir_var_rec r = m->p->var.v[v];
  int64_t min, max;
  ir_expr a = map_expr(m, lo), n = map_expr(m, extent);
  if (a == lo && n == extent) return true;
  ir_domain_bounds(m->p, a, n, &min, &max);
  return r.lo <= min && r.hi >= max;
}

/* The same of the variable of a let, which has one value. */
static bool let_claims(const ir_program *p, const ir_stmt_rec *r,
                       ir_expr value) {
  const ir_var_rec v = p->var.v[r->let_var];
  const ir_node *n = ir_at(p, value);
  return value == r->let_value || !ir_is_int(v.dtype) ||
         (v.lo <= n->lo && v.hi >= n->hi);
}

ir_stmt sch_replaced_misfit(sch_state *s, ir_stmt top, uint32_t n,
                            const ir_var *var, const ir_expr *to) {
  const ir_program *p = s->p;
  mapping m = mapping_of(s, n, var, to);
  for (ir_stmt l = top; (l = sch_next_outside(p, l, top));) {
    const ir_stmt_rec r = *ir_st(p, l);
    if (r.kind == IR_LOOP && !claims(&m, r.var, r.lo, r.extent)) return l;
    if (r.kind == IR_LET && !let_claims(p, &r, map_expr(&m, r.let_value)))
      return l;
    ir_span it = r.kind == IR_BLOCK ? ir_blk(p, l)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      const ir_iter t = p->iter.v[i];
      if (!claims(&m, t.var, t.lo, t.extent)) return l;
    }
  }
  return 0;
}

/* With v in `range`, would w, of that domain, stay in the range that it has? */
static bool stays(sch_state *s, ir_var v, arith_range range, bool rest,
                  ir_var w, ir_expr lo, ir_expr extent) {
  ir_program *p = s->p;
  const ir_var_rec now = p->var.v[w];
  const ir_var_rec old = p->var.v[v];
  int64_t min, max;
  if (!ir_uses_var(p, lo, v) && !ir_uses_var(p, extent, v)) return true;
  ir_domain_bounds(p, lo, extent, &min, &max);
  if (range.lo >= old.lo && range.hi <= old.hi && min >= now.lo &&
      max <= now.hi)
    return true; /* also of loads, which are no index algebra */
  ir_expr last = ir_sub(p, ir_add(p, lo, extent), ir_index(p, 1));
  arith_range first = arith_bounds_with(p, s->scratch, lo, 1, &v, &range);
  if (rest && first.lo > now.hi) return true;
  return first.lo >= now.lo && first.lo <= now.hi &&
         arith_bounds_with(p, s->scratch, last, 1, &v, &range).hi <= now.hi;
}

static bool let_stays(sch_state *s, ir_var v, arith_range range,
                      const ir_stmt_rec *r) {
  const ir_var_rec now = s->p->var.v[r->let_var];
  if (!ir_is_int(now.dtype) || !ir_uses_var(s->p, r->let_value, v)) return true;
  arith_range b =
      arith_bounds_with(s->p, s->scratch, r->let_value, 1, &v, &range);
  return b.lo >= now.lo && b.hi <= now.hi;
}

ir_stmt sch_inner_misfit(sch_state *s, ir_stmt loop, arith_range range,
                         bool rest) {
  const ir_program *p = s->p;
  ir_var v = ir_st(p, loop)->var;
  for (ir_stmt l = loop; (l = sch_next_outside(p, l, loop));) {
    const ir_stmt_rec r = *ir_st(p, l);
    if (r.kind == IR_LOOP && !stays(s, v, range, rest, r.var, r.lo, r.extent))
      return l;
    if (r.kind == IR_LET && !let_stays(s, v, range, &r)) return l;
    ir_span it = r.kind == IR_BLOCK ? ir_blk(p, l)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      const ir_iter t = p->iter.v[i];
      if (!stays(s, v, range, false, t.var, t.lo, t.extent)) return l;
    }
  }
  return 0;
}

bool sch_inner_fit(sch_state *s, ir_stmt loop, arith_range range, bool rest) {
  ir_stmt l = sch_inner_misfit(s, loop, range, rest);
  return !l || sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {l, loop});
}

bool sch_domain_fits(sch_state *s, ir_stmt at, ir_var v, ir_expr lo,
                     ir_expr extent, ir_stmt because) {
  const ir_var_rec r = s->p->var.v[v];
  int64_t min, max;
  ir_domain_bounds(s->p, lo, extent, &min, &max);
  if (r.lo <= min && r.hi >= max) return true;
  return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {at, because});
}

static bool domain_fits(sch_state *s, ir_stmt at, ir_var v, ir_expr lo,
                        ir_expr extent, ir_subst *values, ir_stmt because) {
  ir_expr a = ir_subst_expr(values, lo), n = ir_subst_expr(values, extent);
  return (a == lo && n == extent) || sch_domain_fits(s, at, v, a, n, because);
}

bool sch_domains_fit(sch_state *s, ir_stmt top, ir_subst *values,
                     ir_stmt because) {
  const ir_program *p = s->p;
  for (ir_stmt at = top; (at = ir_next(p, at, top));) {
    const ir_stmt_rec r = *ir_st(p, at);
    if (r.kind == IR_LOOP &&
        !domain_fits(s, at, r.var, r.lo, r.extent, values, because))
      return false;
    if (r.kind == IR_LET &&
        !let_claims(p, &r, ir_subst_expr(values, r.let_value)))
      return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {at, because});
    if (r.kind != IR_BLOCK) continue;
    ir_span it = ir_blk(p, at)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      const ir_iter t = p->iter.v[i];
      if (!domain_fits(s, at, t.var, t.lo, t.extent, values, because))
        return false;
    }
  }
  return true;
}
