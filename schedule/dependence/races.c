/* SPDX-License-Identifier: Apache-2.0
 * May the iterations of a loop run in parallel?
 *
 * They may when the loop carries no dependence: for every pair of accesses
 * below the loop, one of them a write, the dependence distance along the loop
 * must be 0. Declared iter kinds and regions decide first, and where they do
 * not suffice the accesses themselves (polyhedra.h).  Buffers private to an
 * iteration are left out. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/dependence/polyhedra.h"

static bool is_of_block(int thread) {
  return thread >= IR_THREADIDX_X && thread <= IR_THREADIDX_Z;
}

static bool is_of_grid(int thread) {
  return thread >= IR_BLOCKIDX_X && thread <= IR_BLOCKIDX_Z;
}

/* The block reduces over another loop, too, that is bound to an axis of threads
 * in a block, or else to one of the grid. */
static bool reduces_over_axis(const ir_program *p, ir_stmt block, ir_stmt loop,
                              bool grid) {
  ir_stmt scope = ir_scope_of(p, block);
  for (ir_stmt l = ir_st(p, block)->parent; l != scope;
       l = ir_st(p, l)->parent) {
    const ir_stmt_rec *r = ir_st(p, l);
    if (l != loop && ir_is_thread_loop(r) &&
        (grid ? is_of_grid(r->thread) : is_of_block(r->thread)) &&
        !ir_is_const(p, r->extent, 1) && ir_loop_reduces(p, l, block))
      return true;
  }
  return false;
}

/* Blocks of threads may make the updates in any order, each of them atomic. */
static bool may_update(const ir_program *p, ir_stmt loop, int thread,
                       ir_stmt block) {
  if (!is_of_grid(thread) || !ir_updates_atomically(p, block) ||
      reduces_over_axis(p, block, loop, false))
    return false;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind != IR_REDUCE &&
        ir_uses_var(p, p->iter.v[i].bind, ir_st(p, loop)->var))
      return false;
  return ir_loop_reduces(p, loop, block);
}

/* The threads of a block may share the work of reducing, in any order. */
static bool may_cross(const ir_program *p, ir_stmt loop, int thread,
                      ir_stmt block) {
  const ir_block_rec *b = ir_blk(p, block);
  bool reduces = false;
  if (!is_of_block(thread) || !b->reducer || ir_reduces_in_order(p, block) ||
      b->writes.n != p->reducer.v[b->reducer].n ||
      ir_reduce_iter_in_write(p, block) ||
      reduces_over_axis(p, block, loop, true))
    return false;
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    if (!ir_uses_var(p, p->iter.v[i].bind, ir_st(p, loop)->var)) continue;
    if (p->iter.v[i].kind != IR_REDUCE) return false;
    reduces = true;
  }
  return reduces;
}

/* Threads could share the work of the block if what it begins with, which
 * they would all begin with, were the identity of a reducer. */
static bool begins_otherwise(sch_state *s, int thread, ir_stmt block) {
  const ir_program *p = s->p;
  sch_def def;
  ir_op how;
  return is_of_block(thread) && !ir_blk(p, block)->reducer &&
         sch_has_init(p, block) &&
         sch_get_def(s, ir_st(p, block)->body, &def) &&
         sch_added_to_any(p, &def, &how);
}

/* What threads have reduced is combined behind the init, which has to be the
 * first of all, and run once; and each result's parts are its own: in each
 * iteration of what is around the outermost loop that reduces. */
static bool parts_add_up(sch_state *s, ir_stmt block) {
  const ir_program *p = s->p;
  uint8_t *drives = arena_zalloc(s->scratch, p->var.n);
  sch_list loops = sch_loops_of(s, block);
  sch_mark_drivers(s, block, drives);
  while (!(drives[ir_st(p, loops.v[0])->var] & 1 << IR_REDUCE))
    loops.v++, loops.n--;
  ir_stmt top = loops.v[0];
  if (!sch_results_disjoint(s, block, top, loops)) return false;
  if (!sch_has_init(p, block)) return true;
  ir_var *var = arena_array(s->scratch, ir_var, loops.n);
  arith_range *delta = arena_array(s->scratch, arith_range, loops.n);
  bool apart = true;
  dist d;
  for (uint32_t i = 0; i < loops.n; i++) var[i] = ir_st(p, loops.v[i])->var;
  dist_init(&d, s, loops.n, var, top);
  bool any = dist_iters(&d, block, false, delta);
  for (uint32_t i = 0; any && i < loops.n; i++)
    apart &= !delta[i].lo && !delta[i].hi;
  return (apart || sch_runs_once(s, block, top)) &&
         sch_begins_at_init(s, block, 0);
}

