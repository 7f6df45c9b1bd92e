/* SPDX-License-Identifier: Apache-2.0
 * Hoists the init out of a reduction. */
#include "schedule/rewrite/init.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/dependence/distance.h"

typedef struct sch_init work;

enum { SPATIAL = 1 << IR_SPATIAL, REDUCE = 1 << IR_REDUCE, DROPPED = 128 };

/* ---- checking ----------------------------------------------------------- */

/* Which loops drive what; those below that drive no spatial iter are
 * dropped.  A loop of one iteration may be further out. */
static bool init_check_loops(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, w->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_OPAQUE)
      return sch_refuse(s, SCH_R_NO_INIT, .s = {w->block});
  sch_mark_drivers(s, w->block, w->drives);
  sch_list all = sch_loops_of(s, w->block);
  uint32_t k = 0;
  while (k < all.n && all.v[k] != w->at) k++;
  if (k == all.n && w->at != w->block)
    return sch_refuse(s, SCH_R_LOOP_NOT_AROUND, .s = {w->at, w->block});
  for (uint32_t i = 0; i < k && !w->each; i++) {
    const ir_stmt_rec *r = ir_st(p, all.v[i]);
    if ((w->drives[r->var] & REDUCE) && !ir_is_const(p, r->extent, 1))
      return sch_refuse(s, SCH_R_INIT_HEIGHT, .s = {all.v[i], w->block});
  }
  w->inner = (sch_list){all.n - k, all.v + k};
  for (; k < all.n; k++) {
    ir_var v = ir_st(p, all.v[k])->var;
    if (!(w->drives[v] & SPATIAL)) w->drives[v] |= DROPPED;
  }
  return true;
}

/* A dropped loop has an iteration, and no kept one needs it. */
static bool check_bounds(const work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  for (uint32_t i = 0; i < w->inner.n; i++) {
    const ir_stmt_rec *r = ir_st(p, w->inner.v[i]);
    if (!(w->drives[r->var] & DROPPED)) continue;
    if (ir_at(p, r->extent)->lo < 1)
      return sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {w->inner.v[i]});
    for (uint32_t k = i + 1; k < w->inner.n; k++) {
      const ir_stmt_rec *in = ir_st(p, w->inner.v[k]);
      if (!(w->drives[in->var] & DROPPED) &&
          (ir_uses_var(p, in->lo, r->var) ||
           ir_uses_var(p, in->extent, r->var)))
        return sch_refuse(s, SCH_R_DEPENDENT_LOOP,
                          .s = {w->inner.v[k], w->inner.v[i]});
    }
  }
  return sch_holds_at_start(s, w->block, w->inner, w->drives, DROPPED);
}

bool sch_init_conflicts(sch_state *s, ir_stmt block, ir_stmt at, sch_list inner,
                        ir_stmt other, ir_region write, ir_region r) {
  const ir_program *p = s->p;
  ir_stmt common = sch_common(p, block, other);
  uint32_t n = 0;
  while (n < inner.n &&
         (inner.v[n] == common || ir_is_ancestor(p, inner.v[n], common)))
    n++;
  ir_var *var = arena_array(s->scratch, ir_var, n);
  arith_range *delta = arena_array(s->scratch, arith_range, n);
  for (uint32_t i = 0; i < n; i++) var[i] = ir_st(p, inner.v[i])->var;
  dist d;
  dist_init(&d, s, n, var, at);
  if (!dist_regions(&d, block, write, other, r, delta)) return false;
  for (uint32_t i = 0; i < n; i++) {
    if (delta[i].hi > 0) return true;
    if (delta[i].hi < 0) return false;
  }
  return other != block && !sch_comes_before(p, block, other);
}

static bool check_use(const work *w, ir_stmt other) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_span writes = ir_blk(p, w->block)->writes;
  ir_span theirs = ir_blk(p, other)->writes, reads = ir_blk(p, other)->reads;
  for (uint32_t i = theirs.at; i < theirs.at + theirs.n; i++) {
    ir_buf b = p->region.v[i].buf;
    if (other != w->block && sch_writes_buf(p, w->block, b))
      return sch_refuse(s, SCH_R_INIT_USED, .s = {w->block, other}, .buf = b);
    if (sch_init_loads(p, w->block, b))
      return sch_refuse(s, SCH_R_INIT_READS, .s = {w->block, other}, .buf = b);
  }
  for (uint32_t i = writes.at; i < writes.at + writes.n; i++)
    for (uint32_t k = reads.at; k < reads.at + reads.n; k++) {
      ir_region wr = p->region.v[i], rd = p->region.v[k];
      if (wr.buf == rd.buf &&
          !(other == w->block && sch_same_region(p, wr, rd)) &&
          sch_init_conflicts(s, w->block, w->at, w->inner, other, wr, rd))
        return sch_refuse(s, SCH_R_INIT_USED, .s = {w->block, other},
                          .buf = wr.buf);
    }
  return true;
}

