/* SPDX-License-Identifier: Apache-2.0
 * Enumerates the accesses (loads and stores) of statements; which expressions
 * have none. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

typedef struct walk {
  ir_stmt at;
  lower_access_fn f;
  void *ud;
} walk;

static void visit_load(const ir_program *p, ir_expr e, void *ud) {
  const walk *w = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_LOAD) w->f(w->ud, w->at, n->a, (ir_span){n->b, n->n}, false);
}

static void visit_expr(const ir_program *p, arena *scratch, ir_expr e,
                       walk *w) {
  if (e && ir_at(p, e)->has_load) ir_visit(p, scratch, e, visit_load, w);
}

void lower_each_access(const ir_program *p, arena *scratch, ir_stmt s,
                       lower_access_fn f, void *ud) {
  const ir_stmt_rec r = *ir_st(p, s);
  walk w = {s, f, ud};
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    visit_expr(p, scratch, r.lo, &w);
    visit_expr(p, scratch, r.extent, &w);
    break;
  case IR_STORE:
    for (uint32_t i = 0; i < r.idx.n; i++)
      visit_expr(p, scratch, p->arg.v[r.idx.at + i], &w);
    visit_expr(p, scratch, r.value, &w);
    visit_expr(p, scratch, r.mask, &w);
    f(ud, s, r.buf, r.idx, true);
    break;
  case IR_IF: visit_expr(p, scratch, r.cond, &w); break;
  case IR_LET: visit_expr(p, scratch, r.let_value, &w); break;
  case IR_EVALUATE: visit_expr(p, scratch, r.eval, &w); break;
  default: break;
  }
}

static void count_access(void *ud, ir_stmt at, ir_buf b, ir_span idx,
                         bool writes) {
  (void)at, (void)b, (void)idx, (void)writes;
  ++*(uint32_t *)ud;
}

static void append_access(void *ud, ir_stmt at, ir_buf b, ir_span idx,
                          bool writes) {
  lower_accesses *a = ud;
  a->v[a->n++] = (lower_access){at, b, idx, writes};
}

lower_accesses lower_find_accesses(const ir_program *p, arena *scratch,
                                   ir_stmt top) {
  uint32_t n = 0;
  for (ir_stmt s = top; s; s = ir_next(p, s, top))
    lower_each_access(p, scratch, s, count_access, &n);
  lower_accesses a = {.v = arena_array(scratch, lower_access, n + 1)};
  for (ir_stmt s = top; s; s = ir_next(p, s, top))
    lower_each_access(p, scratch, s, append_access, &a);
  return a;
}

static ir_walk find_effects(const ir_program *p, ir_expr e, void *ud) {
  (void)ud;
  ir_op op = ir_at(p, e)->op;
  return op == IR_LOAD || op == IR_CALL ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

bool lower_is_arithmetic(const ir_program *p, ir_expr e) {
  return !ir_any(p, e, find_effects, NULL);
}