/* Why the iterations do not share what iters of this kind go through. */
static sch_reason unshared(sch_state *s, ir_stmt loop, ir_stmt block,
                           int thread, ir_iter_kind kind) {
  const ir_program *p = s->p;
  if (kind != IR_REDUCE) return SCH_R_ITER_NOT_SPATIAL;
  if (is_of_grid(thread) ||
      (is_of_block(thread) && reduces_over_axis(p, block, loop, true)))
    return sch_has_init(p, block) ? SCH_R_GRID_INIT : SCH_R_GRID_UPDATE;
  if (begins_otherwise(s, thread, block)) return SCH_R_INIT_NOT_IDENTITY;
  return is_of_block(thread) && ir_blk(p, block)->reducer &&
                 ir_reduces_in_order(p, block)
             ? SCH_R_REDUCER_ORDERED
             : SCH_R_ITER_NOT_SPATIAL;
}

/* Only iters that say "in any order" may follow the loop. */
static bool kinds_allow(sch_state *s, ir_stmt loop, int thread, ir_stmt block) {
  const ir_program *p = s->p;
  if (may_cross(p, loop, thread, block)) return parts_add_up(s, block);
  if (may_update(p, loop, thread, block)) return true;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_iter_kind kind = (ir_iter_kind)p->iter.v[i].kind;
    if (kind == IR_SPATIAL ||
        !ir_iter_follows(p, p->iter.v[i], ir_st(p, loop)->var))
      continue;
    sch_reason why = unshared(s, loop, block, thread, kind);
    if (why == SCH_R_REDUCER_ORDERED) return sch_refuse(s, why, .s = {block});
    return sch_refuse(s, why, .s = {loop, block});
  }
  return true;
}

/* Does every iteration of the loop have the buffer for itself, once the loop
 * is bound to `thread`? */
static bool race_is_own(sch_state *s, ir_stmt loop, ir_buf buf, int thread) {
  ir_program *p = s->p;
  if (p->buf.v[buf].role != IR_ROLE_LOCAL) return false;
  const ir_stmt_rec now = *ir_st(p, loop);
  if (thread >= 0) {
    ir_st(p, loop)->loop_kind = IR_THREAD;
    ir_st(p, loop)->thread = (uint8_t)thread;
  }
  ir_stmt lifetime = ir_lifetime_scope(p, s->scratch, buf);
  *ir_st(p, loop) = now;
  return lifetime && ir_is_ancestor(p, loop, lifetime);
}

/* Do iters of the blocks around vary?  Polyhedra know one value of each. */
static bool scope_varies(const dist *d, ir_stmt scope) {
  const ir_program *p = d->s->p;
  for (; scope; scope = ir_st(p, scope)->parent) {
    ir_span it = ir_is_block(p, scope) ? ir_blk(p, scope)->iters : (ir_span){0};
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (d->role[p->iter.v[i].var] != DIST_SAME) return true;
  }
  return false;
}

/* Asked exactly: do no two different iterations conflict? */
static bool never_conflicts(dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf) {
  const arith_range any_but_0 = {1, -1};
  d->within = &any_but_0;
  bool apart =
      !scope_varies(d, ir_scope_of(d->s->p, b1)) && poly_clears(d, b1, b2, buf);
  d->within = NULL;
  return apart;
}

/* The loop and what is above it have one value in all that is compared, but
 * for the loop. */
static bool is_alone(const dist *d, ir_stmt loop) {
  const ir_program *p = d->s->p;
  for (ir_stmt st = ir_st(p, loop)->parent; st; st = ir_st(p, st)->parent)
    if (ir_is_loop(p, st) && d->role[ir_st(p, st)->var] != DIST_SAME)
      return false;
  return !scope_varies(d, ir_scope_of(p, loop));
}

