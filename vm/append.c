/* SPDX-License-Identifier: Apache-2.0
 * Appending instructions to a trace: operand canonicalization, decisions, and
 * output variables. */
#include "vm/exec.h"

static bool is_list_kind(uint32_t kind) {
  return kind == SCH_KIND_BLOCKS || kind == SCH_KIND_LOOPS ||
         kind == SCH_KIND_VARS;
}

static vm_rv_kind rv_kind_of(uint32_t kind) {
  switch (kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_BLOCKS: return VM_RV_BLOCK;
  case SCH_KIND_LOOP:
  case SCH_KIND_LOOPS: return VM_RV_LOOP;
  default: return VM_RV_INT;
  }
}

uint32_t vm_fixed_outputs(const sch_prim *p, bool *list) {
  uint32_t n = 0;
  *list = false;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    if (p->specs[i].role != SCH_ROLE_OUT) continue;
    if (is_list_kind(p->specs[i].kind))
      *list = true;
    else
      n++;
  }
  return n;
}

/* At most one output of a primitive is a list, so the total number determines
 * its length. */
vm_rv_kind vm_output_kind(const sch_prim *p, uint32_t i, uint32_t nout) {
  bool list;
  uint32_t longest = nout - vm_fixed_outputs(p, &list), end = 0;
  for (uint32_t k = 0; k < p->nspecs; k++) {
    if (p->specs[k].role != SCH_ROLE_OUT) continue;
    end += is_list_kind(p->specs[k].kind) ? longest : 1;
    if (i < end) return rv_kind_of(p->specs[k].kind);
  }
  return VM_RV_INT;
}

void vm_add_outputs(vm_trace *t, uint32_t nout) {
  vm_inst *in = &t->inst.v[t->inst.n - 1];
  vec_reserve(t->heap, &t->rv, nout);
  vec_reserve(t->heap, &t->rv_inst, nout);
  in->nout = nout;
  for (uint32_t i = 0; i < nout; i++) {
    t->rv.v[t->rv.n++] = (uint8_t)vm_output_kind(in->prim, i, nout);
    t->rv_inst.v[t->rv_inst.n++] = t->inst.n - 1;
  }
}

/* Consecutive instructions of one file share its name. */
static uint32_t add_file(vm_trace *t, const char *file) {
  uint32_t last = t->inst.n ? t->inst.v[t->inst.n - 1].file : 0;
  if (!file || !*file) return 0;
  if (!strcmp(t->text.v + last, file)) return last;
  return vm_str(t, file, strlen(file)).str;
}

const sch_spec *vm_decision_spec(const sch_prim *p) {
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (p->specs[i].role == SCH_ROLE_DECISION) return &p->specs[i];
  return NULL;
}

bool vm_decides_one(const sch_prim *p) {
  const sch_spec *sp = vm_decision_spec(p);
  return sp && sp->kind == SCH_KIND_INT;
}

static ir_span add_decision(vm_trace *t, const vm_trace *pool, vm_value v) {
  uint32_t n = v.tag == VM_LIST ? v.n : v.tag == VM_INT;
  uint32_t at = vec_extend(t->heap, &t->dec, n);
  for (uint32_t i = 0; i < n; i++)
    t->dec.v[at + i] = v.tag == VM_LIST ? pool->val.v[v.at + i].i : v.i;
  return (ir_span){at, n};
}

/* An integer for a real operand is stored as a real. */
static vm_value as_real(vm_value v) {
  return v.tag == VM_INT ? vm_real((double)v.i) : v;
}

static vm_value canonical(vm_trace *t, const vm_trace *pool, vm_value v,
                          const sch_spec *sp, const vm_rv *map) {
  if (vm_is_default(pool, sp, v)) return vm_nil();
  v = vm_value_copy(t, pool, v, map);
  if (sp->kind == SCH_KIND_REAL) return as_real(v);
  if (sp->kind == SCH_KIND_REALS)
    for (uint32_t i = 0; i < v.n; i++)
      t->val.v[v.at + i] = as_real(t->val.v[v.at + i]);
  return v;
}

void vm_append_raw(vm_trace *t, const vm_call *c, uint32_t nout,
                   const vm_rv *map) {
  const sch_prim *p = c->prim;
  uint32_t slot = vec_extend(t->heap, &t->val, vm_count_slots(p));
  vm_inst in = {.prim = p,
                .operand = slot,
                .out = t->rv.n,
                .decision = {t->dec.n, 0},
                .line = c->line,
                .open = (p->flags & SCH_SAMPLES) != 0};
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role <= SCH_ROLE_ATTR) {
      vm_value v = canonical(t, c->pool, c->operand[i], sp, map);
      t->val.v[slot++] = v;
    } else if (sp->role == SCH_ROLE_DECISION) {
      in.decision = add_decision(t, c->pool, c->operand[i]);
      in.open = in.open && c->operand[i].tag == VM_NIL;
    }
  }
  in.file = add_file(t, c->file);
  vec_push(t->heap, &t->inst, in);
  vm_add_outputs(t, nout);
}

static bool refuse_append(const vm_call *c, vm_why why, int64_t n0, int64_t n1,
                          vm_failure *out) {
  *out = (vm_failure){.why = (uint16_t)why, .prim = c->prim, .n = {n0, n1}};
  return false;
}

bool vm_check_call(const vm_trace *t, const vm_call *c, vm_failure *why) {
  for (uint32_t i = 0; i < c->prim->nspecs; i++)
    if (!vm_check_operand(t, c, i, why)) return false;
  return true;
}

/* The elements of the list of outputs, by the operand that says how many. */
static uint32_t count_list(const vm_call *c) {
  const sch_prim *p = c->prim;
  uint32_t i = 0;
  while (strcmp(p->specs[i].name, p->as_many)) i++;
  vm_value v = c->operand[i];
  if (v.tag == VM_LIST) return v.n;
  int64_t n = v.tag == VM_INT ? v.i : p->specs[i].dflt.i;
  return n < 0 ? 0 : n > UINT16_MAX ? UINT16_MAX : (uint32_t)n;
}

bool vm_known_outputs(const vm_call *c, uint32_t *n) {
  bool list;
  *n = vm_fixed_outputs(c->prim, &list);
  if (list && c->prim->as_many) *n += count_list(c);
  return !list || c->prim->as_many;
}

bool vm_append(vm_trace *t, const vm_call *c, uint32_t nout, vm_failure *why) {
  uint32_t known;
  if (!vm_check_call(t, c, why)) return false;
  bool exact = vm_known_outputs(c, &known);
  if (nout < known || (nout > known && exact))
    return refuse_append(c, VM_W_MANY_OUTPUTS, known, nout, why);
  vm_append_raw(t, c, nout, NULL);
  return true;
}
