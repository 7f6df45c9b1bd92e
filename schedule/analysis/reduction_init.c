/* SPDX-License-Identifier: Apache-2.0
 * Does the first update of each result run where the reduction is initialized?
 * The init runs where all reduce iters are at their start, wherever that is in
 * the order of the loops; a primitive that hoists or repeats it relies on its
 * being first, and on each instance running once. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

bool sch_begins_at_init(sch_state *s, ir_stmt block, ir_stmt top) {
  const ir_program *p = s->p;
  ir_stmt above = top ? ir_st(p, top)->parent : ir_scope_of(p, block);
  sch_conflict conflict;
  if (ir_block_starts_at_init(p, s->scratch, block, above)) return true;
  if (poly_starts_first(s, block, top, &conflict)) return true;
  return sch_refuse(s, SCH_R_INIT_LATE, .s = {block}, .conflict = conflict);
}

/* Do loops that have a bit start where no other such loop decides? */
static bool starts_apart(const ir_program *p, ir_expr pred, sch_list loops,
                         const uint8_t *drives, uint8_t bits) {
  for (uint32_t i = 0; i < loops.n; i++) {
    const ir_stmt_rec *in = ir_st(p, loops.v[i]);
    if (!(drives[in->var] & bits) || !ir_uses_var(p, pred, in->var)) continue;
    for (uint32_t k = 0; k < i; k++) {
      ir_var v = ir_st(p, loops.v[k])->var;
      if ((drives[v] & bits) && ir_uses_var(p, in->lo, v)) return false;
    }
  }
  return true;
}

/* Each part of a conjunction holds at the start, or holds there if anywhere. */
static bool part_holds(ir_program *p, ir_expr cond, ir_subst *start, bool apart,
                       const uint8_t *drives, uint8_t bits) {
  const ir_node n = *ir_at(p, cond);
  if (apart && arith_holds_at_start(p, cond, drives, bits)) return true;
  if (n.op == IR_AND)
    return part_holds(p, n.a, start, apart, drives, bits) &&
           part_holds(p, n.b, start, apart, drives, bits);
  return arith_bounds(p, ir_subst_expr(start, cond)).lo > 0;
}

bool sch_holds_at_start(sch_state *s, ir_stmt block, sch_list loops,
                        const uint8_t *drives, uint8_t bits) {
  ir_program *p = s->p;
  ir_expr pred = ir_blk(p, block)->pred;
  ir_subst start;
  if (!pred) return true;
  ir_subst_init(&start, p, s->scratch);
  for (uint32_t i = 0; i < loops.n; i++) {
    const ir_stmt_rec r = *ir_st(p, loops.v[i]);
    if (drives[r.var] & bits) {
      ir_subst_var(&start, r.var, ir_subst_expr(&start, r.lo));
      ir_subst_restart(&start);
    }
  }
  bool apart = starts_apart(p, pred, loops, drives, bits);
  return part_holds(p, pred, &start, apart, drives, bits) ||
         sch_refuse(s, SCH_R_INIT_START, .s = {block});
}

/* Asked exactly: does the block access other elements of buf in another
 * iteration of the loop of v, whatever the others below top do? */
static bool determines_iteration(sch_state *s, ir_stmt block, ir_stmt top,
                                 ir_var v, ir_buf buf) {
  const arith_range any_but_0 = {1, -1};
  dist d;
  dist_init(&d, s, 1, &v, top);
  d.within = &any_but_0;
  return poly_clears(&d, block, block, buf);
}

/* In iterations in which one of the loops that are `asked` about differs, the
 * block writes other elements; else refused because of `why`, naming `other`
 * second. */
static bool writes_others(sch_state *s, ir_stmt block, ir_stmt top,
                          sch_list loops, const bool *asked, sch_reason why,
                          ir_stmt other) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, block)->writes;
  ir_var *var = arena_array(s->scratch, ir_var, loops.n);
  arith_range *delta = arena_array(s->scratch, arith_range, loops.n);
  dist d;
  for (uint32_t i = 0; i < loops.n; i++) var[i] = ir_st(p, loops.v[i])->var;
  dist_init(&d, s, loops.n, var, top);
  for (uint32_t k = w.at; k < w.at + w.n; k++) {
    ir_region r = p->region.v[k];
    bool common = dist_regions(&d, block, r, block, r, delta);
    for (uint32_t i = 0; i < loops.n && common; i++) {
      if (!asked[i] || (!delta[i].lo && !delta[i].hi)) continue;
      (void)sch_refuse(s, why, .s = {block, other}, .buf = r.buf);
      if (s->quick || !determines_iteration(s, block, top, var[i], r.buf))
        return false;
    }
  }
  return true;
}

