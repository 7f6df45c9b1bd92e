/* SPDX-License-Identifier: Apache-2.0
 * Whether a block's new nest, with the loops around its new place, is a
 * partition of its instances: each runs exactly once; and which run in
 * parallel. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"

/* The loops below `common` down to `loop`, then those of the nest. */
static bool all_loops(sch_state *s, ir_stmt common, ir_stmt loop,
                      const sch_nest *nest, ir_loops *out) {
  ir_program *p = s->p;
  ir_loops l;
  if (!ir_loops_between(p, s->scratch, common, ir_st(p, loop)->body, &l))
    return false;
  uint32_t n = l.n + nest->nloops;
  *out = (ir_loops){.n = n,
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
  ir_loops l;
  ir_expr *bind, *lo, *last, *extent;
} nest_map;

static bool make_map(sch_state *s, ir_stmt common, ir_stmt loop,
                     const sch_nest *nest, nest_map *m) {
  ir_program *p = s->p;
  uint32_t n = nest->niters;
  if (!all_loops(s, common, loop, nest, &m->l)) return false;
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

static arith_map_kind new_nest_kind_of(sch_state *s, const nest_map *m,
                                       uint32_t n) {
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

sch_coverage sch_nest_coverage(sch_state *s, ir_stmt common, ir_stmt loop,
                               const sch_nest *nest, const sch_span *old) {
  nest_map m;
  if (!make_map(s, common, loop, nest, &m) ||
      ir_loops_may_be_empty(s->p, &m.l) || !box_is_old(s, &m, nest, old))
    return SCH_COVERS_NOT;
  arith_map_kind kind = new_nest_kind_of(s, &m, nest->niters);
  return kind == ARITH_MAP_BIJECTIVE    ? SCH_COVERS_ONCE
         : kind == ARITH_MAP_SURJECTIVE ? SCH_COVERS
                                        : SCH_COVERS_NOT;
}

bool sch_nest_starts_at_init(sch_state *s, ir_stmt scope, ir_stmt loop,
                             const sch_nest *nest) {
  ir_loops l;
  return all_loops(s, scope, loop, nest, &l) &&
         ir_loops_start_at_init(s->p, s->scratch, &l, nest->niters, nest->iter);
}

/* ---- the instances there were ------------------------------------------- */

static bool binds_any(const ir_program *p, const ir_view *v, ir_span it,
                      ir_var var) {
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (ir_uses_var(p, ir_view_expr(v, p->iter.v[k].bind), var)) return true;
  return false;
}

static bool new_nest_uses_any(const ir_program *p, const ir_view *v, ir_span it,
                              ir_var var) {
  if (v->pred && ir_uses_var(p, v->pred, var)) return true;
  for (uint32_t i = 0; i < v->l.n; i++)
    if (ir_uses_var(p, v->l.lo[i], var) || ir_uses_var(p, v->l.extent[i], var))
      return true;
  return binds_any(p, v, it, var);
}

/* is[i]: what each old loop counts, in terms of the nest, where that makes an
 * iter; 0: nothing that is asked for.  false: for some that is not so. */
static bool count_singly(const ir_program *p, const ir_view *v, ir_span it,
                         const sch_nest *nest, ir_expr *is) {
  bool known = true;
  for (uint32_t i = 0; i < v->l.n; i++) {
    is[i] = 0;
    for (uint32_t k = 0; k < it.n && !is[i]; k++)
      if (ir_view_expr(v, p->iter.v[it.at + k].bind) == ir_ref(p, v->l.var[i]))
        is[i] = nest->iter[k].bind;
    known = known && (is[i] || !new_nest_uses_any(p, v, it, v->l.var[i]));
  }
  return known;
}

/* The same where several loops make an iter: those that count_singly has not
 * known are its digits. */
static bool count_digits(sch_state *s, const ir_view *v, ir_span it,
                         const sch_nest *nest, ir_expr *is) {
  ir_program *p = s->p;
  ir_var *in = arena_array(s->scratch, ir_var, v->l.n);
  ir_expr *bind = arena_array(s->scratch, ir_expr, 2 * it.n + v->l.n);
  ir_expr *to = bind + it.n, *out = bind + 2 * it.n;
  uint32_t n = 0, m = 0;
  for (uint32_t i = 0; i < v->l.n; i++) {
    if (is[i] || !new_nest_uses_any(p, v, it, v->l.var[i])) continue;
    if (!binds_any(p, v, it, v->l.var[i])) return false;
    in[n++] = v->l.var[i];
  }
  for (uint32_t k = 0; k < it.n; k++) {
    bind[m] = ir_view_expr(v, p->iter.v[it.at + k].bind);
    to[m] = nest->iter[k].bind;
    for (uint32_t i = 0; i < n; i++)
      if (ir_uses_var(p, bind[m], in[i])) {
        m++;
        break;
      }
  }
  if (!arith_inverse(p, s->scratch, n, in, NULL, m, bind, to, out))
    return false;
  ir_subst told;
  ir_subst_init(&told, p, s->scratch);
  for (uint32_t i = 0; i < v->l.n; i++)
    if (is[i]) ir_subst_var(&told, v->l.var[i], is[i]);
  for (uint32_t i = 0, k = 0; i < v->l.n && k < n; i++)
    if (v->l.var[i] == in[k]) is[i] = ir_subst_expr(&told, out[k++]);
  return true;
}

/* What each old loop counts: as the view has them, where the digits of one
 * that ends early are taken together, else as they are. */
static bool find_counts(sch_state *s, ir_stmt block, ir_stmt common,
                        const sch_nest *nest, ir_view *v, ir_expr **is) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  if (!ir_view_block(p, s->scratch, common, block, v)) return false;
  *is = arena_array(s->scratch, ir_expr, v->l.n);
  if (count_singly(p, v, it, nest, *is)) return true;
  *v = (ir_view){.pred = ir_blk(p, block)->pred};
  (void)ir_loops_between(p, s->scratch, common, block, &v->l);
  *is = arena_array(s->scratch, ir_expr, v->l.n);
  return count_singly(p, v, it, nest, *is) || count_digits(s, v, it, nest, *is);
}

bool sch_nest_confine(sch_state *s, ir_stmt block, ir_stmt common,
                      sch_nest *nest) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_view v;
  ir_subst sub;
  ir_expr *is;
  if (!find_counts(s, block, common, nest, &v, &is)) return false;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t i = 0; i < v.l.n; i++)
    if (is[i]) ir_subst_var(&sub, v.l.var[i], is[i]);
  for (uint32_t i = 0; i < v.l.n; i++) {
    ir_expr lo = ir_subst_expr(&sub, v.l.lo[i]);
    ir_expr n = ir_subst_expr(&sub, v.l.extent[i]);
    ir_expr at = is[i] ? is[i] : lo;
    sch_nest_guard(s, nest, ir_binary(p, IR_LE, lo, at));
    sch_nest_guard(s, nest, ir_binary(p, IR_LT, at, ir_add(p, lo, n)));
  }
  for (uint32_t k = 0; k < it.n; k++) {
    ir_expr was = ir_view_expr(&v, p->iter.v[it.at + k].bind);
    was = ir_subst_expr(&sub, was);
    sch_nest_guard(s, nest, ir_binary(p, IR_EQ, was, nest->iter[k].bind));
  }
  if (v.pred) sch_nest_guard(s, nest, ir_subst_expr(&sub, v.pred));
  return true;
}
