/* SPDX-License-Identifier: Apache-2.0
 * rfactor: factors a reduction loop into a dimension of partial results. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/dependence/distance.h"
#include "schedule/rewrite/rfactor.h"

#define RFACTOR_SIG(F, S)                                             \
  F(S, IN, LOOP, loop, REQ, "the reduction loop to factor out")       \
  F(S, ATTR, INT, factor_axis, DEF(0),                                \
    "where the new dimension goes; negative ones count from the end") \
  F(S, OUT, BLOCK, rf_block, REQ, "the block X_rf of the partial results")

PRIM_DEFINE(
    rfactor, RFACTOR_SIG,
    .summary = "Reduce in two steps, the first for each iteration of a loop by "
               "itself.",
    .rewrite = "for i: for k: X[i] += f(i, k)   ->   "
               "for i: for k: X_rf[k, i] += f(i, k); "
               "for i: for k: X[i] += X_rf[k, i]",
    .details =
        "1. One block is below the loop: a reduction by a known reducer,\n"
        "   without ordered iters, without local buffers, and hiding "
        "none\n"
        "   of its accesses.  Only loops are between it and the outermost\n"
        "   of its loops.\n"
        "2. The loop is serial, starts at 0, has a constant extent of at least "
        "1,\n"
        "   and drives reduce iters only, as do the loops that go into an "
        "iter\n"
        "   together with it; one of extent 1 may drive none.\n"
        "3. `factor_axis` is a dimension of the result, or one behind the "
        "last.\n"
        "4. Each point of the block is reached once, each result first where "
        "it\n"
        "   is initialized; points of other spatial iters have other results, "
        "and\n"
        "   those of other reduce iters have not; the predicate, where it "
        "holds,\n"
        "   holds at the start of the reduction, and in each iteration of the\n"
        "   loop where the other loops start that reduce; there its other\n"
        "   reduce iters start, too.\n"
        "5. The reducer is associative; where it is not commutative, no other\n"
        "   loop that drives a reduce iter is around the loop.\n"
        "6. No other block in the same nest writes what the result starts "
        "from.\n"
        "   Where one uses the result, the loops around both drive spatial "
        "iters,\n"
        "   and none writes what the block reads. The loops that drive "
        "spatial\n"
        "   iters need no other loop for their bounds.\n"
        "7. Bounds, predicates and the places of results read nothing that\n"
        "   the nest changes.\n"
        "8. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races, in spite of guards.\n"
        "The partial results come to lie in a buffer X_rf of the scope. The\n"
        "block keeps handle and name and adds them up, in a separate nest\n"
        "behind the old one, under copies of the loops that drive spatial\n"
        "iters. Where another block in the nest uses the result, the block\n"
        "adds up where it stood instead, and the partial results are made\n"
        "before the nest, under copies of the loops around both.\n"
        "The iters of X_rf are that of the loop, spatial now, and then those\n"
        "of the block, where the one that the loop went into gives way to\n"
        "iters for the other loops that did: [loop, spatial.., reduce..]. "
        "Loops\n"
        "in that order, `reorder(k0, i, j, k1)`, are what multi-level tiling\n"
        "takes.\n"
        "X_rf has the annotations of the block, but for those about its\n"
        "regions. Where nothing is left to reduce it has no init, and stores\n"
        "what the block combined, unless a predicate guards it or the update\n"
        "is not written as its reducer is.\n"
        "ts.equivalent follows a reducer made of + - * / min max exp, "
        "comparisons\n"
        "and ts.select; of one with another function in it it says false, and\n"
        "results are to be compared by ts.interpret.\n",
    .refusals = SCH_REASONS(
        SCH_R_AXIS_OUTSIDE, SCH_R_BUFFER_HIDDEN, SCH_R_DEPENDENT_LOOP,
        SCH_R_INIT_LATE, SCH_R_INIT_LOCAL, SCH_R_INIT_READS, SCH_R_INIT_START,
        SCH_R_INPUT_OVERWRITTEN, SCH_R_LOOP_DRIVES_NONE,
        SCH_R_LOOP_DRIVES_OTHERS, SCH_R_LOOP_MAY_BE_EMPTY,
        SCH_R_LOOP_NOT_SERIAL, SCH_R_LOOP_START_NOT_ZERO, SCH_R_NOT_INJECTIVE,
        SCH_R_NOT_REDUCER, SCH_R_NOT_SINGLE_BLOCK, SCH_R_NOT_STATIC,
        SCH_R_NO_INIT, SCH_R_OTHER_STATEMENT, SCH_R_PLACE_REDUCED,
        SCH_R_REDUCER_ORDERED, SCH_R_RESULT_SHARED, SCH_R_RESULT_USED,
        SCH_R_WOULD_RACE),
    .example = "local i, j, k = sch:get_loops(sch:get_block(\"C\"))\n"
               "local rf = sch:rfactor(k, { factor_axis = 0 })\n");

typedef struct rfactor_args args;

enum {
  SPATIAL = 1 << IR_SPATIAL,
  REDUCE = 1 << IR_REDUCE,
  DROPPED = SCH_RFACTOR_DROPPED
};

/* ---- checking ----------------------------------------------------------- */