bool sch_results_disjoint(sch_state *s, ir_stmt block, ir_stmt top,
                          sch_list loops) {
  if (sch_writes_once(s, block)) return true;
  uint8_t *drives = arena_zalloc(s->scratch, s->p->var.n);
  bool *asked = arena_array(s->scratch, bool, loops.n);
  sch_mark_drivers(s, block, drives);
  for (uint32_t i = 0; i < loops.n; i++)
    asked[i] = drives[ir_st(s->p, loops.v[i])->var] & 1 << IR_SPATIAL;
  return writes_others(s, block, top, loops, asked, SCH_R_RESULT_SHARED, 0);
}

bool sch_steps_stay(sch_state *s, ir_stmt block, sch_list loops,
                    ir_stmt reader) {
  bool *asked = arena_array(s->scratch, bool, loops.n);
  for (uint32_t i = 0; i < loops.n; i++) asked[i] = true;
  return writes_others(s, block, ir_scope_of(s->p, block), loops, asked,
                       SCH_R_PARTIAL_RESULT, reader);
}

/* As a map of the loops from top down to it, the block's bindings are one to
 * one; also where sizes are no constants. */
static bool is_one_to_one(sch_state *s, ir_stmt block, ir_stmt top) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_loops l;
  if (!ir_loops_between(p, s->scratch, ir_st(p, top)->parent, block, &l) ||
      ir_loops_coupled(p, &l))
    return false;
  for (uint32_t i = 0; i < l.n; i++)
    if (!ir_is_const(p, l.lo[i], 0)) return false;
  ir_expr *bind = arena_array(s->scratch, ir_expr, 3 * it.n);
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter i = p->iter.v[it.at + k];
    bind[k] = i.bind;
    bind[it.n + k] = i.lo;
    bind[2 * it.n + k] = i.extent;
  }
  return arith_map_is(p, s->scratch, ARITH_MAP_INJECTIVE, l.n, l.var, l.extent,
                      it.n, bind, bind + it.n, bind + 2 * it.n,
                      ir_blk(p, block)->pred);
}

bool sch_runs_once(sch_state *s, ir_stmt block, ir_stmt top) {
  sch_conflict conflict;
  return is_one_to_one(s, block, top) || poly_once(s, block, top, &conflict) ||
         sch_refuse(s, SCH_R_NOT_INJECTIVE, .s = {block}, .conflict = conflict);
}

/* In one run of the scope, from its child `top` on: instances that run again
 * do so in whole runs of the reduction, one after the other.  Loops outside
 * of all that have a say in what of a result is reduced have none in it, and
 * those inside reach each instance once. */
static bool repeats_whole(sch_state *s, ir_stmt block, ir_stmt top) {
  const ir_program *p = s->p;
  ir_var v = ir_st(p, top)->var;
  ir_stmt outer = 0;
  dist d;
  dist_init(&d, s, 1, &v, top);
  const uint8_t *drives = dist_ties(&d, block, top);
  for (ir_stmt l = block; l != top;) {
    l = ir_st(p, l)->parent;
    uint8_t how = drives[ir_st(p, l)->var];
    if ((how & DIST_COUPLED) && (how & 1 << IR_SPATIAL)) return false;
    if (how & DIST_COUPLED) outer = l;
  }
  return !outer || is_one_to_one(s, block, outer);
}

bool sch_adds_once(sch_state *s, ir_stmt block, ir_stmt common) {
  ir_stmt top = sch_step_down(s->p, common, block);
  bool lost, whole = ir_is_block(s->p, common);
  sch_conflict conflict;
  if (top == block || !sch_has_init(s->p, block)) return true;
  if (is_one_to_one(s, block, top) &&
      (whole || ir_block_starts_at_init(s->p, s->scratch, block,
                                        ir_scope_of(s->p, block))))
    return true;
  if (whole && repeats_whole(s, block, top)) return true;
  if (poly_adds_once(s, block, top, &lost, &conflict)) return true;
  return sch_refuse(s, lost ? SCH_R_INIT_LATE : SCH_R_NOT_INJECTIVE,
                    .s = {block}, .conflict = conflict);
}
