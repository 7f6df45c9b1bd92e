/* SPDX-License-Identifier: Apache-2.0
 * Footprints: the box that a block may access of a buffer while the loops
 * around it run, and whether it must access every point of a box.  The former
 * bounds a consumer's needs, the latter guarantees a producer's coverage. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- may access --------------------------------------------------------- */

/* Where the box is constant it is clipped to what the iters' domains allow,
 * since no instance runs outside of them. */
static void clip_to_domain(ir_program *p, ir_region r, ir_expr *min,
                           ir_expr *max) {
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    const ir_node *at = ir_at(p, ir_region_min(p, r, d));
    int64_t lo = at->lo, hi = at->hi, least, most, size;
    if (ir_const_int(p, min[d], &least) && least < lo) min[d] = ir_index(p, lo);
    if (hi < INT64_MAX / 2 && ir_const_int(p, max[d], &most) &&
        ir_const_int(p, ir_region_extent(p, r, d), &size) &&
        most > hi + size - 1)
      max[d] = ir_index(p, hi + size - 1);
  }
}

bool ir_may_access_box(ir_program *p, arena *scratch, ir_stmt block,
                       ir_region r, ir_stmt top, ir_expr *min, ir_expr *max) {
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_view v;
  if (!ir_view_block(p, scratch, top, block, &v)) return false;
  ir_expr *at = arena_array(scratch, ir_expr, ndim);
  for (uint32_t d = 0; d < ndim; d++) at[d] = ir_region_min(p, r, d);
  ir_bind_iters(p, scratch, block, ndim, at);
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr extent = ir_region_extent(p, r, d), low;
    at[d] = ir_view_expr(&v, at[d]);
    if (!arith_relax(p, scratch, at[d], v.l.n, v.l.var, v.l.lo, v.l.extent,
                     &min[d], &max[d], NULL))
      return false;
    if (ir_is_const(p, extent, 1)) continue;
    ir_bind_iters(p, scratch, block, 1, &extent);
    extent = ir_view_expr(&v, extent);
    ir_expr last = ir_sub(p, ir_add(p, at[d], extent), ir_index(p, 1));
    if (!arith_relax(p, scratch, last, v.l.n, v.l.var, v.l.lo, v.l.extent, &low,
                     &max[d], NULL))
      return false;
  }
  clip_to_domain(p, r, min, max);
  return true;
}

static bool uses_inner(const ir_program *p, const ir_view *v, ir_expr e) {
  for (uint32_t i = 0; i < v->l.n; i++)
    if (ir_uses_var(p, e, v->l.var[i])) return true;
  return false;
}

/* Where an access ends before its domain: `at` is x + rest, and a condition
 * says x < end, or x <= end. */
typedef struct tail {
  ir_op op;
  ir_expr rest, end;
  ir_expr last; /* of `at` */
} tail;

/* Whether a condition ends the box where `at` is something fixed while the
 * loops run, and more: as in a split of a split that does not divide.  Not
 * where the domain ends there anyway (`most`, max). */
static bool is_tail(ir_program *p, const ir_view *v, ir_expr cond, ir_expr at,
                    int64_t most, ir_expr max, tail *out) {
  const ir_node n = *ir_at(p, cond);
  if ((n.op != IR_LT && n.op != IR_LE) || !ir_at(p, n.a)->is_index ||
      !ir_at(p, n.b)->is_index || !ir_at(p, at)->is_index)
    return false;
  ir_expr rest = ir_sub(p, at, n.a);
  ir_expr last = ir_add(p, n.b, rest);
  if (n.op == IR_LT) last = ir_sub(p, last, ir_index(p, 1));
  *out = (tail){(ir_op)n.op, rest, n.b, last};
  return uses_inner(p, v, n.a) && !uses_inner(p, v, last) &&
         !uses_inner(p, v, rest) &&
         ir_at(p, rest)->op != IR_INT && /* else it is the domain's end */
         ir_at(p, last)->lo < most && !arith_prove_le(p, max, last);
}

static void clip_to_condition(ir_program *p, const ir_view *v, ir_expr cond,
                              ir_expr at, int64_t most, ir_expr *max) {
  const ir_node n = *ir_at(p, cond);
  tail t;
  if (n.op == IR_AND) {
    clip_to_condition(p, v, n.a, at, most, max);
    clip_to_condition(p, v, n.b, at, most, max);
  }
  if (is_tail(p, v, cond, at, most, *max, &t))
    *max = ir_binary(p, IR_MIN, *max, t.last);
}