static bool check_loop(sch_rfactor *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_stmt_rec *r = ir_st(p, w->loop);
  if (r->loop_kind != IR_SERIAL)
    return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {w->loop});
  if (!ir_is_const(p, r->lo, 0))
    return sch_refuse(s, SCH_R_LOOP_START_NOT_ZERO, .s = {w->loop});
  if (!ir_const_int(p, r->extent, &w->extent))
    return sch_refuse(s, SCH_R_NOT_STATIC, .s = {w->loop});
  if (w->extent < 1)
    return sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {w->loop});
  w->block = sch_next_child(p, w->loop, w->loop);
  if (!w->block || sch_next_child(p, w->block, w->loop))
    return sch_refuse(s, SCH_R_NOT_SINGLE_BLOCK, .s = {w->loop},
                      .n = {sch_child_blocks(s, w->loop).n});
  w->scope = ir_scope_of(p, w->block);
  w->loops = sch_loops_of(s, w->block);
  ir_stmt other = sch_other_between(p, w->loops.v[0], w->block);
  return !other || sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
}

/* The init must be a store a result, and the body end with as many; so the
 * describing side makes them. */
static bool find_results(sch_rfactor *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, w->block);
  uint32_t n = 0;
  if (!sch_has_init(p, w->block))
    return sch_refuse(s, SCH_R_NO_INIT, .s = {w->block});
  if (!b->reducer) return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
  if (b->allocs.n || b->matches.n)
    return sch_refuse(s, SCH_R_INIT_LOCAL, .s = {w->block});
  w->nout = p->reducer.v[b->reducer].n;
  w->store = arena_array(s->scratch, ir_stmt, w->nout);
  for (ir_stmt c = ir_st(p, w->block)->alt; c; c = ir_st(p, c)->next) {
    if (ir_st(p, c)->kind != IR_STORE || n == w->nout)
      return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
    w->store[n++] = c;
  }
  uint32_t stores = 0;
  for (ir_stmt c = ir_st(p, w->block)->body; c;) {
    const ir_stmt_rec *r = ir_st(p, c);
    if (r->kind != IR_STORE && r->kind != IR_LET)
      return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
    stores += r->kind == IR_STORE;
    c = r->kind == IR_LET ? r->body : r->next;
  }
  if (n != w->nout || stores != n)
    return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
  return true;
}

static bool check_axis(sch_rfactor *w, int64_t axis) {
  const ir_program *p = w->s->p;
  int64_t ndim = (int64_t)ir_st(p, w->store[0])->idx.n;
  for (uint32_t i = 1; i < w->nout; i++)
    if (ir_st(p, w->store[i])->idx.n != ndim)
      return sch_refuse(w->s, SCH_R_NOT_REDUCER, .s = {w->block});
  if (axis < -(ndim + 1) || axis > ndim)
    return sch_refuse(w->s, SCH_R_AXIS_OUTSIDE, .s = {w->block},
                      .n = {axis, ndim});
  w->axis = (uint32_t)(axis < 0 ? axis + ndim + 1 : axis);
  return true;
}

/* Does an iter of the block follow the variable? */
static bool is_bound(const sch_rfactor *w, ir_var v) {
  const ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_uses_var(p, p->iter.v[i].bind, v)) return true;
  return false;
}

/* Reduce iters follow loops of reduce iters only: the sum of the partial
 * results is made under the other loops, once an iteration. */
