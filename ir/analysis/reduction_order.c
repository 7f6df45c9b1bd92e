/* SPDX-License-Identifier: Apache-2.0
 * The order in which loops count up to the points of a reduction, by rules
 * that are quick and do not see all. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

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

bool ir_reduces_as_declared(ir_program *p, arena *scratch, ir_stmt block,
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

/* What is reduced over later tells whether there is an iteration where the
 * loops that reduce start, or for which results. */
static bool start_may_lack(const ir_program *p, const ir_loops *l, uint32_t n,
                           const ir_iter *iter) {
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

bool ir_counts_from_init(const ir_program *p, arena *scratch, const ir_loops *l,
                         uint32_t n, const ir_iter *iter) {
  arith_range *start = arena_array(scratch, arith_range, l->n);
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
        arith_bounds_with(p, scratch, iter[k].bind, l->n, l->var, start);
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

bool ir_counts_from_start(const ir_program *p, arena *scratch, ir_stmt block,
                          ir_stmt top) {
  ir_span it = ir_blk(p, block)->iters;
  ir_loops l;
  return ir_loops_between(p, scratch, top, block, &l) &&
         ir_counts_from_init(p, scratch, &l, it.n, p->iter.v + it.at) &&
         holds_first(p, scratch, &l, block);
}
