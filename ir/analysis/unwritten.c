/* SPDX-License-Identifier: Apache-2.0
 * Reads that certainly come before all writes of their buffer, found without
 * running the program: what is executed for the first time runs after nothing
 * but what stands before it, if it is executed in the first iteration of every
 * loop around it. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct first_run {
  const ir_program *p;
  bool *written; /* by buffer: something before may write it */
  ir_stmt stmt;  /* what was found: the statement, */
  ir_buf buf;    /* and the buffer that it reads */
} first_run;

/* Skips what may not be evaluated: an arm of a select, the second operand of
 * an and or or. */
static ir_walk find_read(const ir_program *p, ir_expr e, void *ud) {
  first_run *w = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_SELECT || n->op == IR_AND || n->op == IR_OR)
    return ir_any(p, n->a, find_read, w) ? IR_WALK_FOUND : IR_WALK_SKIP;
  if (n->op != IR_LOAD || n->c || w->written[n->a]) return IR_WALK_DESCEND;
  w->buf = n->a;
  return IR_WALK_FOUND;
}

static bool reads(const ir_program *p, ir_expr e, void *ud) {
  return e && ir_any(p, e, find_read, ud);
}

static bool walk(first_run *w, ir_stmt first, bool certain);

/* Its init runs first, where all reductions are at their start. */
static bool walk_block(first_run *w, ir_stmt s, bool certain) {
  const ir_block_rec *b = ir_blk(w->p, s);
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++)
    w->written[w->p->match.v[i].buf] = true; /* perhaps by another name */
  return walk(w, ir_st(w->p, s)->alt, false) ||
         walk(w, ir_st(w->p, s)->body, certain && !b->pred);
}

static bool walk_one(first_run *w, ir_stmt s, bool certain) {
  const ir_program *p = w->p;
  const ir_stmt_rec *r = ir_st(p, s);
  w->stmt = s;
  if (certain && r->kind != IR_BLOCK && ir_stmt_any_expr(p, s, reads, w))
    return true;
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return walk(w, r->body, certain && ir_at(p, r->extent)->lo > 0);
  case IR_BLOCK: return walk_block(w, s, certain);
  case IR_IF: return walk(w, r->body, false) || walk(w, r->alt, false);
  case IR_STORE: w->written[r->buf] = true; return false;
  default: return walk(w, r->body, certain);
  }
}

static bool walk(first_run *w, ir_stmt first, bool certain) {
  for (ir_stmt s = first; s; s = ir_st(w->p, s)->next)
    if (walk_one(w, s, certain)) return true;
  return false;
}

ir_stmt ir_find_unwritten(const ir_program *p, arena *scratch, ir_buf *buf) {
  const ir_func *f = ir_entry(p);
  first_run w = {.p = p, .written = arena_zalloc(scratch, p->buf.n)};
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    w.written[b] = p->buf.v[b].role != IR_ROLE_OUTPUT;
  }
  for (uint32_t i = 0; i < p->constant.n; i++)
    w.written[p->constant.v[i].buf] = true;
  if (!walk(&w, f->root, true)) return 0;
  *buf = w.buf;
  return w.stmt;
}
