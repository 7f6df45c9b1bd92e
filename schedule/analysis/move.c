/* SPDX-License-Identifier: Apache-2.0
 * Legality of moving a block: every value that it reads must be available at
 * the new place, final, and the same as at the old one.  What is checked are
 * the dependences on the producers of what it reads. */
#include "schedule/analysis/move.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- the two places ----------------------------------------------------- */

/* Only loops are between `st` and its scope, and it is in no init. */
static bool path_is_plain(sch_state *s, ir_stmt scope, ir_stmt st) {
  const ir_program *p = s->p;
  for (ir_stmt a = st; a != scope; a = ir_st(p, a)->parent)
    if (ir_st(p, a)->in_alt || (a != st && !ir_is_loop(p, a)))
      return sch_refuse(s, SCH_R_PLACE_NOT_PLAIN,
                        .s = {st, a == st ? ir_st(p, a)->parent : a});
  return true;
}

bool sch_says_no_load(const ir_program *p, ir_stmt st) {
  const ir_stmt_rec *r = ir_st(p, st);
  if (r->kind == IR_LOOP)
    return !ir_at(p, r->lo)->has_load && !ir_at(p, r->extent)->has_load;
  if (r->kind != IR_BLOCK) return false;
  const ir_block_rec *b = ir_blk(p, st);
  for (uint32_t k = b->iters.at; k < b->iters.at + b->iters.n; k++)
    if (ir_at(p, p->iter.v[k].bind)->has_load) return false;
  return !b->pred || !ir_at(p, b->pred)->has_load;
}

/* What is at t itself, not below, loads the buffer to decide what runs. */
static bool decides_by(const ir_program *p, ir_stmt t, ir_buf buf) {
  ir_span it = ir_is_block(p, t) ? ir_blk(p, t)->iters : (ir_span){0, 0};
  ir_expr e[2];
  uint32_t n = sch_deciding(p, t, e);
  for (uint32_t i = 0; i < n; i++)
    if (ir_has_load(p, e[i], buf)) return true;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (ir_has_load(p, p->iter.v[i].bind, buf)) return true;
  return ir_st(p, t)->kind == IR_EVALUATE &&
         ir_has_load(p, ir_st(p, t)->eval, buf);
}

/* Does anything at or below q use the buffer? */
static bool uses_below(const ir_program *p, ir_stmt q, ir_buf buf) {
  for (ir_stmt t = q; t; t = sch_next_outside(p, t, q)) {
    if (decides_by(p, t, buf)) return true;
    if (ir_is_block(p, t) &&
        (sch_reads_buf(p, t, buf) || sch_writes_buf(p, t, buf)))
      return true;
    if (ir_is_block(p, t) && t == q) return false;
  }
  return false;
}

/* Statement q, which is not seen through, and the block share no loop and no
 * buffer: they do not mind each other's place. */
static bool is_disjoint_access(const ir_program *p, ir_stmt scope, ir_stmt q,
                               ir_stmt block) {
  ir_span r[2] = {ir_blk(p, block)->reads, ir_blk(p, block)->writes};
  if (sch_common(p, q, block) != scope || ir_blk(p, scope)->matches.n)
    return false;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = r[k].at; i < r[k].at + r[k].n; i++)
      if (uses_below(p, q, p->region.v[i].buf)) return false;
  return true;
}

bool sch_predicate_loads(const ir_program *p, ir_stmt st) {
  ir_expr pred = ir_is_block(p, st) ? ir_blk(p, st)->pred : 0;
  return pred && ir_at(p, pred)->has_load;
}

/* Another block, of which only the predicate loads. */
static bool loads_in_predicate(const ir_program *p, ir_stmt st, ir_stmt block) {
  if (st == block || !sch_predicate_loads(p, st)) return false;
  ir_span it = ir_blk(p, st)->iters;
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (ir_at(p, p->iter.v[k].bind)->has_load) return false;
  return true;
}

static bool check_alone(sch_state *s, ir_stmt scope, ir_stmt block,
                        bool predicates) {
  const ir_program *p = s->p;
  if (!scope) return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {block});
  if (!path_is_plain(s, scope, block)) return false;
  for (ir_stmt q = scope; (q = sch_next_outside(p, q, scope));)
    if (!sch_says_no_load(p, q) && !is_disjoint_access(p, scope, q, block) &&
        !(predicates && loads_in_predicate(p, q, block)))
      return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {q});
  ir_span w = ir_blk(p, block)->writes;
  for (uint32_t i = w.at; i < w.at + w.n && ir_st(p, scope)->alt; i++)
    if (sch_init_uses(p, scope, p->region.v[i].buf))
      return sch_refuse(s, SCH_R_INIT_OF_SCOPE, .s = {scope, block},
                        .buf = p->region.v[i].buf);
  return true;
}

