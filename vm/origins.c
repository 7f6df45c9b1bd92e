/* SPDX-License-Identifier: Apache-2.0
 * Where the lines of a program come from: the instructions that made, changed
 * or moved their statements, found by replaying the trace from its start and
 * asking after each instruction what it changed.  Statements keep their
 * numbers, so nothing has to be matched. */
#include "ir/query.h"
#include "vm/step.h"

/* What instruction `inst` did to a statement. */
typedef struct event {
  ir_stmt of;
  vm_origin what;
} event;

typedef struct survey {
  vm_stepper *s;
  vm_origins *out;
  ir_lines lines;
  vm_marks marks;
  VEC(event) events;
} survey;

static void find_lines(survey *w) {
  strbuf text;
  str_init(&text, w->s->heap);
  ir_print(&w->s->m.prog, &(ir_print_opts){.lines = &w->lines}, &text);
  bool bad = text.bad;
  str_free(&text);
  if (bad) mem_unwind(w->s->heap, TESS_NOMEM);
}

static vm_effect effect_of(const vm_stepper *s, ir_stmt of) {
  const ir_program *old = &s->before.prog, *now = &s->m.prog;
  if (of >= old->stmt.n || ir_is_dead(old, of)) return VM_MADE;
  return vm_same_content(old, now, of) ? VM_MOVED : VM_CHANGED;
}

static void note_events(survey *w, uint32_t inst) {
  vm_stepper *s = w->s;
  for (ir_stmt q = 1; q < w->marks.n; q++)
    if (w->marks.v[q] && !ir_is_dead(&s->m.prog, q))
      vec_push(s->heap, &w->events,
               ((event){q, {.inst = inst, .did = effect_of(s, q)}}));
}

static void give_lines(survey *w) {
  for (uint32_t i = 0; i < w->lines.n; i++) {
    for (uint32_t k = 0; k < w->events.n; k++) {
      vm_origin o = w->events.v[k].what;
      o.line = i + 1;
      if (w->lines.v[i] == w->events.v[k].of) vec_push(w->s->heap, w->out, o);
    }
  }
}

static tess_status look_back(void *ud) {
  survey *w = ud;
  uint32_t here = w->s->at;
  find_lines(w);
  for (uint32_t k = 1; k <= here; k++) {
    tess_status st = vm_stepper_goto(w->s, k);
    w->marks.n = 0;
    if (st == TESS_OK) st = vm_stepper_changes(w->s, &w->marks);
    if (st != TESS_OK) return st;
    note_events(w, k);
  }
  give_lines(w);
  return TESS_OK;
}

tess_status vm_stepper_origins(vm_stepper *s, vm_origins *out) {
  survey w = {.s = s, .out = out};
  uint32_t here = s->at;
  tess_status st = mem_protect(s->heap, look_back, &w);
  vec_free(s->heap, &w.lines);
  vec_free(s->heap, &w.marks);
  vec_free(s->heap, &w.events);
  tess_status back = vm_stepper_goto(s, here);
  return st == TESS_OK ? back : st;
}
