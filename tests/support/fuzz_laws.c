/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what holds of each call beside that the program
 * computes the same.  What cannot be meant is not accepted; what marks loops
 * (kinds, annotations) is not lost. */
#include "support/fuzz.h"

#include <string.h>

enum { KINDS = IR_THREAD + 1 };

/* How many loops there are of each kind, and how many annotations. */
typedef struct marks {
  uint32_t kind[KINDS], annos;
} marks;

static marks marks_of(const ir_program *p) {
  marks m = {.annos = 0};
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP && r->loop_kind < KINDS)
      m.kind[r->loop_kind]++;
    for (uint32_t a = r->anno; a; a = p->anno.v[a].next)
      m.annos++;
  }
  return m;
}

static bool keeps_marks(fuzz *f, const sch_prim *prim) {
  marks was = marks_of(&f->before), is = marks_of(&f->s.m.prog);
  for (uint32_t k = 0; k < KINDS; k++)
    if (k != IR_SERIAL && is.kind[k] < was.kind[k]) {
      fuzz_wrong(f, "%s made a loop serial, or another kind", prim->name);
      return false;
    }
  if (is.annos < was.annos) {
    fuzz_wrong(f, "%s lost an annotation", prim->name);
    return false;
  }
  return true;
}

/* What the last instruction was to annotate has the value asked for. */
static bool annotates(fuzz *f) {
  const vm_trace *t = &f->s.trace;
  const ir_program *p = &f->s.m.prog;
  uint32_t last = t->inst.n - 1;
  vm_value at = vm_operand(t, last, 0), key = vm_operand(t, last, 1);
  vm_value asked = vm_operand(t, last, 2);
  ir_stmt st = fuzz_stmt(f, at.rv);
  const ir_anno *a = st ? ir_anno_get(p, st, t->text.v + key.str) : NULL;
  const ir_value *has = a ? &p->value.v[a->val] : NULL;
  if (has && (asked.tag != VM_INT ||
              (has->tag == IR_VAL_INT && has->i == asked.i)))
    return true;
  fuzz_wrong(f, "annotate did not set the value");
  return false;
}

static bool unannotates(fuzz *f) {
  if (marks_of(&f->s.m.prog).annos + 1 == marks_of(&f->before).annos)
    return true;
  fuzz_wrong(f, "unannotate did not take one annotation away");
  return false;
}

/* The predicates of all blocks together. */
static uint32_t guards(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    n += ir_is_block(p, s) && ir_blk(p, s)->pred;
  return n;
}

/* A split that was to need no guard made none. */
static bool splits(fuzz *f) {
  const vm_trace *t = &f->s.trace;
  const sch_prim *p = sch_find_prim("split");
  for (uint32_t i = 0; i < p->nspecs; i++) {
    vm_value v = vm_operand(t, t->inst.n - 1, i);
    if (strcmp(p->specs[i].name, "disable_predication") || v.tag != VM_BOOL ||
        !v.i || guards(&f->s.m.prog) <= guards(&f->before))
      continue;
    fuzz_wrong(f, "split made a guard that was not wanted");
    return false;
  }
  return true;
}

bool fuzz_check_laws(fuzz *f, const sch_prim *prim) {
  if (f->spoiled) {
    fuzz_wrong(f, "%s was accepted, and \"%s\" cannot be meant", prim->name,
               f->spoiled);
    return false;
  }
  if (fuzz_hint_of(prim)->keeps && !keeps_marks(f, prim))
    return false;
  if (f->s.trace.inst.v[f->s.trace.inst.n - 1].prim != prim)
    return true;
  return !strcmp(prim->name, "annotate")     ? annotates(f)
         : !strcmp(prim->name, "unannotate") ? unannotates(f)
         : !strcmp(prim->name, "split")      ? splits(f)
                                             : true;
}