/* The element that is all of region r of the block, by its loops, into at. */
static bool find_element(sch_state *s, ir_stmt block, ir_region r,
                         ir_expr *at) {
  ir_program *p = s->p;
  uint32_t ndim = ir_ndim(p, r.buf);
  for (uint32_t k = 0; k < ndim; k++) {
    if (!ir_is_const(p, ir_region_extent(p, r, k), 1)) return false;
    at[k] = ir_region_min(p, r, k);
  }
  ir_bind_iters(p, s->scratch, block, ndim, at);
  return true;
}

/* The indices of the loops' first iterations: less these, an index has no terms
 * of what is outside. */
static void starts_of(sch_state *s, const ir_loops *l, uint32_t n,
                      const ir_expr *at, ir_expr *start) {
  ir_subst to;
  ir_subst_init(&to, s->p, s->scratch);
  for (uint32_t i = 0; i < l->n; i++)
    ir_subst_var(&to, l->var[i], ir_index(s->p, 0));
  for (uint32_t k = 0; k < n; k++) start[k] = ir_subst_expr(&to, at[k]);
}

/* As a map of the loops below `outside` that it uses, `loop` being one, region
 * r of the block is injective where `pred` holds. */
static bool is_injective(sch_state *s, ir_stmt outside, ir_stmt loop,
                         ir_stmt block, ir_region r, ir_expr pred) {
  ir_program *p = s->p;
  uint32_t ndim = ir_ndim(p, r.buf), n = 0;
  ir_loops l;
  if (!ir_loops_between(p, s->scratch, outside, block, &l) ||
      ir_loops_coupled(p, &l))
    return false;
  ir_expr *at = arena_array(s->scratch, ir_expr, 3 * ndim);
  if (!find_element(s, block, r, at)) return false;
  for (uint32_t k = 0; k < ndim; k++) {
    at[2 * ndim + k] = ir_dim(p, r.buf, k);
  }
  starts_of(s, &l, ndim, at, at + ndim);
  for (uint32_t i = 0; i < l.n; i++) {
    bool used = false, is_loop = l.var[i] == ir_st(p, loop)->var;
    for (uint32_t k = 0; k < ndim; k++) used |= ir_uses_var(p, at[k], l.var[i]);
    if (!ir_is_const(p, l.lo[i], 0) || (!used && is_loop)) return false;
    if (!used) continue;
    l.var[n] = l.var[i];
    l.extent[n++] = l.extent[i];
  }
  return arith_map_is(p, s->scratch, ARITH_MAP_INJECTIVE, n, l.var, l.extent,
                      ndim, at, at + ndim, at + 2 * ndim, pred);
}

/* The element that b1 writes is by its loops, which they share then, the one
 * that b2 accesses. */
static bool is_same_element(sch_state *s, ir_stmt b1, ir_region w, ir_stmt b2,
                            ir_region r) {
  const ir_program *p = s->p;
  if (w.buf != r.buf) return false;
  if (b1 == b2) return sch_same_region(p, w, r);
  uint32_t ndim = ir_ndim(p, w.buf);
  ir_expr *at = arena_array(s->scratch, ir_expr, 2 * ndim);
  return find_element(s, b1, w, at) && find_element(s, b2, r, at + ndim) &&
         !memcmp(at, at + ndim, ndim * sizeof *at);
}

/* No two iterations of the loop name the element that both blocks access,
 * given the loops around it; or none do of a nest that it is in, which may be
 * easier to determine: of loops that were fused and split again all are
 * needed, while others around them name nothing. */
static bool separates_iterations(const dist *d, ir_stmt loop, ir_stmt b1,
                                 ir_region w, ir_stmt b2, ir_region r) {
  const ir_program *p = d->s->p;
  ir_stmt scope = ir_scope_of(p, loop);
  if (!is_alone(d, loop) || !is_same_element(d->s, b1, w, b2, r)) return false;
  ir_expr pred = ir_blk(p, b1)->pred;
  if (pred != ir_blk(p, b2)->pred) pred = 0;
  for (ir_stmt st = loop; st != scope; st = ir_st(p, st)->parent)
    if (ir_is_loop(p, st) &&
        is_injective(d->s, ir_st(p, st)->parent, loop, b1, w, pred))
      return true;
  return false;
}

