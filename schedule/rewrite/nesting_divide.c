/* SPDX-License-Identifier: Apache-2.0
 * Divides the iters of the contained blocks; see nesting.h. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/nesting_work.h"

/* ---- what is inside ----------------------------------------------------- */

/* The blocks below the siblings, themselves included; how many there are. */
static uint32_t list_blocks(const nest_work *w, ir_stmt *out) {
  const ir_program *p = w->p;
  uint32_t n = 0;
  for (ir_stmt c = w->first; c; c = c == w->last ? 0 : ir_st(p, c)->next) {
    ir_stmt b = ir_is_block(p, c) ? c : sch_next_child(p, c, c);
    for (; b; b = b == c ? 0 : sch_next_child(p, b, c)) {
      if (out) out[n] = b;
      n++;
    }
  }
  return n;
}

static void find_members(nest_work *w) {
  ir_program *p = w->p;
  arena *a = w->s->scratch;
  uint32_t niter = 0;
  w->n = list_blocks(w, NULL);
  ir_stmt *block = arena_array(a, ir_stmt, w->n);
  list_blocks(w, block);
  w->m = arena_zalloc(a, (w->n + 1) * sizeof *w->m);
  for (uint32_t i = 0; i < w->n; i++) {
    nest_member *m = &w->m[i];
    sch_list all = sch_loops_of(w->s, block[i]);
    ir_span it = ir_blk(p, block[i])->iters;
    *m = (nest_member){.block = block[i], .n = it.n};
    m->loops = (sch_list){all.n - w->outside.n, all.v + w->outside.n};
    m->part = arena_zalloc(a, (it.n + 1) * sizeof *m->part);
    for (uint32_t k = 0; k < it.n; k++) m->part[k].old = p->iter.v[it.at + k];
    niter += it.n;
  }
  w->o = arena_zalloc(a, (niter + 1) * sizeof *w->o);
  for (ir_stmt c = w->first; c; c = c == w->last ? 0 : ir_st(p, c)->next)
    for (ir_stmt t = c; t;
         t = ir_is_block(p, c) ? 0 : sch_next_outside(p, t, c))
      w->conditions |= ir_st(p, t)->kind == IR_IF;
}

bool nest_uses_loop(const ir_program *p, ir_expr e, sch_list loops) {
  for (uint32_t i = 0; e && i < loops.n; i++)
    if (ir_uses_var(p, e, ir_st(p, loops.v[i])->var)) return true;
  return false;
}

/* ---- dividing iters ----------------------------------------------------- */

/* Iter number `i` (from 1) of the new block with that binding, which no part
 * of this block has yet; the larger domain and the stricter kind hold. */
static bool reuse(nest_work *w, const nest_outer *x, uint32_t *i) {
  ir_program *p = w->p;
  for (*i = 1; *i <= w->no; ++*i) {
    nest_outer *o = &w->o[*i - 1];
    int64_t a, b, n, m;
    if (o->bind != x->bind || o->used >= x->used) continue;
    if (o->lo != x->lo || o->extent != x->extent) {
      if (!ir_const_int(p, o->lo, &a) || !ir_const_int(p, x->lo, &b) ||
          !ir_const_int(p, o->extent, &n) || !ir_const_int(p, x->extent, &m))
        continue;
      int64_t end = a + n > b + m ? a + n : b + m;
      a = a < b ? a : b;
      o->lo = ir_index(p, a);
      o->extent = ir_index(p, end - a);
    }
    o->kind = o->kind > x->kind ? o->kind : x->kind;
    o->used = x->used;
    return true;
  }
  return false;
}

/* Does a loop outside carry the reduction of the iter, though it has one
 * iteration?  The new block is then what it would be with more.  A loop that
 * no binding mentions any more becomes that of this one. */
static bool is_carried(const nest_work *w, uint32_t of, const nest_part *t,
                       nest_outer *x) {
  const ir_program *p = w->p;
  ir_stmt block = w->m[of].block;
  if (w->n > 1 || !sch_has_init(p, block)) return false;
  if (nest_uses_loop(p, t->old.bind, w->outside)) return true;
  uint8_t *drives = arena_zalloc(w->s->scratch, p->var.n);
  sch_mark_drivers(w->s, block, drives);
  for (uint32_t i = 0; i < w->no; i++)
    sch_mark_vars(p, w->o[i].bind, 1u << IR_SPATIAL, drives);
  for (uint32_t i = 0; i < w->outside.n; i++) {
    const ir_stmt_rec *r = ir_st(p, w->outside.v[i]);
    if (drives[r->var] != 1u << IR_REDUCE || r->lo != x->lo) continue;
    if (!ir_is_const(p, r->extent, 1)) continue;
    x->bind = ir_ref(w->p, r->var);
    return true;
  }
  return false;
}

/* A part of an iter of block number `of` becomes an iter of the new block;
 * false: it has one value, and is left out. */
static bool add_outer(nest_work *w, uint32_t of, nest_part *t, ir_expr lo,
                      ir_expr extent, ir_expr bind) {
  bool unit = ir_is_const(w->p, extent, 1);
  nest_outer x = {t->old.var, 0, t->old.kind, of + 1, lo, extent, bind};
  if (unit && x.kind == IR_REDUCE && !is_carried(w, of, t, &x))
    x.kind = IR_SPATIAL;
  if (unit && !w->units && x.kind != IR_REDUCE) return false;
  if (!reuse(w, &x, &t->outer)) {
    w->o[w->no++] = x;
    t->outer = w->no;
  }
  return true;
}

static void add_inner(nest_part *t, ir_expr lo, ir_expr extent, ir_expr bind) {
  t->inner = true;
  t->lo = lo;
  t->extent = extent;
  t->bind = bind;
}

