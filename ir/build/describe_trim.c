/* SPDX-License-Identifier: Apache-2.0
 * Program builder: forgetting what no handle in use needs.  Tables only grow
 * while something is described, so what is needed is copied to new ones: the
 * stages that write buffers in use, from the last to the first, with what they
 * read, and expressions. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/import.h"
#include "ir/query.h"

typedef struct trimming {
  ir_builder *b, *to;
  const describe_kept *k;
  uint8_t *seen;       /* by expression */
  uint8_t *needed;     /* by buffer */
  uint8_t *included;   /* by stage */
  uint32_t *reduction; /* by reduction: 1 if it is needed, then its new index
                        * + 1; 0: it is not */
  ir_import m;
} trimming;

/* ---- what is needed ----------------------------------------------------- */

static bool need_expr(const ir_program *p, ir_expr e, void *ud) {
  trimming *t = ud;
  const uint32_t *ops;
  uint32_t fixed[3];
  if (!e || t->seen[e]) return false;
  t->seen[e] = 1;
  if (ir_at(p, e)->op == IR_LOAD) t->needed[ir_at(p, e)->a] = 1;
  uint32_t n = ir_operands(p, e, &ops, fixed);
  for (uint32_t i = 0; i < n; i++) need_expr(p, ops[i], t);
  return false;
}

static void need_value(trimming *t, ir_expr e) {
  need_expr(&t->b->p, e, t);
  t->m.node[e] = 1;
}

/* A variable, and the domain that it has as an axis. */
static void need_axis(trimming *t, ir_var v) {
  const describe_axis *a = describe_axis_of(t->b, v);
  need_value(t, ir_ref(&t->b->p, v));
  if (!a) return;
  need_value(t, a->lo);
  need_value(t, a->extent);
}

static void need_reduction(trimming *t, uint32_t i) {
  const describe_reduction *r = &t->b->reduction.v[i];
  const ir_program *p = &t->b->p;
  t->reduction[i] = 1;
  ir_import_need_reducer(&t->m, r->reducer);
  for (uint32_t k = 0; k < r->sources.n; k++)
    need_value(t, p->arg.v[r->sources.at + k]);
  for (uint32_t k = 0; k < r->axes.n; k++)
    need_axis(t, p->arg.v[r->axes.at + k]);
}

static void need_handles(trimming *t) {
  const describe_kept *k = t->k;
  for (uint32_t i = 0; i < k->nexprs; i++) {
    const describe_value *v = &t->b->value.v[k->exprs[i]];
    if (v->kind == DESCRIBE_EXPR) need_value(t, v->e);
    if (v->kind == DESCRIBE_REDUCTION) need_reduction(t, v->reduction);
  }
  for (uint32_t i = 0; i < k->nvars; i++) need_axis(t, k->vars[i]);
  for (uint32_t i = 0; i < k->nbuffers; i++) {
    t->needed[k->buffers[i]] = 1;
    ir_import_need_buf(&t->m, k->buffers[i]);
  }
}

static bool is_needed(const trimming *t, describe_stage stage) {
  const ir_program *p = &t->b->p;
  bool own = stage.statement || ir_st(p, stage.s)->kind == IR_EVALUATE;
  for (uint32_t i = 0; own && i < t->k->nsections; i++)
    if (t->k->sections[i] == stage.section) return true;
  for (ir_stmt s = stage.s; s; s = ir_next(p, s, stage.s))
    if (ir_st(p, s)->kind == IR_STORE && t->needed[ir_st(p, s)->buf])
      return true;
  return false;
}

static void need_stages(trimming *t) {
  const ir_program *p = &t->b->p;
  for (uint32_t i = t->b->stage.n; i-- > 0;) {
    describe_stage stage = t->b->stage.v[i];
    if (!is_needed(t, stage)) continue;
    t->included[i] = 1;
    ir_import_need(&t->m, stage.s);
    for (ir_stmt s = stage.s; s; s = ir_next(p, s, stage.s)) {
      ir_stmt_any_expr(p, s, need_expr, t);
      if (ir_st(p, s)->kind == IR_STORE) t->needed[ir_st(p, s)->buf] = 1;
    }
  }
}

/* ---- copying it --------------------------------------------------------- */