/* A write of b1 against an access of b2. */
static bool pair_allows(dist *d, ir_stmt loop, int thread, ir_stmt b1,
                        ir_region w, ir_stmt b2, ir_region r) {
  sch_state *s = d->s;
  const ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, loop);
  arith_range delta;
  if (w.buf != r.buf) {
    if (sch_storage(p, scope, w.buf) != sch_storage(p, scope, r.buf))
      return true;
  } else if (!dist_regions(d, b1, w, b2, r, &delta) ||
             (!delta.lo && !delta.hi)) {
    return true;
  }
  if (b1 == b2 &&
      (may_cross(p, loop, thread, b1) || may_update(p, loop, thread, b1)))
    return true;
  if (race_is_own(s, loop, w.buf, thread)) return true;
  if (separates_iterations(d, loop, b1, w, b2, r)) return true;
  sch_reason why = b1 == b2 ? SCH_R_RACE : SCH_R_RACE_OTHER;
  (void)sch_refuse(s, why, .s = {b1 == b2 ? loop : b1, b2}, .buf = w.buf);
  return w.buf == r.buf && never_conflicts(d, b1, b2, w.buf);
}

/* One write of `block` against all accesses of `other`; pairs of writes are
 * asked once. */
static bool write_allows(dist *d, ir_stmt loop, int thread, ir_stmt block,
                         uint32_t w, ir_stmt other, bool later) {
  const ir_program *p = d->s->p;
  ir_region write = p->region.v[w];
  ir_span reads = ir_blk(p, other)->reads, writes = ir_blk(p, other)->writes;
  if (later || other == block)
    for (uint32_t i = other == block ? w : writes.at; i < writes.at + writes.n;
         i++)
      if (!pair_allows(d, loop, thread, block, write, other, p->region.v[i]))
        return false;
  for (uint32_t i = reads.at; i < reads.at + reads.n; i++) {
    ir_region r = p->region.v[i];
    if (other == block && sch_same_region(p, r, write)) continue;
    if (!pair_allows(d, loop, thread, block, write, other, r)) return false;
  }
  return true;
}

/* The outermost loop of the kernel that `st` is in; 0: it is in none. */
static ir_stmt kernel_of(const ir_program *p, ir_stmt st) {
  ir_stmt top = 0;
  while ((st = ir_st(p, st)->parent)) {
    const ir_stmt_rec *r = ir_st(p, st);
    if (ir_is_thread_loop(r) && r->thread <= IR_THREADIDX_Z) top = st;
  }
  return top;
}

/* What is at `st` and around it, up to `top`, may differ between iterations
 * that run in parallel, but for the places in the grid. */
static void vary_around(dist *d, ir_stmt st, ir_stmt top) {
  const ir_program *p = d->s->p;
  if (st != top) vary_around(d, ir_st(p, st)->parent, top);
  const ir_stmt_rec *r = ir_st(p, st);
  if (r->kind == IR_LOOP &&
      !(r->loop_kind == IR_THREAD && is_of_grid(r->thread)))
    dist_set(d, r->var, DIST_FREE);
  ir_span it = ir_is_block(p, st) ? ir_blk(p, st)->iters : (ir_span){0};
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (dist_varies(d, p->iter.v[i].bind))
      dist_set(d, p->iter.v[i].var, DIST_FREE);
}

/* Blocks of threads do not wait for each other: what one does in an iteration
 * of a loop in the kernel another one may do in any. */
static void vary_in_kernel(dist *d, ir_stmt loop, int thread) {
  ir_stmt top = is_of_grid(thread) ? kernel_of(d->s->p, loop) : 0;
  if (top) vary_around(d, ir_st(d->s->p, loop)->parent, top);
}

/* The loads of what decides at a statement, as many as are looked at. */
enum { MOST_LOADS = 16 };
typedef struct loads {
  uint32_t n;
  ir_expr v[MOST_LOADS];
} loads;