/* It may run more often than reductions start. */
static bool check_effects(const work *w) {
  const ir_program *p = w->s->p;
  for (ir_stmt c = ir_st(p, w->block)->alt; c; c = ir_st(p, c)->next)
    if (ir_has_effects(p, c))
      return sch_refuse(w->s, SCH_R_INIT_EFFECTS, .s = {w->block});
  return true;
}

/* What the block hides the init would access without saying so. */
static bool check_hidden(const work *w) {
  const ir_program *p = w->s->p;
  for (ir_buf b = 1; ir_st(p, w->block)->anno && b < p->buf.n; b++)
    if ((ir_anno_lists_buffer(p, w->block, IR_HIDDEN_READS, b) ||
         ir_anno_lists_buffer(p, w->block, IR_HIDDEN_WRITES, b)) &&
        sch_init_uses(p, w->block, b))
      return sch_refuse(w->s, SCH_R_BUFFER_HIDDEN, .s = {w->block}, .buf = b);
  return true;
}

static bool check_points(const work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  uint32_t n = w->inner.n;
  ir_var *var = arena_array(s->scratch, ir_var, n);
  arith_range *delta = arena_array(s->scratch, arith_range, n);
  for (uint32_t i = 0; i < n; i++) var[i] = ir_st(p, w->inner.v[i])->var;
  dist d;
  dist_init(&d, s, n, var, w->at);
  bool any = dist_iters(&d, w->block, false, delta);
  for (uint32_t i = 0; any && i < n; i++)
    if (delta[i].lo || delta[i].hi) return sch_runs_once(s, w->block, w->at);
  return true;
}

static bool init_check(work *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  const ir_block_rec *b = ir_blk(p, w->block);
  ir_stmt other = 0;
  if (!sch_has_init(p, w->block))
    return sch_refuse(s, SCH_R_NO_INIT, .s = {w->block});
  if (b->allocs.n || b->matches.n)
    return sch_refuse(s, SCH_R_INIT_LOCAL, .s = {w->block});
  /* A predicate may tie a loop further out, in each iteration of which the
   * init will run, to what is reduced over. */
  ir_stmt within = w->each || w->at == w->block ? 0 : w->at;
  if (!sch_bounds_stay(s, w->at)) return false;
  if (!check_hidden(w) || !check_effects(w) || !init_check_loops(w) ||
      !check_bounds(w) || !check_points(w) ||
      !sch_begins_at_init(s, w->block, within) ||
      !sch_results_disjoint(s, w->block, w->at, w->inner))
    return false;
  if (w->at == w->block) return check_use(w, w->block);
  other = sch_other_between(p, w->at, w->block);
  if (other || !sch_is_nest(p, w->at, &other))
    return sch_refuse(s, SCH_R_OTHER_STATEMENT, .s = {other});
  for (ir_stmt u = w->at; (u = sch_next_child(p, u, w->at));)
    if (!check_use(w, u)) return false;
  return true;
}

/* ---- changing ----------------------------------------------------------- */

static ir_var init_var(ir_program *p, ir_var of, ir_var_kind kind) {
  ir_var_rec r = p->var.v[of];
  ir_var v = ir_var_new(p, kind, r.name, r.dtype, r.lo, r.hi);
  p->var.v[v].form = IR_NAME_INIT;
  p->var.v[v].from[0] = of;
  return v;
}

/* A copy of `loop` for the init, its bounds seen through `m`. */
static ir_stmt init_loop(ir_subst *m, ir_stmt loop) {
  ir_program *p = m->p;
  const ir_stmt_rec r = *ir_st(p, loop);
  ir_var v = init_var(p, r.var, IR_VAR_LOOP);
  ir_expr lo = ir_subst_expr(m, r.lo), extent = ir_subst_expr(m, r.extent);
  ir_stmt copy = ir_loop_new(p, v, lo, extent, (ir_loop_kind)r.loop_kind);
  ir_st(p, copy)->thread = r.thread;
  for (uint32_t a = r.anno; a; a = p->anno.v[a].next)
    ir_anno_set(p, copy, p->anno.v[a].key, p->anno.v[a].val);
  ir_subst_var(m, r.var, ir_ref(p, v));
  ir_subst_restart(m);
  return copy;
}

/* The loops of the init, outer first; dropped ones are at their start. */
static ir_stmt init_loops(const work *w, ir_subst *m, ir_stmt *last) {
  ir_program *p = m->p;
  ir_stmt first = 0;
  *last = 0;
  for (uint32_t i = 0; i < w->inner.n; i++) {
    const ir_stmt_rec *r = ir_st(p, w->inner.v[i]);
    if (w->drives[r->var] & DROPPED) {
      ir_subst_var(m, r->var, ir_subst_expr(m, r->lo));
      ir_subst_restart(m);
      continue;
    }
    ir_stmt copy = init_loop(m, w->inner.v[i]);
    if (*last)
      ir_append(p, *last, copy);
    else
      first = copy;
    *last = copy;
  }
  return first;
}

