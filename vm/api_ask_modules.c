/* SPDX-License-Identifier: Apache-2.0
 * Public API of schedules: what schedule modules ask, whether splitting a
 * reduction pays and how much of a buffer is accessed. */
#include "ir/analysis/analysis.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "vm/ask.h"

static tess_status ask_rfactor(void *ud) {
  ask_question *q = ud;
  tess_status st = ask_find_stmt(q, IR_BLOCK);
  if (st != TESS_OK) return st;
  arena_mark mark = arena_get_mark(&q->s->s.m.scratch);
  *q->flag = sch_needs_rfactor(ask_analysis(q), q->stmt, q->most, q->least);
  arena_reset_to(&q->s->s.m.scratch, mark);
  return TESS_OK;
}

tess_status tess_schedule_needs_rfactor(tess_schedule *s, tess_rv block,
                                        int64_t max_spatial, int64_t min_reduce,
                                        int *out) {
  ask_question q = {.s = s,
                    .rv = block,
                    .most = max_spatial,
                    .least = min_reduce,
                    .flag = out};
  return ctx_run(s->c, ask_rfactor, &q);
}

/* Which of the outputs of a split refers to q's loop; the count: none does. */
static uint32_t output_of_loop(const ask_question *q, const vm_inst *in) {
  uint32_t k = 0;
  while (k < in->nout && vm_sched_stmt(&q->s->s, in->out + k) != q->stmt) k++;
  return k;
}

static tess_status ask_factor(void *ud) {
  ask_question *q = ud;
  const vm_trace *t = &q->s->s.trace;
  tess_status st = ask_find_stmt(q, IR_LOOP);
  if (st != TESS_OK) return st;
  for (uint32_t i = t->inst.n; i-- > 0;) {
    const vm_inst *in = &t->inst.v[i];
    if (strcmp(in->prim->name, "split")) continue;
    uint32_t k = output_of_loop(q, in);
    if (k == in->nout) continue;
    const vm_value *list = &t->val.v[in->operand + 1];
    if (list->tag != VM_LIST) break;
    const vm_value *v = &t->val.v[list->at + k];
    if (v->tag == VM_RV) *q->var = v->rv;
    break;
  }
  return TESS_OK;
}

tess_status tess_schedule_factor(tess_schedule *s, tess_rv loop,
                                 tess_rv *factor) {
  ask_question q = {.s = s, .rv = loop, .var = factor};
  *factor = 0;
  return ctx_run(s->c, ask_factor, &q);
}

/* The box that region r of q's block covers while the loops below `top` run;
 * -1: no box of constant size is known. */
static int64_t size_of_box(ask_question *q, ir_region r, ir_stmt top) {
  ir_program *p = &q->s->s.m.prog;
  arena *scratch = &q->s->s.m.scratch;
  uint32_t ndim = ir_ndim(p, r.buf);
  int64_t size = 1;
  ir_expr *min = arena_array(scratch, ir_expr, ndim);
  ir_expr *max = arena_array(scratch, ir_expr, ndim);
  if (!ir_may_access_box(p, scratch, q->stmt, r, top, min, max)) return -1;
  for (uint32_t d = 0; d < ndim; d++) {
    int64_t last, whole, n;
    if (!ir_const_int(p, ir_sub(p, max[d], min[d]), &last)) return -1;
    n = last + 1;
    if (ir_const_int(p, p->arg.v[p->buf.v[r.buf].shape.at + d], &whole) &&
        whole < n)
      n = whole;
    if (__builtin_mul_overflow(size, n, &size)) return -1;
  }
  return size;
}

/* The expressions that the analysis makes are removed again, so that asking
 * changes nothing. */
static tess_status ask_footprint(void *ud) {
  ask_question *q = ud;
  vm_machine *m = &q->s->s.m;
  ir_region r;
  ir_stmt top = 0;
  if (q->around) {
    ask_question loop = {.s = q->s, .rv = q->around};
    tess_status bad = ask_find_stmt(&loop, IR_LOOP);
    if (bad != TESS_OK) return bad;
    top = loop.stmt;
  }
  tess_status st = ask_find_region(q, &r);
  if (st != TESS_OK) return st;
  if (!top) top = ir_scope_of(&m->prog, q->stmt);
  if (!ir_is_ancestor(&m->prog, top, q->stmt))
    return ask_fail(q, TESS_INVALID, "is not in that loop");
  arena_mark mark = arena_get_mark(&m->scratch);
  ir_mark made = ir_get_mark(&m->prog);
  *q->value = size_of_box(q, r, top);
  ir_rollback(&m->prog, made);
  arena_reset_to(&m->scratch, mark);
  return TESS_OK;
}

tess_status tess_schedule_footprint(tess_schedule *s, tess_rv block, int write,
                                    uint32_t index, tess_rv loop,
                                    int64_t *elements) {
  ask_question q = {.s = s,
                    .rv = block,
                    .write = write,
                    .index = index,
                    .around = loop,
                    .value = elements};
  return ctx_run(s->c, ask_footprint, &q);
}
