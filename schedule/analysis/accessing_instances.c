/* SPDX-License-Identifier: Apache-2.0
 * Which block instances access a box of a buffer: the inverse of the access
 * map, dimension by dimension, else of the whole map. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"

static const sch_span whole = {0, SCH_SPAN_WHOLE};

/* The range [lo, hi]; whole when no constant bounds its extent. */
static sch_span span_of(sch_state *s, ir_expr lo, ir_expr hi) {
  ir_program *p = s->p;
  ir_expr size = ir_add(p, ir_sub(p, hi, lo), ir_index(p, 1));
  int64_t most = arith_bounds(p, size).hi;
  if (most == INT64_MAX) return whole;
  return (sch_span){lo, most < 1 ? 1 : most};
}

/* The least c that is proven to satisfy y <= x + c. */
static int64_t above(ir_program *p, ir_expr x, ir_expr y) {
  arith_range r = arith_bounds(p, ir_sub(p, y, x));
  int64_t width;
  while (r.lo != INT64_MIN && r.hi != INT64_MAX && r.lo < r.hi &&
         !__builtin_sub_overflow(r.hi, r.lo, &width)) {
    int64_t mid = r.lo + width / 2;
    if (arith_prove_le(p, y, ir_add(p, x, ir_index(p, mid))))
      r.hi = mid;
    else
      r.lo = mid + 1;
  }
  return r.hi;
}

static int64_t max2(int64_t a, int64_t b) { return a > b ? a : b; }

sch_span sch_span_join(sch_state *s, sch_span a, sch_span b) {
  ir_program *p = s->p;
  if (a.extent == SCH_SPAN_NONE) return b;
  if (b.extent == SCH_SPAN_NONE) return a;
  if (a.extent == SCH_SPAN_WHOLE || b.extent == SCH_SPAN_WHOLE) return whole;
  int64_t up = above(p, a.min, b.min), down = above(p, b.min, a.min);
  if (up == INT64_MAX || down == INT64_MAX) return whole;
  int64_t extent =
      max2(max2(a.extent, b.extent), max2(up + b.extent, down + a.extent));
  ir_expr min = down <= 0 ? a.min
                : up <= 0 ? b.min
                          : ir_binary(p, IR_MIN, a.min, b.min);
  return (sch_span){min, extent};
}

/* The smaller one of two ranges that must both hold. */
static sch_span span_both(sch_span a, sch_span b) {
  if (a.extent <= 0) return b;
  if (b.extent <= 0) return a;
  return b.extent < a.extent ? b : a;
}

/* The index of variable v among the block's iters, or -1. */
static int find_iter(const ir_program *p, ir_stmt block, ir_var v) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t k = 0; k < it.n; k++)
    if (p->iter.v[it.at + k].var == v) return (int)k;
  return -1;
}

typedef struct solver {
  sch_state *s;
  ir_stmt block;
  bool within;
  sch_span *out; /* one an iter */
  bool mixed;    /* a dimension mixes several iters */
} solver;

/* coef * v + c, of `size` points, accesses (lies within) [min, max]. */
static void solve_linear(solver *f, int k, int64_t coef, int64_t c,
                         int64_t size, ir_expr min, ir_expr max) {
  ir_program *p = f->s->p;
  int64_t first = (f->within ? 0 : 1 - size) - c + coef - 1;
  int64_t last = (f->within ? 1 - size : 0) - c;
  ir_expr lo = ir_add(p, min, ir_index(p, first));
  ir_expr hi = ir_add(p, max, ir_index(p, last));
  if (coef != 1) {
    lo = ir_binary(p, IR_DIV, lo, ir_index(p, coef));
    hi = ir_binary(p, IR_DIV, hi, ir_index(p, coef));
  }
  f->out[k] = span_both(f->out[k], span_of(f->s, lo, hi));
}

/* v // d + c lies in [min, max]. */
static void solve_quotient(solver *f, int k, int64_t d, int64_t c, ir_expr min,
                           ir_expr max) {
  ir_program *p = f->s->p;
  ir_expr by = ir_index(p, d), off = ir_index(p, c);
  ir_expr lo = ir_mul(p, ir_sub(p, min, off), by);
  ir_expr hi =
      ir_add(p, ir_mul(p, ir_sub(p, max, off), by), ir_index(p, d - 1));
  f->out[k] = span_both(f->out[k], span_of(f->s, lo, hi));
}

static void solve_dim(solver *f, ir_expr at, ir_expr size, ir_expr min,
                      ir_expr max) {
  ir_program *p = f->s->p;
  ir_expr atom[2];
  int64_t coef[2], c, points, d;
  int n = arith_terms(p, at, 2, atom, coef, &c);
  if (n == 0) return;
  if (n != 1) {
    f->mixed = true;
    return;
  }
  const ir_node x = *ir_at(p, atom[0]);
  if (x.op == IR_VAR) {
    int k = find_iter(p, f->block, x.a);
    if (k >= 0 && coef[0] > 0 && ir_const_int(p, size, &points))
      solve_linear(f, k, coef[0], c, points, min, max);
    else if (k >= 0)
      f->mixed = true;
  } else if (x.op == IR_DIV && coef[0] == 1 && ir_is_const(p, size, 1) &&
             ir_at(p, x.a)->op == IR_VAR && ir_const_int(p, x.b, &d)) {
    int k = find_iter(p, f->block, ir_at(p, x.a)->a);
    if (k >= 0 && d > 0) solve_quotient(f, k, d, c, min, max);
    f->mixed = true;
  } else {
    f->mixed = true;
  }
}