bool sch_check_alone(sch_state *s, ir_stmt scope, ir_stmt block) {
  return check_alone(s, scope, block, false);
}

bool sch_check_alone_but_predicates(sch_state *s, ir_stmt scope,
                                    ir_stmt block) {
  return check_alone(s, scope, block, true);
}

bool sch_check_copied(sch_state *s, ir_stmt scope, ir_stmt block, bool *loads) {
  const ir_program *p = s->p;
  *loads = false;
  if (!scope || ir_st(p, scope)->parent)
    return sch_check_alone(s, scope, block);
  if (!path_is_plain(s, scope, block)) return false;
  for (ir_stmt q = scope; (q = sch_next_outside(p, q, scope));) {
    if (sch_says_no_load(p, q) || is_disjoint_access(p, scope, q, block))
      continue;
    if (!ir_is_loop(p, q))
      return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {q});
    *loads = true;
  }
  return true;
}

bool sch_check_domains(sch_state *s, ir_stmt block, ir_stmt common) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (ir_stmt l = ir_st(p, block)->parent; l != common;
       l = ir_st(p, l)->parent)
    for (uint32_t k = it.at; k < it.at + it.n; k++)
      if (ir_is_loop(p, l) &&
          (ir_uses_var(p, p->iter.v[k].lo, ir_st(p, l)->var) ||
           ir_uses_var(p, p->iter.v[k].extent, ir_st(p, l)->var)))
        return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {block, l});
  return true;
}

bool sch_move_init(sch_state *s, sch_move *m, ir_stmt block, ir_stmt loop) {
  const ir_program *p = s->p;
  *m = (sch_move){.block = block, .loop = loop, .scope = ir_scope_of(p, block)};
  if (!sch_check_alone(s, m->scope, block)) return false;
  if (ir_scope_of(p, loop) != m->scope)
    return sch_refuse(s, SCH_R_SCOPES_DIFFER, .s = {block, loop});
  if (ir_is_ancestor(p, loop, block))
    return sch_refuse(s, SCH_R_LOOP_AROUND_BLOCK, .s = {loop, block});
  if (!path_is_plain(s, m->scope, loop)) return false;
  m->common = sch_common(p, block, loop);
  if (!sch_check_domains(s, block, m->common)) return false;
  m->from = sch_step_down(p, m->common, block);
  m->to = sch_step_down(p, m->common, loop);
  return true;
}

/* ---- the block itself --------------------------------------------------- */

static bool is_unit(const ir_program *p, const ir_iter *it) {
  return ir_is_const(p, it->extent, 1);
}

/* The value of spatial iter v shows in one dimension of region r. */
static bool iter_shows(const ir_program *p, ir_region r, ir_var v) {
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    ir_expr atom[2];
    int64_t coef[2], c, size;
    if (arith_terms(p, ir_region_min(p, r, d), 2, atom, coef, &c) == 1 &&
        ir_at(p, atom[0])->op == IR_VAR && ir_at(p, atom[0])->a == v &&
        ir_const_int(p, ir_region_extent(p, r, d), &size) &&
        (coef[0] >= size || -coef[0] >= size))
      return true;
  }
  return false;
}

/* No two values of the spatial iters name overlapping regions. */
static bool region_shows_all(sch_state *s, ir_stmt block, ir_region r) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint32_t ndim = ir_ndim(p, r.buf), n = 0, k = it.at;
  while (k < it.at + it.n &&
         (p->iter.v[k].kind != IR_SPATIAL || is_unit(p, &p->iter.v[k]) ||
          iter_shows(p, r, p->iter.v[k].var)))
    k++;
  if (k == it.at + it.n) return true;
  ir_var *in = arena_array(s->scratch, ir_var, it.n);
  ir_expr *e = arena_array(s->scratch, ir_expr, 3 * ndim + it.n);
  for (k = it.at; k < it.at + it.n; k++)
    if (p->iter.v[k].kind == IR_SPATIAL && !is_unit(p, &p->iter.v[k])) {
      e[3 * ndim + n] = p->iter.v[k].extent;
      in[n++] = p->iter.v[k].var;
    }
  for (uint32_t d = 0; d < ndim; d++) {
    if (!ir_is_const(p, ir_region_extent(p, r, d), 1)) return false;
    e[d] = ir_region_min(p, r, d);
    e[ndim + d] = ir_index(p, 0);
    e[2 * ndim + d] = ir_dim(p, r.buf, d);
  }
  return arith_map_is(p, s->scratch, ARITH_MAP_INJECTIVE, n, in, e + 3 * ndim,
                      ndim, e, e + ndim, e + 2 * ndim, 0);
}