static bool check_iters(sch_rfactor *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_var v = ir_st(p, w->loop)->var;
  ir_span it = ir_blk(p, w->block)->iters;
  w->drives = arena_zalloc(s->scratch, p->var.n);
  sch_mark_drivers(s, w->block, w->drives);
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (p->iter.v[i].kind == IR_OPAQUE)
      return sch_refuse(s, SCH_R_NO_INIT, .s = {w->block});
    if (p->iter.v[i].kind != IR_REDUCE) continue;
    for (uint32_t k = 0; k < w->loops.n; k++) {
      ir_var u = ir_st(p, w->loops.v[k])->var;
      if (ir_uses_var(p, p->iter.v[i].bind, u) && (w->drives[u] & SPATIAL))
        return sch_refuse(s, SCH_R_LOOP_DRIVES_OTHERS,
                          .s = {w->loops.v[k], w->block});
    }
  }
  if (!(w->drives[v] & REDUCE) && !is_bound(w, v)) {
    if (w->extent != 1)
      return sch_refuse(s, SCH_R_LOOP_DRIVES_NONE, .s = {w->loop, w->block});
    w->drives[v] = REDUCE; /* of one piece, which is all of it */
  }
  if (!(w->drives[v] & REDUCE) || (w->drives[v] & SPATIAL))
    return sch_refuse(s, SCH_R_LOOP_DRIVES_OTHERS, .s = {w->loop, w->block});
  return true;
}

/* Partial results are of pieces that follow one another, unless the order is
 * of no matter. */
static bool rfactor_check_order(sch_rfactor *w) {
  const ir_program *p = w->s->p;
  if (!ir_reduces_in_order(p, w->block)) return true;
  if (p->reducer.v[ir_blk(p, w->block)->reducer].ordered == IR_ORDER_FIXED)
    return sch_refuse(w->s, SCH_R_REDUCER_ORDERED, .s = {w->block});
  for (uint32_t k = 0; k < w->loops.n && w->loops.v[k] != w->loop; k++)
    if (w->drives[ir_st(p, w->loops.v[k])->var] & REDUCE)
      return sch_refuse(w->s, SCH_R_REDUCER_ORDERED, .s = {w->block});
  return true;
}

/* Where the results go must be determined by spatial iters. */
static bool check_places(sch_rfactor *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (p->iter.v[i].kind == IR_SPATIAL) continue;
    for (uint32_t k = 0; k < w->nout; k++) {
      const ir_stmt_rec *r = ir_st(p, w->store[k]);
      bool used = ir_uses_var(p, r->value, p->iter.v[i].var);
      for (uint32_t d = 0; d < r->idx.n; d++)
        used |= ir_uses_var(p, p->arg.v[r->idx.at + d], p->iter.v[i].var);
      if (used) return sch_refuse(s, SCH_R_PLACE_REDUCED, .s = {w->block});
    }
  }
  return true;
}

/* The loops that the second nest copies do without the others, and all
 * points are reached once. */
static bool check_nest(sch_rfactor *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  uint32_t n = w->loops.n;
  ir_var *var = arena_array(s->scratch, ir_var, n);
  arith_range *delta = arena_array(s->scratch, arith_range, n);
  for (uint32_t i = 0; i < n; i++) {
    const ir_stmt_rec *r = ir_st(p, w->loops.v[i]);
    var[i] = r->var;
    if (w->drives[r->var] & SPATIAL) continue;
    if (w->loops.v[i] != w->loop) w->drives[r->var] |= DROPPED;
    for (uint32_t k = i + 1; k < n; k++) {
      const ir_stmt_rec *in = ir_st(p, w->loops.v[k]);
      if ((w->drives[in->var] & SPATIAL) &&
          (ir_uses_var(p, in->lo, r->var) ||
           ir_uses_var(p, in->extent, r->var)))
        return sch_refuse(s, SCH_R_DEPENDENT_LOOP,
                          .s = {w->loops.v[k], w->loops.v[i]});
    }
    if (ir_at(p, r->extent)->lo < 1)
      return sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {w->loops.v[i]});
  }
  dist d;
  dist_init(&d, s, n, var, w->loops.v[0]);
  bool any = dist_iters(&d, w->block, false, delta);
  bool apart = true;
  for (uint32_t i = 0; any && i < n; i++) apart &= !delta[i].lo && !delta[i].hi;
  if (!apart && !sch_runs_once(s, w->block, w->loops.v[0])) return false;
  w->drives[ir_st(p, w->loop)->var] |= DROPPED;
  if (!sch_holds_at_start(s, w->block, w->loops, w->drives, DROPPED))
    return false;
  w->drives[ir_st(p, w->loop)->var] &= (uint8_t)~DROPPED;
  /* Partial results are initialized by a reduction each. */
  if (!sch_holds_at_start(s, w->block, w->loops, w->drives, DROPPED))
    return false;
  return sch_begins_at_init(s, w->block, 0) &&
         sch_results_disjoint(s, w->block, w->loops.v[0], w->loops);
}

