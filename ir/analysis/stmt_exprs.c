/* SPDX-License-Identifier: Apache-2.0
 * What a statement holds: every place of it where an expression may stand.
 * Questions about statements are asked through this one walk, so that none
 * forgets a place. */
#include "ir/edit.h"
#include "ir/query.h"

typedef struct asking {
  const ir_program *p;
  bool (*f)(const ir_program *p, ir_expr e, void *ud);
  void *ud;
} asking;

static bool ask(const asking *a, ir_expr e) {
  return e && a->f(a->p, e, a->ud);
}

static bool ask_all(const asking *a, ir_span v) {
  for (uint32_t i = v.at; i < v.at + v.n; i++)
    if (ask(a, a->p->arg.v[i])) return true;
  return false;
}

static bool ask_block(const asking *a, ir_stmt s) {
  const ir_program *p = a->p;
  const ir_block_rec *b = ir_blk(p, s);
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    if (ask(a, it->lo) || ask(a, it->extent) || ask(a, it->bind)) return true;
  }
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++) {
    ir_region r = p->match.v[i].source;
    if (ask_all(a, (ir_span){r.at, 2 * ir_ndim(p, r.buf)})) return true;
  }
  return ask(a, b->pred);
}

bool ir_any_held(const ir_program *p, ir_stmt s,
                 bool (*f)(const ir_program *p, ir_expr e, void *ud),
                 void *ud) {
  const asking a = {p, f, ud};
  const ir_stmt_rec *r = ir_st(p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return ask(&a, r->lo) || ask(&a, r->extent);
  case IR_BLOCK: return ask_block(&a, s);
  case IR_STORE:
    return ask_all(&a, r->idx) || ask(&a, r->value) || ask(&a, r->mask);
  case IR_IF: return ask(&a, r->cond);
  case IR_LET: return ask(&a, r->let_value);
  case IR_EVALUATE: return ask(&a, r->eval);
  case IR_ALLOCATE:
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  return false;
}

/* ---- whose buffers are used below --------------------------------------- */

static bool loads(const ir_program *p, ir_expr e, void *buf) {
  return ir_has_load(p, e, *(ir_buf *)buf);
}

bool ir_uses_below(const ir_program *p, ir_stmt top, ir_buf buf, bool stores) {
  for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (ir_any_held(p, s, loads, &buf)) return true;
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

ir_stmt ir_changes(const ir_program *p, ir_stmt top, ir_expr e, ir_buf *buf) {
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

/* ---- calls of the host's functions -------------------------------------- */

static ir_look look_for_call(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  (void)ud;
  return n->op == IR_CALL && n->a == IR_FN_EXTERN ? IR_LOOK_FOUND
                                                  : IR_LOOK_BELOW;
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
  return ir_changes(p, top, e, &buf) != 0;
}
