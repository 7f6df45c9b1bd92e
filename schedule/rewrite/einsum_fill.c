/* SPDX-License-Identifier: Apache-2.0
 * What padded copies hold beside the elements: what adds nothing to the
 * reduction along the iters that are padded. */
#include "ir/expr.h"
#include "schedule/rewrite/einsum.h"
#include <math.h>

ir_expr sch_einsum_identity(ir_program *p, ir_op how, tess_dtype t) {
  switch (how) {
  case IR_MIN: return ir_extreme(p, t, true);
  case IR_MAX: return ir_extreme(p, t, false);
  case IR_OR: return ir_cast(p, t, ir_bool(p, false));
  case IR_AND: return ir_cast(p, t, ir_bool(p, true));
  default: {
    int v = how == IR_MUL;
    return ir_is_float(t) ? ir_real(p, t, v) : ir_int(p, t, v);
  }
  }
}

static const einsum_operand *operand_of(const einsum *w, ir_expr load,
                                        uint32_t *i) {
  const ir_program *p = w->s->p;
  const ir_node *n = ir_at(p, load);
  for (*i = 0; *i < w->nop; ++*i)
    if (w->op[*i].buf == n->a &&
        !memcmp(w->op[*i].idx, p->arg.v + n->b, n->n * sizeof(ir_expr)))
      return &w->op[*i];
  return NULL;
}

/* The factors of what a step combines: how many are padded along reduce
 * iter k, and how many are not. */
typedef struct factors {
  ir_op how;
  uint32_t k, padded, others;
  bool odd; /* something else than loads, casts and numbers */
} factors;

static bool is_finite(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_INT || (n->op == IR_REAL && isfinite(n->f));
}

static void count_factors(einsum *w, ir_expr e, factors *f) {
  ir_program *p = w->s->p;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_MUL && (f->how == IR_ADD || f->how == IR_MUL)) {
    count_factors(w, n.a, f);
    count_factors(w, n.b, f);
    return;
  }
  ir_expr load = e;
  uint32_t i, depth = 0;
  while (ir_at(p, load)->op == IR_CAST) load = ir_at(p, load)->a, depth++;
  if (ir_at(p, load)->op != IR_LOAD) {
    f->odd |= f->how != IR_ADD || !is_finite(p, e);
    return;
  }
  const einsum_operand *o = operand_of(w, load, &i);
  bool told = o && sch_einsum_tells(w, o, f->k);
  f->padded += told;
  f->others += !told;
  if (!told) return;
  /* Through the casts the fill must come out as what adds nothing. */
  tess_dtype t = ir_at(p, load)->dtype;
  ir_expr fill = sch_einsum_identity(p, f->how, t), seen = fill;
  for (; depth; depth--) {
    ir_expr at = e;
    for (uint32_t up = 1; up < depth; up++) at = ir_at(p, at)->a;
    seen = ir_cast(p, ir_at(p, at)->dtype, seen);
  }
  f->odd |= seen != sch_einsum_identity(p, f->how, n.dtype);
  w->fill[i] = fill;
}

static bool is_neutral(einsum *w, ir_op how, ir_expr step, uint32_t k) {
  const ir_program *p = w->s->p;
  factors f = {.how = how, .k = k};
  count_factors(w, step, &f);
  bool exact = ir_is_int(ir_at(p, step)->dtype) && how == IR_ADD;
  return !f.odd && f.padded && (exact || !f.others);
}

bool sch_einsum_find_fill(einsum *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  for (uint32_t k = 0; k < w->loops.n; k++) {
    if (!w->to[k] || einsum_iter(w, k).kind == IR_SPATIAL) continue;
    ir_op how;
    bool reduces =
        einsum_iter(w, k).kind == IR_REDUCE && sch_has_init(p, w->block);
    ir_expr step = reduces ? sch_added_to_any(p, &w->def, &how) : 0;
    if (!step) return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {w->block});
    if (!is_neutral(w, how, step, k))
      return sch_refuse(s, SCH_R_PAD_NOT_NEUTRAL,
                        .s = {w->loops.v[k], w->block});
  }
  return true;
}
