/* SPDX-License-Identifier: Apache-2.0
 * Exact dependence tests between two iterations, by isl. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "schedule/dependence/polyhedra_isl.h"

int poly_holds(sch_state *s, ir_stmt st, ir_expr cond) {
  int64_t known; /* even where there are no iterations */
  if (ir_const_int(s->p, cond, &known)) return known ? 1 : -1;
  poly_pair x;
  poly_builder b;
  poly_around(s, st, &x);
  poly_key key;
  int holds = 0;
  poly_key_of_condition(&x, cond, &key);
  if (poly_recall(s, &key, &holds)) return holds;
  isl_ctx *ctx = poly_context(s);
  if (!ctx) return 0;
  poly_enter(&b, ctx, &x, 0);
  isl_set *all = poly_domain(&b, x.context);
  isl_set *yes = poly_where(&b, cond);
  if (!b.strange) {
    isl_set *no = isl_set_subtract(isl_set_copy(all), isl_set_copy(yes));
    isl_set *some = isl_set_intersect(isl_set_copy(all), isl_set_copy(yes));
    holds = (isl_set_is_empty(no) == isl_bool_true) -
            (isl_set_is_empty(some) == isl_bool_true);
    isl_set_free(no);
    isl_set_free(some);
  }
  isl_set_free(all);
  isl_set_free(yes);
  isl_space_free(b.space);
  if (isl_ctx_last_error(ctx) == isl_error_none) poly_remember(s, &key, holds);
  return holds;
}

/* ---- two iterations ----------------------------------------------------- */

static isl_map *differ(isl_map *m, int in, int out) {
  isl_map *before = isl_map_copy(m);
  before = isl_map_order_lt(before, isl_dim_in, in, isl_dim_out, out);
  m = isl_map_order_gt(m, isl_dim_in, in, isl_dim_out, out);
  return isl_map_union(m, before);
}

/* Keeps pairs of iterations at the distances asked for. */
static isl_map *poly_confine(const dist *d, const poly_pair *x, isl_map *m) {
  for (uint32_t i = 0; d->within && i < d->n; i++) {
    arith_range r = d->within[i];
    int in = poly_place(&x->b[0], d->var[i]);
    int out = poly_place(&x->b[1], d->var[i]);
    if (in < 0 || out < 0) continue;
    if (r.lo > r.hi)
      m = differ(m, in, out);
    else if (r.lo == 0 && r.hi == 0)
      m = isl_map_equate(m, isl_dim_in, in, isl_dim_out, out);
    else if (r.lo > 0)
      m = isl_map_order_gt(m, isl_dim_in, in, isl_dim_out, out);
    else if (r.hi < 0)
      m = isl_map_order_lt(m, isl_dim_in, in, isl_dim_out, out);
  }
  return m;
}

/* The accesses of one block, as maps. */
typedef struct side {
  uint32_t n;
  isl_map **map;
  bool *vague;
} side;

static side room_for(arena *scratch, const poly_access *first) {
  side of = {0};
  for (const poly_access *a = first; a; a = a->next) of.n++;
  of.map = arena_array(scratch, isl_map *, of.n);
  of.vague = arena_zalloc(scratch, of.n * sizeof *of.vague);
  return of;
}

/* Neighbours mostly happen under the same conditions: these are looked at
 * once. */
static void poly_fill(side *of, isl_ctx *ctx, const poly_pair *x, int k) {
  const poly_cond *when = NULL;
  isl_set *in = NULL;
  bool vague = false;
  uint32_t i = 0;
  for (const poly_access *a = x->b[k].first; a; a = a->next, i++) {
    poly_builder b;
    poly_enter(&b, ctx, x, k);
    if (!i || a->when != when) {
      isl_set_free(in);
      in = poly_domain(&b, when = a->when);
      vague = b.vague;
    }
    of->map[i] = poly_access_map(&b, a, isl_set_copy(in));
    of->vague[i] = vague || b.vague;
    isl_space_free(b.space);
  }
  isl_set_free(in);
}

static void empty(side *of) {
  for (uint32_t i = 0; i < of->n; i++) isl_map_free(of->map[i]);
}

static void polyhedra_tell(const poly_pair *x, isl_point *at,
                           sch_conflict *out) {
  poly_iteration a = {0}, b = {0};
  poly_note(x, at, 0, &a);
  poly_note(x, at, 1, &b);
  poly_tell(&a, &b, out);
}

/* POLY_DISJOINT too where isl failed: that is known in the end. */
static poly_verdict pair_conflicts(const dist *d, const poly_pair *x,
                                   isl_map *to, isl_map *from, bool vague,
                                   sch_conflict *out) {
  isl_map *both = isl_map_apply_range(isl_map_copy(to),
                                      isl_map_reverse(isl_map_copy(from)));
  both = poly_confine(d, x, both);
  isl_point *at = isl_set_sample_point(isl_map_wrap(both));
  poly_verdict v = POLY_DISJOINT;
  if (at && isl_point_is_void(at) == isl_bool_false) {
    v = vague ? POLY_NOT_AFFINE : POLY_CONFLICT;
    if (v == POLY_CONFLICT && out) polyhedra_tell(x, at, out);
  }
  isl_point_free(at);
  return v;
}

