/* SPDX-License-Identifier: Apache-2.0
 * Dead instruction elimination: removes pure instructions without used outputs.
 */
#include "vm/exec.h"

/* The operands of instruction k of `src`, one per spec. */
static void gather_operands(const vm_trace *src, uint32_t k,
                            vm_value *operand) {
  const vm_inst *in = &src->inst.v[k];
  uint32_t slot = in->operand;
  for (uint32_t i = 0; i < in->prim->nspecs; i++)
    operand[i] = in->prim->specs[i].role <= SCH_ROLE_ATTR ? src->val.v[slot++]
                                                          : vm_nil();
}

static void mark_used(void *ud, vm_rv rv) { ((bool *)ud)[rv] = true; }

/* Is instruction k live?  Marks its inputs as used if so. */
static bool keeps(const vm_trace *t, uint32_t k, bool *used) {
  const vm_inst *in = &t->inst.v[k];
  bool live = !(in->prim->flags & SCH_PURE);
  if (in->prim->flags & SCH_REMARK) return true;
  for (uint32_t i = 0; i < in->nout; i++) live = live || used[in->out + i];
  if (!live) return false;
  for (uint32_t i = 0; i < vm_count_slots(in->prim); i++)
    vm_value_each_rv(t, t->val.v[in->operand + i], mark_used, used);
  return true;
}

/* Copies instruction k; map gets its outputs. */
static void copy_inst(vm_trace *dst, const vm_trace *src, uint32_t k,
                      vm_rv *map) {
  const vm_inst *in = &src->inst.v[k];
  vm_value operand[VM_MAX_SPECS];
  vm_call c = {in->prim, src, operand, src->text.v + in->file, in->line};
  gather_operands(src, k, operand);
  vm_append_raw(dst, &c, in->nout, map);
  vm_inst *made = &dst->inst.v[dst->inst.n - 1];
  made->open = in->open;
  made->decision = (ir_span){dst->dec.n, in->decision.n};
  (void)vec_extend(dst->heap, &dst->dec, in->decision.n);
  if (in->decision.n)
    memcpy(dst->dec.v + made->decision.at, src->dec.v + in->decision.at,
           in->decision.n * sizeof *dst->dec.v);
  for (uint32_t i = 0; i < in->nout; i++) map[in->out + i] = made->out + i;
}

typedef struct lookup {
  const vm_trace *t;
  const bool *kept;
  bool all;
} lookup;

static void look_up(void *ud, vm_rv rv) {
  lookup *x = ud;
  x->all = x->all && x->kept[x->t->rv_inst.v[rv]];
}

/* A remark keeps no variable alive, and stays with those that it is about. */
static bool has_all(const vm_trace *t, uint32_t k, const bool *kept) {
  const vm_inst *in = &t->inst.v[k];
  lookup x = {t, kept, true};
  for (uint32_t i = 0; i < vm_count_slots(in->prim); i++)
    vm_value_each_rv(t, t->val.v[in->operand + i], look_up, &x);
  return x.all;
}

/* A guard is not pure: the variable it guards stays live, because the rest of
 * the trace was recorded for that value. */
void vm_simplify_from(vm_trace *dst, const vm_trace *src, uint32_t from,
                      arena *scratch) {
  bool *used = arena_zalloc(scratch, src->rv.n);
  bool *kept = arena_zalloc(scratch, src->inst.n + 1);
  vm_rv *map = arena_zalloc(scratch, src->rv.n * sizeof *map);
  for (uint32_t k = src->inst.n; k-- > 0;)
    kept[k] = keeps(src, k, used) || k < from;
  vm_trace_reset(dst);
  for (uint32_t k = 0; k < src->inst.n; k++)
    if (kept[k] && has_all(src, k, kept)) copy_inst(dst, src, k, map);
}

void vm_simplify(vm_trace *dst, const vm_trace *src, arena *scratch) {
  vm_simplify_from(dst, src, 0, scratch);
}
