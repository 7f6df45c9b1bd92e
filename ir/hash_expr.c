/* SPDX-License-Identifier: Apache-2.0
 * Structural hashes of expressions and values. */
#include "base/hash.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/structure.h"

/* Tags that separate the kinds of things hashed. */
enum { H_LINEAR = 101, H_SET, H_NODE, H_INT, H_REAL, H_VAR, H_LOAD, H_CALL };

void hash_start(hasher *h, const ir_program *p, arena *scratch) {
  *h = (hasher){.p = p};
  h->node = arena_zalloc(scratch, p->node.n * sizeof *h->node);
  h->var = arena_zalloc(scratch, p->var.n * sizeof *h->var);
  h->buf = arena_zalloc(scratch, p->buf.n * sizeof *h->buf);
}

static uint64_t hash_dtype(tess_dtype t) {
  return t.code | (uint64_t)t.bits << 8 | (uint64_t)t.lanes << 16;
}

bool is_linear(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  if (!n->is_index || n->dtype.code != TESS_DTYPE_INT) return false;
  return n->op == IR_ADD || n->op == IR_SUB ||
         (n->op == IR_MUL && ir_at(p, n->b)->op == IR_INT);
}

bool is_free_order(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->is_index && (n->op == IR_MIN || n->op == IR_MAX ||
                         n->op == IR_AND || n->op == IR_OR || n->op == IR_MUL);
}

static uint64_t mixed(uint64_t tag, uint64_t x) {
  return hash_mix(hash_mix(tag, x), x >> 32);
}

/* Memoizes r; 0 is reserved for "not yet". */
static uint64_t hash_memo(hasher *h, ir_expr e, uint64_t r) {
  return h->node[e] = r ? r : 1;
}

/* A linear form as a number: the sum of coefficient times atom's hash, a
 * constant as a multiple of that of 1.  Memoized for linear nodes in place
 * of their hash. */
static uint64_t hash_linear(hasher *h, ir_expr e) {
  const ir_node *n = ir_at(h->p, e);
  if (n->op == IR_INT && n->dtype.code == TESS_DTYPE_INT)
    return (uint64_t)n->i * UINT64_C(0x9e3779b97f4a7c15);
  if (!is_linear(h->p, e)) return hash_expr(h, e);
  if (h->node[e]) return h->node[e];
  uint64_t r;
  if (n->op == IR_MUL)
    r = hash_linear(h, n->a) * (uint64_t)ir_at(h->p, n->b)->i;
  else if (n->op == IR_ADD)
    r = hash_linear(h, n->a) + hash_linear(h, n->b);
  else
    r = hash_linear(h, n->a) - hash_linear(h, n->b);
  return hash_memo(h, e, r);
}

/* The operands of a commutative operator as the sum of their hashes. */
static uint64_t hash_set(hasher *h, ir_op op, ir_expr e) {
  const ir_node *n = ir_at(h->p, e);
  if (n->op != op || !is_free_order(h->p, e))
    return mixed(H_SET, hash_expr(h, e));
  if (h->node[e]) return h->node[e];
  return hash_memo(h, e, hash_set(h, op, n->a) + hash_set(h, op, n->b));
}

static uint64_t hash_node(hasher *h, ir_expr e) {
  const ir_node *n = ir_at(h->p, e);
  uint64_t r = hash_mix(n->op, hash_dtype(n->dtype));
  uint64_t bits;
  switch ((ir_op)n->op) {
  case IR_INT: return hash_mix(hash_mix(r, H_INT), (uint64_t)n->i);
  case IR_REAL:
    memcpy(&bits, &n->f, sizeof bits);
    return hash_mix(hash_mix(r, H_REAL), bits);
  case IR_VAR: return hash_mix(hash_mix(r, H_VAR), h->var[n->a]);
  case IR_LOAD: r = hash_mix(hash_mix(r, H_LOAD), h->buf[n->a]); break;
  case IR_CALL:
    r = hash_mix(hash_mix(r, H_CALL), n->a);
    if (ir_fn_is_named(n->a)) {
      const char *name = ir_text(h->p, n->c);
      r = hash_mix(r, hash_bytes(name, strlen(name)));
    }
    break;
  default: r = hash_mix(r, H_NODE); break;
  }
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(h->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++) r = hash_mix(r, hash_expr(h, ops[i]));
  return r;
}

/* Comparison for equality is commutative, too. */
static uint64_t hash_symmetric(hasher *h, const ir_node *n) {
  uint64_t a = hash_expr(h, n->a), b = hash_expr(h, n->b);
  return hash_mix(hash_mix(n->op, a + b), a ^ b);
}

uint64_t hash_expr(hasher *h, ir_expr e) {
  if (!e) return 0;
  const ir_node *n = ir_at(h->p, e);
  if (is_linear(h->p, e)) return mixed(H_LINEAR, hash_linear(h, e));
  if (is_free_order(h->p, e))
    return mixed(H_SET + (uint64_t)n->op * 1000, hash_set(h, (ir_op)n->op, e));
  if (h->node[e]) return h->node[e];
  bool symmetric = n->is_index && (n->op == IR_EQ || n->op == IR_NE);
  return hash_memo(h, e, symmetric ? hash_symmetric(h, n) : hash_node(h, e));
}

uint64_t hash_value(const ir_program *p, ir_val v) {
  const ir_value *x = &p->value.v[v];
  uint64_t r = hash_mix(x->tag, 0), bits = 0;
  switch ((ir_val_tag)x->tag) {
  case IR_VAL_NIL: return r;
  case IR_VAL_BOOL:
  case IR_VAL_INT: return hash_mix(r, (uint64_t)x->i);
  case IR_VAL_REAL: memcpy(&bits, &x->f, sizeof bits); return hash_mix(r, bits);
  case IR_VAL_STR: {
    const char *s = ir_text(p, x->s);
    return hash_mix(r, hash_bytes(s, strlen(s)));
  }
  case IR_VAL_LIST:
  case IR_VAL_DICT:
    r = hash_mix(r, x->n);
    for (uint32_t i = 0; i < x->n; i++)
      r = hash_mix(r, hash_value(p, p->arg.v[x->at + i]));
    return r;
  }
  return r;
}
