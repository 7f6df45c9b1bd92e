/* SPDX-License-Identifier: Apache-2.0
 * Scalar replacement of loop-invariant accesses: elements of a buffer that a
 * loop stores to in each of its iterations (accumulators) are loaded before it,
 * kept in a small buffer of constant indices, and stored after it.  Code
 * generation maps such a buffer to registers.
 *
 *     for k: C[i..] = C[i..] + A[k] * B[k..]
 * becomes
 *     R[0..] = C[i..];  for k: R[0..] = R[0..] + A[k] * B[k..];  C[i..] =
 * R[0..]
 *
 * Done where it is exact: the loop must run, it must store to each element,
 * all its accesses to the buffer are to these elements, and no two of them
 * overlap. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"
#include <stdlib.h>

enum {
  MAX_ELEMENTS = 256, /* distinct ones, of one buffer */
  MAX_REGISTERS = 64  /* vector registers' worth of them, at most */
};

/* Consecutive elements rest + at .. rest + at + lanes - 1 of the buffer. */
typedef struct element {
  int64_t at;
  uint32_t lanes;
  bool loaded_first; /* its first use may be a load */
  bool stored;       /* must be, in each iteration */
  ir_expr mem;       /* its index in the buffer */
  ir_expr reg;       /* its index among the registers */
} element;

typedef struct promote {
  ir_program *p;
  arena *scratch;
  ir_stmt loop;
  ir_buf buf, regs;
  ir_expr rest; /* what the elements' indices have in common */
  uint32_t n;
  element *e;
  bool failed;
  bool must;  /* the current statement is unconditionally executed */
  ir_expr at; /* the current expression */
} promote;

/* ---- elements ----------------------------------------------------------- */

/* The first index and the number of lanes of an access; false: it is none of
 * consecutive elements. */
static bool row_of(const ir_program *p, ir_expr idx, ir_expr *first,
                   uint32_t *lanes) {
  const ir_node *n = ir_at(p, idx);
  *lanes = n->dtype.lanes;
  *first = *lanes == 1 ? idx : n->a;
  return *lanes == 1 || (n->op == IR_RAMP && ir_is_const(p, n->b, 1));
}

static element *find_element(const promote *k, int64_t at, uint32_t lanes) {
  for (uint32_t i = 0; i < k->n; i++)
    if (k->e[i].at == at && k->e[i].lanes == lanes) return &k->e[i];
  return NULL;
}

/* The element that an access in the loop is to; NULL, and failed, when it
 * is not to one of the kind. */
static element *note_element(promote *k, ir_expr idx) {
  ir_expr first;
  uint32_t lanes;
  int64_t at;
  k->failed |= !row_of(k->p, idx, &first, &lanes);
  if (k->failed) return NULL;
  ir_expr rest = ir_split_offset(k->p, first, &at);
  k->failed |= rest != k->rest;
  if (k->failed) return NULL;
  element *e = find_element(k, at, lanes);
  if (e) return e;
  k->failed = k->n == MAX_ELEMENTS;
  if (k->failed) return NULL;
  k->e[k->n] = (element){.at = at, .lanes = lanes, .mem = idx};
  return &k->e[k->n++];
}

static int by_place(const void *a, const void *b) {
  const element *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static bool are_disjoint(promote *k) {
  qsort(k->e, k->n, sizeof *k->e, by_place);
  for (uint32_t i = 1; i < k->n; i++)
    if (k->e[i - 1].at + k->e[i - 1].lanes > k->e[i].at) return false;
  return true;
}

/* ---- what the loop does ------------------------------------------------- */

/* Operands of a select are evaluated on one side only. */
static ir_walk look_outside_sides(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  if (e == *(ir_expr *)ud) return IR_WALK_FOUND;
  if (n->op != IR_SELECT) return IR_WALK_DESCEND;
  return ir_any(p, n->a, look_outside_sides, ud) ? IR_WALK_FOUND : IR_WALK_SKIP;
}

static bool is_must_load(const promote *k, ir_expr load) {
  return k->must && ir_any(k->p, k->at, look_outside_sides, &load);
}

/* The hoisted load may read uninitialized memory, unless the loop must execute
 * that load as well. */
static void note_element_load(const ir_program *p, ir_expr e, void *ud) {
  promote *k = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || n->a != k->buf || k->failed) return;
  k->failed = n->c || n->n != 1;
  uint32_t before = k->n;
  element *x = k->failed ? NULL : note_element(k, p->arg.v[n->b]);
  if (!x) return;
  if (k->n == before) return;
  x->loaded_first = true;
  k->failed |= !is_must_load(k, e);
}