/* Does loop number k go into an iter together with the factored one?  One of
 * one iteration that was split off from what reduces does as it would with
 * more, though no binding mentions it. */
static bool goes_along(const sch_rfactor *w, uint32_t k) {
  const ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  ir_var v = ir_st(p, w->loop)->var, u = ir_st(p, w->loops.v[k])->var;
  if (u == v) return false;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_uses_var(p, p->iter.v[i].bind, v) &&
        ir_uses_var(p, p->iter.v[i].bind, u))
      return true;
  return !is_bound(w, u) && (w->drives[u] & REDUCE) &&
         !(w->drives[u] & SPATIAL);
}

/* All that loop number k runs over in any iteration of those around it: the
 * domain of an iter may be needed where they are not.  false: not known. */
static bool whole_range(const sch_rfactor *w, uint32_t k, ir_expr *lo,
                        ir_expr *last) {
  ir_program *p = w->s->p;
  const ir_stmt_rec r = *ir_st(p, w->loops.v[k]);
  *lo = r.lo;
  *last = ir_sub(p, ir_add(p, r.lo, r.extent), ir_index(p, 1));
  while (k-- > 0) {
    const ir_stmt_rec o = *ir_st(p, w->loops.v[k]);
    ir_expr other;
    if (!arith_relax(p, w->s->scratch, *lo, 1, &o.var, &o.lo, &o.extent, lo,
                     &other, NULL) ||
        !arith_relax(p, w->s->scratch, *last, 1, &o.var, &o.lo, &o.extent,
                     &other, last, NULL))
      return false;
  }
  return true;
}

/* Iters for the loops that go along: of constant domains where these loops
 * need others. */
static bool find_along(sch_rfactor *w) {
  sch_state *s = w->s;
  ir_program *p = s->p;
  w->along = arena_zalloc(s->scratch, w->loops.n * sizeof *w->along);
  for (uint32_t k = 0; k < w->loops.n; k++) {
    ir_expr last;
    ir_iter *it = &w->along[k];
    if (!goes_along(w, k)) continue;
    if (!whole_range(w, k, &it->lo, &last))
      return sch_refuse(s, SCH_R_NOT_STATIC, .s = {w->loops.v[k]});
    it->extent = ir_sub(p, ir_add(p, last, ir_index(p, 1)), it->lo);
    it->kind = IR_REDUCE;
    it->bind = ir_ref(p, ir_st(p, w->loops.v[k])->var);
  }
  return true;
}

/* Each iteration of the factored loop begins a separate reduction: where the
 * other loops that reduce start in it, their iters must be at their starts. */
static bool check_starts(const sch_rfactor *w) {
  ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  ir_var v = ir_st(p, w->loop)->var;
  ir_subst start;
  bool ok = true;
  ir_subst_init(&start, p, w->s->scratch);
  for (uint32_t k = 0; k < w->loops.n; k++) {
    const ir_stmt_rec r = *ir_st(p, w->loops.v[k]);
    if (!(w->drives[r.var] & DROPPED)) continue;
    ir_expr lo = ir_subst_expr(&start, r.lo);
    ok = ok && (!w->along[k].bind || arith_prove_eq(p, lo, w->along[k].lo));
    ir_subst_var(&start, r.var, lo);
    ir_subst_restart(&start);
  }
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter k = p->iter.v[i];
    if (k.kind == IR_REDUCE && !ir_uses_var(p, k.bind, v))
      ok = ok && arith_prove_eq(p, ir_subst_expr(&start, k.bind),
                                ir_subst_expr(&start, k.lo));
  }
  return ok || sch_refuse(w->s, SCH_R_INIT_START, .s = {w->block});
}

