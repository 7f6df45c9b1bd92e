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

bool sch_nest_starts_at_init(sch_state *s, ir_stmt scope, ir_stmt loop,
                             const sch_nest *nest) {
  arith_loops l;
  return all_loops(s, scope, loop, nest, &l) &&
         sch_counts_from_init(s, &l, nest->niters, nest->iter);
}
