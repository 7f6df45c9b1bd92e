/* SPDX-License-Identifier: Apache-2.0
 * The list of mutators, and what they ask of a trace: what the value of a
 * sampling instruction is used for. */
#include "search/mutator/mutator.h"

const search_mutator search_mutators[] = {
#define MUTATOR(NAME, PROBABILITY, TRAIT, HELP) \
  {.changes = mutator_##NAME, .trait = TRAIT},
#include "search/mutator/mutators.def"
#undef MUTATOR
};
const uint32_t search_nmutators =
    sizeof search_mutators / sizeof *search_mutators;

const uint32_t *mutator_weights(const search_mutator *m, const vm_trace *t,
                                arena *to) {
  uint32_t *w = arena_zalloc(to, t->inst.n * sizeof *w), any = 0;
  for (uint32_t k = 0; k < t->inst.n; k++) {
    w[k] = vm_samples(&t->inst.v[k]) && m->changes(t, k);
    any += w[k];
  }
  return any ? w : NULL;
}

bool mutator_is(const vm_trace *t, uint32_t k, const char *prim) {
  return !strcmp(t->inst.v[k].prim->name, prim);
}

typedef struct looking {
  vm_rv first, end;
  bool found;
} looking;

static void look_at_rv(void *ud, vm_rv rv) {
  looking *x = ud;
  x->found = x->found || (rv >= x->first && rv < x->end);
}

bool mutator_uses(const vm_trace *t, vm_value v, uint32_t k) {
  const vm_inst *in = &t->inst.v[k];
  looking x = {in->out, in->out + in->nout, false};
  vm_value_each_rv(t, v, look_at_rv, &x);
  return x.found;
}

/* The operand of instruction k by that name; nil where there is none. */
static vm_value operand_named(const vm_trace *t, uint32_t k, const char *name) {
  const sch_prim *p = t->inst.v[k].prim;
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (!strcmp(p->specs[i].name, name)) return vm_operand(t, k, i);
  return vm_nil();
}

static bool begins(const vm_trace *t, vm_value v, const char *with) {
  return v.tag == VM_STR && !strncmp(t->text.v + v.str, with, strlen(with));
}

static bool is_text(const vm_trace *t, vm_value v, const char *text) {
  return v.tag == VM_STR && !strcmp(t->text.v + v.str, text);
}

bool mutator_annotates(const vm_trace *t, uint32_t k, const char *key) {
  for (uint32_t i = k + 1; i < t->inst.n; i++)
    if (mutator_is(t, i, "annotate") &&
        is_text(t, operand_named(t, i, "ann_key"), key) &&
        mutator_uses(t, operand_named(t, i, "ann_val"), k))
      return true;
  return false;
}

/* Whether a later instruction binds that loop. */
static bool is_thread_bound(const vm_trace *t, uint32_t from, vm_rv loop,
                            const char *thread) {
  for (uint32_t i = from; i < t->inst.n; i++) {
    if (!mutator_is(t, i, "bind")) continue;
    vm_value v = operand_named(t, i, "loop");
    if (v.tag == VM_RV && v.rv == loop &&
        begins(t, operand_named(t, i, "thread_axis"), thread))
      return true;
  }
  return false;
}

bool mutator_binds(const vm_trace *t, uint32_t k, const char *thread) {
  for (uint32_t i = k + 1; i < t->inst.n; i++) {
    if (!mutator_is(t, i, "split")) continue;
    vm_value list = operand_named(t, i, "factors");
    for (uint32_t j = 0; list.tag == VM_LIST && j < list.n; j++)
      if (mutator_uses(t, t->val.v[list.at + j], k) &&
          is_thread_bound(t, i + 1, t->inst.v[i].out + j, thread))
        return true;
  }
  return false;
}
