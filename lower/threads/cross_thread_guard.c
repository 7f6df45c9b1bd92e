/* SPDX-License-Identifier: Apache-2.0
 * The guard of a cross-thread reduction's result: elements whose reduction has
 * no iteration must keep their values. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/threads/cross_thread.h"

/* Loop k is a reduce loop, and e uses its variable. */
static bool reduces_in(const cross *x, uint32_t k, ir_expr e) {
  return x->role[k] != SPATIAL &&
         ir_uses_var(x->p, e, ir_st(x->p, x->loop[k])->var);
}

static bool is_of_reduction(const cross *x, ir_expr e) {
  for (uint32_t k = 0; k < x->n; k++)
    if (reduces_in(x, k, e)) return true;
  return false;
}

/* Substitutes the lower bounds for the variables of reduce loops. */
static void find_start(cross *x) {
  ir_program *p = x->p;
  ir_subst_init(&x->start, p, x->scratch);
  for (uint32_t k = 0; k < x->n; k++) {
    const ir_stmt_rec r = *ir_st(p, x->loop[k]);
    if (x->role[k] == SPATIAL) continue;
    ir_expr lo = ir_subst_expr(&x->start, r.lo);
    ir_subst_var(&x->start, r.var, lo);
    ir_subst_restart(&x->start);
  }
}

/* Does e imply itself at the start of the reduce loops? */
static bool holds_first(const cross *x, ir_expr e) {
  const ir_program *p = x->p;
  uint8_t *set = arena_zalloc(x->scratch, p->var.n);
  for (uint32_t k = 0; k < x->n; k++) {
    const ir_stmt_rec *r = ir_st(p, x->loop[k]);
    if (!reduces_in(x, k, e)) continue;
    if (is_of_reduction(x, r->lo)) return false;
    set[r->var] = 1;
  }
  return arith_holds_at_start(p, e, set, 1);
}

/* The result is guarded by e. */
static bool add_condition(cross *x, ir_expr e) {
  ir_program *p = x->p;
  ir_expr list[MAX_TERMS] = {e};
  for (uint32_t n = 1; n;) {
    e = list[--n];
    const ir_node c = *ir_at(p, e);
    if (c.op == IR_AND && n + 2 <= MAX_TERMS) {
      list[n++] = c.b;
      list[n++] = c.a;
      continue;
    }
    ir_expr first = ir_subst_expr(&x->start, e);
    if (!ir_is_const(p, first, 1) && is_of_reduction(x, e) &&
        !holds_first(x, e))
      return lower_cross_refuse(
          x, "its predicate may be false at the start of the reduce loops "
             "and true later");
    if (!ir_is_const(p, first, 1)) x->some = ir_and(p, x->some, first);
  }
  return true;
}

/* v is in [lo, lo + extent): the first thread initializes what any of the
 * threads reduces into. */
static bool add_range(cross *x, ir_stmt loop) {
  ir_program *p = x->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  ir_expr v = ir_ref(p, r.var), end = ir_add(p, r.lo, r.extent);
  return add_condition(x, ir_binary(p, IR_LE, r.lo, v)) &&
         add_condition(x, ir_binary(p, IR_LT, v, end));
}

/* A loop that the blocks beside copy must not depend on reduce loops, and must
 * not only repeat instances. */
static bool check_copied(cross *x, uint32_t k) {
  const ir_program *p = x->p;
  const ir_stmt_rec *r = ir_st(p, x->loop[k]);
  bool threads = false;
  for (uint32_t i = x->first; i < k; i++) {
    if (!reduces_in(x, i, r->lo) && !reduces_in(x, i, r->extent)) continue;
    if (x->role[i] == STEP)
      return lower_cross_refuse(
          x, "the bounds of a spatial loop depend on a reduce loop");
    threads = true;
  }
  if (!ir_is_const(p, r->extent, 1) &&
      !lower_cross_drives(p, x->loop[k], x->block, false))
    return lower_cross_refuse(x, "a loop nested in a reduce loop drives no "
                                 "iter and only repeats it");
  if (ir_may_clobber(p, x->top, r->lo) || ir_may_clobber(p, x->top, r->extent))
    return lower_cross_refuse(
        x, "the bounds of a loop are loaded from what its body may clobber");
  return !threads || !ir_st(p, x->block)->alt || add_range(x, x->loop[k]);
}

/* The init runs in the first iteration of the reduce loops. */
static bool check_init(cross *x) {
  ir_program *p = x->p;
  ir_span it = ir_blk(p, x->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n && ir_st(p, x->block)->alt; i++) {
    const ir_iter k = p->iter.v[i];
    if (k.kind == IR_REDUCE &&
        !arith_prove_eq(p, ir_subst_expr(&x->start, k.bind),
                        ir_subst_expr(&x->start, k.lo)))
      return lower_cross_refuse(
          x, "its init may not run at the start of its reduce loops");
  }
  return true;
}

bool lower_cross_find(cross *x) {
  ir_program *p = x->p;
  ir_expr pred = ir_blk(p, x->block)->pred;
  find_start(x);
  for (uint32_t k = x->first; k < x->n; k++) {
    ir_expr extent = ir_st(p, x->loop[k])->extent;
    if (x->role[k] == SPATIAL
            ? !check_copied(x, k)
            : !add_condition(x, ir_binary(p, IR_LT, ir_index(p, 0), extent)))
      return false;
  }
  if (pred && !add_condition(x, pred)) return false;
  if (x->some && ir_may_clobber(p, x->top, x->some))
    return lower_cross_refuse(
        x, "its predicate is loaded from what the loops may clobber");
  return check_init(x);
}