/* And-s to *out what a condition says of an access at `now` as at `at`. */
static void carry_over(ir_program *p, const ir_view *v, ir_expr cond,
                       ir_expr at, int64_t most, ir_expr max, ir_expr now,
                       ir_expr *out) {
  const ir_node n = *ir_at(p, cond);
  tail t;
  if (n.op == IR_AND) {
    carry_over(p, v, n.a, at, most, max, now, out);
    carry_over(p, v, n.b, at, most, max, now, out);
  }
  if (!is_tail(p, v, cond, at, most, max, &t)) return;
  ir_expr same = ir_binary(p, t.op, ir_sub(p, now, t.rest), t.end);
  *out = *out ? ir_and(p, *out, same) : same;
}

ir_expr ir_tail_condition(ir_program *p, arena *scratch, ir_stmt block,
                          ir_region r, ir_stmt top, const ir_expr *now) {
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_expr *box = arena_array(scratch, ir_expr, 3 * ndim), out = 0;
  ir_expr *max = box + ndim, *at = box + 2 * ndim;
  ir_view v;
  if (!ir_may_access_box(p, scratch, block, r, top, box, max) ||
      !ir_view_block(p, scratch, top, block, &v) || !v.pred)
    return 0;
  for (uint32_t d = 0; d < ndim; d++) at[d] = ir_region_min(p, r, d);
  ir_bind_iters(p, scratch, block, ndim, at);
  for (uint32_t d = 0; d < ndim; d++)
    if (ir_is_const(p, ir_region_extent(p, r, d), 1))
      carry_over(p, &v, v.pred, ir_view_expr(&v, at[d]),
                 ir_at(p, ir_region_min(p, r, d))->hi, max[d], now[d], &out);
  return out;
}

bool ir_may_access_tail(ir_program *p, arena *scratch, ir_stmt block,
                        ir_region r, ir_stmt top, ir_expr *min, ir_expr *max) {
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_view v;
  if (!ir_may_access_box(p, scratch, block, r, top, min, max) ||
      !ir_view_block(p, scratch, top, block, &v))
    return false;
  ir_expr *at = arena_array(scratch, ir_expr, ndim);
  for (uint32_t d = 0; d < ndim; d++) at[d] = ir_region_min(p, r, d);
  ir_bind_iters(p, scratch, block, ndim, at);
  for (uint32_t d = 0; d < ndim && v.pred; d++) {
    int64_t most = ir_at(p, ir_region_min(p, r, d))->hi;
    if (ir_is_const(p, ir_region_extent(p, r, d), 1))
      clip_to_condition(p, &v, v.pred, ir_view_expr(&v, at[d]), most, &max[d]);
  }
  return true;
}

/* Is a <= b, given a condition; with the splits that it guards undone. */
static bool is_at_most_given(ir_program *p, arena *scratch, ir_expr a,
                             ir_expr b, ir_expr given) {
  if (a == b || arith_prove_le(p, a, b)) return true;
  if (!given) return false;
  ir_view v;
  ir_view_condition(p, scratch, given, &v);
  a = ir_view_expr(&v, a);
  b = ir_view_expr(&v, b);
  return a == b || arith_prove_le(p, a, b) ||
         (v.pred && arith_prove(p, scratch, ir_binary(p, IR_LE, a, b), v.pred));
}

bool ir_box_within(ir_program *p, arena *scratch, ir_buf b, const ir_expr *min,
                   const ir_expr *max, const ir_expr *omin, const ir_expr *omax,
                   ir_expr given) {
  for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
    ir_expr zero = ir_index(p, 0);
    ir_expr end = ir_sub(p, ir_dim(p, b, d), ir_index(p, 1));
    if (!is_at_most_given(p, scratch, omin[d], min[d], given) &&
        !arith_prove_le(p, omin[d], zero))
      return false;
    if (!is_at_most_given(p, scratch, max[d], omax[d], given) &&
        !arith_prove_le(p, end, omax[d]))
      return false;
  }
  return true;
}

/* ---- must access -------------------------------------------------------- */

/* A query to ir_must_access_box, and its reduction to a surjective map. */
typedef struct fill {
  ir_program *p;
  ir_stmt block;
  ir_region r;
  ir_view view, given;      /* of the block; of the condition around it */
  const ir_expr *min, *max; /* rewritten by `given` */
  uint32_t n;               /* dimensions that the loops must cover: */
  ir_expr *bind, *extent;   /* bindings, from 0, and their extents */
} fill;

