/* SPDX-License-Identifier: Apache-2.0
 * What a block's new nest runs, together with the loops around its new
 * place: every instance, none twice, which of them at once. */
#include "ir/arith/arith.h"
#include "schedule/analysis/move.h"

/* The loops below `meet` down to `loop`, then those of the nest. */
static bool all_loops(sch_state *s, ir_stmt meet, ir_stmt loop,
                      const sch_nest *nest, arith_loops *out) {
  ir_program *p = s->p;
  arith_loops l;
  if (!arith_loops_between(p, s->scratch, meet, ir_st(p, loop)->body, &l))
    return false;
  uint32_t n = l.n + nest->nloops;
  *out = (arith_loops){.n = n,
                       .var = arena_array(s->scratch, ir_var, n),
                       .lo = arena_array(s->scratch, ir_expr, n),
                       .extent = arena_array(s->scratch, ir_expr, n)};
  for (uint32_t i = 0; i < n; i++) {
    bool outer = i < l.n;
    out->var[i] = outer ? l.var[i] : nest->var[i - l.n];
    out->lo[i] = outer ? l.lo[i] : ir_index(p, 0);
    out->extent[i] = outer ? l.extent[i] : nest->extent[i - l.n];
  }
  return true;
}

/* The map from all loops to the iters, onto the box that they reach. */
typedef struct nest_map {
  arith_loops l;
  ir_expr *bind, *lo, *last, *extent;
} nest_map;

static bool make_map(sch_state *s, ir_stmt meet, ir_stmt loop,
                     const sch_nest *nest, nest_map *m) {
  ir_program *p = s->p;
  uint32_t n = nest->niters;
  if (!all_loops(s, meet, loop, nest, &m->l)) return false;
  m->bind = arena_array(s->scratch, ir_expr, 4 * n);
  m->lo = m->bind + n;
  m->last = m->bind + 2 * n;
  m->extent = m->bind + 3 * n;
  for (uint32_t k = 0; k < n; k++) {
    m->bind[k] = nest->iter[k].bind;
    if (!arith_relax(p, s->scratch, m->bind[k], m->l.n, m->l.var, m->l.lo,
                     m->l.extent, &m->lo[k], &m->last[k], NULL))
      return false;
    m->extent[k] = ir_add(p, ir_sub(p, m->last[k], m->lo[k]), ir_index(p, 1));
  }
  return true;
}

static arith_map_kind kind_of(sch_state *s, const nest_map *m, uint32_t n) {
  return arith_map(s->p, s->scratch, m->l.n, m->l.var, m->l.extent, n, m->bind,
                   m->lo, m->extent, 0);
}

/* The box reached, clipped to the domains, is that of the old instances. */
static bool box_is_old(sch_state *s, const nest_map *m, const sch_nest *nest,
                       const sch_span *old) {
  ir_program *p = s->p;
  for (uint32_t k = 0; k < nest->niters; k++) {
    const ir_iter it = nest->iter[k];
    if (old[k].extent > 0) {
      ir_expr last = ir_add(p, old[k].min, ir_index(p, old[k].extent - 1));
      if (!arith_prove_eq(p, m->lo[k], old[k].min) ||
          !arith_prove_eq(p, m->last[k], last))
        return false;
      continue;
    }
    ir_expr last = ir_sub(p, ir_add(p, it.lo, it.extent), ir_index(p, 1));
    if ((m->lo[k] != it.lo && !arith_prove_le(p, m->lo[k], it.lo)) ||
        (m->last[k] != last && !arith_prove_le(p, last, m->last[k])))
      return false;
  }
  return true;
}

sch_coverage sch_nest_coverage(sch_state *s, ir_stmt meet, ir_stmt loop,
                               const sch_nest *nest, const sch_span *old) {
  nest_map m;
  if (!make_map(s, meet, loop, nest, &m) || !box_is_old(s, &m, nest, old))
    return SCH_COVERS_NOT;
  arith_map_kind kind = kind_of(s, &m, nest->niters);
  return kind == ARITH_MAP_BIJECTIVE    ? SCH_COVERS_ONCE
         : kind == ARITH_MAP_SURJECTIVE ? SCH_COVERS
                                        : SCH_COVERS_NOT;
}

