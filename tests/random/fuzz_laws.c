/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what holds of each call beside that the program
 * computes the same.  What cannot be meant is not accepted; what marks loops
 * (kinds, annotations) is not lost; a call does what it is for, and leaves
 * nothing behind that is of no use. */
#include "ir/query.h"
#include "random/fuzz.h"

#include "schedule/sch.h"
#include "vm/text/text.h"

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

/* The loops that these give are serial, of whatever kind those were that they
 * took, which are bound to no threads. */
static bool gives_serial(const sch_prim *prim) {
  return !strcmp(prim->name, "split") || !strcmp(prim->name, "fuse");
}

static bool keeps_marks(fuzz *f, const sch_prim *prim) {
  marks was = marks_of(&f->before), is = marks_of(&f->s.m.prog);
  for (uint32_t k = 0; k < KINDS; k++)
    if (k != IR_SERIAL && is.kind[k] < was.kind[k] &&
        (k == IR_THREAD || !gives_serial(prim))) {
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

static const ir_value *alignment(const ir_program *p, ir_stmt block) {
  const ir_anno *a = block && ir_is_block(p, block)
                         ? ir_anno_get(p, block, "buffer_dim_align")
                         : NULL;
  return a ? &p->value.v[a->val] : NULL;
}

/* What the block bore of the kind is still there, or its like is. */
static bool aligns(fuzz *f) {
  const vm_trace *t = &f->s.trace;
  ir_stmt block = fuzz_stmt(f, vm_operand(t, t->inst.n - 1, 0).rv);
  const ir_value *was = alignment(&f->before, block);
  const ir_value *is = alignment(&f->s.m.prog, block);
  if (is && (!was || (was->tag == IR_VAL_LIST && is->n >= was->n))) return true;
  fuzz_wrong(f, "storage_align lost what was annotated");
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

/* The operand that the primitive names so; nil: it has none. */
static vm_value named(const fuzz *f, const sch_prim *prim, const char *name) {
  const vm_trace *t = &f->s.trace;
  for (uint32_t i = 0; i < prim->nspecs; i++)
    if (!strcmp(prim->specs[i].name, name))
      return vm_operand(t, t->inst.n - 1, i);
  return vm_nil();
}

/* Who was to read the copy that was read, or the one that is written, does. */
static bool redirects(fuzz *f, const sch_prim *prim) {
  const ir_program *p = &f->s.m.prog;
  const vm_trace *t = &f->s.trace;
  ir_stmt copy = fuzz_stmt(f, t->inst.v[t->inst.n - 1].out);
  vm_value who = named(f, prim, "consumer_blocks");
  if (who.tag != VM_LIST || !copy) return true;
  ir_span r = strstr(prim->name, "write") ? ir_blk(p, copy)->reads
                                          : ir_blk(p, copy)->writes;
  for (uint32_t i = 0; i < who.n; i++) {
    ir_stmt s = fuzz_stmt(f, t->val.v[who.at + i].rv);
    if (!s || sch_reads_buf(p, s, p->region.v[r.at].buf)) continue;
    fuzz_wrong(f, "a block that was to read what %s made does not", prim->name);
    return false;
  }
  return true;
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

/* What was to go into the new block stands in it. */
static bool blockizes(fuzz *f) {
  const vm_trace *t = &f->s.trace;
  const ir_program *p = &f->s.m.prog;
  uint32_t last = t->inst.n - 1;
  ir_stmt made = fuzz_stmt(f, t->inst.v[last].out);
  vm_value v = vm_operand(t, last, 0);
  for (uint32_t i = 0; v.tag == VM_LIST && i < v.n; i++) {
    ir_stmt s = fuzz_stmt(f, t->val.v[v.at + i].rv);
    if (!s || ir_is_ancestor(p, made, s)) continue;
    fuzz_wrong(f, "blockize left a statement out of the block");
    return false;
  }
  return true;
}

/* What an iter runs through is known, and there is some of it. */
static bool maps(fuzz *f) {
  const vm_trace *t = &f->s.trace;
  const ir_program *p = &f->before;
  ir_stmt b = fuzz_stmt(f, vm_operand(t, t->inst.n - 1, 0).rv);
  ir_span it = b ? ir_blk(p, b)->iters : (ir_span){0, 0};
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (ir_at(p, p->iter.v[i].extent)->lo > 0) continue;
    fuzz_wrong(f, "transform_block_layout mapped an iter without values");
    return false;
  }
  return true;
}

/* The loop is not so long that it would take too long to find its factors. */
static bool factorises(fuzz *f, const sch_prim *prim) {
  const vm_trace *t = &f->s.trace;
  vm_value loop = vm_operand(t, t->inst.n - 1, 0);
  if (fuzz_extent(f, loop.rv) <= INT64_C(1) << 44) return true;
  fuzz_wrong(f, "%s cut a loop that is too long", prim->name);
  return false;
}

/* More than one buffer that the block reads (writes) bears the name. */
static bool laws_is_shared(const ir_program *p, ir_span r, const char *name) {
  ir_buf found = 0;
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    ir_buf b = p->region.v[i].buf;
    if (strcmp(ir_text(p, p->buf.v[b].name), name)) continue;
    if (found && b != found) return true;
    found = b;
  }
  return false;
}

/* A buffer that is meant by its name is the only one of that name. */
static bool names_one(fuzz *f, const sch_prim *prim) {
  const vm_trace *t = &f->s.trace;
  const ir_program *p = &f->before;
  uint32_t last = t->inst.n - 1;
  vm_value first = prim->nspecs ? vm_operand(t, last, 0) : vm_nil();
  ir_stmt b = first.tag == VM_RV ? fuzz_stmt(f, first.rv) : 0;
  for (uint32_t i = 1; i < prim->nspecs && b && ir_is_block(p, b); i++) {
    const sch_spec *s = &prim->specs[i];
    vm_value v = vm_operand(t, last, i);
    if (s->kind != SCH_KIND_BUFFER || v.tag != VM_STR) continue;
    const char *name = t->text.v + v.str;
    const ir_block_rec *k = ir_blk(p, b);
    if (!(strstr(s->name, "read") && laws_is_shared(p, k->reads, name)) &&
        !(strstr(s->name, "write") && laws_is_shared(p, k->writes, name)))
      continue;
    fuzz_wrong(f, "%s chose among buffers named %s", prim->name, name);
    return false;
  }
  return true;
}

bool fuzz_check_laws(fuzz *f, const sch_prim *prim) {
  if (f->report.n) return false; /* of what followed the call */
  if (f->spoiled) {
    fuzz_wrong(f, "%s was accepted, and \"%s\" cannot be meant", prim->name,
               f->spoiled);
    vm_write_lua_inst(&f->s.trace, f->s.trace.inst.n - 1, &f->report);
    return false;
  }
  /* One that followed by itself is looked at in its place. */
  prim = f->s.trace.inst.v[f->s.trace.inst.n - 1].prim;
  if (fuzz_hint_of(prim)->keeps && !keeps_marks(f, prim)) return false;
  if (!leaves_nothing(f, prim) || !names_one(f, prim) || !redirects(f, prim))
    return false;
  return !strcmp(prim->name, "annotate")                 ? annotates(f)
         : !strcmp(prim->name, "unannotate")             ? unannotates(f)
         : !strcmp(prim->name, "split")                  ? splits(f)
         : !strcmp(prim->name, "fission")                ? fissions(f)
         : !strcmp(prim->name, "tensorize")              ? tensorizes(f)
         : !strcmp(prim->name, "blockize")               ? blockizes(f)
         : !strcmp(prim->name, "storage_align")          ? aligns(f)
         : !strcmp(prim->name, "transform_block_layout") ? maps(f)
         : strstr(prim->name, "_tile")                   ? factorises(f, prim)
         : strstr(prim->name, "cache_read") || !strcmp(prim->name, "read_at")
             ? copies(f, prim)
         : strstr(prim->name, "compute_at") ? moves(f, prim)
                                            : true;
}
