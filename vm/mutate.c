/* SPDX-License-Identifier: Apache-2.0
 * Mutation: a random neighbour of a decision vector. */
#include "vm/exec.h"
#include "vm/space.h"

enum { DEFAULT_TRIES = 32 };

typedef struct mutation {
  vm_machine *m;
  const ir_program *base;
  const vm_trace *t;
  rng *random;
  const vm_mutate_opts *o;
  vm_decisions *made;
  uint32_t end; /* number of mutable instructions */
} mutation;

static uint32_t weight_of(const mutation *x, uint32_t k) {
  if (!vm_samples(&x->t->inst.v[k])) return 0;
  return x->o->weight ? x->o->weight[k] : 1;
}

/* Selects the instruction to mutate, by weight; false: all weights are 0. */
static bool choose_inst(const mutation *x, uint32_t *k) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < x->end; i++) sum += weight_of(x, i);
  if (!sum) return false;
  uint64_t at = rng_below(x->random, sum);
  for (*k = 0; at >= weight_of(x, *k); ++*k) at -= weight_of(x, *k);
  return true;
}

/* The parent's decision of instruction k. */
static bool parent_decision(const mutation *x, uint32_t k, vm_cursor *given,
                            vm_pick *pick) {
  const vm_inst *in = &x->t->inst.v[k];
  if (x->o->given) return vm_cursor_next(given, &pick->n, &pick->d);
  pick->n = in->decision.n;
  pick->d = x->t->dec.v + in->decision.at;
  return true;
}

static bool fail_mutation(mutation *x, vm_why why) {
  x->m->fail = (vm_failure){.why = (uint16_t)why, .inst = x->m->at};
  return false;
}

/* The seed is for decisions that the parent leaves open. */
static bool step_aside(mutation *x, uint32_t k) {
  uint64_t seed = rng_u64(x->random);
  vm_replay_opts o = {.source = x->o->given ? VM_GIVEN : VM_SAME,
                      .seed = seed,
                      .given = x->o->given,
                      .ngiven = x->o->ngiven,
                      .visit = x->o->visit,
                      .ud = x->o->ud,
                      .memory = x->o->memory};
  vm_cursor given = {o.given, o.ngiven, 0};
  vm_pick pick = {.how = VM_NEIGHBOUR, .seed = seed, .random = x->random};
  vm_start(x->m, x->base, x->t);
  if (!vm_run(x->m, x->t, 0, k, &o, &given, x->made)) return false;
  if (!parent_decision(x, k, &given, &pick))
    return fail_mutation(x, VM_W_FEW_DECISIONS);
  if (!vm_step(x->m, x->t, k, &pick, &o, x->made)) return false;
  if (o.memory && k + 1 == vm_decided_at(x->t)) {
    vm_known known = o.memory->known(o.memory->ud, x->m, x->made);
    if (known != VM_UNKNOWN) return known == VM_VALID;
  }
  if (!x->o->exact) o.source = VM_REPAIR;
  return vm_run(x->m, x->t, k + 1, x->end, &o, &given, x->made);
}

static tess_status mutate_trace(void *ud) {
  mutation *x = ud;
  uint32_t tries = x->o->tries ? x->o->tries : DEFAULT_TRIES;
  uint32_t before = x->made->n, k;
  while (tries--) {
    if (!choose_inst(x, &k)) {
      fail_mutation(x, VM_W_NO_DECISIONS);
      break;
    }
    x->made->n = before;
    if (step_aside(x, k)) return TESS_OK;
  }
  x->made->n = before;
  return vm_failure_status(&x->m->fail);
}

tess_status vm_mutate(vm_machine *m, const ir_program *base, const vm_trace *t,
                      rng *random, const vm_mutate_opts *o,
                      vm_decisions *made) {
  mutation x = {m,
                base,
                t,
                random,
                o,
                made,
                o->no_postproc ? vm_postproc_at(t) : t->inst.n};
  m->fail = (vm_failure){.why = VM_W_NONE};
  m->dec.n = 0;
  return mem_protect(m->heap, mutate_trace, &x);
}