static void note_loads(promote *k, ir_expr e) {
  k->at = e;
  if (e && ir_at(k->p, e)->has_load)
    ir_visit(k->p, k->scratch, e, note_element_load, k);
}

/* An element whose first access is a must-store needs no load before the
 * loop. */
static void note_store(promote *k, const ir_stmt_rec *r) {
  note_loads(k, k->p->arg.v[r->idx.at]);
  note_loads(k, r->value);
  note_loads(k, r->mask);
  if (r->buf != k->buf || k->failed) return;
  k->failed = r->mask || r->idx.n != 1;
  uint32_t before = k->n;
  element *e = k->failed ? NULL : note_element(k, k->p->arg.v[r->idx.at]);
  if (!e) return;
  k->failed |= k->n != before && !k->must;
  e->stored |= k->must;
}

/* Is s unconditionally executed in each iteration of the loop? */
static bool must_execute(const promote *k, ir_stmt s) {
  const ir_program *p = k->p;
  while ((s = ir_st(p, s)->parent) && s != k->loop) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_IF) return false;
    if (r->kind == IR_LOOP && ir_at(p, r->extent)->lo < 1) return false;
  }
  return true;
}

static void note_stmt(promote *k, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(k->p, s);
  k->must = must_execute(k, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    k->failed |= r->loop_kind != IR_SERIAL;
    note_loads(k, r->lo);
    note_loads(k, r->extent);
    break;
  case IR_STORE:
    k->failed |= r->loop_kind && r->buf == k->buf; /* atomic */
    note_store(k, r);
    break;
  case IR_IF: note_loads(k, r->cond); break;
  case IR_LET: note_loads(k, r->let_value); break;
  case IR_EVALUATE: note_loads(k, r->eval); break;
  case IR_ALLOCATE: k->failed |= r->alloc == k->buf; break;
  case IR_BARRIER: k->failed = true; break;
  case IR_BLOCK:
  case IR_DEAD: break;
  }
}

/* Finds the elements and decides whether they can be promoted. */
static bool find_elements(promote *k, const lower_options *o) {
  ir_program *p = k->p;
  for (ir_stmt s = k->loop; s && !k->failed; s = ir_next(p, s, k->loop))
    note_stmt(k, s);
  if (k->failed || !are_disjoint(k)) return false;
  size_t bytes = 0, bytes_each = ir_dtype_bytes(p->buf.v[k->buf].dtype);
  for (uint32_t i = 0; i < k->n; i++) {
    if (!k->e[i].stored) return false;
    bytes += k->e[i].lanes * bytes_each;
  }
  size_t width = o->vector_bytes ? o->vector_bytes : 32;
  return bytes <= MAX_REGISTERS * width;
}

/* ---- moving into registers ---------------------------------------------- */

static element *element_of(const promote *k, ir_expr idx) {
  ir_expr first;
  uint32_t lanes;
  int64_t at;
  row_of(k->p, idx, &first, &lanes);
  ir_split_offset(k->p, first, &at);
  return find_element(k, at, lanes);
}

static ir_expr load_register(ir_subst *s, ir_buf b, uint32_t n,
                             const ir_expr *idx) {
  const promote *k = s->ud;
  if (b != k->buf || n != 1) return 0;
  return ir_load(s->p, k->regs, 1, &element_of(k, idx[0])->reg);
}

static void make_registers(promote *k) {
  ir_program *p = k->p;
  int64_t size = 0;
  for (uint32_t i = 0; i < k->n; i++) {
    element *e = &k->e[i];
    e->reg = ir_ramp(p, ir_index(p, size), ir_index(p, 1), e->lanes);
    size += e->lanes;
  }
  ir_expr shape = ir_index(p, size);
  ir_str name = ir_name_cat(p, p->buf.v[k->buf].name, "_reg");
  k->regs = ir_buf_new(p, name, p->buf.v[k->buf].dtype, 1, &shape,
                       IR_SCOPE_LOCAL, IR_ROLE_LOCAL);
}

static ir_stmt copy_element(promote *k, ir_buf to, ir_expr to_idx, ir_buf from,
                            ir_expr from_idx) {
  ir_expr v = ir_load(k->p, from, 1, &from_idx);
  return ir_store_new(k->p, to, 1, &to_idx, v);
}

static void use_registers(promote *k) {
  ir_program *p = k->p;
  ir_subst sub;
  ir_subst_init(&sub, p, k->scratch);
  sub.load = load_register;
  sub.ud = k;
  for (ir_stmt s = k->loop; s; s = ir_next(p, s, k->loop)) {
    ir_subst_head(&sub, s, true);
    ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_STORE || r->buf != k->buf) continue;
    ir_expr reg = element_of(k, p->arg.v[r->idx.at])->reg;
    ir_span idx = ir_arg_span(p, 1, &reg);
    ir_st(p, s)->idx = idx;
    ir_st(p, s)->buf = k->regs;
  }
}

