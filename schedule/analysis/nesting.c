/* SPDX-License-Identifier: Apache-2.0
 * Putting a block around statements; see nesting.h. */
#include "schedule/analysis/nesting.h"
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "schedule/analysis/init.h"

/* An iter of the new block. */
typedef struct outer {
  ir_var from, var;
  uint32_t kind, used;   /* used: by this many blocks so far */
  ir_expr lo, extent, bind;
} outer;

/* What becomes of an iter of a block inside: outer * scale + inner, where
 * either part may be missing. */
typedef struct part {
  ir_iter old;
  uint32_t outer;        /* in work.o, from 1; 0: none, */
  ir_expr base;          /* and its part has this value (0: zero) */
  int64_t scale;
  bool inner;            /* there is an inner part: */
  ir_expr lo, extent, bind;
  ir_var var;
} part;

typedef struct member {
  ir_stmt block;
  sch_list loops;        /* around it, inside of the new block */
  uint32_t n;
  part *part;
  ir_expr pred, around;  /* what stays inside of its predicate, what goes */
} member;

/* New bounds of a loop, or the new condition. */
typedef struct head { ir_stmt s; ir_expr a, b; } head;

typedef struct work {
  sch_state *s;
  ir_program *p;
  ir_stmt parent, first, last;
  bool units, takes_init;
  bool conditions;       /* some stand around the blocks inside */
  sch_list outside;      /* the loops around the new block, in its scope */
  uint32_t n, no, nhead;
  member *m;
  outer *o;
  head *h;
  ir_expr pred;          /* of the new block */
  ir_subst known;        /* loops outside that an iter is bound to */
  sch_init init;
} work;

/* ---- what is inside ------------------------------------------------------- */

