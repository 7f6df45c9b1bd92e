/* SPDX-License-Identifier: Apache-2.0
 * Lifetime scope of a local buffer: the innermost loop or block around all its
 * accesses that carries no value from one iteration to the next. */
#include "ir/analysis/analysis.h"
#include "ir/analysis/lifetime_pointwise.h"
#include "ir/analysis/lifetime_rolled.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"

typedef struct access {
  ir_stmt block;
  bool reads, writes;
} access;

typedef struct search {
  ir_program *p;
  arena *scratch;
  ir_buf b;
} search;

/* ---- accesses ----------------------------------------------------------- */

static ir_stmt allocating_block(const ir_program *p, ir_buf b) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!ir_is_block(p, s)) continue;
    ir_span a = ir_blk(p, s)->allocs;
    for (uint32_t i = 0; i < a.n; i++)
      if (p->arg.v[a.at + i] == b) return s;
  }
  return 0;
}

static bool in_regions(const ir_program *p, ir_span r, ir_buf b) {
  for (uint32_t i = 0; i < r.n; i++)
    if (p->region.v[r.at + i].buf == b) return true;
  return false;
}

/* Does `s` itself access the buffer outside of a child block: in a store, a
 * bound, a condition, a binding? */
static bool accesses_directly(const search *f, ir_stmt s) {
  const ir_program *p = f->p;
  const ir_stmt_rec *r = ir_st(p, s);
  switch ((ir_kind)r->kind) {
  case IR_STORE:
    for (uint32_t i = 0; i < r->idx.n; i++)
      if (ir_has_load(p, p->arg.v[r->idx.at + i], f->b)) return true;
    return r->buf == f->b || ir_has_load(p, r->value, f->b);
  case IR_LOOP:
    return ir_has_load(p, r->lo, f->b) || ir_has_load(p, r->extent, f->b);
  case IR_IF: return ir_has_load(p, r->cond, f->b);
  case IR_LET: return ir_has_load(p, r->let_value, f->b);
  case IR_EVALUATE: return ir_has_load(p, r->eval, f->b);
  case IR_BLOCK: {
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (ir_has_load(p, p->iter.v[i].bind, f->b)) return true;
    ir_expr pred = ir_blk(p, s)->pred;
    return pred && ir_has_load(p, pred, f->b);
  }
  default: return false;
  }
}

static bool writes_before_reads(const search *f, ir_stmt block);

static bool holds_reduction(const search *f, ir_stmt block) {
  const ir_program *p = f->p;
  for (ir_stmt s = block; s; s = ir_next(p, s, block))
    if (ir_is_block(p, s) && ir_st(p, s)->alt &&
        in_regions(p, ir_blk(p, s)->writes, f->b))
      return true;
  return false;
}

/* Does the block update values that it has not written?  A reduction does if
 * its init covers only part of what it updates, and so does a block
 * that contains part of a reduction; blocks do not declare these reads. */
static bool updates_old_values(const search *f, ir_stmt block) {
  if (ir_st(f->p, block)->alt) return ir_reduce_iter_in_write(f->p, block);
  return holds_reduction(f, block) && !writes_before_reads(f, block);
}

/* The child blocks of `scope` that access the buffer, in program order, in
 * scratch; false if another statement of the scope does.  Reads of a reduction
 * of its own result do not count if that starts at its init. */
static bool find_accesses(const search *f, ir_stmt scope, access **out,
                          uint32_t *n) {
  const ir_program *p = f->p;
  uint32_t cap = 0;
  *n = 0;
  for (ir_stmt s = ir_next(p, scope, scope); s;) {
    if (accesses_directly(f, s)) return false;
    if (!ir_is_block(p, s)) {
      s = ir_next(p, s, scope);
      continue;
    }
    access a = {s, in_regions(p, ir_blk(p, s)->reads, f->b),
                in_regions(p, ir_blk(p, s)->writes, f->b)};
    if (a.reads || a.writes) {
      if (ir_st(p, s)->in_alt) return false;
      if (a.writes && updates_old_values(f, s))
        a.reads = true;
      else
        a.reads &=
            !(a.writes && (ir_st(p, s)->alt || writes_before_reads(f, s)));
      if (*n == cap) {
        access *more = arena_array(f->scratch, access, cap = 2 * cap + 4);
        if (*n) memcpy(more, *out, *n * sizeof *more);
        *out = more;
      }
      (*out)[(*n)++] = a;
    }
    s = ir_skip(p, s, scope);
  }
  return true;
}

static ir_stmt common(const ir_program *p, ir_stmt a, ir_stmt b) {
  while (!ir_is_ancestor(p, a, b)) a = ir_st(p, a)->parent;
  return a;
}

/* ---- loop-carried values ------------------------------------------------ */

