/* SPDX-License-Identifier: Apache-2.0
 * A refused call made again through the trace machine, with random variables
 * for its statements: program and trace stay as they are, byte for byte. */
#include "support/scheduled.h"
#include "vm/vm.h"

typedef struct recorded {
  vm_sched s;
  vm_trace pool, before;
  ir_program program;
} recorded;

/* ---- operands ----------------------------------------------------------- */

/* Calls a getter; 0: it has nothing to give. */
static vm_rv get(recorded *r, const char *prim, vm_value operand, uint32_t *n) {
  vm_value v[VM_MAX_SPECS] = {{.tag = VM_NIL}};
  vm_call c = {.prim = sch_find_prim(prim), .pool = &r->pool, .operand = v};
  vm_rv first = 0;
  v[0] = operand;
  return vm_sched_call(&r->s, &c, &first, n) == TESS_OK && *n ? first : 0;
}

/* A variable that stands for the statement; nil: none can be had. */
static vm_value variable_of(recorded *r, ir_stmt st) {
  const ir_program *p = &r->s.m.prog;
  if (!st || st >= p->stmt.n || ir_is_dead(p, st)) return vm_nil();
  ir_stmt block = st;
  while (block && !ir_is_block(p, block)) block = ir_next(p, block, st);
  if (!block) return vm_nil();
  const char *name = ir_text(p, ir_blk(p, block)->name);
  uint32_t n = 0;
  vm_rv b = get(r, "get_block", vm_str(&r->pool, name, strlen(name)), &n);
  if (!b || vm_sched_stmt(&r->s, b) == st) return b ? vm_var(b) : vm_nil();
  vm_rv l = get(r, "get_loops", vm_var(b), &n);
  for (uint32_t i = 0; l && i < n; i++)
    if (vm_sched_stmt(&r->s, l + i) == st) return vm_var(l + i);
  return vm_nil();
}

static vm_value text_of(recorded *r, const char *s) {
  return s ? vm_str(&r->pool, s, strlen(s)) : vm_nil();
}

/* A list of so many; in v, which is long enough. */
static vm_value list_of(recorded *r, const sch_spec *sp, const scheduled_arg *a,
                        vm_value *v) {
  for (uint32_t i = 0; i < a->n; i++) {
    if (sp->kind == SCH_KIND_BLOCKS || sp->kind == SCH_KIND_LOOPS ||
        sp->kind == SCH_KIND_NODES)
      v[i] = variable_of(r, ((const ir_stmt *)a->v)[i]);
    else if (sp->kind == SCH_KIND_REALS)
      v[i] = vm_real(((const double *)a->v)[i]);
    else
      v[i] = vm_int(((const int64_t *)a->v)[i]);
    if (sp->kind == SCH_KIND_FACTORS && v[i].i == SCH_AUTO) v[i] = vm_auto();
    if (v[i].tag == VM_NIL) return vm_nil();
  }
  return vm_list(&r->pool, a->n, v);
}

/* What a trace would hold for the operand; nil: it cannot hold it. */
static vm_value operand_value(recorded *r, const sch_spec *sp,
                              const scheduled_arg *a) {
  vm_value v[SCHEDULED_MAX];
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_LOOP:
  case SCH_KIND_NODE: return variable_of(r, (ir_stmt)a->i);
  case SCH_KIND_BOOL: return vm_bool(a->i != 0);
  case SCH_KIND_STR:
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_DTYPE: return text_of(r, a->s);
  case SCH_KIND_BUFFER:
    if (!a->s) return vm_int(a->i);
    if (strcmp(a->s, "read") && strcmp(a->s, "write")) return text_of(r, a->s);
    v[0] = text_of(r, a->s), v[1] = vm_int(a->i);
    return vm_list(&r->pool, 2, v);
  case SCH_KIND_FILL: return a->s ? text_of(r, a->s) : vm_int(a->i);
  case SCH_KIND_VALUE: {
    const ir_value *x = &r->s.m.prog.value.v[a->i];
    return x->tag == IR_VAL_INT   ? vm_int(x->i)
           : x->tag == IR_VAL_STR ? text_of(r, ir_text(&r->s.m.prog, x->s))
                                  : vm_nil();
  }
  case SCH_KIND_INT:
  case SCH_KIND_EXPR: return vm_int(a->i);
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES:
  case SCH_KIND_INTS:
  case SCH_KIND_FACTORS:
  case SCH_KIND_REALS:
    return a->n <= SCHEDULED_MAX ? list_of(r, sp, a, v) : vm_nil();
  default: return vm_nil();
  }
}

