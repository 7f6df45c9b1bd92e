/* SPDX-License-Identifier: Apache-2.0
 * Undoes rolling_buffer on an access, so that the blocks that use a rolled
 * buffer can be analysed in any order of rolling. */
#include "schedule/analysis/rolled.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"

typedef struct straight {
  sch_state *s;
  ir_stmt scope;
  sch_rolled *r;
  int64_t end; /* of the indices in its dimension */
  bool odd;    /* some index is not known to be 0 or more, or does not wrap */
} straight;

/* ---- the predicate ------------------------------------------------------ */

static ir_stmt loop_of(const straight *f, ir_expr e) {
  const ir_program *p = f->s->p;
  for (ir_stmt l = ir_st(p, f->r->writer)->parent; l != f->scope;
       l = ir_st(p, l)->parent)
    if (ir_is_loop(p, l) && ir_ref(p, ir_st(p, l)->var) == e) return l;
  return 0;
}

/* `t == first || from <= a` */
static bool is_skip(const straight *f, ir_expr first, ir_expr later,
                    sch_skip *out) {
  const ir_program *p = f->s->p;
  const ir_node *is = ir_at(p, first), *from = ir_at(p, later);
  if (is->op != IR_EQ || from->op != IR_LE ||
      !ir_const_int(p, from->a, &out->from))
    return false;
  out->loop = loop_of(f, is->a);
  out->window = loop_of(f, from->b);
  return out->loop && out->window && is->b == ir_st(p, out->loop)->lo &&
         ir_is_ancestor(p, out->loop, ir_st(p, out->window)->parent);
}

/* The condition without what skips, which is noted; 0: nothing is left. */
static ir_expr take_skips(straight *f, ir_expr cond) {
  ir_program *p = f->s->p;
  const ir_node n = *ir_at(p, cond);
  sch_skip skip;
  if (n.op == IR_AND) {
    ir_expr a = take_skips(f, n.a), b = take_skips(f, n.b);
    return a && b ? ir_and(p, a, b) : a ? a : b;
  }
  if (n.op != IR_OR || f->r->n == SCH_MOST_SKIPS ||
      (!is_skip(f, n.a, n.b, &skip) && !is_skip(f, n.b, n.a, &skip)))
    return cond;
  f->r->skip[f->r->n++] = skip;
  return 0;
}

/* ---- the indices -------------------------------------------------------- */

/* Which dimension of what the writer writes wraps around, and where. */
static void find_wrap(straight *f) {
  const ir_program *p = f->s->p;
  ir_span w = ir_blk(p, f->r->writer)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (uint32_t d = 0;
         p->region.v[i].buf == f->r->buf && d < ir_ndim(p, f->r->buf); d++) {
      const ir_node *at = ir_at(p, ir_region_min(p, p->region.v[i], d));
      int64_t size;
      if (at->op != IR_MOD || at->b != ir_dim(p, f->r->buf, d) ||
          !ir_const_int(p, at->b, &size))
        continue;
      f->r->dim = d;
      f->r->size = size;
    }
}

static void straighten_index(straight *f, ir_expr *at) {
  const ir_program *p = f->s->p;
  const ir_node *n = ir_at(p, at[f->r->dim]);
  if (n->op != IR_MOD || !ir_is_const(p, n->b, f->r->size)) {
    f->odd = true;
    return;
  }
  at[f->r->dim] = n->a;
  n = ir_at(p, n->a);
  f->odd |= n->lo < 0 || n->hi >= SCH_MAX_EXTENT;
  if (n->hi >= f->end) f->end = n->hi + 1;
}

static ir_expr straight_load(ir_subst *sub, ir_buf buf, uint32_t n,
                             const ir_expr *idx) {
  straight *f = sub->ud;
  if (buf != f->r->buf) return 0;
  ir_expr *at = arena_array(sub->scratch, ir_expr, n);
  memcpy(at, idx, n * sizeof *at);
  straighten_index(f, at);
  return ir_load(sub->p, buf, n, at);
}

static void straighten_store(straight *f, ir_stmt st) {
  ir_program *p = f->s->p;
  ir_span idx = ir_st(p, st)->idx;
  ir_expr *at = arena_array(f->s->scratch, ir_expr, idx.n);
  memcpy(at, p->arg.v + idx.at, idx.n * sizeof *at);
  straighten_index(f, at);
  idx = ir_arg_span(p, idx.n, at);
  ir_st(p, st)->idx = idx;
}

static void straighten_accesses(straight *f) {
  ir_program *p = f->s->p;
  ir_subst sub;
  ir_subst_init(&sub, p, f->s->scratch);
  sub.load = straight_load;
  sub.ud = f;
  for (ir_stmt q = ir_next(p, f->scope, f->scope); q;
       q = ir_next(p, q, f->scope)) {
    ir_subst_head(&sub, q, true);
    if (ir_st(p, q)->kind == IR_STORE && ir_st(p, q)->buf == f->r->buf)
      straighten_store(f, q);
  }
}

static void find_regions(straight *f, ir_stmt top) {
  ir_program *p = f->s->p;
  for (ir_stmt q = top; (q = sch_next_child(p, q, top));) find_regions(f, q);
  if (top != f->scope) ir_block_find_all_regions(p, f->s->scratch, top);
}

static void lengthen(straight *f) {
  ir_program *p = f->s->p;
  uint32_t n = ir_ndim(p, f->r->buf);
  ir_expr *shape = arena_array(f->s->scratch, ir_expr, n);
  for (uint32_t d = 0; d < n; d++) shape[d] = ir_dim(p, f->r->buf, d);
  shape[f->r->dim] = ir_index(p, f->end);
  ir_span span = ir_arg_span(p, n, shape);
  p->buf.v[f->r->buf].shape = span;
}

/* ---- the whole ---------------------------------------------------------- */

static ir_stmt only_writer(const ir_program *p, ir_stmt scope, ir_buf buf) {
  ir_stmt found = 0;
  for (ir_stmt q = scope; (q = sch_next_child(p, q, scope));)
    if (sch_writes_buf(p, q, buf)) {
      if (found) return 0;
      found = q;
    }
  return found;
}

bool sch_straighten(sch_state *s, ir_stmt scope, ir_buf buf, sch_rolled *out) {
  ir_program *p = s->p;
  straight f = {.s = s, .scope = scope, .r = out};
  *out = (sch_rolled){.buf = buf, .writer = only_writer(p, scope, buf)};
  ir_expr pred = out->writer ? ir_blk(p, out->writer)->pred : 0;
  if (!pred || sch_alloc_block(p, buf) != scope) return false;
  pred = take_skips(&f, pred);
  ir_blk(p, out->writer)->pred = pred;
  if (!out->n) return false;
  find_wrap(&f);
  if (out->size) {
    straighten_accesses(&f);
    lengthen(&f);
    find_regions(&f, scope);
  }
  p->edits++;
  return !f.odd;
}
