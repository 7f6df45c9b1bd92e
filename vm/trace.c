/* SPDX-License-Identifier: Apache-2.0
 * Traces as data: copying, comparing, hashing, truncating. */
#include "base/hash.h"
#include "vm/exec.h"

#include <stdio.h>

/* The tables always have storage, so that pointers to their ends are valid. */
void vm_trace_reset(vm_trace *t) {
  vec_clear(&t->inst);
  vec_clear(&t->val);
  vec_clear(&t->dec);
  vec_clear(&t->rv);
  vec_clear(&t->rv_inst);
  vec_clear(&t->text);
  vec_push(t->heap, &t->rv, 0);
  vec_push(t->heap, &t->rv_inst, 0);
  vec_push(t->heap, &t->text, '\0');
  vec_reserve(t->heap, &t->val, 1);
  vec_reserve(t->heap, &t->dec, 1);
}

void vm_trace_init(vm_trace *t, mem_heap *heap) {
  *t = (vm_trace){.heap = heap};
  vm_trace_reset(t);
}

void vm_trace_free(vm_trace *t) {
  vec_free(t->heap, &t->inst);
  vec_free(t->heap, &t->val);
  vec_free(t->heap, &t->dec);
  vec_free(t->heap, &t->rv);
  vec_free(t->heap, &t->rv_inst);
  vec_free(t->heap, &t->text);
}

void vm_trace_copy(vm_trace *dst, const vm_trace *src) {
  vec_copy(dst->heap, &dst->inst, &src->inst);
  vec_copy(dst->heap, &dst->val, &src->val);
  vec_copy(dst->heap, &dst->dec, &src->dec);
  vec_copy(dst->heap, &dst->rv, &src->rv);
  vec_copy(dst->heap, &dst->rv_inst, &src->rv_inst);
  vec_copy(dst->heap, &dst->text, &src->text);
}

vm_mark vm_get_mark(const vm_trace *t) {
  return (vm_mark){t->inst.n, t->val.n, t->dec.n, t->rv.n, t->text.n};
}

void vm_reset_to(vm_trace *t, vm_mark k) {
  t->inst.n = k.inst;
  t->val.n = k.val;
  t->dec.n = k.dec;
  t->rv.n = t->rv_inst.n = k.rv;
  t->text.n = k.text;
}

/* The index of a spec among IN and ATTR ones; -1: another role. */
static int slot_of(const sch_prim *p, uint32_t spec) {
  int slot = 0;
  if (p->specs[spec].role > SCH_ROLE_ATTR) return -1;
  for (uint32_t i = 0; i < spec; i++) slot += p->specs[i].role <= SCH_ROLE_ATTR;
  return slot;
}

vm_value vm_operand(const vm_trace *t, uint32_t k, uint32_t spec) {
  const vm_inst *in = &t->inst.v[k];
  int slot = slot_of(in->prim, spec);
  return slot < 0 ? vm_nil() : t->val.v[in->operand + (uint32_t)slot];
}

uint32_t vm_count_slots(const sch_prim *p) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->nspecs; i++)
    n += p->specs[i].role <= SCH_ROLE_ATTR;
  return n;
}

uint32_t vm_postproc_at(const vm_trace *t) {
  uint32_t k = 0;
  while (k < t->inst.n && t->inst.v[k].prim != &sch_prim_enter_postproc) k++;
  return k;
}

/* Each instruction's part of a table begins where the one before ended, but for
 * texts and decisions, which are small and stay. */
void vm_truncate(vm_trace *t, uint32_t n) {
  if (n >= t->inst.n) return;
  vm_mark to = {n, t->inst.v[n].operand, t->dec.n, t->inst.v[n].out, t->text.n};
  vm_reset_to(t, to);
}

bool vm_operands_equal(const vm_trace *a, const vm_inst *x, const vm_trace *b,
                       const vm_inst *y) {
  for (uint32_t i = 0; i < vm_count_slots(x->prim); i++)
    if (!vm_value_equal(a, a->val.v[x->operand + i], b,
                        b->val.v[y->operand + i]))
      return false;
  return true;
}

static bool inst_equal(const vm_trace *a, const vm_inst *x, const vm_trace *b,
                       const vm_inst *y) {
  return x->prim == y->prim && x->nout == y->nout && x->open == y->open &&
         x->decision.n == y->decision.n &&
         !(x->decision.n &&
           memcmp(a->dec.v + x->decision.at, b->dec.v + y->decision.at,
                  x->decision.n * sizeof *a->dec.v)) &&
         vm_operands_equal(a, x, b, y);
}

