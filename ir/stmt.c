/* SPDX-License-Identifier: Apache-2.0
 * Statements: construction, and the only functions that edit the tree.  A
 * statement's children are two doubly linked lists, body and alt; an edit
 * updates the links of the neighbours only. */
#include "ir/edit.h"
#include "ir/pool.h"
#include "ir/query.h"

/* ---- construction ------------------------------------------------------- */

static ir_stmt stmt_new(ir_program *p, ir_kind kind) {
  ir_stmt s = vec_extend(p->heap, &p->stmt, 1);
  p->stmt.v[s] = (ir_stmt_rec){.kind = (uint8_t)kind};
  return s;
}

ir_stmt ir_loop_new(ir_program *p, ir_var v, ir_expr lo, ir_expr extent,
                    ir_loop_kind kind) {
  TESS_ASSERT(v && v < p->var.n && lo < p->node.n && extent < p->node.n);
  ir_stmt s = stmt_new(p, IR_LOOP);
  ir_stmt_rec *r = ir_st(p, s);
  r->loop_kind = (uint8_t)kind;
  r->var = v;
  r->lo = lo;
  r->extent = extent;
  p->var.v[v].owner = s;
  return s;
}

ir_stmt ir_block_new(ir_program *p, ir_str name) {
  ir_stmt s = stmt_new(p, IR_BLOCK);
  uint32_t b = vec_extend(p->heap, &p->block, 1);
  p->block.v[b] = (ir_block_rec){.name = name, .stmt = s};
  ir_st(p, s)->block = b;
  return s;
}

ir_stmt ir_store_new(ir_program *p, ir_buf b, uint32_t n, const ir_expr *idx,
                     ir_expr value) {
  TESS_ASSERT(b && b < p->buf.n && value < p->node.n);
  ir_span span = ir_arg_span(p, n, idx);
  ir_stmt s = stmt_new(p, IR_STORE);
  ir_stmt_rec *r = ir_st(p, s);
  r->buf = b;
  r->idx = span;
  r->value = value;
  return s;
}

ir_stmt ir_if_new(ir_program *p, ir_expr cond) {
  TESS_ASSERT(ir_at(p, cond)->dtype.code == TESS_DTYPE_BOOL);
  ir_stmt s = stmt_new(p, IR_IF);
  ir_st(p, s)->cond = cond;
  return s;
}

ir_stmt ir_let_new(ir_program *p, ir_var v, ir_expr value) {
  TESS_ASSERT(v && v < p->var.n && value < p->node.n);
  ir_stmt s = stmt_new(p, IR_LET);
  ir_st(p, s)->let_var = v;
  ir_st(p, s)->let_value = value;
  p->var.v[v].owner = s;
  return s;
}

ir_stmt ir_evaluate_new(ir_program *p, ir_expr e) {
  ir_stmt s = stmt_new(p, IR_EVALUATE);
  ir_st(p, s)->eval = e;
  return s;
}

ir_stmt ir_allocate_new(ir_program *p, ir_buf b) {
  TESS_ASSERT(b && b < p->buf.n);
  ir_stmt s = stmt_new(p, IR_ALLOCATE);
  ir_st(p, s)->alloc = b;
  return s;
}

ir_stmt ir_barrier_new(ir_program *p, ir_scope scope) {
  ir_stmt s = stmt_new(p, IR_BARRIER);
  ir_st(p, s)->thread = (uint8_t)scope;
  return s;
}

/* ---- linking ------------------------------------------------------------ */

/* The head of one of a statement's lists of children. */
static ir_stmt *list_of(const ir_program *p, ir_stmt parent, bool alt) {
  ir_stmt_rec *r = ir_st(p, parent);
  return alt ? &r->alt : &r->body;
}

/* Can a statement of this kind have children in that list? */
static bool kind_has_list(ir_kind k, bool alt) {
  return k == IR_BLOCK || k == IR_IF ||
         (!alt && (k == IR_LOOP || k == IR_LET || k == IR_ALLOCATE));
}

/* May s become a child of `parent`: is it alive, detached, and not an ancestor
 * of it? */
static bool can_link_in(const ir_program *p, ir_stmt parent, bool alt,
                        ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return s && r->kind != IR_DEAD && !r->parent && !r->prev && !r->next &&
         kind_has_list((ir_kind)ir_st(p, parent)->kind, alt) &&
         !ir_is_ancestor(p, s, parent);
}

/* Inserts s between two neighbours in a list of parent; either may be 0. */
static void link_in(ir_program *p, ir_stmt parent, bool alt, ir_stmt prev,
                    ir_stmt next, ir_stmt s) {
  TESS_ASSERT(can_link_in(p, parent, alt, s));
  ir_stmt_rec *r = ir_st(p, s);
  r->parent = parent;
  r->in_alt = alt;
  r->prev = prev;
  r->next = next;
  if (prev)
    ir_st(p, prev)->next = s;
  else
    *list_of(p, parent, alt) = s;
  if (next) ir_st(p, next)->prev = s;
  p->edits++;
}

