/* SPDX-License-Identifier: Apache-2.0
 * Is a reduction complete at a loop, or do other iterations continue it?
 * Bindings alone do not decide it: bounds, predicates, and results whose index
 * varies with the loop spread a reduction as well. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/distance.h"

/* The loops around a block below `top`, those down to `at` asked about. */
static void loops_asked(sch_state *s, ir_stmt block, ir_stmt top, ir_stmt at,
                        dist *d) {
  const ir_program *p = s->p;
  sch_list all = sch_loops_of(s, block);
  ir_var *var = arena_array(s->scratch, ir_var, all.n);
  *d = (dist){.s = s, .var = var, .role = arena_zalloc(s->scratch, p->var.n)};
  for (uint32_t i = 0; i < all.n; i++) {
    ir_stmt l = all.v[i];
    if (l == top || !ir_is_ancestor(p, top, l)) continue;
    bool asked = ir_is_ancestor(p, l, at);
    dist_set(d, ir_st(p, l)->var, asked ? DIST_ASKED : DIST_FREE);
    if (asked) var[d->n++] = ir_st(p, l)->var;
  }
}

/* The same as below, also where sizes are no constants: all loops that go
 * into spatial iters, the loops asked about among them, are determined by
 * these. */
static bool is_one_to_one(const dist *d, ir_stmt block, const ir_loops *l) {
  sch_state *s = d->s;
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_expr *bind = arena_array(s->scratch, ir_expr, 3 * it.n + l->n);
  ir_expr *extent = bind + 3 * it.n;
  ir_var *in = arena_array(s->scratch, ir_var, l->n);
  uint32_t n = 0, m = 0, asked = 0;
  for (uint32_t k = it.at; k < it.at + it.n; k++) {
    const ir_iter i = p->iter.v[k];
    if (i.kind != IR_SPATIAL) continue;
    bind[m] = i.bind;
    bind[it.n + m] = i.lo;
    bind[2 * it.n + m++] = i.extent;
  }
  for (uint32_t i = 0; i < l->n; i++) {
    uint32_t k = 0;
    while (k < m && !ir_uses_var(p, bind[k], l->var[i])) k++;
    if (k == m) continue;
    if (!ir_is_const(p, l->lo[i], 0)) return false;
    asked += d->role[l->var[i]] == DIST_ASKED;
    in[n] = l->var[i];
    extent[n++] = l->extent[i];
  }
  return asked == d->n &&
         arith_map_is(p, s->scratch, ARITH_MAP_INJECTIVE, n, in, extent, m,
                      bind, bind + it.n, bind + 2 * it.n, 0);
}

/* No two iterations of the loops, from top on, update one result. */
static bool results_disjoint(dist *d, ir_stmt block, ir_stmt top) {
  arena *scratch = d->s->scratch;
  arith_range *delta = arena_array(scratch, arith_range, d->n);
  ir_loops l;
  if (!dist_iters(d, block, true, delta)) return true;
  uint32_t k = 0;
  while (k < d->n && !delta[k].lo && !delta[k].hi) k++;
  return k == d->n ||
         (ir_loops_between(d->s->p, scratch, top, block, &l) &&
          !ir_loops_coupled(d->s->p, &l) && is_one_to_one(d, block, &l));
}

/* The loops have no say in what of a result is reduced. */
static bool points_stay(const dist *d, ir_stmt block, ir_stmt top) {
  const ir_program *p = d->s->p;
  const uint8_t *drives = dist_ties(d, block, sch_step_down(p, top, block));
  for (uint32_t v = 1; v < p->var.n; v++)
    if ((drives[v] & DIST_COUPLED) && (drives[v] & 1 << IR_SPATIAL))
      return false;
  for (uint32_t i = 0; i < d->n; i++)
    if (drives[d->var[i]] & DIST_COUPLED) return false;
  return true;
}

bool sch_is_whole(sch_state *s, ir_stmt block, ir_stmt top, ir_stmt at) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint32_t k = it.at;
  dist d;
  while (k < it.at + it.n && p->iter.v[k].kind == IR_SPATIAL) k++;
  if (at == top || k == it.at + it.n) return true;
  loops_asked(s, block, top, at, &d);
  if (!d.n || results_disjoint(&d, block, top)) return true;
  return sch_has_init(p, block) && points_stay(&d, block, top) &&
         sch_begins_at_init(s, block, sch_step_down(p, at, block)) &&
         sch_adds_once(s, block, at);
}
