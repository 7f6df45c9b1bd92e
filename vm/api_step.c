/* SPDX-License-Identifier: Apache-2.0
 * Public API of steppers. */
#include "vm/api.h"
#include "vm/intrin.h"
#include "vm/step.h"
#include "vm/text/text.h"

#include <math.h>

struct tess_stepper {
  tess_context *c;
  vm_stepper s;
  tess_program *program;
  vm_space space; /* result of the last alternatives() */
  VEC(double) probability;
  VEC(tess_origin) origin; /* result of the last origins() */
};

typedef struct request {
  tess_stepper *s;
  tess_trace *t;
  tess_program *p;
  uint32_t n, max;
  const int64_t *d;
  uint32_t *invalid;
  tess_alternatives *alternatives;
  tess_stepper **out;
  tess_program **program;
  tess_trace **trace;
  void (*put)(strbuf *out, void *ud);
  char **text;
} request;

/* ---- life --------------------------------------------------------------- */

static void drop_stepper(tess_stepper *s) {
  tess_context *c = s->c;
  vm_space_free(&s->space, &c->heap);
  vec_free(&c->heap, &s->probability);
  vec_free(&c->heap, &s->origin);
  tess_program_free(s->program);
  mem_free(&c->heap, s, sizeof *s);
}

void tess_stepper_free(tess_stepper *s) {
  if (!s) return;
  vm_stepper_free(&s->s);
  drop_stepper(s);
}

static tess_status make_stepper(void *ud) {
  request *q = ud;
  tess_context *c = q->t->c;
  tess_program *p = q->p ? q->p : q->t->program;
  if (!p)
    return ctx_fail(c, TESS_INVALID,
                    "the trace is bound to no program: give one");
  vm_intrin_need_trace(c, &p->p, &q->t->t,
                       q->t->program ? &q->t->program->p : NULL);
  tess_stepper *s = mem_new(&c->heap, tess_stepper);
  *s = (tess_stepper){.c = c, .program = program_hold(p)};
  tess_status st = vm_stepper_init(&s->s, &c->heap, &p->p, &q->t->t, 0);
  if (st != TESS_OK)
    drop_stepper(s);
  else
    *q->out = s;
  return st;
}

tess_status tess_stepper_new(tess_trace *t, tess_program *program,
                             tess_stepper **out) {
  request q = {.t = t, .p = program, .out = out};
  *out = NULL;
  return ctx_run(t->c, make_stepper, &q);
}

/* ---- moving ------------------------------------------------------------- */

uint32_t tess_stepper_position(tess_stepper *s) { return s->s.at; }
uint32_t tess_stepper_size(tess_stepper *s) { return s->s.t.inst.n; }

static tess_status blame(tess_stepper *s, tess_status st) {
  const vm_failure *f = &s->s.fail;
  const char *why = str_get(&s->s.why);
  bool known = why && *why && f->why != VM_W_NONE;
  if (api_say(s->c, st, f, known ? why : NULL, s->s.reason) && f->inst)
    err_place(&s->c->err, "instruction %u", f->inst);
  return st;
}

static tess_status go(void *ud) {
  request *q = ud;
  tess_status st = vm_stepper_goto(&q->s->s, q->n);
  if (st == TESS_NOT_FOUND)
    return ctx_fail(q->s->c, st, "the trace has %u instructions",
                    q->s->s.t.inst.n);
  return st == TESS_OK ? st : blame(q->s, st);
}

tess_status tess_stepper_goto(tess_stepper *s, uint32_t n) {
  request q = {.s = s, .n = n};
  return ctx_run(s->c, go, &q);
}

tess_status tess_stepper_next(tess_stepper *s) {
  return tess_stepper_goto(s, s->s.at + 1);
}

tess_status tess_stepper_back(tess_stepper *s) {
  if (s->s.at) return tess_stepper_goto(s, s->s.at - 1);
  return ctx_fail(s->c, TESS_NOT_FOUND, "this is the beginning");
}

/* ---- looking ------------------------------------------------------------ */

static tess_status take_snapshot_of(void *ud) {
  request *q = ud;
  tess_stepper *s = q->s;
  if (q->program) *q->program = program_new(s->c, &s->s.m.prog, s->program);
  if (q->trace) *q->trace = trace_new(s->c, &s->s.t, s->program);
  if (q->text) *q->text = api_text(s->c, q->put, q);
  return TESS_OK;
}

tess_status tess_stepper_program(tess_stepper *s, tess_program **out) {
  request q = {.s = s, .program = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot_of, &q);
}