/* false: the call cannot be written in a trace. */
static bool operands(recorded *r, const sch_prim *prim,
                     const scheduled_arg *given, vm_value *v) {
  for (uint32_t i = 0; i < prim->nspecs; i++) {
    const scheduled_arg *a = given;
    while (a->name && strcmp(a->name, prim->specs[i].name)) a++;
    v[i] = a->name ? operand_value(r, &prim->specs[i], a) : vm_nil();
    if (a->name && v[i].tag == VM_NIL) return false;
  }
  return true;
}

/* ---- byte for byte ------------------------------------------------------ */

#define SAME(x, y, table)                          \
  (assert_int_equal((x)->table.n, (y)->table.n),   \
   assert_memory_equal((x)->table.v, (y)->table.v, \
                       (x)->table.n * sizeof *(x)->table.v))

static void assert_same(const recorded *r) {
  const ir_program *p = &r->program, *q = &r->s.m.prog;
  const vm_trace *t = &r->before, *u = &r->s.trace;
  SAME(p, q, node), SAME(p, q, var), SAME(p, q, buf), SAME(p, q, stmt);
  SAME(p, q, block), SAME(p, q, iter), SAME(p, q, region), SAME(p, q, match);
  SAME(p, q, reducer), SAME(p, q, func), SAME(p, q, anno), SAME(p, q, value);
  SAME(p, q, arg), SAME(p, q, text), assert_int_equal(p->entry, q->entry);
  SAME(t, u, inst), SAME(t, u, val), SAME(t, u, dec), SAME(t, u, rv);
  SAME(t, u, rv_inst), SAME(t, u, text);
}

static void refused_call(recorded *r, const sch_prim *prim, const vm_value *v,
                         uint16_t reason) {
  vm_call c = {.prim = prim, .pool = &r->pool, .operand = v};
  vm_rv first;
  uint32_t n;
  ir_program_copy(&r->program, &r->s.m.prog);
  vm_trace_copy(&r->before, &r->s.trace);
  tess_status st = vm_sched_call(&r->s, &c, &first, &n);
  assert_int_not_equal(st, TESS_OK);
  assert_same(r);
  /* Else the machine itself would not have it: not a number, say. */
  if (st != TESS_REFUSED) return;
  assert_int_equal(r->s.m.state.refusal.reason, reason);
  test_shown(sch_reason_name((sch_reason)reason));
}

void scheduled_refused(scheduled *t, const sch_prim *prim,
                       const scheduled_arg *given) {
  mem_heap *heap = &t->heap.heap;
  recorded r = {.pool = {.heap = heap}};
  vm_value v[VM_MAX_SPECS];
  vm_trace_init(&r.pool, heap);
  vm_trace_init(&r.before, heap);
  ir_program_init(&r.program, heap);
  assert_int_equal(vm_sched_init(&r.s, heap, &t->before, t->seed), TESS_OK);
  if (!operands(&r, prim, given, v))
    fail_msg("no trace can hold this call of %s", prim->name);
  refused_call(&r, prim, v, t->s.refusal.reason);
  vm_sched_free(&r.s);
  ir_program_free(&r.program);
  vm_trace_free(&r.before);
  vm_trace_free(&r.pool);
}