static ir_stmt last_sibling(const ir_program *p, ir_stmt first) {
  if (!first) return 0;
  while (ir_st(p, first)->next) first = ir_st(p, first)->next;
  return first;
}

void ir_append(ir_program *p, ir_stmt parent, ir_stmt child) {
  link_in(p, parent, false, last_sibling(p, ir_st(p, parent)->body), 0, child);
}

void ir_prepend(ir_program *p, ir_stmt parent, ir_stmt child) {
  link_in(p, parent, false, 0, ir_st(p, parent)->body, child);
}

void ir_append_alt(ir_program *p, ir_stmt parent, ir_stmt child) {
  link_in(p, parent, true, last_sibling(p, ir_st(p, parent)->alt), 0, child);
}

void ir_insert_before(ir_program *p, ir_stmt at, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, at);
  link_in(p, r->parent, r->in_alt, r->prev, at, s);
}

void ir_insert_after(ir_program *p, ir_stmt at, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, at);
  link_in(p, r->parent, r->in_alt, at, r->next, s);
}

void ir_detach(ir_program *p, ir_stmt s) {
  ir_stmt_rec *r = ir_st(p, s);
  if (r->prev)
    ir_st(p, r->prev)->next = r->next;
  else if (r->parent)
    *list_of(p, r->parent, r->in_alt) = r->next;
  if (r->next) ir_st(p, r->next)->prev = r->prev;
  r->parent = r->prev = r->next = 0;
  r->in_alt = false;
  p->edits++;
}

void ir_replace(ir_program *p, ir_stmt old, ir_stmt s) {
  ir_insert_before(p, old, s);
  ir_detach(p, old);
}

void ir_move_body(ir_program *p, ir_stmt from, ir_stmt to) {
  TESS_ASSERT(from != to);
  TESS_ASSERT(kind_has_list((ir_kind)ir_st(p, from)->kind, false));
  TESS_ASSERT(kind_has_list((ir_kind)ir_st(p, to)->kind, false));
  ir_stmt first = ir_st(p, from)->body;
  if (!first) return;
  ir_stmt last = last_sibling(p, ir_st(p, to)->body);
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) ir_st(p, s)->parent = to;
  ir_st(p, first)->prev = last;
  if (last)
    ir_st(p, last)->next = first;
  else
    ir_st(p, to)->body = first;
  ir_st(p, from)->body = 0;
  p->edits++;
}

void ir_wrap(ir_program *p, ir_stmt s, ir_stmt around) {
  ir_replace(p, s, around);
  ir_append(p, around, s);
}

/* A dead statement keeps its links: this walk still needs them, and no live
 * statement links to it. */
void ir_kill(ir_program *p, ir_stmt s) {
  TESS_ASSERT(s && !ir_is_dead(p, s));
  ir_detach(p, s);
  for (ir_stmt t = s; t; t = ir_next(p, t, s)) {
    ir_st(p, t)->kind = IR_DEAD;
    ir_st(p, t)->prev = p->step;
  }
}

/* ---- walking ------------------------------------------------------------ */

ir_stmt ir_skip(const ir_program *p, ir_stmt s, ir_stmt top) {
  while (s != top) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->next) return r->next;
    if (!r->in_alt && ir_st(p, r->parent)->alt) return ir_st(p, r->parent)->alt;
    s = r->parent;
  }
  return 0;
}

uint32_t ir_depth(const ir_program *p, ir_stmt top) {
  uint32_t depth = 1, deepest = 1;
  for (ir_stmt s = top, next; (next = ir_next(p, s, top)); s = next) {
    depth++;
    for (ir_stmt up = s; up != ir_st(p, next)->parent;
         up = ir_st(p, up)->parent)
      depth--;
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest;
}

ir_stmt ir_scope_of(const ir_program *p, ir_stmt s) {
  do s = ir_st(p, s)->parent;
  while (s && !ir_is_block(p, s));
  return s;
}

bool ir_is_ancestor(const ir_program *p, ir_stmt above, ir_stmt below) {
  while (below && below != above) below = ir_st(p, below)->parent;
  return below != 0;
}

/* ---- pools -------------------------------------------------------------- */

uint32_t ir_args(ir_program *p, uint32_t n, const uint32_t *v) {
  uint32_t at;
  POOL_ADD(p->heap, &p->arg, n, v, at);
  return at;
}

ir_span ir_arg_span(ir_program *p, uint32_t n, const uint32_t *v) {
  return (ir_span){n ? ir_args(p, n, v) : 0, n};
}