static ir_span copy_run(trimming *t, ir_span s, const uint32_t *to) {
  ir_program *p = &t->to->p;
  uint32_t at = vec_extend(p->heap, &p->arg, s.n);
  for (uint32_t i = 0; i < s.n; i++)
    p->arg.v[at + i] = to[t->b->p.arg.v[s.at + i]];
  return (ir_span){at, s.n};
}

static void copy_axes(trimming *t) {
  const ir_import *m = &t->m;
  for (uint32_t i = 0; i < t->b->axis.n; i++) {
    describe_axis a = t->b->axis.v[i];
    if (!m->var[a.var]) continue;
    a = (describe_axis){m->var[a.var], m->node[a.lo], m->node[a.extent]};
    if (a.lo && a.extent) vec_push(t->to->heap, &t->to->axis, a);
  }
}

static void copy_reductions(trimming *t) {
  for (uint32_t i = 0; i < t->b->reduction.n; i++) {
    describe_reduction r = t->b->reduction.v[i];
    if (!t->reduction[i]) continue;
    r.reducer = t->m.reducer[r.reducer];
    r.sources = copy_run(t, r.sources, t->m.node);
    r.axes = copy_run(t, r.axes, t->m.var);
    vec_push(t->to->heap, &t->to->reduction, r);
    t->reduction[i] = t->to->reduction.n;
  }
}

static void copy_stages(trimming *t) {
  for (uint32_t i = 0; i < t->b->stage.n; i++) {
    describe_stage stage = t->b->stage.v[i];
    if (!t->included[i]) continue;
    stage.s = ir_import_stmt(&t->m, stage.s);
    vec_push(t->to->heap, &t->to->stage, stage);
  }
}

static void copy_values(trimming *t) {
  for (uint32_t i = 0; i < t->k->nexprs; i++) {
    describe_value v = t->b->value.v[t->k->exprs[i]];
    if (v.kind == DESCRIBE_EXPR) v.e = t->m.node[v.e];
    if (v.kind == DESCRIBE_REDUCTION)
      v.reduction = t->reduction[v.reduction] - 1;
    vec_push(t->to->heap, &t->to->value, v);
  }
}

/* ---- the call ----------------------------------------------------------- */

static tess_status check_handles(ir_builder *b, const describe_kept *k) {
  for (uint32_t i = 0; i < k->nexprs; i++)
    if (!describe_get(b, k->exprs[i], "what is kept")) return TESS_INVALID;
  for (uint32_t i = 0; i < k->nbuffers; i++)
    if (!describe_buf_ok(b, k->buffers[i]))
      return err_set(b->err, TESS_INVALID, "there is no buffer %u",
                     k->buffers[i]);
  for (uint32_t i = 0; i < k->nvars; i++)
    if (!k->vars[i] || k->vars[i] >= b->p.var.n)
      return err_set(b->err, TESS_INVALID, "there is no variable %u",
                     k->vars[i]);
  if (!describe_depth(b)) return TESS_OK;
  return err_set(b->err, TESS_INVALID,
                 "nothing can be forgotten while something is open");
}

static void give_handles(const trimming *t, describe_kept *k) {
  for (uint32_t i = 0; i < k->nexprs; i++) k->exprs[i] = i + 1;
  for (uint32_t i = 0; i < k->nbuffers; i++)
    k->buffers[i] = t->m.buf[k->buffers[i]];
  for (uint32_t i = 0; i < k->nvars; i++) k->vars[i] = t->m.var[k->vars[i]];
}

tess_status describe_trim(ir_builder *b, ir_builder *to, describe_kept *k) {
  arena *a = &b->scratch;
  trimming t = {.b = b, .to = to, .k = k};
  tess_status s = check_handles(b, k);
  if (s) return s;
  arena_reset(a);
  ir_import_init(&t.m, &to->p, &b->p, a);
  t.seen = arena_zalloc(a, b->p.node.n);
  t.needed = arena_zalloc(a, b->p.buf.n);
  t.included = arena_zalloc(a, b->stage.n);
  t.reduction = arena_zalloc(a, b->reduction.n * sizeof *t.reduction);
  need_handles(&t);
  need_stages(&t);
  ir_import_tables(&t.m);
  copy_stages(&t);
  copy_axes(&t);
  copy_reductions(&t);
  copy_values(&t);
  describe_hold_constants(&to->p);
  to->section = b->section;
  give_handles(&t, k);
  return TESS_OK;
}