bool sch_writes_once(sch_state *s, ir_stmt block) {
  ir_span w = ir_blk(s->p, block)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (!region_shows_all(s, block, s->p->region.v[i])) return false;
  return true;
}

/* Another child of the scope writes what the block writes, or the caller gave
 * it values; NULL: neither. */
static const char *not_only_writer(const ir_program *p, ir_stmt scope,
                                   ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_buf b = p->region.v[i].buf;
    uint8_t role = p->buf.v[b].role;
    if (role != IR_ROLE_LOCAL && role != IR_ROLE_OUTPUT)
      return "it writes an input of the caller's";
    for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
      if (q != block && sch_writes_buf(p, q, b))
        return "it is not the only writer of its buffer";
  }
  return NULL;
}

/* reduces: its reduce iters, if it has an init, may go where they go. */
static bool check_movable(sch_state *s, ir_stmt scope, ir_stmt block,
                          bool reduces) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters, w = ir_blk(p, block)->writes;
  bool init = sch_has_init(p, block);
  if (!w.n)
    return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
                      .t = "it writes nothing");
  if (ir_has_effects(p, block))
    return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
                      .t = "it calls a function with side effects");
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (p->iter.v[k].kind == IR_OPAQUE ||
        (p->iter.v[k].kind == IR_REDUCE && !(init && reduces)))
      return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
                        .t = "one of its iters must keep its order");
  for (uint32_t i = w.at; i < w.at + w.n && !init; i++)
    if (sch_reads_buf(p, block, p->region.v[i].buf))
      return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
                        .t = "it reads what it writes");
  const char *others = not_only_writer(p, scope, block);
  if (others)
    return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block}, .t = others);
  if (!sch_writes_once(s, block))
    return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
                      .t = "it writes an element more than once");
  if (init && !sch_begins_at_init(s, block, 0))
    return sch_refuse(
        s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block},
        .t = "its first update is not proven to run where its init does");
  return true;
}

bool sch_check_movable(sch_state *s, ir_stmt scope, ir_stmt block) {
  return check_movable(s, scope, block, sch_reduction_commutes(s->p, block));
}

bool sch_check_movable_whole(sch_state *s, const sch_move *m) {
  bool reduces =
      sch_reduction_commutes(s->p, m->block) ||
      (ir_reduces_in_order(s->p, m->block) &&
       ir_reduces_in_declared_order(s->p, s->scratch, m->block, m->common));
  return check_movable(s, m->scope, m->block, reduces) &&
         sch_adds_once(s, m->block, m->common);
}

/* ---- those that write what it reads ------------------------------------- */

bool sch_has_producer(const sch_state *s, ir_stmt scope, ir_stmt block) {
  const ir_program *p = s->p;
  ir_span r = ir_blk(p, block)->reads;
  bool init = sch_has_init(p, block);
  for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
    for (uint32_t i = r.at; i < r.at + r.n; i++)
      if (sch_writes_buf(p, q, p->region.v[i].buf) && !(init && q == block))
        return true;
  return false;
}

bool sch_is_partial(const ir_program *p, ir_stmt block, ir_stmt top,
                    ir_stmt at) {
  ir_span it = ir_blk(p, block)->iters;
  for (; at != top && at; at = ir_st(p, at)->parent) {
    if (!ir_is_loop(p, at) || !ir_is_ancestor(p, at, block)) continue;
    for (uint32_t k = it.at; k < it.at + it.n; k++)
      if (p->iter.v[k].kind != IR_SPATIAL &&
          ir_uses_var(p, p->iter.v[k].bind, ir_st(p, at)->var))
        return true;
  }
  return false;
}

/* As sch_is_settled; a block that runs an instance again must find the same
 * inputs, so the question goes on to its producers, at most `depth` deep. */
static bool settled(sch_state *s, ir_stmt w, ir_stmt common, ir_stmt part,
                    unsigned depth) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, w)->iters;
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (p->iter.v[k].kind == IR_OPAQUE) return false;
  if (!sch_writes_once(s, w)) return false;
  if (sch_is_affine(s, w)) return true;
  if (!depth || not_only_writer(p, ir_scope_of(p, w), w)) return false;
  for (ir_stmt q = part; (q = sch_next_child(p, q, part));)
    if (q != w && (sch_depends(s, w, q) & SCH_WAR) &&
        (!sch_is_whole(s, q, common, sch_common(p, q, w)) ||
         !settled(s, q, common, part, depth - 1)))
      return false;
  return true;
}