static bool not_divisible(nest_work *w, uint32_t of, uint32_t i) {
  return sch_refuse(w->s, SCH_R_NOT_DIVISIBLE, .s = {w->first, w->m[of].block},
                    .n = {i});
}

/* How many tiles of `count` values an iter's domain accesses from tile number
 * `first` on. */
static ir_expr tiles_of(ir_program *p, const ir_iter *it, int64_t first,
                        ir_expr count) {
  ir_expr end = ir_add(p, it->lo, it->extent);
  end = ir_add(p, end, ir_sub(p, count, ir_index(p, 1)));
  return ir_sub(p, ir_binary(p, IR_DIV, end, count), ir_index(p, first));
}

/* Tiles outside of the domain do not run: none of their points did. */
static void keep_in_domain(const nest_work *w, nest_member *m, ir_expr tile,
                           ir_expr lo, ir_expr n) {
  ir_program *p = w->p;
  ir_expr in = ir_binary(p, IR_LT, tile, ir_add(p, lo, n));
  in = ir_and(p, in, ir_binary(p, IR_LE, lo, tile));
  if (!ir_is_const(p, in, 1)) m->around = ir_and(p, m->around, in);
}

/* Both parts are there: tiles of as many values as the inner part has. */
static bool divide_tiles(nest_work *w, uint32_t of, uint32_t i) {
  ir_program *p = w->p;
  nest_member *m = &w->m[of];
  nest_part *t = &m->part[i];
  ir_var *var = arena_array(w->s->scratch, ir_var, m->loops.n);
  ir_expr out, in, each;
  int64_t lo;
  for (uint32_t k = 0; k < m->loops.n; k++)
    var[k] = ir_st(p, m->loops.v[k])->var;
  if (!arith_divide(p, w->s->scratch, 1, &t->old.bind, m->loops.n, var, &out,
                    &in, &each) ||
      !ir_const_int(p, each, &t->scale) || !ir_const_int(p, t->old.lo, &lo) ||
      (t->old.kind == IR_REDUCE && lo % t->scale))
    return not_divisible(w, of, i);
  int64_t first = arith_fdiv(lo, t->scale);
  ir_expr n = tiles_of(p, &t->old, first, each);
  if (t->scale > 1) add_inner(t, ir_index(p, 0), each, in);
  keep_in_domain(w, m, out, ir_index(p, first), n);
  if (!add_outer(w, of, t, ir_index(p, first), n, out))
    t->base = ir_index(p, first * t->scale);
  return true;
}

static bool divide_divide(nest_work *w, uint32_t of, uint32_t i) {
  ir_program *p = w->p;
  nest_member *m = &w->m[of];
  nest_part *t = &m->part[i];
  bool places = nest_uses_loop(p, t->old.bind, m->loops);
  bool tiles = !places || nest_uses_loop(p, t->old.bind, w->outside);
  t->scale = 1;
  /* Out there nobody knows a domain that the loops inside determine. */
  if (tiles && (nest_uses_loop(p, t->old.lo, m->loops) ||
                nest_uses_loop(p, t->old.extent, m->loops)))
    return not_divisible(w, of, i);
  if (!places) {
    /* What kept the iter in its domain may be one of the conditions, or a
     * part of the predicate that speaks of loops inside. */
    if (w->conditions || nest_uses_loop(p, ir_blk(p, m->block)->pred, m->loops))
      keep_in_domain(w, m, t->old.bind, t->old.lo, t->old.extent);
    if (!add_outer(w, of, t, t->old.lo, t->old.extent, t->old.bind))
      t->base = t->old.lo;
    return true;
  }
  if (tiles) return divide_tiles(w, of, i);
  nest_part unit = *t;
  add_outer(w, of, &unit, ir_index(p, 0), ir_index(p, 1), ir_index(p, 0));
  add_inner(t, t->old.lo, t->old.extent, t->old.bind);
  return true;
}

/* All of the reduction is inside, where its init can stay. */
static bool keeps_init(nest_work *w) {
  for (uint32_t i = 0; i < w->no; i++)
    if (w->o[i].kind == IR_REDUCE && !ir_is_const(w->p, w->o[i].extent, 1))
      return false;
  for (uint32_t i = 0; i < w->no; i++)
    if (w->o[i].kind == IR_REDUCE) w->o[i].kind = IR_SPATIAL;
  w->s->refusal.reason = SCH_R_NONE;
  return true;
}

/* The new block starts a reduction where one of its iters reduces. */
static bool find_reduction(nest_work *w, uint32_t of) {
  const nest_member *m = &w->m[of];
  bool reduces = false;
  for (uint32_t i = 0; i < m->n; i++) {
    uint32_t o = m->part[i].outer;
    reduces |=
        o && m->part[i].old.kind == IR_REDUCE && w->o[o - 1].kind != IR_SPATIAL;
  }
  for (uint32_t i = 0; i < w->no && w->n == 1; i++)
    reduces |= w->o[i].kind == IR_REDUCE;
  if (!reduces || !sch_has_init(w->p, m->block)) return true;
  if (w->n > 1) return sch_refuse(w->s, SCH_R_OUTER_REDUCTION, .s = {m->block});
  w->takes_init = sch_init_check(w->s, m->block, w->first, true, &w->init);
  return w->takes_init || keeps_init(w);
}

bool nest_divide(nest_work *w) {
  find_members(w);
  for (uint32_t i = 0; i < w->n; i++)
    for (uint32_t k = 0; k < w->m[i].n; k++)
      if (!divide_divide(w, i, k)) return false;
  for (uint32_t i = 0; i < w->n; i++)
    if (!find_reduction(w, i)) return false;
  return true;
}
