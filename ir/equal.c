/* SPDX-License-Identifier: Apache-2.0
 * Structural equality of two programs, up to what the structural hash ignores.
 * Both are walked in lockstep; a binder of one is paired with that of the other
 * (alpha-equivalence).  Operands of commutative operators are aligned by their
 * hashes. */
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/structure.h"

enum { MAX_SET = 64 };

typedef struct pairing {
  const ir_program *p, *q;
  arena *scratch; /* for lists: frames stay small, recursion is deep */
  hasher hp, hq;
  ir_var *var; /* of p: the variable of q that it is paired with */
  ir_buf *buf;
  ir_expr *node; /* of p: a node of q known to be equal, 0: none */
} pairing;

static bool expr_eq(pairing *x, ir_expr a, ir_expr b);

static bool text_eq(const pairing *x, ir_str a, ir_str b) {
  return !strcmp(ir_text(x->p, a), ir_text(x->q, b));
}

static bool run_eq(pairing *x, ir_span a, ir_span b) {
  for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
    if (!expr_eq(x, x->p->arg.v[a.at + i], x->q->arg.v[b.at + i])) return false;
  return a.n == b.n;
}

/* ---- sums and sets ------------------------------------------------------ */

typedef struct item {
  uint64_t key; /* the hash */
  int64_t k;    /* of a sum: the factor */
  ir_expr e;
} item;

static void insert(item *list, uint32_t n, item it) {
  while (n > 0 && list[n - 1].key > it.key) {
    list[n] = list[n - 1];
    n--;
  }
  list[n] = it;
}

static bool items_eq(pairing *x, uint32_t n, const item *a, const item *b) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i].key != b[i].key || a[i].k != b[i].k || !expr_eq(x, a[i].e, b[i].e))
      return false;
  return true;
}

/* The terms of a linear e, sorted by hash; 0: e is not linear. */
static uint32_t terms(hasher *h, ir_expr e, item *out, int64_t *constant) {
  lin l;
  lin_of(h->p, e, &l);
  if (l.n == 1 && l.t[0].atom == e) return 0;
  for (uint32_t i = 0; i < l.n; i++)
    insert(out, i, (item){hash_expr(h, l.t[i].atom), l.t[i].k, l.t[i].atom});
  *constant = l.c;
  return l.n;
}

static bool sum_eq(pairing *x, ir_expr a, ir_expr b, bool *decided) {
  item *s = arena_array(x->scratch, item, LIN_MAX);
  item *t = arena_array(x->scratch, item, LIN_MAX);
  int64_t c = 0, d = 0;
  uint32_t n = terms(&x->hp, a, s, &c), m = terms(&x->hq, b, t, &d);
  *decided = n && m;
  return n == m && c == d && items_eq(x, n, s, t);
}

/* The operands of e under one operator, flattened; MAX_SET + 1: too many. */
static uint32_t members(hasher *h, ir_op op, ir_expr e, item *out, uint32_t n) {
  const ir_node *x = ir_at(h->p, e);
  if (x->op == op && is_free_order(h->p, e)) {
    n = members(h, op, x->a, out, n);
    return n > MAX_SET ? n : members(h, op, x->b, out, n);
  }
  if (n < MAX_SET) insert(out, n, (item){hash_expr(h, e), 1, e});
  return n + 1;
}

static bool set_eq(pairing *x, ir_expr a, ir_expr b, bool *decided) {
  item *s = arena_array(x->scratch, item, MAX_SET);
  item *t = arena_array(x->scratch, item, MAX_SET);
  ir_op op = (ir_op)ir_at(x->p, a)->op;
  uint32_t n = members(&x->hp, op, a, s, 0), m = members(&x->hq, op, b, t, 0);
  *decided = n <= MAX_SET && m <= MAX_SET;
  return *decided && n == m && items_eq(x, n, s, t);
}

/* ---- expressions -------------------------------------------------------- */

static bool operands_eq(pairing *x, ir_expr a, ir_expr b) {
  const uint32_t *s, *t;
  uint32_t fs[3], ft[3];
  uint32_t n = ir_operands(x->p, a, &s, fs), m = ir_operands(x->q, b, &t, ft);
  for (uint32_t i = 0; i < n && n == m; i++)
    if (!expr_eq(x, s[i], t[i])) return false;
  return n == m;
}

static bool is_symmetric(const ir_node *n) {
  return n->is_index && (n->op == IR_EQ || n->op == IR_NE);
}

