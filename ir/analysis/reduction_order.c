/* SPDX-License-Identifier: Apache-2.0
 * Execution order of reductions: whether loops reach the points of a reduction
 * in the declared order and start at its init, by fast rules that are sound but
 * not complete. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { MOST_TERMS = 16 };

/* Has the sum no negative coefficient? */
static bool has_no_negative(const ir_program *p, ir_expr e) {
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c);
  for (int i = 0; i < n; i++)
    if (coef[i] < 0) return false;
  return n >= 0;
}

/* Is the sum strictly increasing over the iterations of the loops: does the
 * total of inner loops stay below one step of an outer one?  `all`: it is 0, 1,
 * 2, ... */
static bool counts_up(const ir_program *p, const ir_loops *l, ir_expr e,
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

/* The values of the block's reduce iters as one number, which increases in the
 * order of a nest over the iters.  It is scaled by their extents, as in fused
 * loops, or by the range of their bindings, as in loops that overhang. 0: these
 * are not constant. */
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

bool ir_reduces_in_declared_order(ir_program *p, arena *scratch, ir_stmt block,
                                  ir_stmt top) {
  ir_loops l;
  if (!ir_loops_between(p, scratch, top, block, &l)) return false;
  for (int by_extents = 0; by_extents < 2; by_extents++) {
    ir_expr e = reduce_number(p, block, by_extents);
    if (e && (ir_at(p, e)->op == IR_INT || counts_up(p, &l, e, false)))
      return true;
  }
  return false;
}

/* Is every part of e that uses variable v made, by quotients and remainders, of
 * one sum *of (0: not yet known), the first operation being `op` with *by (0:
 * not yet known) or consistent with it: where remainders by it wrap all of them
 * do, and likewise quotients? */
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

/* Loops that both a reduce iter and a spatial one depend on: for fixed values
 * of the latter, the former must not start in the middle.  So one must be the
 * remainder and the other the quotient of a number. */
static bool shares_in_order(const ir_program *p, const ir_loops *l,
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

/* Does the domain of a loop that drives reduce iters depend on what is reduced
 * later, so that its first iteration may be missing, or for some results? */
static bool start_may_be_missing(const ir_program *p, const ir_loops *l,
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

bool ir_loops_start_at_init(const ir_program *p, arena *scratch,
                            const ir_loops *l, uint32_t n,
                            const ir_iter *iter) {
  arith_range *start = arena_array(scratch, arith_range, l->n);
  if (start_may_be_missing(p, l, n, iter)) return false;
  for (uint32_t i = 0; i < l->n; i++) {
    int64_t lo;
    if (!ir_const_int(p, l->lo[i], &lo)) return false;
    start[i] = (arith_range){lo, lo};
  }
  for (uint32_t k = 0; k < n; k++) {
    int64_t lo;
    if (iter[k].kind == IR_SPATIAL) continue;
    arith_range first =
        arith_bounds_with(p, scratch, iter[k].bind, l->n, l->var, start);
    if (!has_no_negative(p, iter[k].bind) ||
        !ir_const_int(p, iter[k].lo, &lo) || first.lo != lo || first.hi != lo)
      return false;
    for (uint32_t i = 0; i < n; i++)
      if (iter[i].kind == IR_SPATIAL &&
          !shares_in_order(p, l, iter[k].bind, iter[i].bind))
        return false;
  }
  return true;
}

/* If the predicate holds anywhere, does it hold with the loops that drive
 * reduce iters at their minimum? */
static bool holds_first(const ir_program *p, arena *scratch, const ir_loops *l,
                        ir_stmt block) {
  ir_expr pred = ir_blk(p, block)->pred;
  ir_span it = ir_blk(p, block)->iters;
  if (!pred) return true;
  uint8_t *set = arena_zalloc(scratch, p->var.n);
  for (uint32_t i = 0; i < l->n; i++)
    for (uint32_t k = it.at; k < it.at + it.n; k++)
      if (p->iter.v[k].kind != IR_SPATIAL &&
          ir_uses_var(p, p->iter.v[k].bind, l->var[i]))
        set[l->var[i]] = 1;
  return arith_holds_at_start(p, pred, set, 1);
}

bool ir_block_starts_at_init(const ir_program *p, arena *scratch, ir_stmt block,
                             ir_stmt top) {
  ir_span it = ir_blk(p, block)->iters;
  ir_loops l;
  return ir_loops_between(p, scratch, top, block, &l) &&
         ir_loops_start_at_init(p, scratch, &l, it.n, p->iter.v + it.at) &&
         holds_first(p, scratch, &l, block);
}
