/* SPDX-License-Identifier: Apache-2.0
 * The decision space of a trace: enumeration, and replays by number. */
#include "vm/space.h"
#include "vm/exec.h"

void vm_space_free(vm_space *s, mem_heap *heap) {
  vec_free(heap, &s->decision);
  vec_free(heap, &s->logp);
  *s = (vm_space){0};
}

/* A query to a sampler at one point of a replay. */
typedef struct question {
  vm_machine *m;
  const ir_program *base; /* NULL: the machine is positioned there already */
  const vm_trace *t;
  const vm_replay_opts *o;
  uint32_t k;
  tess_status (*ask)(struct question *q, const sch_sampler *s, uint32_t width);
  uint32_t n; /* arguments: a number and a decision */
  const int64_t *d;
  vm_space *out;
} question;

static tess_status refuse_question(question *q, vm_why why) {
  vm_machine *m = q->m;
  m->fail = (vm_failure){
      .why = (uint16_t)why, .inst = q->k + 1, .prim = q->t->inst.v[q->k].prim};
  return vm_failure_status(&m->fail);
}

static tess_status put_question(void *ud) {
  question *q = ud;
  vm_machine *m = q->m;
  const vm_inst *in = &q->t->inst.v[q->k];
  uint32_t width;
  if (q->base) {
    vm_replay_opts none = {.source = VM_SAME};
    const vm_replay_opts *o = q->o ? q->o : &none;
    vm_cursor given = {o->given, o->ngiven, 0};
    vm_start(m, q->base, q->t);
    if (!vm_run(m, q->t, 0, q->k, o, &given, NULL))
      return vm_failure_status(&m->fail);
  }
  m->at = q->k + 1;
  if (!vm_samples(in)) return refuse_question(q, VM_W_NOT_SAMPLING);
  if (!vm_resolve(m, q->t, in)) return vm_failure_status(&m->fail);
  if (!in->prim->sampler->size(&m->state, m->args, &width))
    return refuse_question(q, VM_W_REFUSED);
  return q->ask(q, in->prim->sampler, width);
}

static tess_status ask_at(question *q) {
  q->m->fail = (vm_failure){.why = VM_W_NONE};
  return mem_protect(q->m->heap, put_question, q);
}

static tess_status list_some(question *q, const sch_sampler *s,
                             uint32_t width) {
  vm_machine *m = q->m;
  vm_space *out = q->out;
  out->count = s->count(&m->state, m->args);
  out->width = width;
  out->n = out->count < q->n ? (uint32_t)out->count : q->n;
  out->decision.n = out->logp.n = 0;
  (void)vec_extend(m->heap, &out->decision, (size_t)out->n * width);
  (void)vec_extend(m->heap, &out->logp, out->n);
  for (uint32_t i = 0; i < out->n; i++) {
    arena_mark mark = arena_get_mark(&m->scratch);
    int64_t *row = out->decision.v + (size_t)i * width;
    s->at(&m->state, m->args, i, row);
    out->logp.v[i] = s->logp(&m->state, m->args, row);
    arena_reset_to(&m->scratch, mark);
  }
  return TESS_OK;
}

tess_status vm_alternatives(vm_machine *m, const ir_program *base,
                            const vm_trace *t, const vm_replay_opts *o,
                            uint32_t k, uint32_t max, vm_space *out) {
  question q = {.m = m,
                .base = base,
                .t = t,
                .o = o,
                .k = k,
                .ask = list_some,
                .n = max,
                .out = out};
  return ask_at(&q);
}

tess_status vm_alternatives_here(vm_machine *m, const vm_trace *t, uint32_t k,
                                 uint32_t max, vm_space *out) {
  return vm_alternatives(m, NULL, t, NULL, k, max, out);
}

