/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what holds of each call beside that the program
 * computes the same.  What cannot be meant is not accepted; what marks loops
 * (kinds, annotations) is not lost; a call does what it is for, and leaves
 * nothing behind that is of no use. */
#include "support/fuzz.h"

#include "schedule/sch.h"
#include "vm/text.h"

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
    if (r->kind == IR_LOOP && r->loop_kind < KINDS) m.kind[r->loop_kind]++;
    for (uint32_t a = r->anno; a; a = p->anno.v[a].next) m.annos++;
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
  if (has &&
      (asked.tag != VM_INT || (has->tag == IR_VAL_INT && has->i == asked.i)))
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

/* ---- of no use ---------------------------------------------------------- */

/* Loops and blocks in which nothing stands. */
static uint32_t count_empty(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    n += (ir_is_block(p, s) || ir_is_loop(p, s)) && !ir_st(p, s)->body;
  return n;
}

static bool leaves_nothing(fuzz *f, const sch_prim *prim) {
  if (count_empty(&f->s.m.prog) <= count_empty(&f->before)) return true;
  fuzz_wrong(f, "%s left a loop or a block with nothing in it", prim->name);
  return false;
}

/* Somebody reads the copy that the first output makes. */
static bool copies(fuzz *f, const sch_prim *prim) {
  const ir_program *p = &f->s.m.prog;
  ir_stmt root = ir_entry(p)->root;
  const vm_trace *t = &f->s.trace;
  ir_stmt copy = fuzz_stmt(f, t->inst.v[t->inst.n - 1].out);
  for (ir_stmt s = root; copy && s; s = ir_next(p, s, root))
    if (s != copy && ir_is_block(p, s) &&
        sch_reads_buf(p, s, p->region.v[ir_blk(p, copy)->writes.at].buf))
      return true;
  fuzz_wrong(f, "nobody reads the copy that %s made", prim->name);
  return false;
}

/* ---- done at all -------------------------------------------------------- */

static uint32_t count_loops(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) n += ir_is_loop(p, s);
  return n;
}

static bool fissions(fuzz *f) {
  if (count_loops(&f->s.m.prog) > count_loops(&f->before)) return true;
  fuzz_wrong(f, "fission made no further loop");
  return false;
}

static uint32_t count_matches(const ir_program *p) {
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s)) n += ir_blk(p, s)->matches.n;
  return n;
}

static bool tensorizes(fuzz *f) {
  if (count_matches(&f->s.m.prog) > count_matches(&f->before)) return true;
  fuzz_wrong(f, "tensorize put no intrinsic there");
  return false;
}

/* Some other block under the loop writes (reads) what `block` reads
 * (writes). */
static bool is_wanted(const ir_program *p, ir_stmt loop, ir_stmt block,
                      bool writes) {
  ir_span r = writes ? ir_blk(p, block)->reads : ir_blk(p, block)->writes;
  for (ir_stmt s = loop; s; s = ir_next(p, s, loop))
    for (uint32_t i = r.at; ir_is_block(p, s) && i < r.at + r.n; i++) {
      ir_buf buf = p->region.v[i].buf;
      if (s != block &&
          (writes ? sch_writes_buf(p, s, buf) : sch_reads_buf(p, s, buf)))
        return true;
    }
  return false;
}

/* A block was moved to where there is something for it. */
static bool moves(fuzz *f, const sch_prim *prim) {
  const vm_trace *t = &f->s.trace;
  uint32_t last = t->inst.n - 1;
  ir_stmt block = fuzz_stmt(f, vm_operand(t, last, 0).rv);
  ir_stmt loop = fuzz_stmt(f, vm_operand(t, last, 1).rv);
  if (!loop || !block ||
      is_wanted(&f->s.m.prog, loop, block, *prim->name == 'r'))
    return true;
  fuzz_wrong(f, "%s moved a block to where nothing is for it", prim->name);
  return false;
}

bool fuzz_check_laws(fuzz *f, const sch_prim *prim) {
  if (f->report.n) return false; /* of what followed the call */
  if (f->spoiled) {
    fuzz_wrong(f, "%s was accepted, and \"%s\" cannot be meant", prim->name,
               f->spoiled);
    vm_write_lua_inst(&f->s.trace, f->s.trace.inst.n - 1, &f->report);
    return false;
  }
  if (fuzz_hint_of(prim)->keeps && !keeps_marks(f, prim)) return false;
  if (!leaves_nothing(f, prim)) return false;
  if (f->s.trace.inst.v[f->s.trace.inst.n - 1].prim != prim) return true;
  return !strcmp(prim->name, "annotate")     ? annotates(f)
         : !strcmp(prim->name, "unannotate") ? unannotates(f)
         : !strcmp(prim->name, "split")      ? splits(f)
         : !strcmp(prim->name, "fission")    ? fissions(f)
         : !strcmp(prim->name, "tensorize")  ? tensorizes(f)
         : strstr(prim->name, "cache_read") || !strcmp(prim->name, "read_at")
             ? copies(f, prim)
         : strstr(prim->name, "compute_at") ? moves(f, prim)
                                            : true;
}
