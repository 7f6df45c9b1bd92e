/* SPDX-License-Identifier: Apache-2.0
 * Does a reduction begin where it is initialised?  Its init runs where all
 * reduce iters are at their start, wherever that is in the order of the
 * loops; whoever takes it out, or repeats it, counts on its being first, and
 * on each instance's being run once. */
#include "schedule/analysis/move.h"
#include "schedule/analysis/polyhedra.h"

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
 * loop adds stays below one step of an outer one; `all`: from 0, and by 1 each
 * time. */
static bool counts_up(const ir_program *p, const arith_loops *l, ir_expr e,
                      bool all) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c, inner = 0;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c), seen = 0;
  for (uint32_t k = l->n; k-- > 0;)
    for (int i = 0; i < n; i++) {
      if (atom[i] != ir_ref(p, l->var[k])) continue;
      const ir_var_rec *v = &p->var.v[l->var[k]];
      int64_t most, here, length;
      if (coef[i] <= inner || v->lo == INT64_MIN || v->hi == INT64_MAX ||
          __builtin_sub_overflow(v->hi, v->lo, &most) ||
          (all &&
           (coef[i] != inner + 1 || v->lo ||
            !ir_const_int(p, l->extent[k], &length) || length != v->hi + 1)) ||
          __builtin_mul_overflow(coef[i], most, &here) ||
          __builtin_add_overflow(inner, here, &inner))
        return false;
      seen++;
    }
  return n > 0 && seen == n && !(all && c);
}

/* The values of the block's reduce iters as one number, which grows in the
 * order in which a nest over the iters has them.  It counts by their extents,
 * as fused loops do, or by what their bindings reach, as loops do that
 * overhang.  0: no constants tell that. */
static ir_expr reduce_number(ir_program *p, ir_stmt block, bool by_extents) {
  ir_span it = ir_blk(p, block)->iters;
  ir_expr sum = ir_index(p, 0);
  int64_t size = 1, n;
  for (uint32_t k = it.at + it.n; k-- > it.at;) {
    const ir_iter i = p->iter.v[k];
    if (i.kind != IR_REDUCE) continue;
    if (!size) return 0;
    sum = ir_add(p, sum, ir_mul(p, i.bind, ir_index(p, size)));
    arith_range r = arith_bounds(p, i.bind);
    bool known = by_extents ? ir_const_int(p, i.extent, &n)
                            : !__builtin_sub_overflow(r.hi, r.lo, &n) &&
                                  !__builtin_add_overflow(n, 1, &n);
    if (!known || __builtin_mul_overflow(size, n, &size)) size = 0;
  }
  return sum;
}

bool sch_reduces_as_declared(sch_state *s, ir_stmt block, ir_stmt top) {
  ir_program *p = s->p;
  arith_loops l;
  if (!arith_loops_between(p, s->scratch, top, block, &l)) return false;
  for (int by_extents = 0; by_extents < 2; by_extents++) {
    ir_expr e = reduce_number(p, block, by_extents);
    if (e && (ir_at(p, e)->op == IR_INT || counts_up(p, &l, e, false)))
      return true;
  }
  return false;
}

/* Every part of e that uses variable v is made, by quotients and remainders,
 * of one and the same sum, *of (0: not yet known), and first of all by `op`
 * with *by (0: not yet known) or what fits that: where remainders by it start
 * anew all of them do, and so it is where quotients change. */
static bool is_made_of(const ir_program *p, ir_expr e, ir_var v, ir_op op,
                       ir_expr *of, int64_t *by) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c);
  for (int i = 0; i < n; i++) {
    ir_expr u = atom[i];
    ir_op first = IR_VAR;
    int64_t m = 0;
    if (!ir_uses_var(p, u, v)) continue;
    while ((ir_at(p, u)->op == IR_DIV || ir_at(p, u)->op == IR_MOD) &&
           ir_const_int(p, ir_at(p, u)->b, &m)) {
      first = ir_at(p, u)->op;
      u = ir_at(p, u)->a;
    }
    if (first != op || m < 1 || (*of && *of != u)) return false;
    *of = u;
    if (*by && *by % m && m % *by) return false;
    bool replaces = !*by || (op == IR_MOD ? m > *by : m < *by);
    if (replaces) *by = m;
  }
  return n >= 0;
}