/* An expression over the loops, rewritten by both views. */
static ir_expr view_both(const fill *f, ir_expr e) {
  return ir_view_expr(&f->given, ir_view_expr(&f->view, e));
}

/* Clipping the binding of iter `it` to its domain, at the low or the high end,
 * removes only points outside of the buffer in dimension d: the region starts
 * at the iter plus a constant, and the domain reaches this end.  What
 * starts before the buffer is outside only if all of its points are. */
static bool clips_outside(const fill *f, const ir_iter *it, uint32_t d,
                          bool low) {
  ir_program *p = f->p;
  ir_expr off = ir_sub(p, ir_region_min(p, f->r, d), ir_ref(p, it->var));
  ir_expr size = ir_region_extent(p, f->r, d), lo = ir_add(p, it->lo, off);
  int64_t c;
  if (!ir_const_int(p, off, &c) || !ir_const_int(p, size, &c)) return false;
  return low ? arith_prove_le(p, ir_add(p, lo, size), ir_index(p, 1))
             : arith_prove_le(p, ir_dim(p, f->r.buf, d),
                              ir_add(p, lo, it->extent));
}

/* Are all points that are removed so outside of the buffer? */
static bool clip_is_harmless(const fill *f, const ir_iter *it, bool low) {
  ir_program *p = f->p;
  bool shows = false;
  for (uint32_t d = 0; d < ir_ndim(p, f->r.buf); d++) {
    if (!ir_uses_var(p, ir_region_min(p, f->r, d), it->var)) continue;
    if (!clips_outside(f, it, d, low)) return false;
    shows = true;
  }
  return shows;
}

/* Does the condition only clip an iter's binding to its domain, at one end, and
 * depend on variables bound outside; if `harmless`, with an iter that loses no
 * point of the buffer? */
static bool only_clips(const fill *f, ir_expr cond, bool harmless) {
  ir_program *p = f->p;
  if (!ir_view_uses_outer(p, &f->view, cond)) return false;
  ir_span iters = ir_blk(p, f->block)->iters;
  for (uint32_t k = iters.at; k < iters.at + iters.n; k++) {
    ir_iter it = p->iter.v[k];
    ir_expr bind = view_both(f, it.bind);
    bool low = cond == ir_binary(p, IR_LE, it.lo, bind);
    if (low || cond == ir_binary(p, IR_LT, bind, ir_add(p, it.lo, it.extent)))
      return !harmless || clip_is_harmless(f, &it, low);
  }
  return false;
}

/* Drops such conditions from `pred`: as if iters could overhang. 0: true. */
static ir_expr drop_clips(const fill *f, ir_expr pred, bool harmless) {
  ir_program *p = f->p;
  const ir_node n = *ir_at(p, pred);
  if (n.op == IR_AND) {
    ir_expr a = drop_clips(f, n.a, harmless);
    ir_expr b = drop_clips(f, n.b, harmless);
    return a && b ? ir_and(p, a, b) : a ? a : b;
  }
  return only_clips(f, pred, harmless) ? 0 : pred;
}

ir_expr ir_unclipped_predicate(ir_program *p, ir_stmt block, const ir_view *v) {
  fill f = {.p = p, .block = block, .view = *v};
  return v->pred ? drop_clips(&f, v->pred, false) : 0;
}

/* Drops from a predicate what the given condition implies. */
static ir_expr drop_implied(const fill *f, arena *scratch, ir_expr pred) {
  const ir_node n = *ir_at(f->p, pred);
  if (n.op == IR_AND) {
    ir_expr a = drop_implied(f, scratch, n.a);
    ir_expr b = drop_implied(f, scratch, n.b);
    return a && b ? ir_and(f->p, a, b) : a ? a : b;
  }
  for (uint32_t i = 0; i < f->view.l.n; i++)
    if (ir_uses_var(f->p, pred, f->view.l.var[i])) return pred;
  return arith_prove(f->p, scratch, pred, f->given.pred) ? 0 : pred;
}

/* The predicate that excludes points of the buffer, given the condition; 0:
 * none. */