bool sch_is_settled(sch_state *s, ir_stmt w, ir_stmt common, ir_stmt part) {
  return settled(s, w, common, part, 4);
}

ir_buf sch_first_write(const ir_program *p, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  return w.n ? p->region.v[w.at].buf : 0;
}

ir_buf sch_shared_buf(const ir_program *p, ir_stmt w, ir_stmt r) {
  ir_span x = ir_blk(p, w)->writes;
  for (uint32_t i = x.at; i < x.at + x.n; i++)
    if (sch_reads_buf(p, r, p->region.v[i].buf)) return p->region.v[i].buf;
  return sch_first_write(p, w);
}

ir_buf sch_outer_buf(const ir_program *p, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes;
  ir_span own = ir_blk(p, ir_scope_of(p, block))->allocs;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    uint32_t k = 0;
    while (k < own.n && p->arg.v[own.at + k] != p->region.v[i].buf) k++;
    if (k == own.n) return p->region.v[i].buf;
  }
  return 0;
}

/* What is read of q's buffers, in a run of the scope `common`, q has made in
 * it: they hold nothing before. */
static bool is_all_there(const ir_program *p, ir_stmt q, ir_stmt common) {
  return ir_is_block(p, common) && !not_only_writer(p, common, q) &&
         (!ir_st(p, common)->parent || !sch_is_output(p, q));
}

/* Producer q, so far in a loop with the block, stays there alone: it must
 * make for good all that it makes, or all of that which the block reads. */
static bool check_left_behind(sch_state *s, ir_stmt q, ir_stmt block,
                              ir_stmt common, ir_stmt from) {
  const ir_program *p = s->p;
  ir_stmt both = sch_common(p, q, block);
  ir_buf buf = sch_shared_buf(p, q, block);
  bool stays =
      sch_is_whole(s, q, common, both) && sch_is_settled(s, q, common, from);
  if (stays && is_all_there(p, q, common)) return true;
  (void)sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {q, block}, .buf = buf);
  return sch_never_later(s, q, block, q, common, false) ||
         (stays && sch_made_first(s, q, block, common));
}

static bool check_read_after(sch_state *s, ir_stmt q, ir_stmt block,
                             ir_stmt common) {
  if (is_all_there(s->p, block, common)) return true;
  (void)sch_refuse(s, SCH_R_READ_BEFORE, .s = {q, block},
                   .buf = sch_shared_buf(s->p, block, q));
  return sch_never_later(s, block, q, block, common, false);
}

static bool check_written_after(sch_state *s, ir_stmt q, ir_stmt block,
                                ir_stmt common) {
  (void)sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {q, block},
                   .buf = sch_shared_buf(s->p, q, block));
  return sch_never_later(s, block, q, q, common, false);
}

bool sch_check_ahead(sch_state *s, ir_stmt q, ir_stmt block, ir_stmt common) {
  unsigned how = sch_depends(s, block, q);
  return (!(how & SCH_WAR) || check_written_after(s, q, block, common)) &&
         (!(how & SCH_RAW) || check_read_after(s, q, block, common));
}

/* Block q, which runs after the block or along with it until that runs at its
 * new place, writes none of what it has read. */
static bool check_unchanged(sch_state *s, ir_stmt q, ir_stmt block,
                            ir_stmt common) {
  (void)sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {q, block},
                   .buf = sch_shared_buf(s->p, q, block));
  return sch_never_later(s, q, block, q, common, true);
}

bool sch_check_later(sch_state *s, ir_stmt block, ir_stmt common, ir_stmt to,
                     bool *open) {
  const ir_program *p = s->p;
  ir_stmt from = sch_step_down(p, common, block), q;
  bool arrived = false;
  for (q = block; (q = sch_next_child(p, q, common));) {
    bool here = ir_is_ancestor(p, to, q);
    if (arrived && !here) break;
    arrived = here;
    if (!(sch_depends(s, block, q) & SCH_WAR)) continue;
    if (here && open && !s->quick)
      *open = true;
    else if (!check_unchanged(s, q, block, common))
      return false;
  }
  if (from == block) return true;
  for (q = from; (q = sch_next_child(p, q, from)) && q != block;)
    if ((sch_depends(s, q, block) & SCH_RAW) &&
        !check_left_behind(s, q, block, common, from))
      return false;
  return true;
}