enum { MOST_TERMS = 16 };

/* The sum has no negative coefficient. */
static bool rises(const ir_program *p, ir_expr e) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c);
  for (int i = 0; i < n; i++)
    if (coef[i] < 0) return false;
  return n >= 0;
}

/* The sum grows from one iteration of the loops to the next: what an inner
 * loop adds stays below one step of an outer one. */
static bool counts_up(const ir_program *p, const arith_loops *l, ir_expr e) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c, inner = 0;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c), seen = 0;
  for (uint32_t k = l->n; k-- > 0;)
    for (int i = 0; i < n; i++) {
      if (atom[i] != ir_ref(p, l->var[k])) continue;
      int64_t most = p->var.v[l->var[k]].hi, all;
      if (coef[i] <= inner || most == INT64_MAX ||
          __builtin_mul_overflow(coef[i], most, &all) ||
          __builtin_add_overflow(inner, all, &inner))
        return false;
      seen++;
    }
  return n > 0 && seen == n;
}

/* Every part of e that uses variable v is made, by quotients and remainders,
 * of one and the same sum, *of (0: not yet known). */
static bool is_made_of(const ir_program *p, ir_expr e, ir_var v, ir_expr *of) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c);
  for (int i = 0; i < n; i++) {
    ir_expr u = atom[i];
    if (!ir_uses_var(p, u, v)) continue;
    while ((ir_at(p, u)->op == IR_DIV || ir_at(p, u)->op == IR_MOD) &&
           ir_at(p, ir_at(p, u)->b)->op == IR_INT)
      u = ir_at(p, u)->a;
    if (*of && *of != u) return false;
    *of = u;
  }
  return n >= 0;
}

/* Loops that both a reduce iter and a spatial one follow: for fixed values of
 * the latter, the former must not start in the middle. */
static bool shares_in_order(const ir_program *p, const arith_loops *l,
                            ir_expr reduce, ir_expr spatial) {
  for (uint32_t i = 0; i < l->n; i++) {
    ir_expr of = 0;
    if (!ir_uses_var(p, reduce, l->var[i]) ||
        !ir_uses_var(p, spatial, l->var[i]))
      continue;
    if (!is_made_of(p, reduce, l->var[i], &of) ||
        !is_made_of(p, spatial, l->var[i], &of) || !counts_up(p, l, of))
      return false;
  }
  return true;
}

bool sch_nest_starts_at_init(sch_state *s, ir_stmt scope, ir_stmt loop,
                             const sch_nest *nest) {
  ir_program *p = s->p;
  arith_loops l;
  if (!all_loops(s, scope, loop, nest, &l)) return false;
  arith_range *start = arena_array(s->scratch, arith_range, l.n);
  for (uint32_t i = 0; i < l.n; i++) {
    int64_t lo;
    if (!ir_const_int(p, l.lo[i], &lo)) return false;
    start[i] = (arith_range){lo, lo};
  }
  for (uint32_t k = 0; k < nest->niters; k++) {
    const ir_iter it = nest->iter[k];
    int64_t lo;
    if (it.kind == IR_SPATIAL) continue;
    arith_range first =
        arith_bounds_with(p, s->scratch, it.bind, l.n, l.var, start);
    if (!rises(p, it.bind) || !ir_const_int(p, it.lo, &lo) || first.lo != lo ||
        first.hi != lo)
      return false;
    for (uint32_t i = 0; i < nest->niters; i++)
      if (nest->iter[i].kind == IR_SPATIAL &&
          !shares_in_order(p, &l, it.bind, nest->iter[i].bind))
        return false;
  }
  return true;
}
