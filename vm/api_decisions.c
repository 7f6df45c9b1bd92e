/* SPDX-License-Identifier: Apache-2.0
 * Public API: the decisions of a trace in words, and the values that it names.
 */
#include "vm/api.h"
#include "vm/decisions.h"
#include "vm/exec.h"
#include "vm/intrin.h"

typedef struct question {
  tess_trace *t;
  tess_program *program;
  vm_machine m;
  strbuf text;
  uint32_t max, *n;
  tess_arg *param;
  tess_decision *decision;
} question;

/* ---- names -------------------------------------------------------------- */

/* Does a later instruction give the name of instruction k? */
static bool is_named_again(const vm_trace *t, uint32_t k) {
  vm_value name = vm_operand(t, k, 0);
  for (uint32_t i = k + 1; i < t->inst.n; i++)
    if (t->inst.v[i].prim == &sch_prim_knob &&
        vm_value_equal(t, vm_operand(t, i, 0), t, name))
      return true;
  return false;
}

static tess_status list_params(void *ud) {
  question *q = ud;
  const vm_trace *t = &q->t->t;
  arena *view = &q->t->view;
  arena_reset(view);
  vm_cell *cell = arena_zalloc(view, t->rv.n * sizeof *cell);
  for (uint32_t k = 0; k < t->inst.n; k++) {
    if (t->inst.v[k].prim != &sch_prim_knob || is_named_again(t, k)) continue;
    vm_value name = vm_operand(t, k, 0), v = vm_operand(t, k, 1);
    if (!vm_decided_cells(t, v, cell)) continue;
    if (*q->n < q->max)
      q->param[*q->n] =
          (tess_arg){t->text.v + name.str, api_decided(t, v, cell, view)};
    ++*q->n;
  }
  return TESS_OK;
}

tess_status tess_trace_params(tess_trace *t, uint32_t max, tess_arg *out,
                              uint32_t *n) {
  question q = {.t = t, .max = max, .param = out, .n = n};
  *n = 0;
  return ctx_run(t->c, list_params, &q);
}

/* ---- decisions ---------------------------------------------------------- */

static tess_decision give_decision(const vm_trace *t, const vm_label *x) {
  const vm_inst *in = &t->inst.v[x->inst];
  return (tess_decision){.inst = x->inst + 1,
                         .n = x->n,
                         .knob = x->knob,
                         .what = x->what,
                         .part = x->part,
                         .decision =
                             in->open ? NULL : t->dec.v + in->decision.at};
}

static tess_status list_decisions(void *ud) {
  question *q = ud;
  tess_context *c = q->t->c;
  tess_program *own = q->t->program;
  tess_program *p = q->program ? q->program : own;
  vm_label *label;
  if (p) vm_intrin_need_trace(c, &p->p, &q->t->t, own ? &own->p : NULL);
  vm_machine_init(&q->m, &c->heap);
  arena_reset(&q->t->view);
  *q->n = vm_label_decisions(&q->m, p ? &p->p : NULL, &q->t->t, &q->t->view,
                             &q->text, &label);
  for (uint32_t i = 0; i < *q->n && i < q->max; i++)
    q->decision[i] = give_decision(&q->t->t, &label[i]);
  return TESS_OK;
}

tess_status tess_trace_decisions(tess_trace *t, tess_program *program,
                                 uint32_t max, tess_decision *out,
                                 uint32_t *n) {
  question q = {
      .t = t, .program = program, .max = max, .decision = out, .n = n};
  *n = 0;
  str_init(&q.text, &t->c->heap);
  q.m.heap = q.m.prog.heap = q.m.scratch.heap = &t->c->heap;
  tess_status st = ctx_run(t->c, list_decisions, &q);
  vm_machine_free(&q.m);
  str_free(&q.text);
  return st;
}
