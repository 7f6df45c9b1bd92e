/* SPDX-License-Identifier: Apache-2.0
 * Legality of moving a block, by isl: whether the new place runs the same
 * instances, and whether what they read is written by then. */
#include "ir/query.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra_isl.h"

/* Iterations of block k of the pair to the instances they run. */
static isl_map *instances(isl_ctx *ctx, const poly_pair *x, int k, uint32_t n,
                          const ir_iter *iter, bool *vague) {
  poly_builder b;
  poly_enter(&b, ctx, x, k);
  isl_map *m = isl_map_from_domain(poly_domain(&b, x->b[k].when));
  for (uint32_t i = 0; i < n; i++)
    m = isl_map_flat_range_product(
        m, isl_map_from_pw_aff(poly_value(&b, iter[i].bind)));
  isl_space_free(b.space);
  *vague |= b.vague || b.strange;
  return m;
}

/* The instance whose iters are the coordinates of the point from number
 * `from` on.  The loops of the nest may be forgotten before somebody reads of
 * it. */
static void note_instance(isl_point *at, uint32_t from, uint32_t n,
                          const ir_iter *iter, poly_iteration *out) {
  for (uint32_t i = 0; i < n; i++)
    poly_add(out, iter[i].var, poly_coordinate(at, isl_dim_set, from + i));
}

/* One of them, if there is any. */
static void tell_any(isl_set *in, uint32_t n, const ir_iter *iter,
                     sch_conflict *out) {
  poly_iteration one = {0};
  isl_point *at = isl_set_sample_point(in);
  if (at && isl_point_is_void(at) == isl_bool_false)
    note_instance(at, 0, n, iter, &one);
  poly_tell(&one, NULL, out);
  isl_point_free(at);
}

sch_coverage sch_covers_exactly(sch_state *s, const sch_move *m,
                                const sch_nest *nest, sch_conflict *out) {
  const ir_program *p = s->p;
  poly_pair x;
  bool vague = false;
  *out = (sch_conflict){0};
  if (s->quick) return SCH_COVERS_NOT;
  poly_moved(s, m, nest, 0, 0, &x);
  const ir_iter *was = p->iter.v + ir_blk(p, m->block)->iters.at;
  isl_ctx *ctx = poly_context(s);
  if (!ctx) return SCH_COVERS_NOT;
  isl_map *old = instances(ctx, &x, 0, nest->niters, was, &vague);
  isl_map *new = instances(ctx, &x, 1, nest->niters, nest->iter, &vague);
  isl_set *before = isl_map_range(old);
  isl_set *now = isl_map_range(isl_map_copy(new));
  isl_set *left = isl_set_subtract(isl_set_copy(before), isl_set_copy(now));
  isl_set *more = isl_set_subtract(now, before);
  bool same = isl_set_is_empty(left) == isl_bool_true &&
              isl_set_is_empty(more) == isl_bool_true;
  bool once = same && isl_map_is_injective(new) == isl_bool_true;
  if (!vague && !same) tell_any(isl_set_copy(left), nest->niters, was, out);
  isl_set_free(left);
  isl_set_free(more);
  isl_map_free(new);
  return vague || !same ? SCH_COVERS_NOT : once ? SCH_COVERS_ONCE : SCH_COVERS;
}

/* ---- what is made too late ---------------------------------------------- */

/* Is loop number `depth` below common, on the way down to `to`, around `maker`?
 * 0: there is none. */
static ir_stmt common_loop(const ir_program *p, const sch_move *m,
                           ir_stmt maker, uint32_t depth) {
  ir_stmt at = m->common;
  for (;;) {
    if (at == m->loop) return 0;
    at = sch_step_down(p, at, m->loop);
    if (!ir_is_ancestor(p, at, maker)) return 0;
    if (ir_is_loop(p, at) && !depth--) return at;
  }
}

/* Which writes would be wrong: those of an iteration of the loops around both
 * that is later than that of the block in its nest, or earlier; and those of
 * the same one.  Or, of a maker that only `reads`, which of its reads of what
 * the block writes. */
