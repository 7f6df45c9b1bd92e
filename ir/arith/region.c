/* SPDX-License-Identifier: Apache-2.0
 * Regions (boxes of buffers): relaxation, union, containment, disjointness. */
#include "ir/arith/region.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"

/* ---- boxes -------------------------------------------------------------- */

ir_expr arith_extent_of(ir_program *p, ir_expr min, ir_expr max) {
  ir_expr e = ir_add(p, ir_sub(p, max, min), ir_index(p, 1));
  lin x;
  if (ir_at(p, e)->op == IR_INT || !ir_is_algebra(ir_at(p, e))) return e;
  lin_of(p, e, &x);
  arith_range r = lin_tight_range(p, &x);
  return r.lo == r.hi ? ir_index(p, r.lo) : e;
}

/* The last index of dimension i. */
static ir_expr last_index(ir_program *p, ir_region r, uint32_t i) {
  ir_expr end = ir_add(p, ir_region_min(p, r, i), ir_region_extent(p, r, i));
  return ir_sub(p, end, ir_index(p, 1));
}

/* A region from the first and last index of each dimension. */
static ir_region region_of(ir_program *p, arena *scratch, ir_buf b,
                           const ir_expr *min, const ir_expr *max) {
  uint32_t n = ir_ndim(p, b);
  arena_mark mark = arena_get_mark(scratch);
  ir_expr *v = arena_array(scratch, ir_expr, 2 * n + 1);
  for (uint32_t i = 0; i < n; i++) {
    v[2 * i] = min[i];
    v[2 * i + 1] = arith_extent_of(p, min[i], max[i]);
  }
  ir_region r = ir_region_new(p, b, v);
  arena_reset_to(scratch, mark);
  return r;
}

/* ---- relaxation --------------------------------------------------------- */

bool arith_region_relax(ir_program *p, arena *scratch, ir_region r, uint32_t n,
                        const ir_var *var, const ir_expr *lo,
                        const ir_expr *extent, ir_region *out) {
  uint32_t ndim = ir_ndim(p, r.buf);
  arena_mark mark = arena_get_mark(scratch);
  ir_expr *min = arena_array(scratch, ir_expr, 2 * ndim + 1);
  ir_expr *max = min + ndim, zero = ir_index(p, 0), one = ir_index(p, 1);
  bool known = true;
  for (uint32_t i = 0; i < ndim; i++) {
    ir_expr first = ir_region_min(p, r, i), last = last_index(p, r, i), other;
    ir_expr end = ir_sub(p, ir_dim(p, r.buf, i), one);
    if (!arith_relax(p, scratch, first, n, var, lo, extent, &min[i], &max[i],
                     NULL) ||
        (last != first && !arith_relax(p, scratch, last, n, var, lo, extent,
                                       &other, &max[i], NULL))) {
      min[i] = zero;
      max[i] = end;
      known = false;
    }
    min[i] = ir_binary(p, IR_MAX, min[i], zero);
    max[i] = ir_binary(p, IR_MIN, max[i], end);
  }
  *out = region_of(p, scratch, r.buf, min, max);
  arena_reset_to(scratch, mark);
  return known;
}

/* ---- union and comparison ----------------------------------------------- */

enum { DIMS = 32 };

/* The smaller (or larger) of two indices, without making a node if that is
 * decided. */
static ir_expr min_or_max(ir_program *p, ir_op op, ir_expr a, ir_expr b) {
  if (arith_prove_le(p, a, b)) return op == IR_MIN ? a : b;
  if (arith_prove_le(p, b, a)) return op == IR_MIN ? b : a;
  return ir_binary(p, op, a, b);
}

ir_region arith_region_union(ir_program *p, ir_region a, ir_region b) {
  uint32_t n = ir_ndim(p, a.buf);
  ir_expr v[2 * DIMS];
  if (a.at == b.at ||
      !memcmp(p->arg.v + a.at, p->arg.v + b.at, 2 * n * sizeof *p->arg.v))
    return a;
  if (n > DIMS) return ir_region_full(p, a.buf);
  for (uint32_t i = 0; i < n; i++) {
    ir_expr max =
        min_or_max(p, IR_MAX, last_index(p, a, i), last_index(p, b, i));
    v[2 * i] =
        min_or_max(p, IR_MIN, ir_region_min(p, a, i), ir_region_min(p, b, i));
    v[2 * i + 1] = arith_extent_of(p, v[2 * i], max);
  }
  return ir_region_new(p, a.buf, v);
}

bool arith_region_covers(ir_program *p, arena *scratch, ir_region outer,
                         ir_region inner) {
  (void)scratch;
  if (outer.buf != inner.buf) return false;
  for (uint32_t i = 0; i < ir_ndim(p, outer.buf); i++)
    if (!arith_prove_le(p, ir_region_min(p, outer, i),
                        ir_region_min(p, inner, i)) ||
        !arith_prove_le(p, last_index(p, inner, i), last_index(p, outer, i)))
      return false;
  return true;
}

/* Is every index of `a` in dimension i below every index of `b`? */
static bool is_below(ir_program *p, ir_region a, ir_region b, uint32_t i) {
  ir_expr end = ir_add(p, ir_region_min(p, a, i), ir_region_extent(p, a, i));
  return arith_prove_le(p, end, ir_region_min(p, b, i));
}

bool arith_region_disjoint(ir_program *p, ir_region a, ir_region b) {
  if (a.buf != b.buf) return true;
  for (uint32_t i = 0; i < ir_ndim(p, a.buf); i++)
    if (is_below(p, a, b, i) || is_below(p, b, a, i)) return true;
  return false;
}
