/* SPDX-License-Identifier: Apache-2.0
 * The recording schedule: a program and the trace of its instructions; a failed
 * call rolls both back. */
#include "ir/expr.h"
#include "vm/exec.h"

/* ---- life --------------------------------------------------------------- */

static void make_empty(vm_sched *s, mem_heap *heap, uint64_t seed) {
  *s = (vm_sched){.heap = heap, .seed = seed};
  s->m.heap = s->m.prog.heap = s->m.scratch.heap = heap;
  s->trace.heap = s->draft.heap = heap;
  s->base.heap = heap;
}

typedef struct birth {
  vm_sched *s;
  const ir_program *base;
  const vm_sched *from; /* a copy of it; or NULL */
} birth;

static void copy_state(vm_sched *s, const vm_sched *from) {
  ir_program_copy(&s->m.prog, &from->m.prog);
  vec_copy(s->heap, &s->m.cell, &from->m.cell);
  s->m.at = from->m.at;
  vm_trace_copy(&s->trace, &from->trace);
  s->sketch = from->sketch;
}

static tess_status init_state(void *ud) {
  birth *b = ud;
  vm_sched *s = b->s;
  vm_machine_init(&s->m, s->heap);
  vm_trace_init(&s->trace, s->heap);
  vm_trace_init(&s->draft, s->heap);
  ir_program_init(&s->base, s->heap);
  ir_program_copy(&s->base, b->base);
  if (b->from)
    copy_state(s, b->from);
  else
    ir_program_copy(&s->m.prog, b->base);
  return TESS_OK;
}

static tess_status give_birth(vm_sched *s, mem_heap *heap,
                              const ir_program *base, const vm_sched *from,
                              uint64_t seed) {
  birth b = {s, base, from};
  make_empty(s, heap, seed);
  tess_status st = mem_protect(heap, init_state, &b);
  if (st != TESS_OK) vm_sched_free(s);
  return st;
}

tess_status vm_sched_init(vm_sched *s, mem_heap *heap, const ir_program *base,
                          uint64_t seed) {
  return give_birth(s, heap, base, NULL, seed);
}

tess_status vm_sched_copy(vm_sched *dst, mem_heap *heap, const vm_sched *src) {
  return give_birth(dst, heap, &src->base, src, src->seed);
}

void vm_sched_free(vm_sched *s) {
  mem_heap *heap = s->heap;
  vm_machine_free(&s->m);
  vm_trace_free(&s->trace);
  vm_trace_free(&s->draft);
  ir_program_free(&s->base);
  vec_free(heap, &s->undo_room);
  make_empty(s, heap, 0);
}

/* ---- a call ------------------------------------------------------------- */

typedef struct attempt {
  vm_sched *s;
  const vm_call *c;
  bool keep; /* else only a dry run */
  vm_mark before;
  uint32_t cells;
  bool saved; /* undo is a checkpoint of before the call */
  vm_rv first;
  uint32_t nout;
} attempt;

static void take_checkpoint(vm_sched *s) {
  size_t bytes = ir_checkpoint_size(&s->m.prog, IR_CHECKPOINT_UNDO);
  vec_reserve(s->heap, &s->undo_room, bytes / sizeof *s->undo_room.v + 1);
  ir_checkpoint_take(&s->undo, &s->m.prog, IR_CHECKPOINT_UNDO, s->undo_room.v);
}

static bool begin_call(attempt *a) {
  vm_sched *s = a->s;
  s->m.at = s->trace.inst.n + 1;
  if (!vm_check_call(&s->trace, a->c, &s->m.fail)) {
    s->m.fail.inst = s->m.at;
    return false;
  }
  vm_append_raw(&s->trace, a->c, 0, NULL);
  take_checkpoint(s);
  a->saved = true;
  return true;
}