static poly_verdict poly_test_pair(const dist *d, ir_stmt b1, ir_stmt b2,
                                   ir_buf buf, sch_conflict *out) {
  poly_pair x;
  poly_verdict v = POLY_DISJOINT;
  poly_key key;
  int known;
  poly_find(d, b1, b2, buf, &x);
  poly_key_of_conflict(d, &x, &key);
  if (poly_recall(d->s, &key, &known)) return POLY_DISJOINT;
  side w = room_for(d->s->scratch, x.b[0].first);
  side r = room_for(d->s->scratch, x.b[1].first);
  isl_ctx *ctx = poly_context(d->s);
  if (!ctx) return POLY_TOO_HARD;
  poly_fill(&w, ctx, &x, 0);
  poly_fill(&r, ctx, &x, 1);
  for (uint32_t i = 0; i < w.n && v != POLY_CONFLICT; i++)
    for (uint32_t k = 0; k < r.n && v != POLY_CONFLICT; k++) {
      bool vague = w.vague[i] || r.vague[k];
      poly_verdict is = pair_conflicts(d, &x, w.map[i], r.map[k], vague, out);
      if (is != POLY_DISJOINT) v = is;
    }
  empty(&w);
  empty(&r);
  if (v != POLY_CONFLICT && isl_ctx_last_error(ctx) != isl_error_none)
    v = POLY_TOO_HARD;
  if (v == POLY_DISJOINT) poly_remember(d->s, &key, v);
  return v;
}

poly_verdict poly_conflict(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf,
                           sch_conflict *out) {
  ir_mark mark = ir_get_mark(d->s->p);
  poly_verdict v = poly_test_pair(d, b1, b2, buf, out);
  ir_rollback(d->s->p, mark);
  return v;
}

bool poly_clears(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf) {
  sch_state *s = d->s;
  sch_conflict conflict = {0};
  poly_verdict v = poly_conflict(d, b1, b2, buf, &conflict);
  if (v == POLY_NOT_AFFINE)
    return sch_refuse(s, SCH_R_NOT_AFFINE, .s = {b1, b2}, .buf = buf);
  if (v == POLY_TOO_HARD)
    return sch_refuse(s, SCH_R_UNDECIDED, .s = {b1, b2}, .buf = buf);
  if (v == POLY_CONFLICT) s->refusal.conflict = conflict;
  return v != POLY_CONFLICT;
}

/* ---- what is made again ------------------------------------------------- */

/* What of the range is met at distances of which the first that is not 0 has
 * that sign (0: at none but 0). */
static isl_set *met_at(dist *d, const poly_pair *x, isl_map *to, int sign,
                       arith_range *within) {
  isl_set *all = isl_set_empty(isl_space_range(isl_map_get_space(to)));
  d->within = within;
  for (uint32_t k = sign ? 0 : d->n; k < d->n + !sign; k++) {
    dist_disjoint_first(d, k, sign, within);
    isl_map *some = poly_confine(d, x, isl_map_copy(to));
    all = isl_set_union(all, isl_map_range(some));
  }
  d->within = NULL;
  return all;
}

/* Of one access of the reader: pairs of its iteration and the element. */
static bool read_after(isl_ctx *ctx, dist *d, const poly_pair *x,
                       const poly_access *r, arith_range *within) {
  bool vague = false;
  isl_map *use = poly_accesses(ctx, x, 1, r, &vague);
  isl_set *later = isl_set_empty(isl_space_wrap(isl_map_get_space(use)));
  isl_set *by_then = isl_set_copy(later);
  isl_map *uses = isl_map_reverse(isl_map_range_map(use));
  for (const poly_access *w = x->b[0].first; w; w = w->next) {
    isl_map *to = poly_accesses(ctx, x, 0, w, &vague);
    to = isl_map_apply_range(to, isl_map_copy(uses));
    later = isl_set_union(later, met_at(d, x, to, 1, within));
    by_then = isl_set_union(by_then, met_at(d, x, to, -1, within));
    by_then = isl_set_union(by_then, met_at(d, x, to, 0, within));
    isl_map_free(to);
  }
  bool is = !vague && isl_set_is_subset(later, by_then) == isl_bool_true;
  isl_set_free(later);
  isl_set_free(by_then);
  isl_map_free(uses);
  return is;
}

bool poly_made_first(dist *d, ir_stmt maker, ir_stmt reader, ir_buf buf,
                     arith_range *within) {
  poly_pair x;
  bool first = true;
  poly_find(d, maker, reader, buf, &x);
  isl_ctx *ctx = poly_context(d->s);
  if (!ctx) return false;
  for (poly_access *r = x.b[1].first; r && first; r = r->next)
    first = read_after(ctx, d, &x, r, within);
  return first && isl_ctx_last_error(ctx) == isl_error_none;
}
