/* SPDX-License-Identifier: Apache-2.0
 * Public API of schedules: creation, performing primitives, snapshots. */
#include "vm/api.h"
#include "ir/query.h"
#include "vm/intrin.h"

#include <stdio.h>

/* ---- what the files of this part share ---------------------------------- */

typedef struct writing {
  tess_context *c;
  void (*put)(strbuf *out, void *ud);
  void *ud;
  strbuf text;
  char *made;
} writing;

static tess_status write_caller_text(void *ud) {
  writing *w = ud;
  w->put(&w->text, w->ud);
  w->made = ctx_text_of(w->c, &w->text);
  return TESS_OK;
}

char *api_text(tess_context *c, void (*put)(strbuf *out, void *ud), void *ud) {
  writing w = {.c = c, .put = put, .ud = ud};
  str_init(&w.text, &c->heap);
  tess_status st = mem_protect(&c->heap, write_caller_text, &w);
  str_free(&w.text);
  if (st != TESS_OK) mem_unwind(&c->heap, st);
  return w.made;
}

/* "instruction 3" and, where it is known, who made it. */
static void place_inst(tess_context *c, const vm_failure *f,
                       const vm_trace *t) {
  if (!f->inst || f->inst > t->inst.n) return;
  const vm_inst *in = &t->inst.v[f->inst - 1];
  if (in->file)
    err_place(&c->err, "instruction %u, %s:%u", f->inst, t->text.v + in->file,
              in->line);
  else
    err_place(&c->err, "instruction %u", f->inst);
}

bool api_say(tess_context *c, tess_status st, const vm_failure *f,
             const char *text, const char *reason) {
  if (!text && !f->prim) return false;
  if (f->prim) mem_note(&c->heap, NULL, NULL); /* it is named in front */
  if (text)
    ctx_fail(c, st, "%s", text);
  else
    ctx_ran_out(c, st, "%s", f->prim->name);
  ctx_blame(c, f->prim ? f->prim->name : "", reason);
  return true;
}

tess_status api_blame(tess_context *c, tess_status st, const vm_machine *m,
                      const vm_trace *t) {
  strbuf b;
  const vm_failure *f = &m->fail;
  str_init(&b, &c->heap);
  vm_failure_text(m, t, &b);
  const char *text = f->why == VM_W_NONE ? NULL : str_get(&b);
  if (api_say(c, st, f, text, vm_failure_reason(m))) place_inst(c, f, t);
  str_free(&b);
  return st;
}

/* ---- life --------------------------------------------------------------- */

tess_schedule *api_schedule(tess_context *c, tess_program *p) {
  tess_schedule *s = mem_new(&c->heap, tess_schedule);
  *s = (tess_schedule){.c = c, .program = program_hold(p)};
  str_init(&s->name, &c->heap);
  return s;
}

void api_drop_schedule(tess_schedule *s) {
  tess_context *c = s->c;
  str_free(&s->name);
  tess_target_free(s->target);
  tess_program_free(s->program);
  mem_free(&c->heap, s, sizeof *s);
}

void tess_schedule_free(tess_schedule *s) {
  if (!s) return;
  ctx_forget(s->c, s);
  vm_sched_free(&s->s);
  api_drop_schedule(s);
}

typedef struct making {
  tess_context *c;
  tess_program *p;
  tess_schedule *from; /* a copy of it; NULL: a new one */
  tess_target *target; /* NULL: none */
  uint64_t seed;
  tess_schedule **out;
} making;

static tess_status make_schedule(void *ud) {
  making *k = ud;
  tess_schedule *s = api_schedule(k->c, k->p);
  s->target = tess_target_hold(k->target);
  tess_status st = k->from
                       ? vm_sched_copy(&s->s, &k->c->heap, &k->from->s)
                       : vm_sched_init(&s->s, &k->c->heap, &k->p->p, k->seed);
  if (st != TESS_OK) {
    api_drop_schedule(s);
    return st;
  }
  if (k->from) memcpy(s->place, k->from->place, sizeof s->place);
  if (k->from) s->s.line = k->from->s.line;
  s->s.file = s->place;
  *k->out = s;
  return TESS_OK;
}

tess_status tess_schedule_new(tess_program *p, tess_target *target,
                              uint64_t seed, tess_schedule **out) {
  making k = {.c = p->c, .p = p, .seed = seed, .out = out, .target = target};
  *out = NULL;
  return ctx_run(p->c, make_schedule, &k);
}

tess_status tess_schedule_copy(tess_schedule *s, tess_schedule **out) {
  making k = {
      .c = s->c, .p = s->program, .from = s, .target = s->target, .out = out};
  *out = NULL;
  return ctx_run(s->c, make_schedule, &k);
}

void tess_schedule_place(tess_schedule *s, const char *file, uint32_t line) {
  snprintf(s->place, sizeof s->place, "%s", file ? file : "");
  s->s.line = line;
}

