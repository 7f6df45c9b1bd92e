/* SPDX-License-Identifier: Apache-2.0
 * Labels of decisions: a tile by its loop and block, a location by its block, a
 * choice by the annotation or the factor that it becomes. */
#include "vm/decisions.h"

#include "ir/query.h"
#include "vm/exec.h"

#include <stdio.h>

typedef struct labelling {
  vm_machine *m;
  const vm_trace *t;
  arena *to;
  strbuf *text;
  vm_label *label;
  uint32_t n;
  uint32_t *of; /* instruction -> its label; n: none */
} labelling;

/* ---- statements --------------------------------------------------------- */

/* The first block or loop that instruction k takes; 0: none. */
static vm_rv first_node(const vm_trace *t, uint32_t k) {
  const sch_prim *p = t->inst.v[k].prim;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    vm_value v = vm_operand(t, k, i);
    if (v.tag == VM_LIST && v.n) v = t->val.v[v.at];
    if (v.tag == VM_RV && t->rv.v[v.rv] != VM_RV_INT) return v.rv;
  }
  return 0;
}

/* The block that a loop was asked of, or the loops that it was made of; 0:
 * none. */
static vm_rv block_of(const vm_trace *t, vm_rv rv) {
  while (rv && t->rv.v[rv] == VM_RV_LOOP) rv = first_node(t, t->rv_inst.v[rv]);
  return rv;
}

static void put_node(const labelling *l, vm_rv rv, strbuf *out) {
  const ir_program *p = &l->m->prog;
  ir_stmt s = l->m->cell.v[rv].stmt;
  if (s == SCH_ROOT_MARK || s == SCH_INLINE_MARK || ir_is_dead(p, s)) return;
  str_puts(out, out->n ? " of " : "");
  if (ir_is_loop(p, s))
    ir_var_name(p, ir_st(p, s)->var, out);
  else
    str_puts(out, ir_text(p, ir_blk(p, s)->name));
}

/* "i of C", "C": what instruction k is about; NULL: nothing. */
static const char *subject(labelling *l, uint32_t k) {
  vm_rv rv = first_node(l->t, k);
  vm_rv block = block_of(l->t, rv);
  if (!rv) return NULL;
  str_clear(l->text);
  put_node(l, rv, l->text);
  if (block && block != rv) put_node(l, block, l->text);
  if (l->text->bad) mem_unwind_refused(l->m->heap);
  return l->text->n ? arena_printf(l->to, "%s", str_get(l->text)) : NULL;
}

/* ---- what a decision is about ------------------------------------------- */

/* A decision of one number is "location of C"; one of several is "tiles of i of
 * C", and they are "i of C, tile 1", .. */
static void label_own(labelling *l, uint32_t k, vm_label *x) {
  const char *word = l->t->inst.v[k].prim->decides;
  const char *of = subject(l, k);
  if (!of) return;
  bool one = vm_decides_one(l->t->inst.v[k].prim);
  x->what = arena_printf(l->to, "%s%s of %s", word, one ? "" : "s", of);
  if (one) return;
  const char **part = arena_array(l->to, const char *, x->n);
  for (uint32_t i = 0; i < x->n; i++)
    part[i] = arena_printf(l->to, "%s, %s %u", of, word, (unsigned)i + 1);
  x->part = part;
}

/* Annotations that have a name in the field. */
static const char *key_text(const char *key) {
  return strcmp(key, "pragma_auto_unroll_max_step") ? key : "unroll steps";
}

/* A choice is what an instruction makes of it: the value of an annotation, a
 * factor, or another operand. */
static const char *use_text(labelling *l, uint32_t k, uint32_t spec,
                            uint32_t place) {
  const sch_prim *p = l->t->inst.v[k].prim;
  const char *of = subject(l, k), *what = p->specs[spec].name;
  if (p->specs[spec].kind == SCH_KIND_FACTORS && of)
    return arena_printf(l->to, "%s, factor %u", of, (unsigned)place + 1);
  if (p->specs[spec].kind == SCH_KIND_VALUE)
    for (uint32_t i = 0; i < p->nspecs; i++)
      if (p->specs[i].kind == SCH_KIND_STR)
        what = key_text(l->t->text.v + vm_operand(l->t, k, i).str);
  return arena_printf(l->to, "%s of %s", what, of ? of : p->name);
}

typedef struct use {
  labelling *l;
  uint32_t inst, spec, place;
} use;

static void label_use(void *ud, vm_rv rv) {
  use *u = ud;
  labelling *l = u->l;
  uint32_t at = l->of[l->t->rv_inst.v[rv]];
  if (l->t->rv.v[rv] != VM_RV_INT || at == l->n || l->label[at].what) return;
  l->label[at].what = use_text(l, u->inst, u->spec, u->place);
}

/* What is sampled without a block or loop is labelled by its first use. */
static void label_uses(labelling *l, uint32_t k) {
  const sch_prim *p = l->t->inst.v[k].prim;
  if (p->flags & (SCH_REMARK | SCH_HIDDEN)) return;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    vm_value v = vm_operand(l->t, k, i);
    uint32_t n = v.tag == VM_LIST ? v.n : 1;
    for (uint32_t e = 0; e < n; e++) {
      use u = {l, k, i, e};
      vm_value_each_rv(l->t, v.tag == VM_LIST ? l->t->val.v[v.at + e] : v,
                       label_use, &u);
    }
  }
}