tess_status tess_stepper_trace(tess_stepper *s, tess_trace **out) {
  request q = {.s = s, .trace = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot_of, &q);
}

static void put_diff(strbuf *out, void *ud) {
  tess_stepper *s = ((request *)ud)->s;
  tess_status st = vm_stepper_print(&s->s, out);
  if (st != TESS_OK) mem_unwind(&s->c->heap, st);
}

tess_status tess_stepper_diff(tess_stepper *s, char **out) {
  request q = {.s = s, .put = put_diff, .text = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot_of, &q);
}

static void put_inst(strbuf *out, void *ud) {
  const vm_stepper *s = &((request *)ud)->s->s;
  if (s->at) vm_write_lua_inst(&s->t, s->at - 1, out);
}

tess_status tess_stepper_inst(tess_stepper *s, char **out) {
  request q = {.s = s, .put = put_inst, .text = out};
  *out = NULL;
  return ctx_run(s->c, take_snapshot_of, &q);
}

static void put_origins(tess_stepper *s, const vm_origins *found) {
  static const tess_effect effect[] = {[VM_MADE] = TESS_EFFECT_MADE,
                                       [VM_CHANGED] = TESS_EFFECT_CHANGED,
                                       [VM_MOVED] = TESS_EFFECT_MOVED};
  s->origin.n = 0;
  vec_reserve(&s->c->heap, &s->origin, found->n);
  for (uint32_t i = 0; i < found->n; i++) {
    const vm_origin *o = &found->v[i];
    s->origin.v[s->origin.n++] =
        (tess_origin){o->line, o->inst, effect[o->did]};
  }
}

typedef struct origins_work {
  tess_stepper *s;
  vm_origins found;
} origins_work;

static tess_status list_origins(void *ud) {
  origins_work *w = ud;
  tess_status st = vm_stepper_origins(&w->s->s, &w->found);
  if (st != TESS_OK) return blame(w->s, st);
  put_origins(w->s, &w->found);
  return TESS_OK;
}

tess_status tess_stepper_origins(tess_stepper *s, tess_origins *out) {
  origins_work w = {.s = s};
  tess_status st = ctx_run(s->c, list_origins, &w);
  vec_free(&s->c->heap, &w.found);
  if (st != TESS_OK) return st;
  const tess_origins all = {.n = s->origin.n, .origin = s->origin.v};
  return ctx_give(s->c, tess_origins, &all, out);
}

/* ---- decisions ---------------------------------------------------------- */

tess_status tess_stepper_decision(tess_stepper *s, uint32_t max, int64_t *out,
                                  uint32_t *n) {
  const vm_trace *t = &s->s.t;
  ir_span d = {0, 0};
  ctx_clear(s->c);
  if (s->s.at) d = t->inst.v[s->s.at - 1].decision;
  for (uint32_t i = 0; i < d.n && i < max; i++) out[i] = t->dec.v[d.at + i];
  *n = d.n;
  return TESS_OK;
}

static tess_status list_alternatives(void *ud) {
  request *q = ud;
  tess_stepper *s = q->s;
  tess_status st = vm_stepper_alternatives(&s->s, q->max, &s->space);
  if (st != TESS_OK) return blame(s, st);
  s->probability.n = 0;
  vec_reserve(&s->c->heap, &s->probability, s->space.n);
  for (uint32_t i = 0; i < s->space.n; i++)
    s->probability.v[s->probability.n++] = exp(s->space.logp.v[i]);
  const tess_alternatives a = {.count = s->space.count,
                               .n = s->space.n,
                               .width = s->space.width,
                               .decision = s->space.decision.v,
                               .probability = s->probability.v};
  return ctx_give(s->c, tess_alternatives, &a, q->alternatives);
}

tess_status tess_stepper_alternatives(tess_stepper *s, uint32_t max,
                                      tess_alternatives *out) {
  request q = {.s = s, .max = max, .alternatives = out};
  return ctx_run(s->c, list_alternatives, &q);
}

static tess_status decide_step(void *ud) {
  request *q = ud;
  tess_status st = vm_stepper_decide(&q->s->s, q->n, q->d, q->invalid);
  if (st == TESS_OK) return st;
  /* Even if a later instruction fails, the change was made. */
  return blame(q->s, *q->invalid ? TESS_REFUSED : st);
}

tess_status tess_stepper_decide(tess_stepper *s, uint32_t n, const int64_t *d,
                                uint32_t *invalid) {
  request q = {.s = s, .n = n, .d = d, .invalid = invalid};
  *invalid = 0;
  return ctx_run(s->c, decide_step, &q);
}
