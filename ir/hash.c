/* SPDX-License-Identifier: Apache-2.0
 * Structural hash of a program: independent of the machine, of the names of
 * variables, buffers and functions, and of their order in the tables.  Names of
 * blocks count. */
#include "base/hash.h"
#include "ir/query.h"
#include "ir/structure.h"

/* Separators, so that adjacent parts cannot be confused. */
enum { H_END = 201, H_BODY, H_ALT, H_FUNC, H_CONSTANT };

static uint64_t hash_text(const ir_program *p, ir_str s) {
  const char *t = ir_text(p, s);
  return hash_bytes(t, strlen(t));
}

static uint64_t hash_run(hasher *h, uint64_t r, ir_span s) {
  r = hash_mix(r, s.n);
  for (uint32_t i = 0; i < s.n; i++)
    r = hash_mix(r, hash_expr(h, h->p->arg.v[s.at + i]));
  return r;
}

static uint64_t hash_region(hasher *h, uint64_t r, ir_region x) {
  ir_span run = {x.at, 2 * ir_ndim(h->p, x.buf)};
  return hash_run(h, hash_mix(r, h->buf[x.buf]), run);
}

static uint64_t hash_regions(hasher *h, uint64_t r, ir_span s) {
  r = hash_mix(r, s.n);
  for (uint32_t i = 0; i < s.n; i++)
    r = hash_region(h, r, h->p->region.v[s.at + i]);
  return r;
}

/* Annotations hash as a set. */
static uint64_t hash_annos(const ir_program *p, uint32_t anno) {
  uint64_t sum = 0;
  for (uint32_t a = anno; a; a = p->anno.v[a].next)
    sum += hash_mix(hash_text(p, p->anno.v[a].key),
                    hash_value(p, p->anno.v[a].val));
  return sum;
}

/* ---- binders ------------------------------------------------------------ */

static void bind_var(hasher *h, ir_var v) { h->var[v] = ++h->next; }

static uint64_t bind_buf(hasher *h, uint64_t r, ir_buf b) {
  const ir_buf_rec *x = &h->p->buf.v[b];
  h->buf[b] = ++h->next;
  r = hash_mix(r, x->dtype.code | (uint64_t)x->dtype.bits << 8 |
                      (uint64_t)x->dtype.lanes << 16 |
                      (uint64_t)x->scope << 32 | (uint64_t)x->role << 40 |
                      (uint64_t)x->align << 48);
  if (x->holds)
    r = hash_mix(hash_mix(hash_mix(r, x->holds), (uint64_t)x->least),
                 (uint64_t)x->most);
  r = hash_run(h, r, x->shape);
  r = hash_run(h, r, x->strides);
  return hash_mix(r, hash_expr(h, x->offset));
}

/* Formal parameters hash by position, so that sharing a reducer between blocks
 * makes no difference. */
#define FORMALS UINT32_C(0x80000000)

uint64_t hash_reducer(hasher *h, uint64_t r, uint32_t reducer) {
  const ir_reducer *x = &h->p->reducer.v[reducer];
  if (!reducer) return hash_mix(r, 0);
  for (uint32_t i = 0; i < x->n; i++) {
    h->var[h->p->arg.v[x->lhs.at + i]] = FORMALS + 2 * i;
    h->var[h->p->arg.v[x->rhs.at + i]] = FORMALS + 2 * i + 1;
  }
  return hash_run(h, hash_run(h, r, x->combine), x->identity);
}

/* ---- statements --------------------------------------------------------- */

static uint64_t hash_block(hasher *h, uint64_t r, const ir_block_rec *b) {
  const ir_program *p = h->p;
  r = hash_mix(hash_mix(r, hash_text(p, b->name)), b->iters.n);
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    r = hash_mix(r, it->kind);
    r = hash_mix(r, hash_expr(h, it->lo));
    r = hash_mix(r, hash_expr(h, it->extent));
    r = hash_mix(r, hash_expr(h, it->bind));
  }
  r = hash_mix(r, hash_expr(h, b->pred));
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++)
    bind_var(h, p->iter.v[i].var);
  for (uint32_t i = 0; i < b->allocs.n; i++)
    r = bind_buf(h, r, p->arg.v[b->allocs.at + i]);
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++) {
    r = hash_region(h, r, p->match.v[i].source);
    r = bind_buf(h, r, p->match.v[i].buf);
  }
  r = hash_regions(h, r, b->reads);
  r = hash_regions(h, r, b->writes);
  return hash_reducer(h, r, b->reducer);
}