void tess_schedule_sketch_mode(tess_schedule *s, int on) {
  s->s.sketch = on != 0;
}

tess_target *tess_schedule_target(tess_schedule *s) { return s->target; }

/* ---- performing primitives ---------------------------------------------- */

typedef struct step {
  tess_schedule *s;
  const char *prim;
  uint32_t nargs;
  const tess_arg *args;
  bool only_ask;
  uint32_t max;
  tess_rv *out;
  uint32_t *nout;
  int *list_out;
} step;

/* The program with the place marked, written on demand. */
static void put_detail(void *ud, strbuf *out) {
  tess_schedule *s = ud;
  const vm_machine *m = &s->s.m;
  ir_stmt st = m->fail.why == VM_W_REFUSED || m->fail.why == VM_W_UNFIT
                   ? m->state.refusal.s[0]
                   : 0;
  bool here = st && st < m->prog.stmt.n && !ir_is_dead(&m->prog, st);
  ir_print_opts o = {.mark = here ? st : 0, .mark_text = "here"};
  ir_print(&m->prog, &o, out);
}

static tess_status blame(tess_schedule *s, tess_status st) {
  api_blame(s->c, st, &s->s.m, &s->s.trace);
  if (s->place[0]) err_place(&s->c->err, "%s:%u", s->place, s->s.line);
  if (st == TESS_REFUSED) ctx_set_detail(s->c, put_detail, s);
  return st;
}

static void give(const step *k, vm_rv first, uint32_t nout) {
  for (uint32_t i = 0; i < nout && i < k->max; i++) k->out[i] = first + i;
  if (k->nout) *k->nout = nout;
}

/* Adds the intrinsics that the call names to the program and to its base. */
static void need_intrins(tess_schedule *s, const vm_call *call) {
  vm_intrin_need_call(s->c, &s->s.m.prog, call, &s->s.trace);
  vm_intrin_need_call(s->c, &s->s.base, call, &s->s.trace);
  vm_intrin_need_call(s->c, &s->program->p, call, &s->s.trace);
}

/* Does the call sample, and name no decision? */
static bool draws(const sch_prim *p, const vm_value *operand) {
  const sch_spec *sp = vm_decision_spec(p);
  return sp && operand[sp - p->specs].tag == VM_NIL;
}

static tess_status perform(void *ud) {
  step *k = ud;
  vm_sched *v = &k->s->s;
  vm_value operand[VM_MAX_SPECS];
  const sch_prim *p = sch_find_prim(k->prim);
  vm_rv first = 0;
  uint32_t nout = 0;
  bool list = false;
  if (!p)
    return ctx_fail(k->s->c, TESS_NOT_FOUND, "there is no primitive '%.100s'",
                    k->prim);
  tess_status st =
      api_operands(k->s->c, p, k->nargs, k->args, &v->draft, operand);
  if (st != TESS_OK) return st;
  vm_call call = {p, &v->draft, operand, k->s->place, v->line};
  need_intrins(k->s, &call);
  k->s->c->draws += draws(p, operand);
  st = k->only_ask ? vm_sched_can(v, &call)
                   : vm_sched_call(v, &call, &first, &nout);
  if (st != TESS_OK) return blame(k->s, st);
  give(k, first, nout);
  vm_fixed_outputs(p, &list);
  if (k->list_out) *k->list_out = list;
  return TESS_OK;
}

tess_status tess_schedule_call(tess_schedule *s, const char *prim,
                               uint32_t nargs, const tess_arg *args,
                               uint32_t max, tess_rv *out, uint32_t *nout,
                               int *list_out) {
  step k = {.s = s,
            .prim = prim,
            .nargs = nargs,
            .args = args,
            .max = max,
            .out = out,
            .nout = nout,
            .list_out = list_out};
  return ctx_run(s->c, perform, &k);
}

tess_status tess_schedule_can(tess_schedule *s, const char *prim,
                              uint32_t nargs, const tess_arg *args) {
  step k = {
      .s = s, .prim = prim, .nargs = nargs, .args = args, .only_ask = true};
  return ctx_run(s->c, perform, &k);
}

/* ---- snapshots ---------------------------------------------------------- */

typedef struct snapshot {
  tess_schedule *s;
  tess_program **program;
  tess_trace **trace;
} snapshot;

static tess_status take_snapshot(void *ud) {
  snapshot *k = ud;
  tess_schedule *s = k->s;
  if (k->program) *k->program = program_new(s->c, &s->s.m.prog, s->program);
  if (k->trace) *k->trace = trace_new(s->c, &s->s.trace, s->program);
  return TESS_OK;
}

tess_status tess_schedule_program(tess_schedule *s, tess_program **out) {
  snapshot k = {.s = s, .program = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot, &k);
}

tess_status tess_schedule_trace(tess_schedule *s, tess_trace **out) {
  snapshot k = {.s = s, .trace = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot, &k);
}
