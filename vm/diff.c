/* SPDX-License-Identifier: Apache-2.0
 * Diff of two snapshots of a program around one instruction.  Tables only grow
 * and expressions are interned, so equality is equality of indices. */
#include "ir/query.h"
#include "vm/exec.h"
#include "vm/step.h"

typedef struct pair {
  const ir_program *old, *now;
} pair;

static bool same_args(const pair *p, ir_span a, ir_span b) {
  return a.n == b.n &&
         !(a.n && memcmp(p->old->arg.v + a.at, p->now->arg.v + b.at,
                         a.n * sizeof *p->now->arg.v));
}

static bool same_region(const pair *p, ir_region a, ir_region b) {
  ir_span x = {a.at, 2 * ir_ndim(p->old, a.buf)};
  ir_span y = {b.at, 2 * ir_ndim(p->now, b.buf)};
  return a.buf == b.buf && same_args(p, x, y);
}

static bool same_regions(const pair *p, ir_span a, ir_span b) {
  bool same = a.n == b.n;
  for (uint32_t i = 0; same && i < a.n; i++)
    same =
        same_region(p, p->old->region.v[a.at + i], p->now->region.v[b.at + i]);
  return same;
}

static bool same_iters(const pair *p, ir_span a, ir_span b) {
  bool same = a.n == b.n;
  for (uint32_t i = 0; same && i < a.n; i++) {
    const ir_iter *x = &p->old->iter.v[a.at + i];
    const ir_iter *y = &p->now->iter.v[b.at + i];
    same = x->var == y->var && x->kind == y->kind && x->lo == y->lo &&
           x->extent == y->extent && x->bind == y->bind;
  }
  return same;
}

static bool same_matches(const pair *p, ir_span a, ir_span b) {
  bool same = a.n == b.n;
  for (uint32_t i = 0; same && i < a.n; i++) {
    const ir_match *x = &p->old->match.v[a.at + i];
    const ir_match *y = &p->now->match.v[b.at + i];
    same = x->buf == y->buf && same_region(p, x->source, y->source);
  }
  return same;
}

static bool same_block(const pair *p, uint32_t a, uint32_t b) {
  const ir_block_rec *x = &p->old->block.v[a], *y = &p->now->block.v[b];
  return a == b && x->name == y->name && x->pred == y->pred &&
         x->reducer == y->reducer && same_iters(p, x->iters, y->iters) &&
         same_regions(p, x->reads, y->reads) &&
         same_regions(p, x->writes, y->writes) &&
         same_args(p, x->allocs, y->allocs) &&
         same_matches(p, x->matches, y->matches);
}

static bool same_annos(const pair *p, uint32_t a, uint32_t b) {
  for (; a && b; a = p->old->anno.v[a].next, b = p->now->anno.v[b].next) {
    const ir_anno *x = &p->old->anno.v[a], *y = &p->now->anno.v[b];
    if (x->key != y->key || !ir_value_eq(p->old, x->val, p->now, y->val))
      return false;
  }
  return a == b;
}

static bool same_content(const pair *p, const ir_stmt_rec *x,
                         const ir_stmt_rec *y) {
  switch ((ir_kind)x->kind) {
  case IR_LOOP:
    return x->var == y->var && x->lo == y->lo && x->extent == y->extent &&
           x->loop_kind == y->loop_kind && x->thread == y->thread &&
           same_annos(p, x->anno, y->anno);
  case IR_BLOCK:
    return same_block(p, x->block, y->block) && same_annos(p, x->anno, y->anno);
  case IR_STORE:
    return x->buf == y->buf && same_args(p, x->idx, y->idx) &&
           x->value == y->value && x->mask == y->mask;
  case IR_IF: return x->cond == y->cond;
  case IR_LET: return x->let_var == y->let_var && x->let_value == y->let_value;
  case IR_EVALUATE: return x->eval == y->eval;
  case IR_ALLOCATE: return x->alloc == y->alloc;
  case IR_BARRIER: return x->thread == y->thread;
  case IR_DEAD: break;
  }
  return true;
}

bool vm_same_content(const ir_program *old, const ir_program *now, ir_stmt s) {
  pair p = {old, now};
  const ir_stmt_rec *x = ir_st(old, s), *y = ir_st(now, s);
  return x->kind == y->kind && same_content(&p, x, y);
}

/* A statement of which only the neighbours changed is unchanged. */
static bool is_same(const pair *p, ir_stmt s) {
  if (s >= p->old->stmt.n) return false;
  const ir_stmt_rec *x = ir_st(p->old, s), *y = ir_st(p->now, s);
  return x->kind == y->kind && x->parent == y->parent &&
         x->in_alt == y->in_alt && same_content(p, x, y);
}

typedef struct job {
  vm_stepper *s;
  vm_marks *out;
} job;

static tess_status mark(void *ud) {
  job *j = ud;
  pair p = {&j->s->before.prog, &j->s->m.prog};
  uint32_t at = vec_extend(j->s->heap, j->out, p.now->stmt.n);
  memset(j->out->v + at, 0, p.now->stmt.n);
  for (ir_stmt s = 1; j->s->at && s < p.now->stmt.n; s++)
    j->out->v[at + s] = !is_same(&p, s);
  return TESS_OK;
}

tess_status vm_stepper_changes(vm_stepper *s, vm_marks *out) {
  job j = {s, out};
  return mem_protect(s->heap, mark, &j);
}

static bool is_gone(const pair *p, ir_stmt s) {
  return !ir_is_dead(p->old, s) && ir_is_dead(p->now, s);
}

static void put_gone(const pair *p, strbuf *out) {
  const char *before = "gone:\n";
  for (ir_stmt s = 1; s < p->old->stmt.n; s++) {
    if (!is_gone(p, s)) continue;
    str_printf(out, "%s  - ", before);
    ir_print_stmt_head(p->old, s, out);
    str_putc(out, '\n');
    before = "";
  }
}

tess_status vm_stepper_print(vm_stepper *s, strbuf *out) {
  vm_marks marks = {0};
  tess_status st = vm_stepper_changes(s, &marks);
  if (st == TESS_OK) {
    pair p = {&s->before.prog, &s->m.prog};
    ir_print_opts o = {.changed = marks.v};
    ir_print(&s->m.prog, &o, out);
    if (s->at) put_gone(&p, out);
  }
  vec_free(s->heap, &marks);
  return st;
}
