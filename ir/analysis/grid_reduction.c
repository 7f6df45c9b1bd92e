/* SPDX-License-Identifier: Apache-2.0
 * Reductions that blocks of threads share: loops bound to blockIdx that drive
 * reduce iters, and updates that can be made atomically. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/tensor_call.h"

static ir_walk find_var_outside_loads(const ir_program *p, ir_expr e,
                                      void *ud) {
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) return IR_WALK_SKIP;
  return n->op == IR_VAR && n->a == *(ir_var *)ud ? IR_WALK_FOUND
                                                  : IR_WALK_DESCEND;
}

bool ir_iter_follows(const ir_program *p, ir_iter it, ir_var var) {
  if (!ir_uses_var(p, it.bind, var)) return false;
  return it.kind != IR_REDUCE ||
         ir_any(p, it.bind, find_var_outside_loads, &var);
}

bool ir_loop_reduces(const ir_program *p, ir_stmt loop, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE &&
        ir_iter_follows(p, p->iter.v[i], ir_st(p, loop)->var))
      return true;
  return false;
}

bool ir_is_grid_reduction(const ir_program *p, ir_stmt loop, ir_stmt block) {
  const ir_stmt_rec *r = ir_st(p, loop);
  return ir_is_thread_loop(r) && r->thread <= IR_BLOCKIDX_Z &&
         !ir_is_const(p, r->extent, 1) &&
         ir_scope_of(p, loop) == ir_scope_of(p, block) &&
         ir_loop_reduces(p, loop, block);
}

/* Integers of 32 and 64 bits; sums of floats, too, which round in the order of
 * the updates.  Of a minimum of floats that are not numbers devices make
 * something else than ir/scalar.h does. */
static bool has_atomic(ir_op op, tess_dtype t) {
  if (t.lanes != 1 || (op != IR_ADD && op != IR_MIN && op != IR_MAX))
    return false;
  if (ir_is_int(t)) return t.bits >= 32;
  return op == IR_ADD && ir_is_float(t) && t.code == TESS_DTYPE_FLOAT;
}

static bool is_element(const ir_program *p, const ir_stmt_rec *s, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && n->a == s->buf && !n->c && n->n == s->idx.n &&
         !memcmp(p->arg.v + n->b, p->arg.v + s->idx.at,
                 s->idx.n * sizeof *p->arg.v);
}

ir_expr ir_atomic_operand(const ir_program *p, const ir_stmt_rec *s) {
  const ir_node *n = ir_at(p, s->value);
  if (n->op != IR_ADD && n->op != IR_MIN && n->op != IR_MAX) return 0;
  ir_expr old = is_element(p, s, n->a) ? n->a : n->b;
  ir_expr other = old == n->a ? n->b : n->a;
  return is_element(p, s, old) && !ir_has_load(p, other, s->buf) ? other : 0;
}

/* The element is loaded once, as an operand of the operation or, of integers,
 * of several of the kind. */
static bool is_update(const ir_program *p, const ir_stmt_rec *s) {
  unsigned op = ir_at(p, s->value)->op;
  if (!ir_is_int(ir_at(p, s->value)->dtype)) return ir_atomic_operand(p, s);
  ir_expr e = s->value;
  while (!is_element(p, s, e)) {
    const ir_node *n = ir_at(p, e);
    if (n->op != op) return false;
    bool a = ir_has_load(p, n->a, s->buf), b = ir_has_load(p, n->b, s->buf);
    if (a == b) return false;
    e = a ? n->a : n->b;
  }
  return e != s->value;
}

/* x op y of its two parameters. */
static bool combines_by(const ir_program *p, uint32_t reducer, unsigned op) {
  const ir_reducer *r = &p->reducer.v[reducer];
  if (!reducer || r->n != 1 || r->ordered != IR_ORDER_FREE) return false;
  const ir_node *n = ir_at(p, p->arg.v[r->combine.at]);
  const ir_node *a = ir_at(p, n->a), *b = ir_at(p, n->b);
  return n->op == op && a->op == IR_VAR && b->op == IR_VAR && a->a != b->a;
}

bool ir_updates_atomically(const ir_program *p, ir_stmt block) {
  const ir_block_rec *b = ir_blk(p, block);
  const ir_stmt_rec *s = ir_st(p, ir_st(p, block)->body);
  if (!ir_st(p, block)->body || ir_st(p, block)->alt || b->matches.n ||
      s->kind != IR_STORE || s->next || s->mask ||
      !ir_scope_is_global(p->buf.v[s->buf].scope))
    return false;
  for (uint32_t d = 0; d < s->idx.n; d++)
    if (ir_has_load(p, p->arg.v[s->idx.at + d], s->buf)) return false;
  const ir_node *n = ir_at(p, s->value);
  return combines_by(p, b->reducer, n->op) &&
         has_atomic((ir_op)n->op, n->dtype) && is_update(p, s) &&
         !ir_reduce_iter_in_write(p, block) &&
         !ir_anno_get(p, block, IR_TENSOR_CALL);
}
