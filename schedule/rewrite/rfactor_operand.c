/* SPDX-License-Identifier: Apache-2.0
 * The operands of a reduction's update: matches what it stores against the
 * combiner of its reducer. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/rfactor.h"

typedef struct matching {
  ir_program *p;
  ir_reducer r;
  const ir_expr *result; /* the loads of the results */
  ir_expr *operand;      /* found so far; 0: not yet */
} matching;

static bool is_formal(const matching *m, ir_span formals, ir_expr e,
                      uint32_t *i) {
  const ir_node *n = ir_at(m->p, e);
  for (*i = 0; n->op == IR_VAR && *i < formals.n; ++*i)
    if (m->p->arg.v[formals.at + *i] == n->a) return true;
  return false;
}

static bool matches(matching *m, ir_expr pattern, ir_expr e) {
  uint32_t i;
  if (is_formal(m, m->r.lhs, pattern, &i)) return e == m->result[i];
  if (is_formal(m, m->r.rhs, pattern, &i)) {
    if (!m->operand[i]) m->operand[i] = e;
    return m->operand[i] == e;
  }
  if (pattern == e) return true;
  const ir_node x = *ir_at(m->p, pattern), y = *ir_at(m->p, e);
  if (x.op != y.op || !ir_dtype_eq(x.dtype, y.dtype)) return false;
  switch (x.op) {
  case IR_ADD:
  case IR_MUL:
  case IR_MIN:
  case IR_MAX:
  case IR_AND:
  case IR_OR: return matches(m, x.a, y.a) && matches(m, x.b, y.b);
  default: return false;
  }
}

bool sch_rfactor_operands(const sch_rfactor *w, ir_expr *out) {
  ir_program *p = w->s->p;
  matching m = {
      .p = p, .r = p->reducer.v[ir_blk(p, w->block)->reducer], .operand = out};
  ir_expr *result = arena_array(w->s->scratch, ir_expr, w->nout);
  memset(out, 0, w->nout * sizeof *out);
  ir_stmt c = ir_st(p, w->block)->body;
  for (uint32_t k = 0; k < w->nout; k++) {
    ir_expr idx[32];
    const ir_stmt_rec r = *ir_st(p, w->store[k]);
    memcpy(idx, p->arg.v + r.idx.at, r.idx.n * sizeof *idx);
    result[k] = ir_load(p, r.buf, r.idx.n, idx);
  }
  m.result = result;
  for (uint32_t k = 0; k < w->nout; k++, c = ir_st(p, c)->next) {
    if (!c || ir_st(p, c)->kind != IR_STORE) return false;
    if (ir_st(p, c)->buf != ir_st(p, w->store[k])->buf) return false;
    if (!matches(&m, p->arg.v[m.r.combine.at + k], ir_st(p, c)->value))
      return false;
  }
  for (uint32_t k = 0; k < w->nout; k++)
    if (!out[k]) return false;
  return true;
}
