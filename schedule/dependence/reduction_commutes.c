/* SPDX-License-Identifier: Apache-2.0
 * Is a reduction associative and commutative, so that its instances may run in
 * any order?
 *
 * A reduce iter is a claim of the program's author.  It is trusted of blocks
 * that combine by a reducer, unless that is ordered; of others the stores are
 * analysed: each must be an update, `old op x`, by the one operation of the
 * block, and nothing else may read what the block writes.  Calls with side
 * effects keep their order. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

enum { MAX_STEPS = 256 }; /* expressions looked into; beyond: no */

typedef struct updates {
  const ir_program *p;
  ir_stmt block;
  ir_op op; /* of all its updates; IR_NONE: none was met */
  uint32_t steps;
} updates;

/* Is the buffer one that the block writes, or a match's name for one? */
static bool is_result(const updates *u, ir_buf b) {
  const ir_program *p = u->p;
  if (sch_writes_buf(p, u->block, b)) return true;
  for (uint32_t i = 0; i < p->match.n; i++)
    if (p->match.v[i].buf == b && is_result(u, p->match.v[i].source.buf))
      return true;
  return false;
}

/* Does e read anything that the block writes? */
static bool reads_result(const updates *u, ir_expr e) {
  const ir_program *p = u->p;
  ir_span w = ir_blk(p, u->block)->writes;
  if (!e || !ir_at(p, e)->has_load) return false;
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (ir_has_load(p, e, p->region.v[i].buf)) return true;
  for (uint32_t i = 0; i < p->match.n; i++)
    if (ir_has_load(p, e, p->match.v[i].buf) && is_result(u, p->match.v[i].buf))
      return true;
  return false;
}

/* Subtracting is adding the negative; 0 for what does not commute. */
static ir_op family(ir_op op) {
  switch (op) {
  case IR_ADD:
  case IR_SUB: return IR_ADD;
  case IR_MUL:
  case IR_MIN:
  case IR_MAX:
  case IR_AND:
  case IR_OR: return op;
  default: return IR_NONE;
  }
}

/* e is the old element, or an update of it: one side of the operation is,
 * and the other reads none; where a condition chooses, both results are.
 * Floats may be rounded on the way, as they are by every step. */
static bool is_update(updates *u, const ir_stmt_rec *store, ir_expr e) {
  const ir_program *p = u->p;
  const ir_node n = *ir_at(p, e);
  if (ir_loads_stored(p, store, e)) return true;
  if (u->steps++ == MAX_STEPS) return false;
  if (n.op == IR_CAST && ir_is_float(n.dtype) &&
      ir_is_float(ir_at(p, n.a)->dtype))
    return is_update(u, store, n.a);
  if (n.op == IR_SELECT)
    return !reads_result(u, n.a) && is_update(u, store, n.b) &&
           is_update(u, store, n.c);
  ir_op op = family((ir_op)n.op);
  if (!op || (u->op && u->op != op)) return false;
  u->op = op;
  if (!reads_result(u, n.b)) return is_update(u, store, n.a);
  return n.op != IR_SUB && !reads_result(u, n.a) && is_update(u, store, n.b);
}

static bool store_commutes(updates *u, const ir_stmt_rec *r) {
  const ir_program *p = u->p;
  if (!is_result(u, r->buf)) return true; /* its own */
  for (uint32_t i = 0; i < r->idx.n; i++)
    if (reads_result(u, p->arg.v[r->idx.at + i])) return false;
  return !reads_result(u, r->mask) && is_update(u, r, r->value);
}

static bool reads(const ir_program *p, ir_expr e, void *u) {
  (void)p;
  return reads_result(u, e);
}

static bool stmt_commutes(updates *u, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(u->p, s);
  if (r->kind == IR_STORE) return store_commutes(u, r);
  return !ir_stmt_any_expr(u->p, s, reads, u) &&
         (r->kind != IR_EVALUATE || !ir_has_effects(u->p, s));
}

/* A block inside that goes on reducing by a reducer, in any order. */
static bool is_part(const ir_program *p, ir_stmt s) {
  return ir_is_block(p, s) && ir_blk(p, s)->reducer && !sch_has_init(p, s) &&
         !ir_reduces_in_order(p, s);
}

bool sch_reduction_commutes(const ir_program *p, ir_stmt block) {
  updates u = {.p = p, .block = block};
  if (ir_blk(p, block)->reducer) return !ir_reduces_in_order(p, block);
  for (ir_stmt top = ir_st(p, block)->body; top; top = ir_st(p, top)->next)
    for (ir_stmt s = top; s;
         s = is_part(p, s) ? ir_skip(p, s, top) : ir_next(p, s, top))
      if (!stmt_commutes(&u, s)) return false;
  return true;
}