typedef struct wrong {
  const sch_move *m;
  ir_stmt maker;
  bool later, same, reads;
} wrong;

/* Pairs of iterations of which the first is wrong for the second. */
static isl_map *ill_timed(const wrong *t, const poly_pair *x, isl_map *both) {
  isl_map *all = isl_map_empty(isl_map_get_space(both));
  ir_stmt l;
  for (uint32_t i = 0; (l = common_loop(x->p, t->m, t->maker, i)); i++) {
    ir_var v = ir_st(x->p, l)->var;
    int in = poly_place(&x->b[0], v), out = poly_place(&x->b[1], v);
    isl_map *one = isl_map_copy(both);
    one = t->later ? isl_map_order_gt(one, isl_dim_in, in, isl_dim_out, out)
                   : isl_map_order_lt(one, isl_dim_in, in, isl_dim_out, out);
    all = isl_map_union(all, one);
    both = isl_map_equate(both, isl_dim_in, in, isl_dim_out, out);
  }
  if (t->same) return isl_map_union(all, both);
  isl_map_free(both);
  return all;
}

/* Perhaps so where it is unknown: where it is not known which instances
 * run, the map of them is empty, and nothing would be found. */
static bool conflicts_wrongly(isl_ctx *ctx, const wrong *t,
                              const sch_nest *nest, const poly_pair *x,
                              const poly_access *w, const poly_access *r,
                              sch_conflict *out) {
  bool vague = false, unknown = false;
  isl_map *both = poly_accesses(ctx, x, 0, w, &vague);
  isl_map *from = isl_map_reverse(poly_accesses(ctx, x, 1, r, &vague));
  both = isl_map_apply_range(both, from);
  both = ill_timed(t, x, both);
  both = isl_map_apply_range(
      both, instances(ctx, x, 1, nest->niters, nest->iter, &unknown));
  isl_point *at = isl_set_sample_point(isl_map_wrap(both));
  bool found = at && isl_point_is_void(at) == isl_bool_false;
  if (found && !vague && !unknown) {
    poly_iteration a = {0}, b = {0};
    poly_note(x, at, 0, &a);
    note_instance(at, x->b[0].n, nest->niters, nest->iter, &b);
    poly_tell(&a, &b, out);
  }
  isl_point_free(at);
  return found || unknown;
}

static bool is_right(sch_state *s, const wrong *t, const sch_nest *nest,
                     ir_buf buf, sch_conflict *out) {
  poly_pair x;
  bool bad = false;
  *out = (sch_conflict){0};
  if (s->quick) return false;
  poly_moved(s, t->m, nest, t->maker, buf, &x);
  isl_ctx *ctx = poly_context(s);
  if (!ctx) return false;
  for (poly_access *w = x.b[0].first; w && !bad; w = w->next)
    for (poly_access *r = x.b[1].first; r && !bad; r = r->next)
      if (w->write != t->reads && (r->write || !t->reads))
        bad = conflicts_wrongly(ctx, t, nest, &x, w, r, out);
  bad = bad || isl_ctx_last_error(ctx) != isl_error_none;
  return !bad;
}

bool sch_made_by_then(sch_state *s, const sch_move *m, const sch_nest *nest,
                      ir_stmt maker, ir_buf buf, sch_conflict *out) {
  return is_right(s, &(wrong){m, maker, .later = true}, nest, buf, out);
}

bool sch_done_by_then(sch_state *s, const sch_move *m, const sch_nest *nest,
                      ir_stmt other, bool reads, bool behind, ir_buf buf,
                      sch_conflict *out) {
  wrong t = {m, other, .later = true, .same = behind, .reads = reads};
  return is_right(s, &t, nest, buf, out);
}

bool sch_unchanged_by_then(sch_state *s, const sch_move *m,
                           const sch_nest *nest, ir_stmt writer, bool first,
                           ir_buf buf, sch_conflict *out) {
  return is_right(s, &(wrong){m, writer, .same = first}, nest, buf, out);
}
