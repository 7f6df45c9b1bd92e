/* SPDX-License-Identifier: Apache-2.0
 * Coverage of reads by writes, element by element: for each instance of the
 * reader, the instance of the writer that its indices name lies within the
 * writer's loops and satisfies its predicate where the reader's holds.
 *
 * Bounding boxes (footprint.c) cannot tell that two nests end at the same tail,
 * as those of a split of a split that does not divide. */
#include "ir/analysis/lifetime_pointwise.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"

typedef struct pointwise {
  ir_program *p;
  arena *scratch;
  ir_loops l;     /* of the writer, below the common statement */
  ir_subst named; /* its loop variables by the reader's */
  bool *is_named;
  ir_expr given; /* the reader's predicate; 0: none */
} pointwise;

/* The indices of a region of one element, over the block's loops. */
static ir_expr *indices_of(pointwise *k, ir_stmt block, ir_region r) {
  uint32_t ndim = ir_ndim(k->p, r.buf);
  ir_expr *at = arena_array(k->scratch, ir_expr, ndim + 1);
  for (uint32_t d = 0; d < ndim; d++) {
    if (!ir_is_const(k->p, ir_region_extent(k->p, r, d), 1)) return NULL;
    at[d] = ir_region_min(k->p, r, d);
  }
  ir_bind_iters(k->p, k->scratch, block, ndim, at);
  return at;
}

/* The number of the one loop of the writer that e uses; l.n: none, or more. */
static uint32_t loop_used_by(const pointwise *k, ir_expr e, bool *any) {
  uint32_t found = k->l.n;
  *any = false;
  for (uint32_t i = 0; i < k->l.n; i++) {
    if (!ir_uses_var(k->p, e, k->l.var[i])) continue;
    if (*any) return k->l.n;
    *any = true;
    found = i;
  }
  return found;
}

static bool holds_given(const pointwise *k, ir_expr cond) {
  const ir_node n = *ir_at(k->p, cond);
  if (n.op == IR_AND) return holds_given(k, n.a) && holds_given(k, n.b);
  return arith_prove(k->p, k->scratch, cond, k->given);
}

/* `at` is (x + rest) % m for an x that takes m values: it writes `is` where x
 * is (is - rest) % m. */
static bool name_rotated(pointwise *k, uint32_t i, ir_expr at, ir_expr is) {
  ir_program *p = k->p;
  const ir_node n = *ir_at(p, at), *v = ir_at(p, is);
  ir_expr x = ir_ref(p, k->l.var[i]), rest;
  int64_t m;
  if (!ir_const_int(p, n.b, &m) || m < 1 || v->lo < 0 || v->hi >= m ||
      !ir_is_const(p, k->l.lo[i], 0) || !ir_is_const(p, k->l.extent[i], m))
    return false;
  rest = ir_sub(p, n.a, x);
  if (ir_uses_var(p, rest, k->l.var[i])) return false;
  /* (y % m - rest) % m is (y - rest) % m. */
  if (v->op == IR_MOD && ir_is_const(p, v->b, m)) is = v->a;
  k->is_named[i] = true;
  ir_subst_var(&k->named, k->l.var[i],
               ir_binary(p, IR_MOD, ir_sub(p, is, rest), ir_index(p, m)));
  return true;
}

/* The writer's index `at` is x + rest for a loop variable x of its own: it
 * writes `is` where x is is - rest. */
static bool name_loop(pointwise *k, ir_expr at, ir_expr is) {
  ir_program *p = k->p;
  bool any;
  ir_subst_restart(&k->named); /* more is named than when it was used */
  at = ir_subst_expr(&k->named, at);
  uint32_t i = loop_used_by(k, at, &any);
  if (!any) return at == is;
  if (i == k->l.n || k->is_named[i]) return false;
  if (ir_at(p, at)->op == IR_MOD) return name_rotated(k, i, at, is);
  ir_expr rest = ir_sub(p, at, ir_ref(p, k->l.var[i]));
  if (ir_uses_var(p, rest, k->l.var[i])) return false;
  ir_expr x = ir_sub(p, is, rest), end = ir_add(p, k->l.lo[i], k->l.extent[i]);
  k->is_named[i] = true;
  ir_subst_var(&k->named, k->l.var[i], x);
  return holds_given(k, ir_binary(p, IR_LE, k->l.lo[i], x)) &&
         holds_given(k, ir_binary(p, IR_LT, x, end));
}

/* Loops that no index uses run at least once, whatever the predicate says. */
static bool others_run(const pointwise *k, ir_expr pred) {
  for (uint32_t i = 0; i < k->l.n; i++) {
    if (k->is_named[i]) continue;
    if (ir_at(k->p, k->l.extent[i])->lo < 1 ||
        (pred && ir_uses_var(k->p, pred, k->l.var[i])))
      return false;
  }
  return true;
}

bool ir_covers_pointwise(ir_program *p, arena *scratch, ir_stmt w,
                         ir_region made, ir_stmt r, ir_region used,
                         ir_stmt lca) {
  pointwise k = {.p = p, .scratch = scratch, .given = ir_blk(p, r)->pred};
  ir_expr pred = ir_blk(p, w)->pred;
  if (!ir_loops_between(p, scratch, lca, w, &k.l) || ir_loops_coupled(p, &k.l))
    return false;
  ir_expr *at = indices_of(&k, w, made), *is = indices_of(&k, r, used);
  if (!at || !is) return false;
  k.is_named = arena_zalloc(scratch, k.l.n + 1);
  ir_subst_init(&k.named, p, scratch);
  /* By what a remainder is rotated is named before. */
  for (int rotated = 0; rotated < 2; rotated++)
    for (uint32_t d = 0; d < ir_ndim(p, made.buf); d++)
      if ((ir_at(p, at[d])->op == IR_MOD) == rotated &&
          !name_loop(&k, at[d], is[d]))
        return false;
  ir_subst_restart(&k.named);
  return others_run(&k, pred) &&
         (!pred || holds_given(&k, ir_subst_expr(&k.named, pred)));
}