static void promote_elements(promote *k) {
  ir_program *p = k->p;
  make_registers(k);
  use_registers(k);
  ir_stmt a = ir_allocate_new(p, k->regs);
  ir_wrap(p, k->loop, a);
  for (uint32_t i = 0; i < k->n; i++) {
    const element *e = &k->e[i];
    if (e->loaded_first)
      ir_insert_before(p, k->loop,
                       copy_element(k, k->regs, e->reg, k->buf, e->mem));
    ir_append(p, a, copy_element(k, k->buf, e->mem, k->regs, e->reg));
  }
}

/* ---- where -------------------------------------------------------------- */

/* Is e invariant in the loop: no load, no variable bound in it? */
static bool is_invariant(const ir_program *p, ir_expr e, ir_stmt loop,
                         ir_stmt at) {
  if (ir_at(p, e)->has_load) return false;
  for (ir_stmt s = ir_st(p, at)->parent;; s = ir_st(p, s)->parent) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP && ir_uses_var(p, e, r->var)) return false;
    if (r->kind == IR_LET && ir_uses_var(p, e, r->let_var)) return false;
    if (s == loop) return true;
  }
}

static bool is_candidate(const ir_program *p, ir_stmt loop) {
  const ir_stmt_rec *r = ir_st(p, loop);
  return r->kind == IR_LOOP && r->loop_kind == IR_SERIAL &&
         ir_at(p, r->extent)->lo >= 1;
}

/* The outermost loop around the store s, nested in `limit` (0: any), in which
 * its index is invariant. */
static ir_stmt outermost_invariant(const ir_program *p, ir_stmt s,
                                   ir_stmt limit) {
  ir_expr idx = p->arg.v[ir_st(p, s)->idx.at];
  ir_stmt best = 0;
  for (ir_stmt l = ir_st(p, s)->parent; l && l != limit;
       l = ir_st(p, l)->parent)
    if (is_candidate(p, l)) {
      if (!is_invariant(p, idx, l, s)) break;
      best = l;
    }
  return best;
}

/* A local buffer indexed by constants is in registers already. */
static bool is_register(const ir_program *p, ir_buf b, ir_expr idx) {
  ir_expr first;
  uint32_t lanes;
  return p->buf.v[b].scope == IR_SCOPE_LOCAL &&
         row_of(p, idx, &first, &lanes) && ir_at(p, first)->op == IR_INT;
}

/* A loop where a buffer could not be promoted. */
typedef struct tried {
  ir_stmt loop;
  ir_buf buf;
  struct tried *next;
} tried;

static bool was_tried(const tried *t, ir_stmt loop, ir_buf b) {
  for (; t; t = t->next)
    if (t->loop == loop && t->buf == b) return true;
  return false;
}

static bool try_loop(ir_program *p, arena *scratch, ir_stmt loop, ir_stmt s,
                     const lower_options *o) {
  ir_expr first;
  uint32_t lanes;
  int64_t at;
  arena_mark mark = arena_get_mark(scratch);
  promote k = {
      .p = p, .scratch = scratch, .loop = loop, .buf = ir_st(p, s)->buf};
  k.e = arena_array(scratch, element, MAX_ELEMENTS);
  bool ok = row_of(p, p->arg.v[ir_st(p, s)->idx.at], &first, &lanes);
  if (ok) k.rest = ir_split_offset(p, first, &at);
  ok = ok && find_elements(&k, o);
  if (ok) promote_elements(&k);
  arena_reset_to(scratch, mark);
  return ok;
}

/* Outermost first: fewer executions of the loads and stores around it. */
static void try_loops(ir_program *p, arena *scratch, ir_stmt s,
                      const lower_options *o, tried **done) {
  ir_buf b = ir_st(p, s)->buf;
  ir_stmt limit = 0;
  for (ir_stmt l; (l = outermost_invariant(p, s, limit)); limit = l) {
    if (was_tried(*done, l, b)) continue;
    if (try_loop(p, scratch, l, s, o)) return;
    tried *t = arena_new(scratch, tried);
    *t = (tried){l, b, *done};
    *done = t;
  }
}

LOWER_PASS(scalar_replacement) {
  (void)e;
  tried *done = NULL;
  LOWER_EACH(p, s) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_STORE || r->idx.n != 1 || r->mask) continue;
    if (!is_register(p, r->buf, p->arg.v[r->idx.at]))
      try_loops(p, scratch, s, o, &done);
  }
  return TESS_OK;
}