/* Binds copies of the spatial iters; reduce iters are at their start. */
static void init_bind_iters(const work *w, ir_subst *m, ir_stmt init) {
  ir_program *p = m->p;
  ir_span it = ir_blk(p, w->block)->iters;
  ir_iter *made = arena_array(w->s->scratch, ir_iter, it.n);
  uint32_t n = 0;
  ir_expr pred = ir_blk(p, w->block)->pred;
  if (pred) {
    pred = ir_subst_expr(m, pred);
    ir_blk(p, init)->pred = ir_is_const(p, pred, 1) ? 0 : pred;
  }
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter old = p->iter.v[i];
    if (old.kind != IR_SPATIAL) continue;
    made[n] = old;
    made[n].var = init_var(p, old.var, IR_VAR_ITER);
    made[n].lo = ir_subst_expr(m, old.lo);
    made[n].extent = ir_subst_expr(m, old.extent);
    made[n++].bind = ir_subst_expr(m, old.bind);
  }
  ir_block_set_iters(p, init, n, made);
  for (uint32_t i = 0, k = 0; i < it.n; i++) {
    const ir_iter old = p->iter.v[it.at + i];
    ir_subst_var(m, old.var,
                 old.kind == IR_SPATIAL ? ir_ref(p, made[k++].var) : old.lo);
  }
  ir_subst_restart(m);
}

/* The regions of `from` that pass `wanted`, as the init sees them. */
static uint32_t init_regions(const work *w, ir_subst *m, ir_span from,
                             bool loaded, ir_region *out) {
  ir_program *p = m->p;
  uint32_t n = 0;
  for (uint32_t i = from.at; i < from.at + from.n; i++) {
    ir_region r = p->region.v[i];
    if (!loaded || sch_init_loads(p, w->block, r.buf))
      out[n++] = ir_subst_region(m, r);
  }
  return n;
}

static void set_regions(const work *w, ir_subst *m, ir_stmt init) {
  ir_program *p = m->p;
  ir_span reads = ir_blk(p, w->block)->reads;
  ir_span writes = ir_blk(p, w->block)->writes;
  ir_region *r = arena_array(w->s->scratch, ir_region, reads.n + writes.n);
  uint32_t n = init_regions(w, m, writes, false, r);
  ir_block_set_writes(p, init, n, r);
  n = init_regions(w, m, reads, true, r);
  ir_block_set_reads(p, init, n, r);
  n = 0; /* the update reads first what it updates */
  for (uint32_t i = 0; i < writes.n; i++) {
    ir_region wr = p->region.v[writes.at + i];
    if (!sch_reads_buf(p, w->block, wr.buf)) r[n++] = wr;
  }
  if (!n) return;
  for (uint32_t i = 0; i < reads.n; i++) r[n++] = p->region.v[reads.at + i];
  ir_block_set_reads(p, w->block, n, r);
}

bool sch_init_check(sch_state *s, ir_stmt block, ir_stmt at, bool each,
                    sch_init *out) {
  *out = (sch_init){.s = s, .block = block, .at = at, .each = each};
  out->drives = arena_zalloc(s->scratch, s->p->var.n);
  return init_check(out);
}

bool sch_init_is_reduced(const sch_init *w, ir_stmt loop) {
  uint8_t drives = w->drives[ir_st(w->s->p, loop)->var];
  return (drives & REDUCE) && !(drives & SPATIAL);
}

ir_stmt sch_init_nest(const sch_init *w, const char *suffix, ir_subst *m,
                      ir_stmt *block) {
  ir_program *p = w->s->p;
  ir_str name = ir_name_cat(p, ir_blk(p, w->block)->name, suffix);
  ir_stmt last;
  *block = ir_block_new(p, ir_fresh_block_name(p, name));
  ir_subst_init(m, p, w->s->scratch);
  ir_stmt first = init_loops(w, m, &last);
  init_bind_iters(w, m, *block);
  if (!last) return *block;
  ir_append(p, last, *block);
  return first;
}

ir_stmt sch_init_take(const sch_init *w, ir_stmt *init) {
  ir_program *p = w->s->p;
  ir_subst m;
  ir_stmt nest = sch_init_nest(w, "_init", &m, init);
  set_regions(w, &m, *init);
  for (ir_stmt c; (c = ir_st(p, w->block)->alt);) {
    ir_detach(p, c);
    ir_append(p, *init, c);
    ir_subst_stmt(&m, c);
  }
  return nest;
}
