/* SPDX-License-Identifier: Apache-2.0
 * Does a block conflict with another one in a later iteration of loops around
 * both (a loop-carried dependence)? */
#include "ir/arith/arith.h"
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

void dist_disjoint_first(const dist *d, uint32_t k, int sign,
                         arith_range *within) {
  const arith_range ahead = {1, INT64_MAX}, behind = {INT64_MIN, -1};
  for (uint32_t i = 0; i < d->n; i++)
    within[i] =
        i < k ? (arith_range){0, 0} : (arith_range){INT64_MIN, INT64_MAX};
  if (k < d->n) within[k] = sign > 0 ? ahead : behind;
}

bool dist_later(dist *d, ir_stmt b1, ir_region r1, ir_stmt b2, ir_region r2,
                bool or_same) {
  arith_range *within = arena_array(d->s->scratch, arith_range, 2 * d->n);
  bool common = false;
  d->within = within;
  for (uint32_t k = 0; k < d->n + or_same && !common; k++) {
    dist_disjoint_first(d, k, 1, within);
    common = dist_regions(d, b1, r1, b2, r2, within + d->n);
  }
  d->within = NULL;
  return common;
}

bool poly_clears_later(dist *d, ir_stmt a, ir_stmt b, bool b_writes,
                       bool or_same, ir_buf buf) {
  arith_range *within = arena_array(d->s->scratch, arith_range, d->n);
  ir_stmt first = b_writes ? b : a, second = b_writes ? a : b;
  bool clear = true;
  d->within = within;
  for (uint32_t k = 0; k < d->n + or_same && clear; k++) {
    dist_disjoint_first(d, k, b_writes ? -1 : 1, within);
    clear = poly_clears(d, first, second, buf);
  }
  d->within = NULL;
  return clear;
}

/* The loops below `common` around both blocks. */
static void asked_of(sch_state *s, ir_stmt a, ir_stmt b, ir_stmt common,
                     dist *out) {
  const ir_program *p = s->p;
  ir_stmt both = sch_common(p, a, b);
  uint32_t n = 0, k = 0;
  for (ir_stmt l = both; l != common; l = ir_st(p, l)->parent) n++;
  ir_var *var = arena_array(s->scratch, ir_var, n);
  for (ir_stmt l = both; l != common; l = ir_st(p, l)->parent)
    var[n - ++k] = ir_st(p, l)->var;
  dist_init(out, s, n, var, common);
}

bool sch_never_later(sch_state *s, ir_stmt a, ir_stmt b, ir_stmt writer,
                     ir_stmt common, bool or_same) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, writer)->writes;
  ir_span r = ir_blk(p, writer == a ? b : a)->reads;
  dist d;
  asked_of(s, a, b, common, &d);
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (uint32_t j = r.at; j < r.at + r.n; j++) {
      ir_region x = p->region.v[i], y = p->region.v[j];
      ir_stmt scope = ir_scope_of(p, a);
      if (x.buf != y.buf) {
        if (sch_storage(p, scope, x.buf) != sch_storage(p, scope, y.buf))
          continue;
        return false;
      }
      bool turn = writer == b;
      if (dist_later(&d, a, turn ? y : x, b, turn ? x : y, or_same) &&
          (s->quick || !poly_clears_later(&d, a, b, turn, or_same, x.buf)))
        return false;
    }
  return true;
}

bool sch_made_first(sch_state *s, ir_stmt maker, ir_stmt block,
                    ir_stmt common) {
  const ir_program *p = s->p;
  ir_span w = ir_blk(p, maker)->writes, r = ir_blk(p, block)->reads;
  dist d;
  if (s->quick) return false;
  asked_of(s, maker, block, common, &d);
  arith_range *within = arena_array(s->scratch, arith_range, d.n);
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (uint32_t j = r.at; j < r.at + r.n; j++) {
      ir_buf x = p->region.v[i].buf, y = p->region.v[j].buf;
      ir_stmt scope = ir_scope_of(p, maker);
      if (x != y ? sch_storage(p, scope, x) == sch_storage(p, scope, y)
                 : !poly_made_first(&d, maker, block, x, within))
        return false;
    }
  return true;
}
