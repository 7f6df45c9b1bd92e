/* SPDX-License-Identifier: Apache-2.0
 * Public API of traces: replay, and transformations of traces. */
#include "vm/api.h"
#include "vm/intrin.h"
#include "vm/space.h"

typedef struct change {
  tess_trace *t;
  tess_program *p;
  const tess_replay_options *o;
  uint32_t i, n;
  const int64_t *d;
  uint64_t seed;
  vm_machine m;
  vm_trace made;
  vm_decisions decisions;
  tess_status (*fn)(struct change *k);
  tess_trace **out;
  tess_schedule **schedule;
} change;

static tess_status find_program(change *k) {
  if (!k->p) k->p = k->t->program;
  if (k->p)
    vm_intrin_need_trace(k->t->c, &k->p->p, &k->t->t,
                         k->t->program ? &k->t->program->p : NULL);
  return k->p ? TESS_OK
              : ctx_fail(k->t->c, TESS_INVALID,
                         "the trace is bound to no program: give one");
}

/* ---- replay ------------------------------------------------------------- */

static tess_status read_replay_options(change *k, vm_replay_opts *o) {
  tess_replay_options all = {.struct_size = sizeof all};
  if (k->o && ctx_take(k->t->c, tess_replay_options, k->o, &all) != TESS_OK)
    return TESS_INVALID;
  *o = (vm_replay_opts){.source = all.resample ? VM_FRESH
                                  : all.repair ? VM_REPAIR
                                               : VM_SAME,
                        .seed = all.seed,
                        .no_postproc = all.no_postproc != 0};
  return TESS_OK;
}

static tess_status replay_change(void *ud) {
  change *k = ud;
  tess_context *c = k->t->c;
  vm_replay_opts o;
  tess_status st = find_program(k);
  if (st == TESS_OK) st = read_replay_options(k, &o);
  if (st != TESS_OK) return st;
  tess_schedule *s = api_schedule(c, k->p);
  st = vm_sched_replay(&s->s, &c->heap, &k->p->p, &k->t->t, &o);
  if (st != TESS_OK) {
    api_blame(c, st, &s->s.m, &k->t->t);
    vm_sched_free(&s->s);
    api_drop_schedule(s);
    return st;
  }
  s->s.file = s->place;
  *k->schedule = s;
  return TESS_OK;
}

tess_status tess_trace_replay(tess_trace *t, tess_program *program,
                              const tess_replay_options *o,
                              tess_schedule **out) {
  change k = {.t = t, .p = program, .o = o, .schedule = out};
  *out = NULL;
  return ctx_run(t->c, replay_change, &k);
}

/* ---- new traces from old ------------------------------------------------ */

/* Sets up a machine and an empty trace for the result. */
static tess_status prepare_change(void *ud) {
  change *k = ud;
  vm_machine_init(&k->m, &k->t->c->heap);
  vm_trace_init(&k->made, &k->t->c->heap);
  tess_status st = k->fn(k);
  if (st == TESS_OK) *k->out = trace_new(k->t->c, &k->made, k->t->program);
  return st;
}

#define transform(k) transform_in(__func__, k)
static tess_status transform_in(const char *call, change *k) {
  tess_context *c = k->t->c;
  memset(&k->m, 0, sizeof k->m);
  k->m.heap = k->m.prog.heap = k->m.scratch.heap = &c->heap;
  k->made = (vm_trace){.heap = &c->heap};
  k->decisions.v = NULL;
  k->decisions.n = k->decisions.cap = 0;
  *k->out = NULL;
  tess_status st = ctx_run_in(call, c, prepare_change, k);
  vec_free(&c->heap, &k->decisions);
  vm_trace_free(&k->made);
  vm_machine_free(&k->m);
  return st;
}

static tess_status cut_off(change *k) {
  if (k->n > k->t->t.inst.n)
    return ctx_fail(k->t->c, TESS_NOT_FOUND,
                    "the trace has %u instructions, not %u", k->t->t.inst.n,
                    k->n);
  vm_trace_copy(&k->made, &k->t->t);
  vm_truncate(&k->made, k->n);
  return TESS_OK;
}

tess_status tess_trace_prefix(tess_trace *t, uint32_t n, tess_trace **out) {
  change k = {.t = t, .n = n, .fn = cut_off, .out = out};
  return transform(&k);
}

static tess_status set_decision(change *k) {
  tess_status st = find_program(k);
  if (st != TESS_OK) return st;
  if (k->i < 1 || k->i > k->t->t.inst.n)
    return ctx_fail(k->t->c, TESS_NOT_FOUND,
                    "the trace has %u instructions; there is none at %u",
                    k->t->t.inst.n, k->i);
  st = vm_with_decision(&k->made, &k->m, &k->p->p, &k->t->t, k->i - 1, k->n,
                        k->d);
  return st == TESS_OK ? st : api_blame(k->t->c, st, &k->m, &k->t->t);
}

tess_status tess_trace_with_decision(tess_trace *t, uint32_t i, uint32_t n,
                                     const int64_t *decision,
                                     tess_trace **out) {
  change k = {
      .t = t, .i = i, .n = n, .d = decision, .fn = set_decision, .out = out};
  return transform(&k);
}

static tess_status mutate_change(change *k) {
  rng r;
  vm_mutate_opts o = {.tries = 0};
  tess_status st = find_program(k);
  if (st != TESS_OK) return st;
  rng_init(&r, k->seed, 0);
  st = vm_mutate(&k->m, &k->p->p, &k->t->t, &r, &o, &k->decisions);
  if (st != TESS_OK) return api_blame(k->t->c, st, &k->m, &k->t->t);
  vm_trace_copy(&k->made, &k->t->t);
  vm_set_decisions(&k->made, k->decisions.n, k->decisions.v);
  return TESS_OK;
}

tess_status tess_trace_mutate(tess_trace *t, uint64_t seed, tess_trace **out) {
  change k = {.t = t, .seed = seed, .fn = mutate_change, .out = out};
  return transform(&k);
}

static tess_status simplify(change *k) {
  vm_simplify(&k->made, &k->t->t, &k->m.scratch);
  return TESS_OK;
}

tess_status tess_trace_simplify(tess_trace *t, tess_trace **out) {
  change k = {.t = t, .fn = simplify, .out = out};
  return transform(&k);
}