static bool run_call(attempt *a) {
  vm_sched *s = a->s;
  vm_machine *m = &s->m;
  const vm_inst *in = &s->trace.inst.v[s->trace.inst.n - 1];
  vm_pick pick = {.how = in->open ? VM_DRAW : VM_EXACT,
                  .seed = s->seed,
                  .n = in->decision.n,
                  .d = s->trace.dec.v + in->decision.at};
  return vm_resolve(m, &s->trace, in) &&
         (!vm_samples(in) || vm_decide(m, in, &pick)) && vm_apply(m, in) &&
         (!a->keep || in->prim->flags & SCH_PURE ||
          vm_verify_program(m, in->prim));
}

/* Appends the decision that took effect, and the outputs, to the trace. */
static void record(attempt *a) {
  vm_sched *s = a->s;
  vm_machine *m = &s->m;
  vm_trace *t = &s->trace;
  uint32_t nout = vm_count_outputs(m, a->c->prim);
  vec_reserve(s->heap, &m->cell, nout);
  vm_add_outputs(t, nout);
  vm_inst *in = &t->inst.v[t->inst.n - 1];
  if (in->open) {
    uint32_t at = vec_extend(s->heap, &t->dec, m->dec.n);
    memcpy(t->dec.v + at, m->dec.v, m->dec.n * sizeof *m->dec.v);
    in->decision = (ir_span){at, m->dec.n};
    in->open = false;
  }
  m->cell.n += nout;
  vm_bind_outputs(m, a->c->prim, in->out);
  a->first = in->out;
  a->nout = nout;
}

static tess_status try_call(void *ud) {
  attempt *a = ud;
  mem_note(a->s->heap, "primitive", a->c->prim->name);
  if (!begin_call(a) || !run_call(a)) return vm_failure_status(&a->s->m.fail);
  if (a->keep) record(a);
  mem_note(a->s->heap, NULL, NULL);
  return TESS_OK;
}

static void undo(attempt *a) {
  vm_sched *s = a->s;
  vm_reset_to(&s->trace, a->before);
  s->m.cell.n = a->cells;
  if (a->saved) ir_checkpoint_restore(&s->undo, &s->m.prog);
}

static tess_status attempt_call(attempt *a) {
  vm_sched *s = a->s;
  a->before = vm_get_mark(&s->trace);
  a->cells = s->m.cell.n;
  s->m.fail = (vm_failure){.why = VM_W_NONE};
  tess_status st = mem_protect(s->heap, try_call, a);
  if (st != TESS_OK || !a->keep) undo(a);
  if (st != TESS_OK && s->m.fail.why == VM_W_NONE)
    s->m.fail = (vm_failure){.inst = s->m.at, .prim = a->c->prim};
  return st;
}

tess_status vm_sched_call(vm_sched *s, const vm_call *c, vm_rv *first,
                          uint32_t *nout) {
  attempt a = {.s = s, .c = c, .keep = true};
  tess_status st = attempt_call(&a);
  if (st == TESS_OK) {
    *first = a.first;
    *nout = a.nout;
  }
  return st;
}

tess_status vm_sched_can(vm_sched *s, const vm_call *c) {
  attempt a = {.s = s, .c = c, .keep = false};
  return attempt_call(&a);
}

/* ---- asking ------------------------------------------------------------- */

/* Is there a guard for this variable already? */
static bool is_guarded(const vm_trace *t, vm_rv rv) {
  for (uint32_t k = t->rv_inst.v[rv]; k < t->inst.n; k++) {
    vm_value v =
        t->inst.v[k].prim == &sch_prim_guard ? vm_operand(t, k, 0) : vm_nil();
    if (v.tag == VM_RV && v.rv == rv) return true;
  }
  return false;
}