/* ---- the walk ----------------------------------------------------------- */

static bool run_inst(labelling *l, uint32_t k) {
  const vm_inst *in = &l->t->inst.v[k];
  vm_replay_opts o = {.seed = 0};
  vm_pick pick = {.how = in->open ? VM_DRAW : VM_EXACT,
                  .n = in->decision.n,
                  .d = l->t->dec.v + in->decision.at};
  if (!vm_step(l->m, l->t, k, &pick, &o, NULL)) return false;
  if (vm_samples(in)) l->label[l->of[k]].n = (uint32_t)l->m->dec.n;
  return true;
}

static void walk(labelling *l, const ir_program *base) {
  vm_start(l->m, base, l->t);
  for (uint32_t k = 0; k < l->t->inst.n; k++) {
    label_uses(l, k);
    if (!run_inst(l, k)) return;
    if (vm_samples(&l->t->inst.v[k])) label_own(l, k, &l->label[l->of[k]]);
  }
}

static void name_variable(void *ud, vm_rv rv) {
  use *u = ud;
  labelling *l = u->l;
  uint32_t at = l->of[l->t->rv_inst.v[rv]];
  if (at < l->n && !*l->label[at].knob)
    l->label[at].knob = l->t->text.v + vm_operand(l->t, u->inst, u->spec).str;
}

/* The first name that a variable of it has. */
static void name_knobs(labelling *l) {
  for (uint32_t k = 0; k < l->t->inst.n; k++) {
    use u = {.l = l, .inst = k};
    if (l->t->inst.v[k].prim != &sch_prim_knob) continue;
    vm_value_each_rv(l->t, vm_operand(l->t, k, 1), name_variable, &u);
  }
}

/* What the walk did not reach, or is used by nothing. */
static void fill_in(labelling *l, vm_label *x) {
  const sch_prim *p = l->t->inst.v[x->inst].prim;
  if (!x->what)
    x->what = arena_printf(l->to, "%s of instruction %u", p->decides,
                           (unsigned)x->inst + 1);
  if (x->part) return;
  const char **part = arena_array(l->to, const char *, x->n);
  for (uint32_t i = 0; i < x->n; i++)
    part[i] = x->n == 1 ? x->what
                        : arena_printf(l->to, "%s, %s %u", x->what, p->decides,
                                       (unsigned)i + 1);
  x->part = part;
}

uint32_t vm_label_decisions(vm_machine *m, const ir_program *base,
                            const vm_trace *t, arena *to, strbuf *text,
                            vm_label **out) {
  labelling l = {.m = m, .t = t, .to = to, .text = text};
  for (uint32_t k = 0; k < t->inst.n; k++) l.n += vm_samples(&t->inst.v[k]);
  l.label = arena_zalloc(to, (l.n + 1) * sizeof *l.label);
  l.of = arena_array(to, uint32_t, t->inst.n + 1);
  for (uint32_t k = 0, at = 0; k < t->inst.n; k++) {
    bool samples = vm_samples(&t->inst.v[k]);
    l.of[k] = samples ? at : l.n;
    if (samples)
      l.label[at++] =
          (vm_label){.inst = k, .knob = "", .n = t->inst.v[k].decision.n};
  }
  if (base) walk(&l, base);
  name_knobs(&l);
  for (uint32_t i = 0; i < l.n; i++) fill_in(&l, &l.label[i]);
  *out = l.label;
  return l.n;
}

/* ---- values ------------------------------------------------------------- */

/* The candidates that a decision of one number counts; nil: it is the value. */
static vm_value candidates_of(const vm_trace *t, uint32_t k) {
  const sch_prim *p = t->inst.v[k].prim;
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (p->specs[i].role == SCH_ROLE_ATTR && p->specs[i].kind == SCH_KIND_INTS)
      return vm_operand(t, k, i);
  return vm_nil();
}

bool vm_decided_value(const vm_trace *t, vm_rv rv, int64_t *out) {
  uint32_t k = t->rv_inst.v[rv];
  const vm_inst *in = &t->inst.v[k];
  uint32_t i = rv - in->out;
  if (!vm_samples(in) || in->open || i >= in->decision.n) return false;
  *out = t->dec.v[in->decision.at + i];
  if (!vm_decides_one(in->prim)) return true;
  vm_value list = candidates_of(t, k);
  if (list.tag != VM_LIST) return true;
  if (*out < 0 || *out >= list.n) return false;
  *out = t->val.v[list.at + (uint32_t)*out].i;
  return true;
}

typedef struct binding {
  const vm_trace *t;
  vm_cell *cell;
  bool all;
} binding;

static void bind_variable(void *ud, vm_rv rv) {
  binding *b = ud;
  b->all = vm_decided_value(b->t, rv, &b->cell[rv].i) && b->all;
}

bool vm_decided_cells(const vm_trace *t, vm_value v, vm_cell *cell) {
  binding b = {t, cell, true};
  vm_value_each_rv(t, v, bind_variable, &b);
  return b.all;
}