static tess_status try_exactly(question *q, const sch_sampler *s,
                               uint32_t width) {
  vm_pick pick = {.how = VM_EXACT, .n = q->n, .d = q->d};
  (void)s, (void)width;
  return vm_decide(q->m, &q->t->inst.v[q->k], &pick)
             ? TESS_OK
             : vm_failure_status(&q->m->fail);
}

tess_status vm_admits(vm_machine *m, const ir_program *base, const vm_trace *t,
                      const vm_replay_opts *o, uint32_t k, uint32_t n,
                      const int64_t *d) {
  question q = {.m = m,
                .base = base,
                .t = t,
                .o = o,
                .k = k,
                .ask = try_exactly,
                .n = n,
                .d = d};
  return ask_at(&q);
}

tess_status vm_admits_here(vm_machine *m, const vm_trace *t, uint32_t k,
                           uint32_t n, const int64_t *d) {
  return vm_admits(m, NULL, t, NULL, k, n, d);
}

/* A longer decision than before is appended to the table. */
void vm_put_decision(vm_trace *t, uint32_t k, uint32_t n, const int64_t *d) {
  vm_inst *in = &t->inst.v[k];
  if (n > in->decision.n) in->decision.at = vec_extend(t->heap, &t->dec, n);
  in->decision.n = n;
  in->open = n == 0;
  if (n) memcpy(t->dec.v + in->decision.at, d, n * sizeof *d);
}

typedef struct change {
  vm_trace *dst;
  const vm_trace *t;
  uint32_t k, n;
  const int64_t *d;
} change;

static tess_status copy_changed(void *ud) {
  change *c = ud;
  vm_trace_copy(c->dst, c->t);
  vm_put_decision(c->dst, c->k, c->n, c->d);
  return TESS_OK;
}

tess_status vm_with_decision(vm_trace *dst, vm_machine *m,
                             const ir_program *base, const vm_trace *t,
                             uint32_t k, uint32_t n, const int64_t *d) {
  change c = {dst, t, k, n, d};
  tess_status st = vm_admits(m, base, t, NULL, k, n, d);
  return st == TESS_OK ? mem_protect(dst->heap, copy_changed, &c) : st;
}

/* ---- by number ---------------------------------------------------------- */

typedef struct numbered {
  vm_machine *m;
  const ir_program *base;
  const vm_trace *t;
  const vm_replay_opts *o;
  const uint64_t *index;
  uint64_t *count;
  uint32_t *reached;
  vm_decisions *made;
} numbered;

static tess_status replay_numbers(void *ud) {
  numbered *x = ud;
  vm_machine *m = x->m;
  const vm_replay_opts o = {.source = VM_SAME};
  const vm_memory *memory = x->o->memory;
  uint32_t decided = memory ? vm_decided_at(x->t) : 0;
  vm_start(m, x->base, x->t);
  for (uint32_t k = 0; k < x->t->inst.n; k++) {
    bool samples = vm_samples(&x->t->inst.v[k]);
    vm_pick pick = {.how = VM_NUMBERED};
    if (samples) {
      pick.number = x->index[*x->reached];
      pick.count = &x->count[*x->reached];
    }
    if (!vm_step(m, x->t, k, &pick, &o, x->made)) {
      if (decided && k >= decided) memory->refused(memory->ud, m, x->made);
      return vm_failure_status(&m->fail);
    }
    *x->reached += samples;
    if (k + 1 != decided) continue;
    vm_known known = memory->known(memory->ud, m, x->made);
    if (known == VM_REFUSED) return vm_failure_status(&m->fail);
    if (known == VM_VALID) break;
  }
  return TESS_OK;
}

tess_status vm_replay_numbered(vm_machine *m, const ir_program *base,
                               const vm_trace *t, const vm_replay_opts *o,
                               const uint64_t *index, uint64_t *count,
                               uint32_t *reached, vm_decisions *made) {
  numbered x = {m, base, t, o, index, count, reached, made};
  m->fail = (vm_failure){.why = VM_W_NONE};
  *reached = 0;
  return mem_protect(m->heap, replay_numbers, &x);
}