/* Does the init load what the block `b` writes? */
static bool init_loads(const sch_rfactor *w, ir_stmt b, ir_buf *buf) {
  const ir_program *p = w->s->p;
  ir_span r = ir_blk(p, b)->writes;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    for (uint32_t k = 0; k < w->nout; k++) {
      *buf = p->region.v[i].buf;
      if (ir_has_load(p, ir_st(p, w->store[k])->value, *buf)) return true;
    }
  return false;
}

/* Where the results lie is computed again behind the nest. */
static bool places_stay(const sch_rfactor *w, ir_stmt top) {
  const ir_program *p = w->s->p;
  for (uint32_t k = 0; k < w->nout; k++) {
    ir_span idx = ir_st(p, w->store[k])->idx;
    for (uint32_t d = idx.at; d < idx.at + idx.n; d++)
      if (!sch_reads_stay(w->s, top, p->arg.v[d], w->block)) return false;
  }
  return true;
}

/* A result that the block `b` reads or writes, 0: none. */
static ir_buf uses_result(const sch_rfactor *w, ir_stmt b) {
  const ir_program *p = w->s->p;
  ir_span r = ir_blk(p, w->block)->writes;
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    ir_buf buf = p->region.v[i].buf;
    if (sch_reads_buf(p, b, buf) || sch_writes_buf(p, b, buf)) return buf;
  }
  return 0;
}

/* All partial results may be made before the nest begins, and added up where
 * the block is: in each iteration of the loops that it shares with other
 * blocks it makes all of some results, of what the nest does not change. */
static bool may_come_first(sch_rfactor *w) {
  const ir_program *p = w->s->p;
  ir_stmt top = w->loops.v[0];
  for (ir_stmt b = top; (b = sch_next_child(p, b, top));)
    if (b != w->block && (sch_depends(w->s, b, w->block) & SCH_RAW))
      return false;
  for (uint32_t k = 0; k < w->loops.n; k++) {
    ir_stmt l = w->loops.v[k];
    if (sch_next_child(p, l, l) == w->block && !sch_next_child(p, w->block, l))
      break;
    if (!(w->drives[ir_st(p, l)->var] & SPATIAL)) return false;
    w->shared = k + 1;
  }
  return true;
}

/* Other blocks of the nest do not mind that the results are made behind it, or
 * the partial ones before it. */
static bool check_users(sch_rfactor *w) {
  const ir_program *p = w->s->p;
  ir_stmt top = w->loops.v[0], user = 0;
  ir_buf buf = 0;
  for (ir_stmt b = top; (b = sch_next_child(p, b, top));) {
    if (b == w->block) continue;
    if (init_loads(w, b, &buf))
      return sch_refuse(w->s, SCH_R_INIT_READS, .s = {w->block, b}, .buf = buf);
    if (!user && uses_result(w, b)) user = b;
  }
  return !user || may_come_first(w) ||
         sch_refuse(w->s, SCH_R_RESULT_USED, .s = {top, user},
                    .buf = uses_result(w, user));
}

/* What is hidden would be accessed by a block that does not say so. */
static bool check_hidden(const sch_rfactor *w) {
  const ir_program *p = w->s->p;
  for (ir_buf b = 1; ir_st(p, w->block)->anno && b < p->buf.n; b++)
    if (ir_anno_lists_buffer(p, w->block, IR_HIDDEN_READS, b) ||
        ir_anno_lists_buffer(p, w->block, IR_HIDDEN_WRITES, b))
      return sch_refuse(w->s, SCH_R_BUFFER_HIDDEN, .s = {w->block}, .buf = b);
  return true;
}

static bool rfactor_rewrite(sch_state *s, void *ud) {
  args *a = ud;
  sch_rfactor w = {.s = s, .loop = a->loop};
  ir_stmt top = sch_step_down(s->p, ir_scope_of(s->p, a->loop), a->loop);
  if (!check_loop(&w) || !check_hidden(&w) || !find_results(&w) ||
      !check_axis(&w, a->factor_axis) || !check_iters(&w) ||
      !rfactor_check_order(&w) || !check_places(&w) || !check_nest(&w) ||
      !check_users(&w) || !sch_bounds_stay(s, top) || !places_stay(&w, top) ||
      !find_along(&w) || !check_starts(&w))
    return false;
  sch_rfactor_make(&w);
  a->rf_block = w.rf;
  return true;
}

static bool rfactor_apply(sch_state *s, args *a) {
  return sch_transaction_loop(s, rfactor_rewrite, a, a->loop, false);
}
