/* SPDX-License-Identifier: Apache-2.0
 * Wraps statements in a new block; see nesting.h. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "schedule/analysis/move.h"
#include "schedule/rewrite/nesting_work.h"

static ir_stmt make_outer(nest_work *w) {
  ir_program *p = w->p;
  ir_iter *it = arena_array(w->s->scratch, ir_iter, w->no);
  ir_str name = ir_name_cat(p, ir_blk(p, w->m[0].block)->name, "_o");
  ir_stmt b = ir_block_new(p, ir_fresh_block_name(p, name));
  for (uint32_t i = 0; i < w->no; i++) {
    const nest_outer *o = &w->o[i];
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

static void change_block(nest_work *w, const nest_member *m) {
  ir_program *p = w->p;
  ir_subst sub = nest_values(w, m);
  ir_iter *it = arena_array(w->s->scratch, ir_iter, m->n);
  uint32_t n = 0;
  for (uint32_t k = 0; k < m->n; k++) {
    const nest_part *t = &m->part[k];
    if (t->inner)
      it[n++] = (ir_iter){t->var, t->old.kind, t->lo, t->extent, t->bind};
  }
  ir_block_set_iters(p, m->block, n, it);
  ir_blk(p, m->block)->pred = m->pred;
  ir_subst_stmt(&sub, m->block);
}

static void change_heads(const nest_work *w) {
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

static ir_stmt nesting_rewrite(nest_work *w) {
  ir_program *p = w->p;
  ir_stmt b = make_outer(w), init;
  change_heads(w);
  for (uint32_t i = 0; i < w->n; i++) change_block(w, &w->m[i]);
  if (w->takes_init) ir_append_alt(p, b, sch_init_take(&w->init, &init));
  sch_trim_predicate(w->s, b);
  for (uint32_t i = 0; i < w->n; i++) sch_trim_predicate(w->s, w->m[i].block);
  ir_block_find_regions(p, w->s->scratch, b);
  return b;
}

bool sch_nest_in_block(sch_state *s, ir_stmt first, ir_stmt last, bool units,
                       ir_stmt *made) {
  nest_work w = {
      .s = s, .p = s->p, .first = first, .last = last, .units = units};
  ir_mark mark = ir_get_mark(s->p);
  w.outside = sch_loops_of(s, first);
  if (!nest_divide(&w) || !nest_terms(&w)) {
    ir_rollback(s->p, mark);
    return false;
  }
  *made = nesting_rewrite(&w);
  return true;
}