/* ---- instances ---------------------------------------------------------- */

bool sch_old_instances(sch_state *s, ir_stmt block, ir_stmt common,
                       sch_span *out) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t k = 0; k < it.n; k++) out[k] = (sch_span){0, SCH_SPAN_WHOLE};
  if (ir_is_block(p, common) && sch_is_affine(s, block)) return true;
  ir_view v;
  if (!ir_view_block(p, s->scratch, common, block, &v) ||
      ir_loops_coupled(p, &v.l) || ir_loops_may_be_empty(p, &v.l))
    return false;
  ir_expr *bind = arena_array(s->scratch, ir_expr, 3 * it.n);
  ir_expr *lo = bind + it.n, *extent = bind + 2 * it.n;
  for (uint32_t k = 0; k < it.n; k++) {
    ir_expr last;
    bind[k] = ir_view_expr(&v, p->iter.v[it.at + k].bind);
    if (!arith_relax(p, s->scratch, bind[k], v.l.n, v.l.var, v.l.lo, v.l.extent,
                     &lo[k], &last, NULL))
      return false;
    extent[k] = ir_add(p, ir_sub(p, last, lo[k]), ir_index(p, 1));
    if (!ir_const_int(p, extent[k], &out[k].extent)) return false;
    out[k].min = lo[k];
  }
  ir_expr pred = ir_unclipped_predicate(p, block, &v);
  return arith_map_is(p, s->scratch, ARITH_MAP_SURJECTIVE, v.l.n, v.l.var,
                      v.l.extent, it.n, bind, lo, extent, pred);
}

/* All instances of the domain run. */
static bool runs_all(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  uint32_t n = ir_blk(p, block)->iters.n;
  if (sch_is_affine(s, block)) return true;
  sch_span *all = arena_array(s->scratch, sch_span, n);
  sch_span *old = arena_array(s->scratch, sch_span, n);
  for (uint32_t k = 0; k < n; k++) all[k] = (sch_span){0, SCH_SPAN_WHOLE};
  return sch_old_instances(s, block, ir_scope_of(p, block), old) &&
         sch_spans_within(s, block, all, old);
}

static bool stays_inside(ir_program *p, ir_span regions) {
  for (uint32_t i = regions.at; i < regions.at + regions.n; i++) {
    ir_region r = p->region.v[i];
    for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
      ir_expr at = ir_region_min(p, r, d);
      ir_expr end = ir_add(p, at, ir_region_extent(p, r, d));
      if (arith_bounds(p, at).lo < 0 ||
          !arith_prove_le(p, end, ir_dim(p, r.buf, d)))
        return false;
    }
  }
  return true;
}

/* All that is read has a value, whatever ran before: the caller gives it. */
static bool is_given(const ir_program *p, ir_span reads) {
  for (uint32_t i = reads.at; i < reads.at + reads.n; i++) {
    uint8_t role = p->buf.v[p->region.v[i].buf].role;
    if (role == IR_ROLE_LOCAL || role == IR_ROLE_OUTPUT) return false;
  }
  return true;
}

bool sch_can_run_all(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, block);
  ir_view v = {.pred = b->pred};
  if (v.pred && ir_unclipped_predicate(p, block, &v)) return false;
  if (!stays_inside(p, b->writes)) return false;
  return runs_all(s, block) ||
         (!sch_has_init(p, block) && stays_inside(p, b->reads) &&
          is_given(p, b->reads));
}

static bool starts_by(ir_program *p, ir_expr a, ir_expr b) {
  return a == b || arith_prove_le(p, a, b);
}

bool sch_spans_within(sch_state *s, ir_stmt block, const sch_span *span,
                      const sch_span *old) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter d = p->iter.v[it.at + k];
    if (old[k].extent == SCH_SPAN_WHOLE) continue;
    ir_expr dlast = ir_sub(p, ir_add(p, d.lo, d.extent), ir_index(p, 1));
    bool all = span[k].extent == SCH_SPAN_WHOLE;
    ir_expr lo = all ? d.lo : span[k].min;
    ir_expr last = all ? dlast : ir_add(p, lo, ir_index(p, span[k].extent - 1));
    ir_expr olast = ir_add(p, old[k].min, ir_index(p, old[k].extent - 1));
    if (!(starts_by(p, old[k].min, lo) || starts_by(p, old[k].min, d.lo)) ||
        !(starts_by(p, last, olast) || starts_by(p, dlast, olast)))
      return false;
  }
  return true;
}
