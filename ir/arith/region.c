/* SPDX-License-Identifier: Apache-2.0
 * Regions (boxes of buffers): union and containment. */
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