static bool region_of_buffer(const ir_program *p, ir_span r, ir_buf b,
                             ir_region *out) {
  for (uint32_t i = 0; i < r.n; i++)
    if (p->region.v[r.at + i].buf == b) {
      *out = p->region.v[r.at + i];
      return true;
    }
  return false;
}

/* Is what the block writes in an iteration of `top` completed in another one?
 * So if a reduce or opaque iter is bound to a loop at or above it; or if there
 * is an init and some result may not start at it there, since bounds, the
 * predicate or results that move along spread a reduction, too. */
static bool is_partial(const search *f, ir_stmt block, ir_stmt top) {
  const ir_program *p = f->p;
  ir_span it = ir_blk(p, block)->iters;
  for (ir_stmt a = top; a && !ir_is_block(p, a); a = ir_st(p, a)->parent) {
    if (!ir_is_loop(p, a)) continue;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      if (p->iter.v[i].kind != IR_SPATIAL &&
          ir_uses_var(p, p->iter.v[i].bind, ir_st(p, a)->var))
        return true;
  }
  return ir_st(p, block)->alt && ir_has_reduce_iter(p, block) &&
         !ir_block_starts_at_init(p, f->scratch, block, top);
}

static bool is_changed(const ir_program *p, ir_expr e, void *top) {
  return ir_may_clobber(p, *(ir_stmt *)top, e);
}

/* Does what the block accesses in an iteration of `top`, or whether it does,
 * depend on memory that the iteration clobbers?  Equal expressions may then
 * have different values. */
static bool depends_on_clobbered(const search *f, ir_stmt top, ir_stmt block) {
  const ir_program *p = f->p;
  for (ir_stmt s = block; s != top; s = ir_st(p, s)->parent)
    if (ir_stmt_any_expr(p, s, is_changed, &top)) return true;
  ir_span side[2] = {ir_blk(p, block)->reads, ir_blk(p, block)->writes};
  for (int w = 0; w < 2 && block != top; w++)
    for (uint32_t i = side[w].at; i < side[w].at + side[w].n; i++) {
      ir_region r = p->region.v[i];
      for (uint32_t d = 0; d < 2 * ir_ndim(p, r.buf) && r.buf == f->b; d++)
        if (ir_may_clobber(p, top, p->arg.v[r.at + d])) return true;
    }
  return false;
}

/* Are these regions of the buffer, of a block, inside the box? */
static bool all_within(const search *f, ir_stmt block, ir_span regions,
                       ir_stmt lca, const ir_expr *min, const ir_expr *max) {
  ir_program *p = f->p;
  uint32_t ndim = ir_ndim(p, f->b);
  ir_expr *rmin = arena_array(f->scratch, ir_expr, 2 * ndim + 1);
  ir_expr *rmax = rmin + ndim;
  for (uint32_t i = 0; i < regions.n; i++) {
    ir_region r = p->region.v[regions.at + i];
    if (r.buf != f->b) continue;
    if (!ir_may_access_box(p, f->scratch, block, r, lca, rmin, rmax) ||
        !ir_box_within(p, f->scratch, f->b, rmin, rmax, min, max,
                       ir_blk(p, block)->pred))
      return false;
  }
  return true;
}

/* Within one iteration of `top`: must writer w write all that reader r reads,
 * before it reads it?  There may be several regions of the buffer; each of the
 * reader's must be covered. */
static bool must_write_before(const search *f, const access *w,
                              const access *r) {
  ir_program *p = f->p;
  ir_stmt lca = common(p, w->block, r->block);
  uint32_t ndim = ir_ndim(p, f->b);
  ir_expr *wmin = arena_array(f->scratch, ir_expr, 2 * ndim + 1);
  ir_expr *wmax = wmin + ndim;
  ir_region wr;
  region_of_buffer(p, ir_blk(p, w->block)->writes, f->b, &wr);
  if (!ir_may_access_box(p, f->scratch, w->block, wr, lca, wmin, wmax) ||
      !ir_must_access_box(p, f->scratch, w->block, wr, lca, wmin, wmax,
                          ir_blk(p, r->block)->pred) ||
      !ir_must_access_region(p, f->scratch, w->block, wr, true))
    return false;
  const ir_block_rec b = *ir_blk(p, r->block);
  return all_within(f, r->block, b.reads, lca, wmin, wmax) &&
         (!updates_old_values(f, r->block) ||
          all_within(f, r->block, b.writes, lca, wmin, wmax));
}

/* Are these regions of the buffer, of reader r, written by w element by
 * element? */
static bool all_pointwise(const search *f, ir_stmt w, ir_region made, ir_stmt r,
                          ir_span regions) {
  ir_program *p = f->p;
  ir_stmt lca = common(p, w, r);
  for (uint32_t i = 0; i < regions.n; i++) {
    ir_region used = p->region.v[regions.at + i];
    if (used.buf == f->b &&
        !ir_covers_pointwise(p, f->scratch, w, made, r, used, lca))
      return false;
  }
  return true;
}