/* The whole map inverted: each iter over one variable a dimension, which
 * then runs over the box. */
static void solve_map(solver *f, ir_region r, const ir_expr *min,
                      const ir_expr *max) {
  ir_program *p = f->s->p;
  arena *scratch = f->s->scratch;
  ir_span it = ir_blk(p, f->block)->iters;
  uint32_t ndim = ir_ndim(p, r.buf), n = 0;
  ir_var *in = arena_array(scratch, ir_var, it.n);
  uint32_t *which = arena_array(scratch, uint32_t, it.n);
  ir_var *var = arena_array(scratch, ir_var, ndim);
  ir_expr *e = arena_array(scratch, ir_expr, 3 * ndim + it.n);
  ir_expr *bind = e, *point = e + ndim, *extent = e + 2 * ndim;
  ir_expr *inverse = e + 3 * ndim;
  for (uint32_t d = 0; d < ndim; d++) {
    if (!ir_is_const(p, ir_region_extent(p, r, d), 1)) return;
    int64_t shape = arith_bounds(p, ir_dim(p, r.buf, d)).hi;
    bind[d] = ir_region_min(p, r, d);
    var[d] = ir_var_new(p, IR_VAR_FORMAL, 0, IR_INDEX, 0,
                        shape == INT64_MAX ? INT64_MAX : shape - 1);
    point[d] = ir_ref(p, var[d]);
    extent[d] = ir_add(p, ir_sub(p, max[d], min[d]), ir_index(p, 1));
  }
  for (uint32_t k = 0; k < it.n; k++)
    for (uint32_t d = 0; d < ndim; d++)
      if (ir_uses_var(p, bind[d], p->iter.v[it.at + k].var)) {
        which[n] = k;
        in[n++] = p->iter.v[it.at + k].var;
        break;
      }
  if (!arith_inverse(p, scratch, n, in, NULL, ndim, bind, point, inverse))
    return;
  for (uint32_t i = 0; i < n; i++) {
    ir_expr lo, hi;
    if (arith_relax(p, scratch, inverse[i], ndim, var, min, extent, &lo, &hi,
                    NULL))
      f->out[which[i]] = span_both(f->out[which[i]], span_of(f->s, lo, hi));
  }
}

/* Of several bounds of the box's end, the one nearest to its start, as far as
 * constants tell. */
static ir_expr nearest_end(ir_program *p, ir_expr min, ir_expr max) {
  while (ir_at(p, max)->op == IR_MIN) {
    const ir_node n = *ir_at(p, max);
    int64_t a = arith_bounds(p, ir_sub(p, n.a, min)).hi;
    max = arith_bounds(p, ir_sub(p, n.b, min)).hi < a ? n.b : n.a;
  }
  return max;
}

void sch_instances(sch_state *s, ir_stmt block, ir_region r, const ir_expr *min,
                   const ir_expr *max, bool within, sch_span *out) {
  ir_program *p = s->p;
  solver f = {s, block, within, out, false};
  uint32_t niters = ir_blk(p, block)->iters.n;
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_expr *end = arena_array(s->scratch, ir_expr, ndim);
  for (uint32_t k = 0; k < niters; k++) out[k] = whole;
  for (uint32_t d = 0; d < ndim; d++) {
    end[d] = nearest_end(p, min[d], max[d]);
    solve_dim(&f, ir_region_min(p, r, d), ir_region_extent(p, r, d), min[d],
              end[d]);
  }
  if (f.mixed) solve_map(&f, r, min, end);
}

/* One iter's range, clipped; where all of it lies outside of the domain
 * (nothing there is ever truly wanted) one value is left. */
static sch_span clip(ir_program *p, sch_span span, int64_t lo, int64_t extent) {
  arith_range min = arith_bounds(p, span.min);
  int64_t end = lo + extent, min_const;
  if (min.lo >= end || (min.hi < lo && min.hi + span.extent <= lo))
    return (sch_span){ir_index(p, lo), 1};
  if (!ir_const_int(p, span.min, &min_const)) return span;
  int64_t from = min_const < lo ? lo : min_const;
  int64_t to = min_const + span.extent;
  to = to > end ? end : to;
  if (from == lo && to == end) return whole;
  return (sch_span){ir_index(p, from), to - from};
}

void sch_spans_clip(sch_state *s, ir_stmt block, sch_span *span) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t k = 0; k < it.n; k++) {
    int64_t lo, extent;
    if (span[k].extent > 0 && ir_const_int(p, p->iter.v[it.at + k].lo, &lo) &&
        ir_const_int(p, p->iter.v[it.at + k].extent, &extent))
      span[k] = clip(p, span[k], lo, extent);
  }
}

void sch_spans_widen(sch_state *s, ir_stmt block, sch_span *span) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  int64_t extent;
  for (uint32_t k = 0; k < it.n; k++)
    if (ir_const_int(p, p->iter.v[it.at + k].extent, &extent) &&
        span[k].extent >= extent)
      span[k] = whole;
}
