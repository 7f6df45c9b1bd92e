/* SPDX-License-Identifier: Apache-2.0
 * Replay, the hot path: executes a trace over a copy of a program, with
 * decisions from the trace, a vector, or a random stream. */
#include "vm/exec.h"

void vm_machine_init(vm_machine *m, mem_heap *heap) {
  memset(m, 0, sizeof *m);
  m->heap = heap;
  arena_init(&m->scratch, heap);
  m->prog.heap = heap;
  vec_push(heap, &m->cell, (vm_cell){0});
  vec_reserve(heap, &m->dec, 1);
  ir_program_init(&m->prog, heap);
}

void vm_machine_free(vm_machine *m) {
  sch_end_questions(&m->state);
  sch_forget_answers(&m->state);
  ir_program_free(&m->prog);
  arena_free(&m->scratch);
  vec_free(m->heap, &m->cell);
  vec_free(m->heap, &m->dec);
}

bool vm_cursor_next(vm_cursor *c, uint32_t *n, const int64_t **d) {
  if (c->at >= c->n || c->d[c->at] < 0 || c->d[c->at] > c->n - c->at - 1)
    return false;
  *n = (uint32_t)c->d[c->at];
  *d = c->d + c->at + 1;
  c->at += *n + 1;
  return true;
}

void vm_start(vm_machine *m, const ir_program *base, const vm_trace *t) {
  mem_note(m->heap, NULL, NULL); /* an earlier replay may have been aborted */
  ir_program_copy(&m->prog, base);
  m->state.p = &m->prog; /* a trace may have no instruction */
  m->state.scratch = &m->scratch;
  m->state.remembers = m->heap;
  m->cell.n = 0;
  vec_reserve(m->heap, &m->cell, t->rv.n);
  m->cell.n = t->rv.n;
  m->at = 0;
}

static bool fail_replay(vm_machine *m, const sch_prim *p, vm_why why, int64_t a,
                        int64_t b) {
  m->fail =
      (vm_failure){.why = (uint16_t)why, .inst = m->at, .prim = p, .n = {a, b}};
  return false;
}

static void note_decision(vm_machine *m, vm_decisions *made) {
  vec_reserve(m->heap, made, m->dec.n + 1);
  made->v[made->n++] = m->dec.n;
  if (m->dec.n)
    memcpy(made->v + made->n, m->dec.v, m->dec.n * sizeof *m->dec.v);
  made->n += m->dec.n;
}

bool vm_step(vm_machine *m, const vm_trace *t, uint32_t k, const vm_pick *pick,
             const vm_replay_opts *o, vm_decisions *made) {
  const vm_inst *in = &t->inst.v[k];
  m->at = k + 1;
  mem_note(m->heap, "primitive", in->prim->name);
  if (!vm_resolve(m, t, in)) return false;
  if (vm_samples(in)) {
    if (!vm_decide(m, in, pick)) return false;
    if (o->visit) o->visit(o->ud, m, in);
    if (made) note_decision(m, made);
  }
  if (!vm_apply(m, in)) return false;
  uint32_t nout = vm_count_outputs(m, in->prim);
  if (nout != in->nout)
    return fail_replay(m, in->prim, VM_W_OTHER_OUTPUTS, nout, in->nout);
  vm_bind_outputs(m, in->prim, in->out);
  return true;
}

/* Selects the source of the decision of the sampling instruction `in`. */
static bool choose_decision(vm_machine *m, const vm_trace *t, const vm_inst *in,
                            const vm_replay_opts *o, vm_cursor *given,
                            vm_pick *pick) {
  bool from_trace =
      o->source == VM_SAME || (o->source == VM_REPAIR && !o->given);
  *pick = (vm_pick){.how = VM_DRAW, .seed = o->seed};
  if (o->source == VM_FRESH) return true;
  if (from_trace) {
    pick->n = in->decision.n;
    pick->d = t->dec.v + in->decision.at;
    if (in->open) return true;
  } else if (!vm_cursor_next(given, &pick->n, &pick->d)) {
    return o->source == VM_REPAIR ||
           fail_replay(m, in->prim, VM_W_FEW_DECISIONS, 0, 0);
  } else if (pick->n == 0) {
    return true;
  }
  pick->how = o->source == VM_REPAIR ? VM_MEND : VM_EXACT;
  return true;
}

uint32_t vm_decided_at(const vm_trace *t) {
  uint32_t n = t->inst.n;
  while (n > 0 && !vm_samples(&t->inst.v[n - 1])) n--;
  return n;
}

static bool end_run(vm_machine *m) {
  mem_note(m->heap, NULL, NULL);
  return true;
}

bool vm_run(vm_machine *m, const vm_trace *t, uint32_t from, uint32_t to,
            const vm_replay_opts *o, vm_cursor *given, vm_decisions *made) {
  vm_pick pick = {0};
  uint32_t decided = o->memory ? vm_decided_at(t) : 0;
  for (uint32_t k = from; k < to; k++) {
    const vm_inst *in = &t->inst.v[k];
    m->at = k + 1;
    if (vm_samples(in) && !choose_decision(m, t, in, o, given, &pick))
      return false;
    if (!vm_step(m, t, k, &pick, o, made)) {
      if (decided && k >= decided) o->memory->refused(o->memory->ud, m, made);
      return false;
    }
    if (k + 1 != decided) continue;
    vm_known known = o->memory->known(o->memory->ud, m, made);
    if (known == VM_REFUSED) return false;
    if (known == VM_VALID) return end_run(m);
  }
  return (from == to || vm_verify_program(m, t->inst.v[to - 1].prim)) &&
         end_run(m);
}

typedef struct job {
  vm_machine *m;
  const ir_program *base;
  const vm_trace *t;
  const vm_replay_opts *o;
  vm_decisions *made;
} job;

/* The vector covers the whole trace: skips the entries of the first `start`
 * instructions. */
static void pass_over(const vm_trace *t, uint32_t start, vm_cursor *c) {
  uint32_t n;
  const int64_t *d;
  for (uint32_t k = 0; k < start; k++)
    if (vm_samples(&t->inst.v[k])) vm_cursor_next(c, &n, &d);
}

static tess_status replay_trace(void *ud) {
  job *j = ud;
  const vm_replay_opts *o = j->o;
  vm_cursor given = {o->given, o->ngiven, 0};
  uint32_t n = o->no_postproc ? vm_postproc_at(j->t) : j->t->inst.n;
  uint32_t to = o->stop && o->stop < n ? o->stop : n;
  if (o->start)
    pass_over(j->t, o->start, &given);
  else
    vm_start(j->m, j->base, j->t);
  if (!vm_run(j->m, j->t, o->start, to, o, &given, j->made))
    return vm_failure_status(&j->m->fail);
  if (o->source == VM_GIVEN && to == j->t->inst.n && given.at < given.n) {
    fail_replay(j->m, NULL, VM_W_MANY_DECISIONS, given.n - given.at, 0);
    return vm_failure_status(&j->m->fail);
  }
  return TESS_OK;
}

tess_status vm_replay(vm_machine *m, const ir_program *base, const vm_trace *t,
                      const vm_replay_opts *o, vm_decisions *made) {
  job j = {m, base, t, o, made};
  m->fail = (vm_failure){.why = VM_W_NONE};
  tess_status st = mem_protect(m->heap, replay_trace, &j);
  if (st != TESS_OK && m->fail.why == VM_W_NONE) m->fail.inst = m->at;
  return st;
}
