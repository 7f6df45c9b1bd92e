/* SPDX-License-Identifier: Apache-2.0
 * Which block instances a nest reaches, by isl: each once, a reduction's
 * initializing one first, and the same after a permutation. */
#include "schedule/dependence/polyhedra_isl.h"

/* Makes ready to ask about the block's iterations below `top`; false: isl is
 * not to be asked. */
static bool pstart_begin(sch_state *s, ir_stmt block, ir_stmt top, poly_pair *x,
                         poly_builder *b, sch_conflict *out) {
  *out = (sch_conflict){0};
  if (s->quick) return false;
  poly_instances(s, block, top, x);
  isl_ctx *ctx = poly_context(s);
  if (ctx) poly_enter(b, ctx, x, 0);
  return ctx != NULL;
}

/* Iterations to the values of the block's iters, or of the spatial ones; NULL:
 * not quasi-affine. */
static isl_map *values(poly_builder *b, isl_set *in, ir_stmt block, bool all) {
  isl_map *m = isl_map_from_domain(in);
  ir_span it = ir_blk(b->p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (!all && b->p->iter.v[i].kind != IR_SPATIAL) continue;
    isl_pw_aff *v = poly_value(b, b->p->iter.v[i].bind);
    m = isl_map_flat_range_product(m, isl_map_from_pw_aff(v));
  }
  return m;
}

/* Iterations, those of `in`, to those of `of` that reach the same instance or,
 * not `all`, the same result. */
static isl_map *reach_same(poly_builder *b, isl_set *in, isl_set *of,
                           ir_stmt block, bool all) {
  isl_map *back = isl_map_reverse(values(b, of, block, all));
  return isl_map_apply_range(values(b, in, block, all), back);
}

/* One of the iterations, if there is any. */
static poly_iteration one_of(const poly_pair *x, isl_set *in) {
  poly_iteration of = {0};
  isl_point *at = isl_set_sample_point(in);
  if (at && isl_point_is_void(at) == isl_bool_false)
    for (uint32_t i = 0; i < x->b[0].n; i++)
      poly_add(&of, x->b[0].dim[i], poly_coordinate(at, isl_dim_set, i));
  isl_point_free(at);
  return of;
}

/* One of them, and what `to` makes of it. */
static void polyhedra_start_tell(const poly_pair *x, isl_set *in, isl_map *to,
                                 sch_conflict *out) {
  isl_set *one = isl_set_from_point(isl_set_sample_point(in));
  poly_iteration a = one_of(x, isl_set_copy(one));
  poly_iteration b = one_of(x, isl_set_apply(one, isl_map_copy(to)));
  poly_tell(&a, &b, out);
}

/* Those of which no start of the same result comes first; what they would
 * have to start with is the range of *starts. */
static isl_set *late(poly_builder *b, ir_stmt block, isl_set *all,
                     isl_map **starts) {
  isl_set *first = poly_at_start(b, isl_set_copy(all), block);
  *starts = reach_same(b, isl_set_copy(all), first, block, false);
  isl_map *by_then = isl_map_lex_ge(isl_space_copy(b->space));
  by_then = isl_map_intersect(isl_map_copy(*starts), by_then);
  return isl_set_subtract(all, isl_map_domain(by_then));
}

bool poly_starts_first(sch_state *s, ir_stmt block, ir_stmt top,
                       sch_conflict *out) {
  poly_pair x;
  poly_builder b;
  if (!pstart_begin(s, block, top, &x, &b, out)) return false;
  isl_map *starts;
  isl_set *bad = late(&b, block, poly_domain(&b, x.b[0].when), &starts);
  bool known = !b.strange && !b.vague;
  bool ok = known && isl_set_is_empty(bad) == isl_bool_true;
  if (known && !ok) polyhedra_start_tell(&x, isl_set_copy(bad), starts, out);
  isl_map_free(starts);
  isl_set_free(bad);
  isl_space_free(b.space);
  return ok;
}

/* Pairs of iterations of which the first comes later once the first n loops
 * are in their new order. */
static isl_map *later_then(const poly_builder *b, uint32_t n,
                           const uint32_t *to) {
  uint32_t all = b->x->b[0].n;
  isl_space *both = isl_space_map_from_set(isl_space_copy(b->space));
  isl_map *turn = isl_map_universe(both);
  for (uint32_t i = 0; i < all; i++)
    turn = isl_map_equate(turn, isl_dim_in, (int)i, isl_dim_out,
                          (int)(i < n ? to[i] : i));
  isl_map *later = isl_map_lex_gt(isl_space_copy(b->space));
  later = isl_map_apply_range(isl_map_copy(turn), later);
  return isl_map_apply_range(later, isl_map_reverse(turn));
}

