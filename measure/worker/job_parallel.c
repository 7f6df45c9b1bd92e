/* SPDX-License-Identifier: Apache-2.0
 * Schedules the unscheduled program for the reference, where that changes the
 * order of no sum, and so no result's bits: outermost loops whose iterations do
 * not conflict are parallel, and a sum's loops may be moved out of the one
 * along which its results and terms lie in memory. */
#include "ir/query.h"
#include "measure/externs.h"
#include "measure/worker/job_builder.h"

/* A block and the loops around it. */
typedef struct nest {
  vm_sched *s;
  vm_rv block, loop;
  uint32_t n;
} nest;

/* Calls the primitive; *first becomes its first output, *n how many it has.
 * Anything but OK: it was refused, or memory ran out. */
static tess_status call_primitive(vm_sched *s, const char *name, vm_value a,
                                  vm_value b, vm_rv *first, uint32_t *n) {
  vm_value operand[VM_MAX_SPECS];
  for (int i = 0; i < VM_MAX_SPECS; i++) operand[i] = vm_nil();
  operand[0] = a;
  operand[1] = b;
  vm_call c = {
      .prim = sch_find_prim(name), .pool = &s->draft, .operand = operand};
  *n = 0;
  return vm_sched_call(s, &c, first, n);
}

static tess_status find_block(nest *x, const char *name) {
  uint32_t n;
  vm_value text = vm_str(&x->s->draft, name, strlen(name));
  return call_primitive(x->s, "get_block", text, vm_nil(), &x->block, &n);
}

static tess_status list_loops(nest *x) {
  return call_primitive(x->s, "get_loops", vm_var(x->block), vm_nil(), &x->loop,
                        &x->n);
}

static tess_status parallelise(nest *x) {
  vm_rv none;
  uint32_t n;
  tess_status st = list_loops(x);
  if (st != TESS_OK || !x->n) return st;
  return call_primitive(x->s, "parallel", vm_var(x->loop), vm_nil(), &none, &n);
}

/* ---- sums --------------------------------------------------------------- */

static const ir_block_rec *block_of(const nest *x) {
  const ir_program *p = &x->s->m.prog;
  return &p->block.v[ir_st(p, vm_sched_stmt(x->s, x->block))->block];
}

/* The iter that loop i of the nest drives; NULL: none, or several. */
static const ir_iter *driven_by(const nest *x, uint32_t i) {
  const ir_program *p = &x->s->m.prog;
  ir_span iters = block_of(x)->iters;
  ir_var var = ir_st(p, vm_sched_stmt(x->s, x->loop + i))->var;
  const ir_iter *it = NULL;
  for (uint32_t k = 0; k < iters.n; k++) {
    const ir_iter *at = &p->iter.v[iters.at + k];
    if (!ir_uses_var(p, at->bind, var)) continue;
    if (it) return NULL;
    it = at;
  }
  return it;
}

/* Does the variable move along the last dimension of these regions, if at
 * all? */
static bool is_along(const ir_program *p, ir_span regions, ir_var v) {
  for (uint32_t i = 0; i < regions.n; i++) {
    ir_region r = p->region.v[regions.at + i];
    for (uint32_t d = 0; d + 1 < ir_ndim(p, r.buf); d++)
      if (ir_uses_var(p, ir_region_min(p, r, d), v)) return false;
  }
  return true;
}

/* The last spatial loop of a sum whose innermost loop is the sum's, if others
 * are before it, and data lie along it; the first of the sum's loops. */
static bool finds_line(const nest *x, uint32_t *line, uint32_t *sum) {
  uint32_t spatial = 0;
  const ir_iter *it = NULL, *last = NULL;
  *line = 0;
  *sum = x->n;
  for (uint32_t i = 0; i < x->n; i++) {
    it = driven_by(x, i);
    if (!it || it->kind == IR_OPAQUE) return false;
    if (it->kind == IR_REDUCE && i < *sum) *sum = i;
    if (it->kind != IR_SPATIAL) continue;
    spatial++;
    *line = i;
    last = it;
  }
  const ir_program *p = &x->s->m.prog;
  const ir_block_rec *b = block_of(x);
  return spatial > 1 && it->kind == IR_REDUCE && b->reducer &&
         is_along(p, b->reads, last->var) && is_along(p, b->writes, last->var);
}

/* for i, j, k: C(i, j) += ..   ->   for i: (for j: C(i, j) = 0),
 *                                          for k, j: C(i, j) += .. */
static tess_status move_sum_out(nest *x, bool *moved) {
  enum { MOST = 16 };
  uint32_t line, sum, n = 0;
  vm_value order[MOST];
  vm_rv none;
  tess_status st = list_loops(x);
  if (st != TESS_OK || x->n > MOST || !finds_line(x, &line, &sum)) return st;
  for (uint32_t i = line + 1; i < x->n; i++) order[n++] = vm_var(x->loop + i);
  order[n++] = vm_var(x->loop + line);
  vm_value list = vm_list(&x->s->draft, n, order);
  st = call_primitive(x->s, "reorder", list, vm_nil(), &none, &n);
  if (st != TESS_OK) return st;
  *moved = true;
  return call_primitive(x->s, "decompose_reduction", vm_var(x->block),
                        vm_var(x->loop + sum), &none, &n);
}

/* ---- the whole ---------------------------------------------------------- */

static tess_status unless_refused(tess_status s) {
  return s == TESS_NOMEM || s == TESS_LIMIT ? s : TESS_OK;
}

static tess_status schedule_block(nest *x, const char *name, bool *moved) {
  tess_status st = find_block(x, name);
  if (st == TESS_OK && moved) st = unless_refused(move_sum_out(x, moved));
  return unless_refused(st == TESS_OK ? parallelise(x) : st);
}

/* Functions of the host's may have state, and are called one after another. */
tess_status job_parallelise(mem_heap *heap, const ir_program *p, bool *moved,
                            vm_sched *s) {
  tess_status st = vm_sched_init(s, heap, p, 0);
  uint32_t n = externs_called(p) ? 0 : p->block.n;
  for (uint32_t i = 0; st == TESS_OK && i < n; i++) {
    nest x = {.s = s};
    const char *name = ir_text(p, p->block.v[i].name);
    if (strcmp(name, "root")) st = schedule_block(&x, name, moved);
  }
  return st;
}