static bool node_eq(pairing *x, ir_expr a, ir_expr b) {
  const ir_node *n = ir_at(x->p, a), *m = ir_at(x->q, b);
  if (n->op != m->op || !ir_dtype_eq(n->dtype, m->dtype)) return false;
  switch ((ir_op)n->op) {
  case IR_INT:
  case IR_REAL: return n->i == m->i;
  case IR_VAR: return x->var[n->a] == m->a;
  case IR_LOAD:
    return x->buf[n->a] == m->a && !n->c == !m->c && operands_eq(x, a, b);
  case IR_CALL:
    return n->a == m->a &&
           text_eq(x, ir_fn_is_named(n->a) ? n->c : 0,
                   ir_fn_is_named(m->a) ? m->c : 0) &&
           operands_eq(x, a, b);
  default: break;
  }
  if (is_symmetric(n) && is_symmetric(m) &&
      hash_expr(&x->hp, n->a) == hash_expr(&x->hq, m->b))
    return expr_eq(x, n->a, m->b) && expr_eq(x, n->b, m->a);
  return operands_eq(x, a, b);
}

static bool expr_eq(pairing *x, ir_expr a, ir_expr b) {
  if (!a || !b) return a == b;
  if (x->node[a] == b) return true;
  if (hash_expr(&x->hp, a) != hash_expr(&x->hq, b)) return false;
  bool decided = false, eq = false;
  if (is_linear(x->p, a) && is_linear(x->q, b))
    eq = sum_eq(x, a, b, &decided);
  else if (is_free_order(x->p, a) && is_free_order(x->q, b))
    eq = set_eq(x, a, b, &decided);
  if (!decided) eq = node_eq(x, a, b);
  if (eq) x->node[a] = b;
  return eq;
}

/* ---- expressions of statements ------------------------------------------ */

static bool bind_buf(pairing *x, ir_buf a, ir_buf b) {
  const ir_buf_rec *r = &x->p->buf.v[a], *s = &x->q->buf.v[b];
  x->buf[a] = b;
  return ir_dtype_eq(r->dtype, s->dtype) && r->scope == s->scope &&
         r->role == s->role && r->align == s->align && r->holds == s->holds &&
         r->least == s->least && r->most == s->most &&
         run_eq(x, r->shape, s->shape) && run_eq(x, r->strides, s->strides) &&
         expr_eq(x, r->offset, s->offset);
}

static bool region_eq(pairing *x, ir_region a, ir_region b) {
  ir_span r = {a.at, 2 * ir_ndim(x->p, a.buf)};
  ir_span s = {b.at, 2 * ir_ndim(x->q, b.buf)};
  return x->buf[a.buf] == b.buf && run_eq(x, r, s);
}

static bool regions_eq(pairing *x, ir_span a, ir_span b) {
  for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
    if (!region_eq(x, x->p->region.v[a.at + i], x->q->region.v[b.at + i]))
      return false;
  return a.n == b.n;
}

static uint32_t count_annos(const ir_program *p, uint32_t a) {
  uint32_t n = 0;
  for (; a; a = p->anno.v[a].next) n++;
  return n;
}

static bool annos_eq(const pairing *x, ir_stmt a, ir_stmt b) {
  uint32_t first = ir_st(x->p, a)->anno;
  if (count_annos(x->p, first) != count_annos(x->q, ir_st(x->q, b)->anno))
    return false;
  for (uint32_t i = first; i; i = x->p->anno.v[i].next) {
    const ir_anno *r = &x->p->anno.v[i];
    const ir_anno *s = ir_anno_get(x->q, b, ir_text(x->p, r->key));
    if (!s || !ir_value_eq(x->p, r->val, x->q, s->val)) return false;
  }
  return true;
}

static bool reducer_eq(pairing *x, uint32_t a, uint32_t b) {
  const ir_reducer *r = &x->p->reducer.v[a], *s = &x->q->reducer.v[b];
  if (!a || !b || r->n != s->n) return a == b;
  for (uint32_t i = 0; i < r->n; i++) {
    x->var[x->p->arg.v[r->lhs.at + i]] = x->q->arg.v[s->lhs.at + i];
    x->var[x->p->arg.v[r->rhs.at + i]] = x->q->arg.v[s->rhs.at + i];
  }
  return run_eq(x, r->combine, s->combine) &&
         run_eq(x, r->identity, s->identity);
}

static bool iters_eq(pairing *x, ir_span a, ir_span b) {
  for (uint32_t i = 0; i < a.n && a.n == b.n; i++) {
    const ir_iter *r = &x->p->iter.v[a.at + i], *s = &x->q->iter.v[b.at + i];
    if (r->kind != s->kind || !expr_eq(x, r->lo, s->lo) ||
        !expr_eq(x, r->extent, s->extent) || !expr_eq(x, r->bind, s->bind))
      return false;
  }
  for (uint32_t i = 0; i < a.n && a.n == b.n; i++)
    x->var[x->p->iter.v[a.at + i].var] = x->q->iter.v[b.at + i].var;
  return a.n == b.n;
}

static bool buffers_eq(pairing *x, const ir_block_rec *r,
                       const ir_block_rec *s) {
  if (r->allocs.n != s->allocs.n || r->matches.n != s->matches.n) return false;
  for (uint32_t i = 0; i < r->allocs.n; i++)
    if (!bind_buf(x, x->p->arg.v[r->allocs.at + i],
                  x->q->arg.v[s->allocs.at + i]))
      return false;
  for (uint32_t i = 0; i < r->matches.n; i++) {
    const ir_match *m = &x->p->match.v[r->matches.at + i];
    const ir_match *n = &x->q->match.v[s->matches.at + i];
    if (!region_eq(x, m->source, n->source) || !bind_buf(x, m->buf, n->buf))
      return false;
  }
  return true;
}