/* Iterations and those that initialize the same result, which they change
 * places with (these are all one instance: among them, any may come first). */
static isl_map *change_places(poly_builder *b, ir_stmt block, isl_set *all,
                              uint32_t n, const uint32_t *to) {
  bool vague = b->vague;
  b->vague = false;
  isl_set *first = poly_at_start(b, isl_set_copy(all), block);
  b->strange |= b->vague; /* there are fewer, and more others */
  b->vague |= vague;
  isl_set *others = isl_set_subtract(all, isl_set_copy(first));
  isl_map *same = reach_same(b, others, first, block, false);
  isl_map *was = isl_map_lex_gt(isl_space_copy(b->space));
  isl_map *is = later_then(b, n, to);
  isl_map *turned =
      isl_map_intersect(isl_map_copy(was), isl_map_reverse(isl_map_copy(is)));
  was = isl_map_intersect(isl_map_reverse(was), is);
  return isl_map_intersect(same, isl_map_union(turned, was));
}

poly_verdict poly_start_moves(sch_state *s, ir_stmt block, ir_stmt top,
                              uint32_t n, const uint32_t *to,
                              sch_conflict *out) {
  poly_pair x;
  poly_builder b;
  if (!pstart_begin(s, block, top, &x, &b, out)) return POLY_TOO_HARD;
  isl_set *all = poly_domain(&b, x.b[0].when);
  isl_map *bad = change_places(&b, block, all, n, to);
  isl_bool none = isl_map_is_empty(bad);
  poly_verdict v = b.strange                ? POLY_NOT_AFFINE
                   : none == isl_bool_error ? POLY_TOO_HARD
                   : none == isl_bool_true  ? POLY_DISJOINT
                   : b.vague                ? POLY_NOT_AFFINE
                                            : POLY_CONFLICT;
  if (v == POLY_CONFLICT)
    polyhedra_start_tell(&x, isl_map_domain(isl_map_copy(bad)), bad, out);
  isl_map_free(bad);
  isl_space_free(b.space);
  return v;
}

/* Pairs of these iterations that reach the same instance: the later one, and
 * the earlier one. */
static isl_map *reached_again(poly_builder *b, isl_set *in, ir_stmt block) {
  isl_map *same = reach_same(b, isl_set_copy(in), in, block, true);
  return isl_map_intersect(same, isl_map_lex_gt(isl_space_copy(b->space)));
}

bool poly_once(sch_state *s, ir_stmt block, ir_stmt top, sch_conflict *out) {
  poly_pair x;
  poly_builder b;
  if (!pstart_begin(s, block, top, &x, &b, out)) return false;
  isl_map *same = reached_again(&b, poly_domain(&b, x.b[0].when), block);
  bool known = !b.strange && !b.vague;
  bool once = known && isl_map_is_empty(same) == isl_bool_true;
  if (known && !once)
    polyhedra_start_tell(&x, isl_map_domain(isl_map_copy(same)), same, out);
  isl_map_free(same);
  isl_space_free(b.space);
  return once;
}

/* Iterations to the last one that starts their result again, where that comes
 * later. */
static isl_map *started_again(poly_builder *b, isl_set *all, ir_stmt block) {
  isl_set *starts = poly_at_start(b, isl_set_copy(all), block);
  isl_map *last = isl_map_lexmax(reach_same(b, all, starts, block, false));
  return isl_map_intersect(last, isl_map_lex_lt(isl_space_copy(b->space)));
}

bool poly_adds_once(sch_state *s, ir_stmt block, ir_stmt top, bool *lost,
                    sch_conflict *out) {
  poly_pair x;
  poly_builder b;
  *lost = false;
  if (!pstart_begin(s, block, top, &x, &b, out)) return false;
  isl_set *all = poly_domain(&b, x.b[0].when);
  isl_map *undone = started_again(&b, isl_set_copy(all), block);
  isl_set *stay = isl_map_domain(isl_map_copy(undone));
  stay = isl_set_subtract(isl_set_copy(all), stay);
  isl_map *same = reached_again(&b, isl_set_copy(stay), block);
  isl_map *to = reach_same(&b, all, stay, block, true);
  undone = isl_map_subtract_domain(undone, isl_map_domain(to));
  bool known = !b.strange && !b.vague;
  bool once = known && isl_map_is_empty(same) == isl_bool_true;
  bool whole = known && isl_map_is_empty(undone) == isl_bool_true;
  *lost = once && isl_map_is_empty(undone) == isl_bool_false;
  isl_map *bad = *lost ? undone : same;
  if (known && !(once && whole))
    polyhedra_start_tell(&x, isl_map_domain(isl_map_copy(bad)), bad, out);
  isl_map_free(undone);
  isl_map_free(same);
  isl_space_free(b.space);
  return once && whole;
}