/* The blocks below the siblings, themselves included; how many there are. */
static uint32_t list_blocks(const work *w, ir_stmt *out) {
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

static void find_members(work *w) {
  ir_program *p = w->p;
  arena *a = w->s->scratch;
  uint32_t niter = 0;
  w->n = list_blocks(w, NULL);
  ir_stmt *block = arena_array(a, ir_stmt, w->n);
  list_blocks(w, block);
  w->m = arena_zalloc(a, (w->n + 1) * sizeof *w->m);
  for (uint32_t i = 0; i < w->n; i++) {
    member *m = &w->m[i];
    sch_list all = sch_loops_of(w->s, block[i]);
    ir_span it = ir_blk(p, block[i])->iters;
    *m = (member){.block = block[i], .n = it.n};
    m->loops = (sch_list){all.n - w->outside.n, all.v + w->outside.n};
    m->part = arena_zalloc(a, (it.n + 1) * sizeof *m->part);
    for (uint32_t k = 0; k < it.n; k++) m->part[k].old = p->iter.v[it.at + k];
    niter += it.n;
  }
  w->o = arena_zalloc(a, (niter + 1) * sizeof *w->o);
  for (ir_stmt c = w->first; c; c = c == w->last ? 0 : ir_st(p, c)->next)
    for (ir_stmt t = c; t; t = ir_is_block(p, c) ? 0
                                 : sch_next_outside(p, t, c))
      w->conditions |= ir_st(p, t)->kind == IR_IF;
}

static bool uses_loop(const ir_program *p, ir_expr e, sch_list loops) {
  for (uint32_t i = 0; e && i < loops.n; i++)
    if (ir_uses_var(p, e, ir_st(p, loops.v[i])->var)) return true;
  return false;
}

/* ---- dividing iters ------------------------------------------------------- */

/* Iter number `i` (from 1) of the new block with that binding, which no part
 * of this block has yet; the larger domain and the stricter kind hold. */
static bool reuse(work *w, const outer *x, uint32_t *i) {
  ir_program *p = w->p;
  for (*i = 1; *i <= w->no; ++*i) {
    outer *o = &w->o[*i - 1];
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

/* A part of an iter of block number `of` becomes an iter of the new block;
 * false: it has one value, and is left out. */
static bool add_outer(work *w, uint32_t of, part *t, ir_expr lo,
                      ir_expr extent, ir_expr bind) {
  bool unit = ir_is_const(w->p, extent, 1);
  if (unit && !w->units) return false;
  outer x = {t->old.var, 0, t->old.kind, of + 1, lo, extent, bind};
  if (unit && x.kind == IR_REDUCE) x.kind = IR_SPATIAL;
  if (!reuse(w, &x, &t->outer)) {
    w->o[w->no++] = x;
    t->outer = w->no;
  }
  return true;
}

static void add_inner(part *t, ir_expr lo, ir_expr extent, ir_expr bind) {
  t->inner = true;
  t->lo = lo;
  t->extent = extent;
  t->bind = bind;
}

static bool not_divisible(work *w, uint32_t of, uint32_t i) {
  return sch_refuse(w->s, SCH_R_NOT_DIVISIBLE,
                    .s = {w->first, w->m[of].block}, .n = {i});
}

/* How many tiles of `count` values an iter's domain touches from tile number
 * `first` on. */
static ir_expr tiles_of(ir_program *p, const ir_iter *it, int64_t first,
                        ir_expr count) {
  ir_expr end = ir_add(p, it->lo, it->extent);
  end = ir_add(p, end, ir_sub(p, count, ir_index(p, 1)));
  return ir_sub(p, ir_binary(p, IR_DIV, end, count), ir_index(p, first));
}

/* Tiles outside of the domain do not run: none of their points did. */
static void keep_in_domain(const work *w, member *m, ir_expr tile, ir_expr lo,
                           ir_expr n) {
  ir_program *p = w->p;
  ir_expr in = ir_binary(p, IR_LT, tile, ir_add(p, lo, n));
  in = ir_and(p, in, ir_binary(p, IR_LE, lo, tile));
  if (!ir_is_const(p, in, 1)) m->around = ir_and(p, m->around, in);
}

/* Both parts are there: tiles of as many values as the inner part has. */
static bool divide_tiles(work *w, uint32_t of, uint32_t i) {
  ir_program *p = w->p;
  member *m = &w->m[of];
  part *t = &m->part[i];
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

static bool divide(work *w, uint32_t of, uint32_t i) {
  ir_program *p = w->p;
  member *m = &w->m[of];
  part *t = &m->part[i];
  t->scale = 1;
  if (!uses_loop(p, t->old.bind, m->loops)) {
    /* What kept the iter in its domain may be one of the conditions. */
    if (w->conditions)
      keep_in_domain(w, m, t->old.bind, t->old.lo, t->old.extent);
    if (!add_outer(w, of, t, t->old.lo, t->old.extent, t->old.bind))
      t->base = t->old.lo;
    return true;
  }
  if (uses_loop(p, t->old.bind, w->outside)) return divide_tiles(w, of, i);
  part unit = *t;
  add_outer(w, of, &unit, ir_index(p, 0), ir_index(p, 1), ir_index(p, 0));
  add_inner(t, t->old.lo, t->old.extent, t->old.bind);
  return true;
}

/* The new block starts a reduction where one of its iters reduces. */
static bool find_reduction(work *w, uint32_t of) {
  const member *m = &w->m[of];
  bool reduces = false;
  for (uint32_t i = 0; i < m->n; i++) {
    uint32_t o = m->part[i].outer;
    reduces |= o && m->part[i].old.kind == IR_REDUCE &&
               w->o[o - 1].kind != IR_SPATIAL;
  }
  if (!reduces || !sch_has_init(w->p, m->block)) return true;
  if (w->n > 1) return sch_refuse(w->s, SCH_R_OUTER_REDUCTION, .s = {m->block});
  w->takes_init = true;
  return sch_init_check(w->s, m->block, w->first, true, &w->init);
}

/* ---- in the terms of the new block ---------------------------------------- */

static ir_var derived(ir_program *p, ir_var of, ir_name_form form, ir_expr lo,
                      ir_expr extent) {
  int64_t min, max;
  ir_domain_bounds(p, lo, extent, &min, &max);
  ir_var v = ir_var_new(p, IR_VAR_ITER, p->var.v[of].name, IR_INDEX, min, max);
  p->var.v[v].form = (uint8_t)form;
  p->var.v[v].from[0] = of;
  return v;
}

static void make_vars(work *w) {
  ir_program *p = w->p;
  for (uint32_t i = 0; i < w->no; i++) {
    outer *o = &w->o[i];
    o->var = derived(p, o->from, IR_NAME_OUTER, o->lo, o->extent);
  }
  for (uint32_t i = 0; i < w->n; i++)
    for (uint32_t k = 0; k < w->m[i].n; k++) {
      part *t = &w->m[i].part[k];
      if (t->inner)
        t->var = derived(p, t->old.var, IR_NAME_INNER, t->lo, t->extent);
    }
  ir_subst_init(&w->known, p, w->s->scratch);
  for (uint32_t i = 0; i < w->no; i++) {
    const ir_node *n = ir_at(p, w->o[i].bind);
    if (n->op == IR_VAR && p->var.v[n->a].kind == IR_VAR_LOOP)
      ir_subst_var(&w->known, n->a, ir_ref(p, w->o[i].var));
  }
}

/* Takes k times the binding of an iter out of the sum x, if it is in there,
 * and puts k times the iter in. */
static bool replace_binding(const work *w, lin *x, const outer *o) {
  const ir_program *p = w->p;
  lin y, was;
  lin_of(p, o->bind, &y);
  lin_copy(&was, x);
  uint32_t i = 0;
  while (i < x->n && y.n && x->t[i].atom != y.t[0].atom) i++;
  if (!y.n || i == x->n || x->t[i].k % y.t[0].k) return true;
  int64_t k = x->t[i].k / y.t[0].k;
  uint32_t n = x->n;
  if (!lin_add(p, x, &y, -k)) return false;
  if (x->n + y.n != n) {
    lin_copy(x, &was);
    return true;
  }
  return lin_add_term(p, x, ir_ref(p, o->var), k);
}

static ir_expr inside(work *w, ir_expr e);

static ir_expr inside_sum(work *w, ir_expr e) {
  lin x;
  lin_of(w->p, e, &x);
  for (uint32_t i = 0; i < w->no; i++)
    if (!replace_binding(w, &x, &w->o[i])) return e;
  return lin_build(w->p, &x);
}

/* e over iters of the new block instead of the loops around it; 0: it cannot
 * be said so. */
static ir_expr inside(work *w, ir_expr e) {
  ir_program *p = w->p;
  if (!uses_loop(p, e, w->outside)) return e;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_AND || n.op == IR_LT || n.op == IR_LE) {
    ir_expr a = inside(w, n.a), b = inside(w, n.b);
    return a && b ? ir_binary(p, (ir_op)n.op, a, b) : 0;
  }
  if (ir_is_algebra(&n)) e = inside_sum(w, e);
  e = ir_subst_expr(&w->known, e);
  return uses_loop(p, e, w->outside) ? 0 : e;
}

/* What of a predicate speaks of loops inside, and the rest. */
static void part_predicate(work *w, member *m, ir_expr e) {
  ir_program *p = w->p;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_AND) {
    part_predicate(w, m, n.a);
    part_predicate(w, m, n.b);
  } else if (uses_loop(p, e, m->loops)) {
    m->pred = ir_and(p, m->pred, e);
  } else {
    m->around = ir_and(p, m->around, e);
  }
}

/* The domain of an iter holds all that it is bound to, whatever a predicate
 * said. */
static bool widen_domain(work *w, outer *o) {
  ir_program *p = w->p;
  arith_range r = arith_bounds(p, o->bind);
  int64_t n;
  if (r.lo == INT64_MIN || r.hi == INT64_MAX ||
      __builtin_sub_overflow(r.hi, r.lo - 1, &n))
    return sch_refuse(w->s, SCH_R_OUTER_UNKNOWN, .s = {w->first, w->first});
  o->lo = ir_index(p, r.lo);
  o->extent = ir_index(p, n);
  return true;
}

/* Whatever the loops around say, the blocks inside run. */
static bool surely_runs(const work *w, ir_stmt top) {
  const ir_program *p = w->p;
  for (ir_stmt s = top; s; s = sch_next_outside(p, s, top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_IF) return false;
    if (r->kind == IR_LOOP && ir_at(p, r->extent)->lo < 1) return false;
    if (r->kind == IR_BLOCK && s == top) break;
  }
  return true;
}

/* What all blocks ask of the loops around goes to the new block; where that
 * is not all that decides whether they run, it runs where they do not. */
static bool part_predicates(work *w) {
  bool same = true;
  for (uint32_t i = 0; i < w->n; i++) {
    ir_expr pred = ir_blk(w->p, w->m[i].block)->pred;
    if (pred) part_predicate(w, &w->m[i], pred);
    same = same && w->m[i].around == w->m[0].around;
  }
  if (same && w->n) w->pred = w->m[0].around;
  for (uint32_t i = 0; i < w->n && !same; i++)
    w->m[i].pred = ir_and(w->p, w->m[i].around, w->m[i].pred);
  bool sure = same;
  for (ir_stmt t = w->first; t && sure;
       t = t == w->last ? 0 : ir_st(w->p, t)->next)
    sure = surely_runs(w, t);
  for (uint32_t i = 0; i < w->no && !sure; i++)
    if (!widen_domain(w, &w->o[i])) return false;
  return true;
}

static bool unknown(work *w, ir_stmt s) {
  return sch_refuse(w->s, SCH_R_OUTER_UNKNOWN, .s = {s, w->first});
}

static bool see_block(work *w, member *m) {
  ir_expr pred = m->pred ? inside(w, m->pred) : 0;
  if (m->pred && !pred) return unknown(w, m->block);
  m->pred = pred && ir_is_const(w->p, pred, 1) ? 0 : pred;
  for (uint32_t k = 0; k < m->n; k++) {
    part *t = &m->part[k];
    if (!t->inner) continue;
    t->lo = inside(w, t->lo);
    t->extent = inside(w, t->extent);
    if (!t->lo || !t->extent) return unknown(w, m->block);
  }
  return true;
}

/* Loops and conditions below `top`, itself included, blocks' insides not. */
static bool see_heads(work *w, ir_stmt top) {
  const ir_program *p = w->p;
  for (ir_stmt s = top; s;) {
    const ir_stmt_rec r = *ir_st(p, s);
    head h = {s, 0, 0};
    if (r.kind == IR_LOOP) {
      h.a = inside(w, r.lo);
      h.b = inside(w, r.extent);
      if (!h.a || !h.b) return unknown(w, s);
    } else if (r.kind == IR_IF) {
      h.a = inside(w, r.cond);
      if (!h.a) return unknown(w, s);
    }
    if (h.a) w->h[w->nhead++] = h;
    if (r.kind == IR_BLOCK && s == top) break;
    s = sch_next_outside(p, s, top);
  }
  return true;
}

static bool see_all(work *w) {
  const ir_program *p = w->p;
  w->h = arena_array(w->s->scratch, head, p->stmt.n);
  for (uint32_t i = 0; i < w->n; i++)
    if (!see_block(w, &w->m[i])) return false;
  for (ir_stmt s = w->first; s; s = s == w->last ? 0 : ir_st(p, s)->next)
    if (!see_heads(w, s)) return false;
  return true;
}

/* ---- what variables claim -------------------------------------------------- */

/* The value of an iter that was. */
static ir_expr value_of(const work *w, const part *t) {
  ir_program *p = w->p;
  ir_expr base = t->base;
  if (t->outer)
    base = ir_mul(p, ir_ref(p, w->o[t->outer - 1].var),
                  ir_index(p, t->scale));
  if (!t->inner) return base;
  return base ? ir_add(p, base, ir_ref(p, t->var)) : ir_ref(p, t->var);
}

static ir_subst values_of(const work *w, const member *m) {
  ir_subst sub;
  ir_subst_init(&sub, w->p, w->s->scratch);
  for (uint32_t k = 0; k < m->n; k++)
    ir_subst_var(&sub, m->part[k].old.var, value_of(w, &m->part[k]));
  return sub;
}

/* Loops and iters stay within what their variables claim: the new iters may
 * be known less closely than what they stand for. */
static bool all_fit(work *w) {
  const ir_program *p = w->p;
  for (uint32_t i = 0; i < w->nhead; i++) {
    const head h = w->h[i];
    if (h.b &&
        !sch_domain_fits(w->s, h.s, ir_st(p, h.s)->var, h.a, h.b, w->first))
      return false;
  }
  for (uint32_t i = 0; i < w->n; i++) {
    const member *m = &w->m[i];
    for (uint32_t k = 0; k < m->n; k++) {
      const part *t = &m->part[k];
      if (t->inner && !sch_domain_fits(w->s, m->block, t->var, t->lo,
                                       t->extent, w->first))
        return false;
    }
    ir_subst values = values_of(w, m);
    if (!sch_domains_fit(w->s, m->block, &values, w->first)) return false;
  }
  return true;
}

/* ---- changing ------------------------------------------------------------- */

static ir_stmt make_outer(work *w) {
  ir_program *p = w->p;
  ir_iter *it = arena_array(w->s->scratch, ir_iter, w->no);
  ir_str name = ir_name_cat(p, ir_blk(p, w->m[0].block)->name, "_o");
  ir_stmt b = ir_block_new(p, ir_fresh_block_name(p, name));
  for (uint32_t i = 0; i < w->no; i++) {
    const outer *o = &w->o[i];
    it[i] = (ir_iter){o->var, o->kind, o->lo, o->extent, o->bind};
  }
  ir_block_set_iters(p, b, w->no, it);
  ir_blk(p, b)->pred = w->pred;
  ir_insert_before(p, w->first, b);
  for (ir_stmt s = w->first, next; s; s = next) {
    next = s == w->last ? 0 : ir_st(p, s)->next;
    ir_detach(p, s);
    ir_append(p, b, s);
  }
  return b;
}

static void change_block(work *w, const member *m) {
  ir_program *p = w->p;
  ir_subst sub = values_of(w, m);
  ir_iter *it = arena_array(w->s->scratch, ir_iter, m->n);
  uint32_t n = 0;
  for (uint32_t k = 0; k < m->n; k++) {
    const part *t = &m->part[k];
    if (t->inner)
      it[n++] = (ir_iter){t->var, t->old.kind, t->lo, t->extent, t->bind};
  }
  ir_block_set_iters(p, m->block, n, it);
  ir_blk(p, m->block)->pred = m->pred;
  ir_subst_stmt(&sub, m->block);
}

static void change_heads(const work *w) {
  ir_program *p = w->p;
  for (uint32_t i = 0; i < w->nhead; i++) {
    ir_stmt_rec *r = ir_st(p, w->h[i].s);
    if (r->kind == IR_IF) {
      r->cond = w->h[i].a;
      continue;
    }
    r->lo = w->h[i].a;
    r->extent = w->h[i].b;
  }
}

static ir_stmt change(work *w) {
  ir_program *p = w->p;
  ir_stmt b = make_outer(w), init;
  change_heads(w);
  for (uint32_t i = 0; i < w->n; i++) change_block(w, &w->m[i]);
  if (w->takes_init) ir_append_alt(p, b, sch_init_take(&w->init, &init));
  ir_block_find_regions(p, w->s->scratch, b);
  return b;
}

bool sch_nest_in_block(sch_state *s, ir_stmt first, ir_stmt last, bool units,
                       ir_stmt *made) {
  work w = {.s = s, .p = s->p, .first = first, .last = last, .units = units};
  ir_mark mark = ir_get_mark(s->p);
  w.parent = ir_st(s->p, first)->parent;
  w.outside = sch_loops_of(s, first);
  find_members(&w);
  bool ok = true;
  for (uint32_t i = 0; ok && i < w.n; i++)
    for (uint32_t k = 0; ok && k < w.m[i].n; k++) ok = divide(&w, i, k);
  for (uint32_t i = 0; ok && i < w.n; i++) ok = find_reduction(&w, i);
  if (ok && (ok = part_predicates(&w))) {
    make_vars(&w);
    ok = see_all(&w) && all_fit(&w);
  }
  if (!ok) {
    ir_forget_since(s->p, mark);
    return false;
  }
  *made = change(&w);
  return true;
}