tess_status vm_sched_get_int(vm_sched *s, vm_rv rv, int64_t *out) {
  if (!rv || rv >= s->trace.rv.n || s->trace.rv.v[rv] != VM_RV_INT)
    return TESS_TYPE;
  int64_t value = s->m.cell.v[rv].i;
  if (s->sketch && !is_guarded(&s->trace, rv)) {
    vm_value operand[] = {vm_var(rv), vm_int(value)};
    vm_call c = {.prim = &sch_prim_guard,
                 .pool = &s->draft,
                 .operand = operand,
                 .file = s->file,
                 .line = s->line};
    vm_rv first;
    uint32_t nout;
    tess_status st = vm_sched_call(s, &c, &first, &nout);
    if (st != TESS_OK) return st;
  }
  *out = value;
  return TESS_OK;
}

/* Was anything sampled up to where the variable was made? */
static bool follows_sample(const vm_trace *t, vm_rv rv) {
  for (uint32_t k = 0; k < t->inst.n && k <= t->rv_inst.v[rv]; k++)
    if (t->inst.v[k].prim->sampler) return true;
  return false;
}

/* Is there a guard of these two already? */
static bool is_compared(const vm_trace *t, vm_rv a, vm_rv b) {
  for (uint32_t k = t->rv_inst.v[b]; k < t->inst.n; k++)
    if (t->inst.v[k].prim == &sch_prim_guard_same &&
        vm_operand(t, k, 0).rv == a && vm_operand(t, k, 1).rv == b)
      return true;
  return false;
}

tess_status vm_sched_same(vm_sched *s, vm_rv a, vm_rv b, bool *out) {
  ir_stmt x = vm_sched_stmt(s, a), y = vm_sched_stmt(s, b);
  vm_rv earlier = a < b ? a : b, later = a < b ? b : a;
  *out = a == b || (x && x == y);
  if (!s->sketch || a == b || !x || !y || !follows_sample(&s->trace, later) ||
      is_compared(&s->trace, earlier, later))
    return TESS_OK;
  vm_value operand[] = {vm_var(earlier), vm_var(later), vm_bool(*out)};
  vm_call c = {.prim = &sch_prim_guard_same,
               .pool = &s->draft,
               .operand = operand,
               .file = s->file,
               .line = s->line};
  vm_rv first;
  uint32_t nout;
  return vm_sched_call(s, &c, &first, &nout);
}

ir_stmt vm_sched_stmt(const vm_sched *s, vm_rv rv) {
  if (!rv || rv >= s->trace.rv.n || s->trace.rv.v[rv] == VM_RV_INT) return 0;
  ir_stmt st = s->m.cell.v[rv].stmt;
  if (st == SCH_INLINE_MARK || st == SCH_ROOT_MARK) return st;
  return ir_is_dead(&s->m.prog, st) ? 0 : st;
}

/* ---- from a trace ------------------------------------------------------- */

typedef struct rerun {
  vm_sched *s;
  const vm_trace *t;
  const vm_replay_opts *o;
  vm_decisions made;
} rerun;

static tess_status adopt(void *ud) {
  rerun *r = ud;
  uint32_t n = r->o->no_postproc ? vm_postproc_at(r->t) : r->t->inst.n;
  vm_trace_copy(&r->s->trace, r->t);
  vm_truncate(&r->s->trace, r->o->stop && r->o->stop < n ? r->o->stop : n);
  vm_set_decisions(&r->s->trace, r->made.n, r->made.v);
  r->s->m.cell.n = r->s->trace.rv.n;
  return TESS_OK;
}

tess_status vm_sched_replay(vm_sched *dst, mem_heap *heap,
                            const ir_program *base, const vm_trace *t,
                            const vm_replay_opts *o) {
  rerun r = {.s = dst, .t = t, .o = o};
  tess_status st = vm_sched_init(dst, heap, base, o->seed);
  if (st != TESS_OK) return st;
  st = vm_replay(&dst->m, base, t, o, &r.made);
  if (st == TESS_OK) st = mem_protect(heap, adopt, &r);
  vec_free(heap, &r.made);
  return st;
}