/* Loops that both a reduce iter and a spatial one follow: for fixed values of
 * the latter, the former must not start in the middle.  So the one is the
 * remainder, and the other the quotient, of a count. */
static bool shares_in_order(const ir_program *p, const arith_loops *l,
                            ir_expr reduce, ir_expr spatial) {
  for (uint32_t i = 0; i < l->n; i++) {
    ir_expr of = 0;
    int64_t rest = 0, each = 0;
    if (!ir_uses_var(p, reduce, l->var[i]) ||
        !ir_uses_var(p, spatial, l->var[i]))
      continue;
    if (!is_made_of(p, reduce, l->var[i], IR_MOD, &of, &rest) ||
        !is_made_of(p, spatial, l->var[i], IR_DIV, &of, &each) || !rest ||
        !each || each % rest || !counts_up(p, l, of, true))
      return false;
  }
  return true;
}

static bool follows(const ir_program *p, uint32_t n, const ir_iter *iter,
                    ir_var v, bool spatial) {
  for (uint32_t k = 0; k < n; k++)
    if ((iter[k].kind == IR_SPATIAL) == spatial &&
        ir_uses_var(p, iter[k].bind, v))
      return true;
  return false;
}

/* What is reduced over later tells whether there is an iteration where the
 * loops that reduce start, or for which results. */
static bool start_may_lack(const ir_program *p, const arith_loops *l,
                           uint32_t n, const ir_iter *iter) {
  for (uint32_t i = 0; i < l->n; i++) {
    if (!follows(p, n, iter, l->var[i], false)) continue;
    for (uint32_t k = i + 1; k < l->n; k++)
      if (ir_uses_var(p, l->extent[k], l->var[i]) &&
          (ir_at(p, l->extent[k])->lo < 1 ||
           follows(p, n, iter, l->var[k], true)))
        return true;
  }
  return false;
}

bool sch_counts_from_init(sch_state *s, const arith_loops *l, uint32_t n,
                          const ir_iter *iter) {
  ir_program *p = s->p;
  arith_range *start = arena_array(s->scratch, arith_range, l->n);
  if (start_may_lack(p, l, n, iter)) return false;
  for (uint32_t i = 0; i < l->n; i++) {
    int64_t lo;
    if (!ir_const_int(p, l->lo[i], &lo)) return false;
    start[i] = (arith_range){lo, lo};
  }
  for (uint32_t k = 0; k < n; k++) {
    int64_t lo;
    if (iter[k].kind == IR_SPATIAL) continue;
    arith_range first =
        arith_bounds_with(p, s->scratch, iter[k].bind, l->n, l->var, start);
    if (!rises(p, iter[k].bind) || !ir_const_int(p, iter[k].lo, &lo) ||
        first.lo != lo || first.hi != lo)
      return false;
    for (uint32_t i = 0; i < n; i++)
      if (iter[i].kind == IR_SPATIAL &&
          !shares_in_order(p, l, iter[k].bind, iter[i].bind))
        return false;
  }
  return true;
}

/* Where the predicate holds at all, so it does where the loops that drive
 * reduce iters are at their least. */
static bool holds_first(sch_state *s, const arith_loops *l, ir_stmt block) {
  const ir_program *p = s->p;
  ir_expr pred = ir_blk(p, block)->pred;
  ir_span it = ir_blk(p, block)->iters;
  if (!pred) return true;
  uint8_t *set = arena_zalloc(s->scratch, p->var.n);
  for (uint32_t i = 0; i < l->n; i++)
    for (uint32_t k = it.at; k < it.at + it.n; k++)
      if (p->iter.v[k].kind != IR_SPATIAL &&
          ir_uses_var(p, p->iter.v[k].bind, l->var[i]))
        set[l->var[i]] = 1;
  return arith_holds_at_start(p, pred, set, 1);
}