static bool block_eq(pairing *x, const ir_block_rec *r, const ir_block_rec *s) {
  return text_eq(x, r->name, s->name) && expr_eq(x, r->pred, s->pred) &&
         iters_eq(x, r->iters, s->iters) && buffers_eq(x, r, s) &&
         regions_eq(x, r->reads, s->reads) &&
         regions_eq(x, r->writes, s->writes) &&
         reducer_eq(x, r->reducer, s->reducer);
}

/* ---- statements --------------------------------------------------------- */

static bool head_eq(pairing *x, ir_stmt a, ir_stmt b) {
  const ir_stmt_rec *r = ir_st(x->p, a), *s = ir_st(x->q, b);
  if (r->kind != s->kind) return false;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    x->var[r->var] = s->var;
    return r->loop_kind == s->loop_kind && r->thread == s->thread &&
           expr_eq(x, r->lo, s->lo) && expr_eq(x, r->extent, s->extent) &&
           annos_eq(x, a, b);
  case IR_BLOCK:
    return block_eq(x, ir_blk(x->p, a), ir_blk(x->q, b)) && annos_eq(x, a, b);
  case IR_STORE:
    return x->buf[r->buf] == s->buf && r->loop_kind == s->loop_kind &&
           run_eq(x, r->idx, s->idx) && expr_eq(x, r->value, s->value) &&
           expr_eq(x, r->mask, s->mask);
  case IR_IF: return expr_eq(x, r->cond, s->cond);
  case IR_LET:
    x->var[r->let_var] = s->let_var;
    return expr_eq(x, r->let_value, s->let_value);
  case IR_EVALUATE: return expr_eq(x, r->eval, s->eval);
  case IR_ALLOCATE: return bind_buf(x, r->alloc, s->alloc);
  case IR_BARRIER: return r->thread == s->thread;
  case IR_DEAD: break;
  }
  return true;
}

static bool stmt_eq(pairing *x, ir_stmt a, ir_stmt b);

static bool list_eq(pairing *x, ir_stmt a, ir_stmt b) {
  for (; a && b; a = ir_st(x->p, a)->next, b = ir_st(x->q, b)->next)
    if (!stmt_eq(x, a, b)) return false;
  return !a && !b;
}

static bool stmt_eq(pairing *x, ir_stmt a, ir_stmt b) {
  const ir_stmt_rec *r = ir_st(x->p, a), *s = ir_st(x->q, b);
  return head_eq(x, a, b) && list_eq(x, r->body, s->body) &&
         list_eq(x, r->alt, s->alt);
}

static bool func_eq(pairing *x, const ir_func *f, const ir_func *g) {
  if (f->sizes.n != g->sizes.n || f->params.n != g->params.n) return false;
  for (uint32_t i = 0; i < f->sizes.n; i++)
    x->var[x->p->arg.v[f->sizes.at + i]] = x->q->arg.v[g->sizes.at + i];
  for (uint32_t i = 0; i < f->params.n; i++)
    if (!bind_buf(x, x->p->arg.v[f->params.at + i],
                  x->q->arg.v[g->params.at + i]))
      return false;
  return stmt_eq(x, f->root, g->root);
}

static bool constants_eq(pairing *x) {
  if (x->p->constant.n != x->q->constant.n) return false;
  for (uint32_t i = 0; i < x->p->constant.n; i++) {
    const ir_const *c = &x->p->constant.v[i], *d = &x->q->constant.v[i];
    if (!bind_buf(x, c->buf, d->buf) || c->bytes != d->bytes ||
        memcmp(c->data, d->data, c->bytes))
      return false;
  }
  return true;
}

static bool program_eq(pairing *x) {
  if (hash_program(&x->hp) != hash_program(&x->hq) ||
      ir_func_end(x->p) != ir_func_end(x->q) || !constants_eq(x))
    return false;
  for (uint32_t i = 1; i < ir_func_end(x->p); i++)
    if (!func_eq(x, &x->p->func.v[i], &x->q->func.v[i])) return false;
  return true;
}

bool ir_equal(const ir_program *p, const ir_program *q, arena *scratch) {
  arena_mark m = arena_get_mark(scratch);
  pairing x = {.p = p, .q = q, .scratch = scratch};
  hash_start(&x.hp, p, scratch);
  hash_start(&x.hq, q, scratch);
  x.var = arena_zalloc(scratch, p->var.n * sizeof *x.var);
  x.buf = arena_zalloc(scratch, p->buf.n * sizeof *x.buf);
  x.node = arena_zalloc(scratch, p->node.n * sizeof *x.node);
  bool eq = program_eq(&x);
  arena_reset_to(scratch, m);
  return eq;
}
