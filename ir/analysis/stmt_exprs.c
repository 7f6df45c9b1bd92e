/* SPDX-License-Identifier: Apache-2.0
 * The expressions of a statement: one walk over every place that has one,
 * shared by all queries on statements, so that none misses a place. */
#include "ir/edit.h"
#include "ir/query.h"

typedef struct asking {
  const ir_program *p;
  bool (*f)(const ir_program *p, ir_expr e, void *ud);
  void *ud;
} asking;

static bool any_expr_of(const asking *a, ir_expr e) {
  return e && a->f(a->p, e, a->ud);
}

static bool ask_all(const asking *a, ir_span v) {
  for (uint32_t i = v.at; i < v.at + v.n; i++)
    if (any_expr_of(a, a->p->arg.v[i])) return true;
  return false;
}

static bool ask_block(const asking *a, ir_stmt s) {
  const ir_program *p = a->p;
  const ir_block_rec *b = ir_blk(p, s);
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    if (any_expr_of(a, it->lo) || any_expr_of(a, it->extent) ||
        any_expr_of(a, it->bind))
      return true;
  }
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++) {
    ir_region r = p->match.v[i].source;
    if (ask_all(a, (ir_span){r.at, 2 * ir_ndim(p, r.buf)})) return true;
  }
  return any_expr_of(a, b->pred);
}

bool ir_stmt_any_expr(const ir_program *p, ir_stmt s,
                      bool (*f)(const ir_program *p, ir_expr e, void *ud),
                      void *ud) {
  const asking a = {p, f, ud};
  const ir_stmt_rec *r = ir_st(p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return any_expr_of(&a, r->lo) || any_expr_of(&a, r->extent);
  case IR_BLOCK: return ask_block(&a, s);
  case IR_STORE:
    return ask_all(&a, r->idx) || any_expr_of(&a, r->value) ||
           any_expr_of(&a, r->mask);
  case IR_IF: return any_expr_of(&a, r->cond);
  case IR_LET: return any_expr_of(&a, r->let_value);
  case IR_EVALUATE: return any_expr_of(&a, r->eval);
  case IR_ALLOCATE:
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  return false;
}

/* ---- uses of buffers ---------------------------------------------------- */

static bool loads(const ir_program *p, ir_expr e, void *buf) {
  return ir_has_load(p, e, *(ir_buf *)buf);
}

bool ir_is_stored(const ir_program *p, ir_buf b) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_st(p, s)->kind == IR_STORE && ir_st(p, s)->buf == b) return true;
  return false;
}

bool ir_uses_below(const ir_program *p, ir_stmt top, ir_buf buf, bool stores) {
  for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (ir_stmt_any_expr(p, s, loads, &buf)) return true;
    if (stores && r->kind == IR_STORE && r->buf == buf) return true;
    ir_span m = r->kind == IR_BLOCK ? ir_blk(p, s)->matches : (ir_span){0, 0};
    for (uint32_t i = m.at; i < m.at + m.n; i++) {
      ir_match x = p->match.v[i];
      if (x.source.buf == buf && ir_uses_below(p, s, x.buf, stores))
        return true;
    }
  }
  return false;
}

ir_stmt ir_first_clobber(const ir_program *p, ir_stmt top, ir_expr e,
                         ir_buf *buf) {
  if (!e || !ir_at(p, e)->has_load) return 0;
  for (ir_stmt t = top; t; t = ir_next(p, t, top)) {
    ir_span w = ir_is_block(p, t) ? ir_blk(p, t)->writes : (ir_span){0, 0};
    for (uint32_t i = w.at; i < w.at + w.n; i++)
      if (ir_has_load(p, e, *buf = p->region.v[i].buf)) return t;
    if (ir_st(p, t)->kind == IR_STORE &&
        ir_has_load(p, e, *buf = ir_st(p, t)->buf))
      return t;
  }
  return 0;
}

/* ---- calls of host functions -------------------------------------------- */

static ir_walk look_for_call(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  (void)ud;
  return n->op == IR_CALL && n->a == IR_FN_EXTERN ? IR_WALK_FOUND
                                                  : IR_WALK_DESCEND;
}

bool ir_calls_host(const ir_program *p, ir_expr e) {
  return ir_any(p, e, look_for_call, NULL);
}

bool ir_has_effects(const ir_program *p, ir_stmt top) {
  for (ir_stmt s = top; s; s = ir_next(p, s, top))
    if (ir_st(p, s)->kind == IR_EVALUATE && ir_calls_host(p, ir_st(p, s)->eval))
      return true;
  return false;
}

bool ir_may_clobber(const ir_program *p, ir_stmt top, ir_expr e) {
  ir_buf buf;
  if (!ir_at(p, e)->has_load) return false;
  for (ir_stmt s = top; s; s = ir_next(p, s, top))
    if (ir_st(p, s)->kind == IR_EVALUATE) return true;
  return ir_first_clobber(p, top, e, &buf) != 0;
}