static uint64_t hash_loop(hasher *h, uint64_t r, const ir_stmt_rec *s) {
  r = hash_mix(r, s->loop_kind | (uint64_t)s->thread << 8);
  r = hash_mix(r, hash_expr(h, s->lo));
  r = hash_mix(r, hash_expr(h, s->extent));
  bind_var(h, s->var);
  return r;
}

static uint64_t hash_head(hasher *h, uint64_t r, ir_stmt s) {
  const ir_stmt_rec *x = ir_st(h->p, s);
  r = hash_mix(r, x->kind);
  switch ((ir_kind)x->kind) {
  case IR_LOOP: r = hash_loop(h, r, x); break;
  case IR_BLOCK: r = hash_block(h, r, ir_blk(h->p, s)); break;
  case IR_STORE:
    r = hash_run(h, hash_mix(r, h->buf[x->buf]), x->idx);
    if (x->loop_kind) r = hash_mix(r, x->loop_kind);
    r = hash_mix(r, hash_expr(h, x->value));
    return hash_mix(r, hash_expr(h, x->mask));
  case IR_IF: return hash_mix(r, hash_expr(h, x->cond));
  case IR_LET:
    r = hash_mix(r, hash_expr(h, x->let_value));
    bind_var(h, x->let_var);
    return r;
  case IR_EVALUATE: return hash_mix(r, hash_expr(h, x->eval));
  case IR_ALLOCATE: return bind_buf(h, r, x->alloc);
  case IR_BARRIER: return hash_mix(r, x->thread);
  case IR_DEAD: return r;
  }
  return hash_mix(r, hash_annos(h->p, x->anno));
}

static uint64_t hash_stmt(hasher *h, uint64_t r, ir_stmt s) {
  r = hash_head(h, r, s);
  if (ir_st(h->p, s)->body) r = hash_mix(r, H_BODY);
  for (ir_stmt c = ir_st(h->p, s)->body; c; c = ir_st(h->p, c)->next)
    r = hash_stmt(h, r, c);
  if (ir_st(h->p, s)->alt) r = hash_mix(r, H_ALT);
  for (ir_stmt c = ir_st(h->p, s)->alt; c; c = ir_st(h->p, c)->next)
    r = hash_stmt(h, r, c);
  return hash_mix(r, H_END);
}

/* ---- the whole ---------------------------------------------------------- */

static uint64_t hash_func(hasher *h, uint64_t r, const ir_func *f) {
  const ir_program *p = h->p;
  r = hash_mix(hash_mix(r, H_FUNC), f->sizes.n);
  for (uint32_t i = 0; i < f->sizes.n; i++)
    bind_var(h, p->arg.v[f->sizes.at + i]);
  r = hash_mix(r, f->params.n);
  for (uint32_t i = 0; i < f->params.n; i++)
    r = bind_buf(h, r, p->arg.v[f->params.at + i]);
  return hash_stmt(h, r, f->root);
}

uint64_t hash_program(hasher *h) {
  const ir_program *p = h->p;
  uint32_t end = ir_func_end(p);
  uint64_t r = hash_mix(p->entry, end);
  for (uint32_t i = 0; i < p->constant.n; i++) {
    const ir_const *c = &p->constant.v[i];
    r = bind_buf(h, hash_mix(r, H_CONSTANT), c->buf);
    r = hash_mix(r, hash_bytes(c->data, c->bytes));
  }
  for (uint32_t i = 1; i < end; i++) r = hash_func(h, r, &p->func.v[i]);
  return r;
}

uint64_t ir_hash(const ir_program *p, arena *scratch) {
  arena_mark m = arena_get_mark(scratch);
  hasher h;
  hash_start(&h, p, scratch);
  uint64_t r = hash_program(&h);
  arena_reset_to(scratch, m);
  return r;
}