/* must_write_before(), where tails end both. */
static bool must_write_each(const search *f, const access *w, const access *r) {
  ir_program *p = f->p;
  const ir_block_rec b = *ir_blk(p, r->block);
  ir_region made;
  if (!ir_blk(p, w->block)->pred || !b.pred) return false; /* no tails */
  region_of_buffer(p, ir_blk(p, w->block)->writes, f->b, &made);
  return all_pointwise(f, w->block, made, r->block, b.reads) &&
         (!updates_old_values(f, r->block) ||
          all_pointwise(f, w->block, made, r->block, b.writes)) &&
         ir_must_access_region(p, f->scratch, w->block, made, true);
}

/* The same if w fills the buffer in the first iteration of a loop below `top`,
 * which is around both. */
static bool must_write_first(const search *f, ir_stmt top, const access *w,
                             const access *r) {
  ir_stmt lca = common(f->p, w->block, r->block);
  for (ir_stmt l = lca; l != top; l = ir_st(f->p, l)->parent)
    if (ir_fills_in_first_iteration(f->p, f->scratch, f->b, w->block, r->block,
                                    lca, l))
      return true;
  return false;
}

/* Is no value of the buffer carried from one iteration of `top` to the next? */
static bool carries_nothing(const search *f, ir_stmt top, const access *a,
                            uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    bool self = ir_st(f->p, a[i].block)->alt != 0;
    if (depends_on_clobbered(f, top, a[i].block)) return false;
    if (a[i].block == top ? a[i].reads || self
                          : a[i].writes && is_partial(f, a[i].block, top))
      return false;
    bool covered = !a[i].reads;
    for (uint32_t k = 0; k < i && !covered; k++)
      covered = a[k].writes && (must_write_before(f, &a[k], &a[i]) ||
                                must_write_each(f, &a[k], &a[i]) ||
                                must_write_first(f, top, &a[k], &a[i]));
    if (!covered) return false;
  }
  return true;
}

/* Does each instance of the block write all that it reads of the buffer
 * before? */
static bool writes_before_reads(const search *f, ir_stmt block) {
  access *a = NULL;
  uint32_t n;
  return find_accesses(f, block, &a, &n) && n &&
         carries_nothing(f, block, a, n);
}

/* ---- the scope ---------------------------------------------------------- */

/* Is the buffer written by automatic copies only?  Each thread could as well
 * make its own: whether threads share one is decided by lowering. */
static bool is_copied(const search *f, const access *a, uint32_t n) {
  bool copied = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!a[i].writes) continue;
    if (a[i].reads || !ir_anno_get(f->p, a[i].block, "auto_copy")) return false;
    copied = true;
  }
  return copied;
}

/* Global memory is not allocated by threads. */
static bool shared_among(ir_scope scope, const ir_stmt_rec *loop) {
  return ir_scope_is_global(scope) && loop->kind == IR_LOOP &&
         loop->loop_kind == IR_THREAD &&
         (loop->thread <= IR_THREADIDX_Z || loop->thread == IR_WARP);
}

/* The lifetime scope inside `scope`; 0: none that provably carries nothing. */
static ir_stmt lifetime_below(const search *f, ir_stmt scope, bool *copied) {
  ir_program *p = f->p;
  access *a = NULL;
  uint32_t n;
  if (!find_accesses(f, scope, &a, &n) || !n) return 0;
  ir_stmt top = a[0].block, found = 0;
  for (uint32_t i = 1; i < n; i++) top = common(p, top, a[i].block);
  if (n == 1 && (found = lifetime_below(f, top, copied))) return found;
  *copied = is_copied(f, a, n);
  for (; top != scope && !found; top = ir_st(p, top)->parent)
    if ((ir_is_loop(p, top) || ir_is_block(p, top)) &&
        carries_nothing(f, top, a, n))
      found = top;
  return found;
}

ir_stmt ir_lifetime_scope(ir_program *p, arena *scratch, ir_buf b) {
  search f = {p, scratch, b};
  ir_stmt alloc = allocating_block(p, b);
  if (!alloc || ir_is_hidden(p, b)) return alloc;
  arena_mark mark = arena_get_mark(scratch);
  ir_mark made = ir_get_mark(p);
  bool copied = false;
  ir_stmt found = lifetime_below(&f, alloc, &copied);
  ir_rollback(p, made);
  arena_reset_to(scratch, mark);
  if (!found) return alloc;
  if (copied) return found;
  ir_stmt where = found;
  for (ir_stmt s = found; s != alloc; s = ir_st(p, s)->parent)
    if (shared_among((ir_scope)p->buf.v[b].scope, ir_st(p, s)))
      where = ir_st(p, s)->parent;
  while (!ir_is_loop(p, where) && !ir_is_block(p, where))
    where = ir_st(p, where)->parent;
  return where;
}