static ir_expr effective_predicate(const fill *f, arena *scratch) {
  ir_program *p = f->p;
  ir_expr pred = f->view.pred ? ir_view_expr(&f->given, f->view.pred) : 0;
  ir_expr rest = pred ? drop_clips(f, pred, true) : 0;
  rest = rest ? drop_implied(f, scratch, rest) : 0;
  return rest && ir_is_const(p, rest, 1) ? 0 : rest;
}

/* A region of `size` > 1 points a step, in dimension d: tiles must be adjacent,
 * so the question becomes one about tiles, the last of which may overhang the
 * box. */
static bool add_tiles(fill *f, ir_expr off, int64_t size, ir_expr extent) {
  ir_program *p = f->p;
  ir_expr step = ir_index(p, size), tile = ir_binary(p, IR_DIV, off, step);
  if (!arith_prove_eq(p, ir_mul(p, tile, step), off)) return false;
  f->bind[f->n] = tile;
  extent = ir_add(p, extent, ir_index(p, size - 1));
  f->extent[f->n++] = ir_binary(p, IR_DIV, extent, step);
  return true;
}

/* Dimension d becomes an output of the map, unless one step covers it. */
static bool add_dim(fill *f, uint32_t d, ir_expr at) {
  ir_program *p = f->p;
  int64_t size;
  ir_expr lo = f->min[d];
  ir_expr extent = ir_add(p, ir_sub(p, f->max[d], lo), ir_index(p, 1));
  ir_expr each = ir_region_extent(p, f->r, d);
  if (at == lo && arith_prove_le(p, extent, each)) return true;
  if (!ir_const_int(p, each, &size)) return false;
  ir_expr off = ir_sub(p, at, lo);
  if (size != 1) return add_tiles(f, off, size, extent);
  f->bind[f->n] = off;
  f->extent[f->n++] = extent;
  return true;
}

/* Is every output one loop's variable, all distinct, over its range? */
static bool each_is_a_loop(const fill *f) {
  const ir_program *p = f->p;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    const ir_node *x = ir_at(p, f->bind[i]);
    uint32_t k = 0;
    while (k < f->view.l.n && !(x->op == IR_VAR && f->view.l.var[k] == x->a))
      k++;
    if (k == f->view.l.n || k >= 64 || (seen >> k & 1) ||
        !ir_is_const(p, f->view.l.lo[k], 0) ||
        f->view.l.extent[k] != f->extent[i])
      return false;
    seen |= (uint64_t)1 << k;
  }
  return true;
}

/* Is there a loop that no index depends on, and that may have no iteration? */
static bool may_not_run(const fill *f) {
  for (uint32_t i = 0; i < f->view.l.n; i++) {
    uint32_t d = 0;
    if (ir_at(f->p, f->view.l.extent[i])->lo >= 1) continue;
    while (d < f->n && !ir_uses_var(f->p, f->bind[d], f->view.l.var[i])) d++;
    if (d == f->n) return true;
  }
  return false;
}

bool ir_must_access_box(ir_program *p, arena *scratch, ir_stmt block,
                        ir_region r, ir_stmt top, const ir_expr *min,
                        const ir_expr *max, ir_expr given) {
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_expr *at = arena_array(scratch, ir_expr, 5 * ndim);
  fill f = {.p = p,
            .block = block,
            .r = r,
            .min = at + 3 * ndim,
            .max = at + 4 * ndim,
            .bind = at + ndim,
            .extent = at + 2 * ndim};
  if (!ir_view_block(p, scratch, top, block, &f.view)) return false;
  if (given) ir_view_condition(p, scratch, given, &f.given);
  for (uint32_t d = 0; d < ndim; d++) {
    at[d] = ir_region_min(p, r, d);
    at[3 * ndim + d] = ir_view_expr(&f.given, min[d]);
    at[4 * ndim + d] = ir_view_expr(&f.given, max[d]);
  }
  ir_bind_iters(p, scratch, block, ndim, at);
  for (uint32_t d = 0; d < ndim; d++)
    if (!add_dim(&f, d, view_both(&f, at[d]))) return false;
  if (may_not_run(&f) || ir_loops_coupled(p, &f.view.l)) return false;
  ir_expr pred = effective_predicate(&f, scratch);
  if (!pred && each_is_a_loop(&f)) return true;
  const ir_loops *l = &f.view.l;
  return arith_map_is(p, scratch, ARITH_MAP_SURJECTIVE, l->n, l->var, l->extent,
                      f.n, f.bind, NULL, f.extent, pred);
}
