/* SPDX-License-Identifier: Apache-2.0
 * Live-in analysis: the buffers and variables that a statement uses. */
#include "backends/llvm/emit.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct survey {
  const ir_program *p;
  emit_uses uses;
  uint8_t *seen; /* by ir_expr */
} survey;

static void survey_expr(survey *s, ir_expr e) {
  if (!e || s->seen[e]) return;
  s->seen[e] = true;
  const ir_node *n = ir_at(s->p, e);
  if (n->op == IR_VAR) s->uses.var[n->a] = true;
  if (n->op == IR_LOAD) s->uses.buf[n->a] = true;
  const uint32_t *operands;
  uint32_t fixed[3], k = ir_operands(s->p, e, &operands, fixed);
  for (uint32_t i = 0; i < k; i++) survey_expr(s, operands[i]);
}

static void survey_list(survey *s, uint32_t n, uint32_t at) {
  for (uint32_t i = 0; i < n; i++) survey_expr(s, s->p->arg.v[at + i]);
}

static void survey_stmt(survey *s, const ir_stmt_rec *r) {
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    survey_expr(s, r->lo);
    survey_expr(s, r->extent);
    break;
  case IR_STORE:
    s->uses.buf[r->buf] = true;
    survey_list(s, r->idx.n, r->idx.at);
    survey_expr(s, r->value);
    survey_expr(s, r->mask);
    break;
  case IR_IF: survey_expr(s, r->cond); break;
  case IR_LET: survey_expr(s, r->let_value); break;
  case IR_EVALUATE: survey_expr(s, r->eval); break;
  case IR_ALLOCATE: {
    ir_span shape = s->p->buf.v[r->alloc].shape;
    survey_list(s, shape.n, shape.at);
    break;
  }
  case IR_DEAD:
  case IR_BLOCK:
  case IR_BARRIER: break;
  }
}

void emit_survey(emit *m, ir_stmt top, emit_uses u) {
  arena_mark mark = arena_get_mark(m->scratch);
  survey s = {m->p, u, arena_zalloc(m->scratch, m->p->node.n)};
  for (ir_stmt at = top; at; at = ir_next(m->p, at, top))
    survey_stmt(&s, ir_st(m->p, at));
  arena_reset_to(m->scratch, mark);
}
