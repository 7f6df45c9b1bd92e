/* SPDX-License-Identifier: Apache-2.0
 * The stepper: forward and backward execution of a trace, with snapshots. */
#include "vm/step.h"
#include "vm/exec.h"

enum { SNAPSHOTS = 64 }; /* at most, evenly spaced */

/* ---- snapshots ---------------------------------------------------------- */

static void save_snapshot(vm_stepper *s, vm_snapshot *to) {
  to->valid = false;
  ir_program_copy(&to->prog, &s->m.prog);
  vec_copy(s->heap, &to->cell, &s->m.cell);
  to->at = s->at;
  to->valid = true;
}

static void restore_snapshot(vm_stepper *s, const vm_snapshot *from) {
  ir_program_copy(&s->m.prog, &from->prog);
  vec_copy(s->heap, &s->m.cell, &from->cell);
  s->at = from->at;
}

static void forget(vm_stepper *s, vm_snapshot *k) {
  ir_program_free(&k->prog);
  vec_free(s->heap, &k->cell);
}

/* The latest at or before `at`; there is always the one at 0. */
static const vm_snapshot *latest(const vm_stepper *s, uint32_t at) {
  uint32_t i = at / s->stride;
  while (i >= s->snap.n || !s->snap.v[i].valid) i--;
  return &s->snap.v[i];
}

static void keep(vm_stepper *s) {
  vm_snapshot *k = &s->snap.v[s->at / s->stride];
  if (s->at % s->stride == 0 && !k->valid) save_snapshot(s, k);
}

/* ---- life --------------------------------------------------------------- */

typedef struct birth {
  vm_stepper *s;
  const ir_program *base;
  const vm_trace *t;
} birth;

static tess_status init_stepper(void *ud) {
  birth *b = ud;
  vm_stepper *s = b->s;
  vm_machine_init(&s->m, s->heap);
  vm_trace_init(&s->t, s->heap);
  vm_trace_copy(&s->t, b->t);
  ir_program_copy(&s->base, b->base);
  s->stride = s->t.inst.n / SNAPSHOTS + 1;
  uint32_t n = s->t.inst.n / s->stride + 1;
  vec_reserve(s->heap, &s->snap, n);
  memset(s->snap.v, 0, n * sizeof *s->snap.v);
  s->snap.n = n;
  for (uint32_t i = 0; i < n; i++) s->snap.v[i].prog.heap = s->heap;
  vm_start(&s->m, &s->base, &s->t);
  memset(s->m.cell.v, 0, s->m.cell.n * sizeof *s->m.cell.v);
  keep(s);
  return TESS_OK;
}

tess_status vm_stepper_init(vm_stepper *s, mem_heap *heap,
                            const ir_program *base, const vm_trace *t,
                            uint64_t seed) {
  birth b = {s, base, t};
  *s = (vm_stepper){.heap = heap, .seed = seed};
  s->m.heap = s->m.prog.heap = s->m.scratch.heap = heap;
  s->base.heap = s->before.prog.heap = s->t.heap = heap;
  str_init(&s->why, heap);
  s->reason = "";
  tess_status st = mem_protect(heap, init_stepper, &b);
  if (st != TESS_OK) vm_stepper_free(s);
  return st;
}

void vm_stepper_free(vm_stepper *s) {
  for (uint32_t i = 0; i < s->snap.n; i++) forget(s, &s->snap.v[i]);
  forget(s, &s->before);
  vec_free(s->heap, &s->snap);
  str_free(&s->why);
  vm_machine_free(&s->m);
  vm_trace_free(&s->t);
  ir_program_free(&s->base);
}

/* ---- moving ------------------------------------------------------------- */

/* Executes the next instruction and records its decision if it was open. */
static bool advance(vm_stepper *s) {
  const vm_inst *in = &s->t.inst.v[s->at];
  vm_replay_opts o = {.seed = s->seed};
  vm_pick pick = {.how = in->open ? VM_DRAW : VM_EXACT,
                  .seed = s->seed,
                  .n = in->decision.n,
                  .d = s->t.dec.v + in->decision.at};
  keep(s);
  if (!vm_step(&s->m, &s->t, s->at, &pick, &o, NULL)) return false;
  if (!(in->prim->flags & SCH_PURE) && !vm_verify_program(&s->m, in->prim))
    return false;
  if (in->open) vm_put_decision(&s->t, s->at, s->m.dec.n, s->m.dec.v);
  s->at++;
  return true;
}

/* Executes up to n, keeping a snapshot before the last instruction. */
static bool run_to(vm_stepper *s, uint32_t n) {
  while (s->at < n) {
    if (s->at + 1 == n) save_snapshot(s, &s->before);
    if (!advance(s)) return false;
  }
  return true;
}