bool sch_counts_from_start(sch_state *s, ir_stmt block, ir_stmt top) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  arith_loops l;
  ir_stmt above = top ? ir_st(p, top)->parent : ir_scope_of(p, block);
  return arith_loops_between(p, s->scratch, above, block, &l) &&
         sch_counts_from_init(s, &l, it.n, p->iter.v + it.at) &&
         holds_first(s, &l, block);
}

bool sch_begins_at_init(sch_state *s, ir_stmt block, ir_stmt top) {
  sch_clash clash;
  if (sch_counts_from_start(s, block, top)) return true;
  if (poly_starts_first(s, block, top, &clash)) return true;
  return sch_refuse(s, SCH_R_INIT_LATE, .s = {block}, .clash = clash);
}

bool sch_holds_at_start(sch_state *s, ir_stmt block, sch_list loops,
                        const uint8_t *drives, uint8_t bits) {
  const ir_program *p = s->p;
  ir_expr pred = ir_blk(p, block)->pred;
  if (!pred) return true;
  bool holds = arith_holds_at_start(p, pred, drives, bits);
  for (uint32_t i = 0; holds && i < loops.n; i++) {
    const ir_stmt_rec *in = ir_st(p, loops.v[i]);
    if (!(drives[in->var] & bits) || !ir_uses_var(p, pred, in->var)) continue;
    for (uint32_t k = 0; k < i; k++) {
      ir_var v = ir_st(p, loops.v[k])->var;
      holds &= !(drives[v] & bits) || !ir_uses_var(p, in->lo, v);
    }
  }
  return holds || sch_refuse(s, SCH_R_INIT_START, .s = {block});
}

/* Asked exactly: does the block access other elements of buf in another
 * iteration of the loop of v, whatever the others below top do? */
static bool tells_loop(sch_state *s, ir_stmt block, ir_stmt top, ir_var v,
                       ir_buf buf) {
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
    bool meet = dist_regions(&d, block, r, block, r, delta);
    for (uint32_t i = 0; i < loops.n && meet; i++) {
      if (!asked[i] || (!delta[i].lo && !delta[i].hi)) continue;
      (void)sch_refuse(s, why, .s = {block, other}, .buf = r.buf);
      if (s->quick || !tells_loop(s, block, top, var[i], r.buf)) return false;
    }
  }
  return true;
}

bool sch_results_apart(sch_state *s, ir_stmt block, ir_stmt top,
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
                       SCH_R_STEPS_ELSEWHERE, reader);
}

/* As a map of the loops from top down to it, the block's bindings are one to
 * one; also where sizes are no constants. */
static bool is_one_to_one(sch_state *s, ir_stmt block, ir_stmt top) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  arith_loops l;
  if (!arith_loops_between(p, s->scratch, ir_st(p, top)->parent, block, &l) ||
      arith_loops_skewed(p, &l))
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
  sch_clash clash;
  return is_one_to_one(s, block, top) || poly_once(s, block, top, &clash) ||
         sch_refuse(s, SCH_R_NOT_INJECTIVE, .s = {block}, .clash = clash);
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
    if ((how & DIST_TIED) && (how & 1 << IR_SPATIAL)) return false;
    if (how & DIST_TIED) outer = l;
  }
  return !outer || is_one_to_one(s, block, outer);
}

bool sch_adds_once(sch_state *s, ir_stmt block, ir_stmt meet) {
  ir_stmt top = sch_step_down(s->p, meet, block);
  bool lost, whole = ir_is_block(s->p, meet);
  sch_clash clash;
  if (top == block || !sch_has_init(s->p, block)) return true;
  if (is_one_to_one(s, block, top) &&
      (whole || sch_counts_from_start(s, block, 0)))
    return true;
  if (whole && repeats_whole(s, block, top)) return true;
  if (poly_adds_once(s, block, top, &lost, &clash)) return true;
  return sch_refuse(s, lost ? SCH_R_INIT_LATE : SCH_R_NOT_INJECTIVE,
                    .s = {block}, .clash = clash);
}