const vm_inst *vm_next_act(const vm_trace *t, const vm_inst *in) {
  if (!t->inst.n) return NULL;
  const vm_inst *end = t->inst.v + t->inst.n;
  in = in ? in + 1 : t->inst.v;
  while (in < end && in->prim->flags & SCH_REMARK) in++;
  return in < end ? in : NULL;
}

/* The next instruction of the schedule itself; NULL: there is none. */
static const vm_inst *next_step(const vm_trace *t, const vm_inst *in) {
  in = vm_next_act(t, in);
  return in && in < t->inst.v + vm_postproc_at(t) ? in : NULL;
}

/* What postprocessors do after it decides nothing, and traces from elsewhere
 * end before. */
bool vm_is_same_schedule(const vm_trace *a, const vm_trace *b, bool exact) {
  const vm_inst *x = next_step(a, NULL), *y = next_step(b, NULL);
  while (x && y && x->prim == y->prim &&
         (!exact || vm_operands_equal(a, x, b, y))) {
    x = next_step(a, x);
    y = next_step(b, y);
  }
  return !x && !y;
}

bool vm_trace_equal(const vm_trace *a, const vm_trace *b) {
  const vm_inst *x = vm_next_act(a, NULL), *y = vm_next_act(b, NULL);
  while (x && y && inst_equal(a, x, b, y)) {
    x = vm_next_act(a, x);
    y = vm_next_act(b, y);
  }
  return !x && !y;
}

static uint64_t hash_of(const vm_trace *t, bool opened) {
  const vm_inst *in = NULL;
  uint64_t h = 0;
  while ((in = vm_next_act(t, in))) h++;
  while ((in = vm_next_act(t, in))) {
    bool open = opened ? vm_samples(in) : in->open;
    h = hash_mix(h, hash_bytes(in->prim->name, strlen(in->prim->name)));
    for (uint32_t i = 0; i < vm_count_slots(in->prim); i++)
      h = hash_mix(h, vm_value_hash(t, t->val.v[in->operand + i]));
    h = hash_mix(hash_mix(h, in->nout), open);
    for (uint32_t i = 0; !opened && i < in->decision.n; i++)
      h = hash_mix(h, (uint64_t)t->dec.v[in->decision.at + i]);
  }
  return h;
}

uint64_t vm_trace_hash(const vm_trace *t) { return hash_of(t, false); }
uint64_t vm_sketch_hash(const vm_trace *t) { return hash_of(t, true); }

void vm_get_decisions(const vm_trace *t, mem_heap *heap, vm_decisions *out) {
  out->n = 0;
  for (uint32_t k = 0; k < t->inst.n; k++) {
    const vm_inst *in = &t->inst.v[k];
    if (!vm_samples(in)) continue;
    vec_reserve(heap, out, in->decision.n + 1);
    out->v[out->n++] = in->decision.n;
    for (uint32_t i = 0; i < in->decision.n; i++)
      out->v[out->n++] = t->dec.v[in->decision.at + i];
  }
}

/* Has the vector exactly one entry per sampling instruction? */
static bool has_shape(const vm_trace *t, vm_cursor c) {
  uint32_t n;
  const int64_t *d;
  for (uint32_t k = 0; k < t->inst.n; k++)
    if (vm_samples(&t->inst.v[k]) && !vm_cursor_next(&c, &n, &d)) return false;
  return c.at == c.n;
}

bool vm_set_decisions(vm_trace *t, uint32_t n, const int64_t *given) {
  vm_cursor c = {given, n, 0};
  if (!has_shape(t, c)) return false;
  t->dec.n = 0;
  vec_reserve(t->heap, &t->dec, n);
  for (uint32_t k = 0; k < t->inst.n; k++) {
    vm_inst *in = &t->inst.v[k];
    const int64_t *d;
    in->decision = (ir_span){t->dec.n, 0};
    if (!vm_samples(in) || !vm_cursor_next(&c, &in->decision.n, &d)) continue;
    in->open = in->decision.n == 0;
    for (uint32_t i = 0; i < in->decision.n; i++) t->dec.v[t->dec.n++] = d[i];
  }
  return true;
}

void vm_open_decisions(vm_trace *t) {
  t->dec.n = 0;
  for (uint32_t k = 0; k < t->inst.n; k++) {
    vm_inst *in = &t->inst.v[k];
    in->decision = (ir_span){0, 0};
    in->open = vm_samples(in);
  }
}

void vm_rv_name(const vm_trace *t, vm_rv rv, char out[16]) {
  static const char letter[] = "blv";
  snprintf(out, 16, "%c%u", rv < t->rv.n ? letter[t->rv.v[rv]] : '?',
           (unsigned)rv - 1);
}