static void race_note_load(const ir_program *p, ir_expr e, void *ud) {
  loads *l = ud;
  if (ir_at(p, e)->op != IR_LOAD) return;
  if (l->n < MOST_LOADS) l->v[l->n] = e;
  l->n++;
}

/* What is loaded for a statement at which block `reader` is is written by
 * no other iteration.  It is loaded whether the block runs or not. */
static bool load_allows(dist *d, ir_stmt loop, int thread, ir_expr load,
                        ir_stmt reader) {
  sch_state *s = d->s;
  const ir_program *p = s->p;
  const ir_node n = *ir_at(p, load);
  uint32_t ndim = ir_ndim(p, n.a);
  ir_expr *at = arena_array(s->scratch, ir_expr, 2 * ndim);
  for (uint32_t k = 0; k < ndim; k++) {
    at[2 * k] = p->arg.v[n.b + k];
    at[2 * k + 1] = ir_index(s->p, 1);
  }
  ir_region r = ir_region_new(s->p, n.a, at);
  sch_list unit = sch_child_blocks(s, loop);
  for (uint32_t i = 0; i < unit.n; i++) {
    ir_span w = ir_blk(p, unit.v[i])->writes;
    for (uint32_t k = w.at; k < w.at + w.n; k++) {
      arith_range delta;
      if (p->region.v[k].buf != n.a ||
          !dist_regions(d, unit.v[i], p->region.v[k], 0, r, &delta) ||
          (!delta.lo && !delta.hi) || race_is_own(s, loop, n.a, thread))
        continue;
      return sch_refuse(s, SCH_R_RACE_OTHER, .s = {unit.v[i], reader},
                        .buf = n.a);
    }
  }
  return true;
}

/* Bounds and predicates below the loop read nothing that other iterations
 * write. */
static bool bounds_allow(dist *d, ir_stmt loop, int thread) {
  sch_state *s = d->s;
  const ir_program *p = s->p;
  for (ir_stmt t = loop; (t = sch_next_outside(p, t, loop));) {
    ir_expr e[2];
    uint32_t n = sch_deciding(p, t, e);
    ir_stmt reader = ir_is_block(p, t) ? t : sch_next_child(p, t, t);
    for (uint32_t i = 0; i < n && reader; i++) {
      loads l = {.n = 0};
      ir_buf buf = 0;
      if (!ir_first_clobber(p, loop, e[i], &buf)) continue;
      ir_visit(p, s->scratch, e[i], race_note_load, &l);
      if (l.n > MOST_LOADS)
        return sch_refuse(s, SCH_R_RACE_OTHER, .s = {reader, reader},
                          .buf = buf);
      for (uint32_t k = 0; k < l.n; k++)
        if (!load_allows(d, loop, thread, l.v[k], reader)) return false;
    }
  }
  return true;
}

bool sch_iterations_free(sch_state *s, ir_stmt loop, int thread, uint32_t n,
                         const ir_stmt *inner) {
  const ir_program *p = s->p;
  ir_stmt other = 0;
  if (ir_is_const(p, ir_st(p, loop)->extent, 1)) return true;
  if (!sch_is_nest(p, loop, &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  sch_list unit = sch_child_blocks(s, loop);
  for (uint32_t i = 0; i < unit.n; i++)
    if (!kinds_allow(s, loop, thread, unit.v[i])) return false;
  dist d;
  dist_init(&d, s, 1, &ir_st(p, loop)->var, loop);
  for (uint32_t i = 0; i < n; i++)
    dist_set(&d, ir_st(p, inner[i])->var, DIST_FREE);
  vary_in_kernel(&d, loop, thread);
  for (uint32_t i = 0; i < unit.n; i++) {
    ir_span w = ir_blk(p, unit.v[i])->writes;
    for (uint32_t k = w.at; k < w.at + w.n; k++)
      for (uint32_t j = 0; j < unit.n; j++)
        if (!write_allows(&d, loop, thread, unit.v[i], k, unit.v[j], j > i))
          return false;
  }
  return bounds_allow(&d, loop, thread);
}