typedef struct travel {
  vm_stepper *s;
  uint32_t n;
} travel;

static bool is_there(const vm_stepper *s, uint32_t n) {
  return s->placed && s->at == n &&
         (n == 0 || (s->before.valid && s->before.at + 1 == n));
}

/* Formats the message at once: the machine is about to be rolled back. */
static void note_failure(vm_stepper *s) {
  str_clear(&s->why);
  vm_failure_text(&s->m, &s->t, &s->why);
  s->reason = vm_failure_reason(&s->m);
  s->fail = s->m.fail;
}

/* On a failing instruction, rolls the machine back to before it. */
static tess_status go(void *ud) {
  travel *v = ud;
  vm_stepper *s = v->s;
  if (is_there(s, v->n)) return TESS_OK;
  const vm_snapshot *from = latest(s, v->n ? v->n - 1 : 0);
  if (!s->placed || s->at >= v->n || from->at > s->at)
    restore_snapshot(s, from);
  s->placed = false;
  if (run_to(s, v->n)) {
    s->placed = true;
    return TESS_OK;
  }
  note_failure(s);
  uint32_t stop = s->at;
  restore_snapshot(s, latest(s, stop ? stop - 1 : 0));
  s->placed = run_to(s, stop);
  return vm_failure_status(&s->fail);
}

static tess_status travel_to(vm_stepper *s, uint32_t n) {
  travel v = {s, n};
  return mem_protect(s->heap, go, &v);
}

tess_status vm_stepper_goto(vm_stepper *s, uint32_t n) {
  s->fail = (vm_failure){.why = VM_W_NONE};
  s->reason = "";
  str_clear(&s->why);
  return n <= s->t.inst.n ? travel_to(s, n) : TESS_NOT_FOUND;
}

/* ---- decisions ---------------------------------------------------------- */

/* Queries about the last instruction need the program before it. */
static void swap_before(vm_stepper *s) {
  ir_program p = s->m.prog;
  s->m.prog = s->before.prog;
  s->before.prog = p;
}

static void say_not_here(vm_stepper *s) {
  s->m.fail = (vm_failure){.why = VM_W_NOT_BEGUN};
  if (s->at)
    s->m.fail = (vm_failure){.why = VM_W_NOT_SAMPLING,
                             .inst = s->at,
                             .prim = s->t.inst.v[s->at - 1].prim};
  note_failure(s);
}

static bool can_ask(const vm_stepper *s) {
  return s->at && is_there(s, s->at) && vm_samples(&s->t.inst.v[s->at - 1]);
}

tess_status vm_stepper_alternatives(vm_stepper *s, uint32_t max,
                                    vm_space *out) {
  if (!can_ask(s)) {
    say_not_here(s);
    return TESS_NOT_FOUND;
  }
  swap_before(s);
  tess_status st = vm_alternatives_here(&s->m, &s->t, s->at - 1, max, out);
  if (st != TESS_OK) note_failure(s);
  swap_before(s);
  return st;
}

typedef struct choice {
  vm_stepper *s;
  uint32_t n;
  const int64_t *d;
} choice;

/* Commits the decision: later snapshots are invalid. */
static tess_status settle_decision(void *ud) {
  choice *c = ud;
  vm_stepper *s = c->s;
  vm_put_decision(&s->t, s->at - 1, c->n, c->d);
  for (uint32_t i = 0; i < s->snap.n; i++)
    if (s->snap.v[i].at >= s->at) s->snap.v[i].valid = false;
  s->placed = false;
  return TESS_OK;
}

tess_status vm_stepper_decide(vm_stepper *s, uint32_t n, const int64_t *d,
                              uint32_t *invalid) {
  choice c = {s, n, d};
  uint32_t here = s->at;
  *invalid = 0;
  if (!can_ask(s)) {
    say_not_here(s);
    return TESS_INVALID;
  }
  swap_before(s);
  tess_status st = vm_admits_here(&s->m, &s->t, here - 1, n, d);
  if (st != TESS_OK) note_failure(s);
  swap_before(s);
  if (st != TESS_OK) return st == TESS_REFUSED ? TESS_INVALID : st;
  st = mem_protect(s->heap, settle_decision, &c);
  if (st != TESS_OK) return st;
  st = vm_stepper_goto(s, s->t.inst.n);
  if (st != TESS_OK) *invalid = s->at + 1;
  tess_status back = travel_to(s, s->at < here ? s->at : here);
  return back == TESS_OK ? st : back;
}
