/* SPDX-License-Identifier: Apache-2.0
 * Memo of exact dependence questions: candidates of one sketch ask many that
 * differ in nothing that matters.  A question is hashed to 128 bits as isl
 * would see it (variables by their places, not by their numbers), so equal ones
 * of other programs count, too. */
#include "base/hash.h"
#include "ir/edit.h"
#include "schedule/dependence/polyhedra.h"

enum { ENTRIES = 4096, MOST_NODES = 20000 };

typedef struct entry {
  uint64_t at, check; /* at 0: empty */
  int32_t answer;
} entry;

/* Direct-mapped: a question takes the place of the one before. */
struct sch_memo {
  mem_heap *heap;
  entry v[ENTRIES];
};

void sch_forget_answers(sch_state *s) {
  if (s->memo) mem_free(s->memo->heap, s->memo, sizeof *s->memo);
  s->memo = NULL;
}

bool poly_recall(const sch_state *s, const poly_key *k, int *answer) {
  if (!s->memo || !k->at) return false;
  const entry *e = &s->memo->v[k->at % ENTRIES];
  if (e->at != k->at || e->check != k->check) return false;
  *answer = e->answer;
  return true;
}

/* Without memory for it the same is asked again. */
void poly_remember(sch_state *s, const poly_key *k, int answer) {
  if (!k->at || !s->remembers) return;
  if (!s->memo) {
    s->memo = mem_try_resize(s->remembers, NULL, 0, sizeof *s->memo);
    if (!s->memo) return;
    memset(s->memo, 0, sizeof *s->memo);
    s->memo->heap = s->remembers;
  }
  s->memo->v[k->at % ENTRIES] = (entry){k->at, k->check, answer};
}

/* ---- hashing ------------------------------------------------------------ */

typedef struct asking {
  const poly_pair *x;
  const ir_program *p;
  poly_key *key;
  uint32_t budget; /* nodes that may yet be looked at */
} asking;

static void feed(asking *a, uint64_t word) {
  a->key->at = hash_mix(a->key->at, word);
  uint64_t y = a->key->check ^ (word * 0x9fb21c651e98df25ull);
  y = (y << 23 | y >> 41) * 0xd6e8feb86659fd93ull;
  a->key->check = y ^ y >> 29;
}

static void feed_expr(asking *a, ir_expr e);

/* Its place, what it stands for, or neither. */
static void feed_var(asking *a, ir_var v) {
  int32_t at = a->x->pos[v];
  feed(a, (uint64_t)(int64_t)at);
  if (at < 0 && a->x->bound[v]) feed_expr(a, a->x->bound[v]);
}

/* What is left out of nodes that are neither quasi-affine nor conditions says
 * nothing to isl. */
static void feed_expr(asking *a, ir_expr e) {
  if (!a->budget) return;
  a->budget--;
  const ir_node *n = ir_at(a->p, e);
  bool index = ir_dtype_eq(n->dtype, IR_INDEX);
  feed(a, (uint64_t)n->op << 2 | (uint64_t)index << 1 | n->wraps);
  switch ((ir_op)n->op) {
  case IR_INT: feed(a, (uint64_t)n->i); return;
  case IR_VAR: feed_var(a, n->a); return;
  case IR_NOT: feed_expr(a, n->a); return;
  case IR_ADD:
  case IR_SUB:
  case IR_MUL:
  case IR_DIV:
  case IR_MOD:
  case IR_MIN:
  case IR_MAX:
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE:
  case IR_AND:
  case IR_OR:
  case IR_SELECT:
    feed_expr(a, n->a);
    feed_expr(a, n->b);
    if (n->op == IR_SELECT) feed_expr(a, n->c);
    return;
  default: return;
  }
}

static void feed_start(asking *a, ir_stmt block) {
  ir_span it = ir_blk(a->p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *r = &a->p->iter.v[i];
    if (r->kind != IR_REDUCE) continue;
    feed_var(a, r->var);
    feed_expr(a, r->lo);
  }
}

static void feed_conditions(asking *a, const poly_cond *c) {
  for (; c; c = c->up) {
    feed(a, (uint64_t)c->kind + 1);
    switch (c->kind) {
    case POLY_TRUE:
    case POLY_FALSE: feed_expr(a, c->e); break;
    case POLY_START: feed_start(a, c->st); break;
    case POLY_RANGE:
      feed_var(a, c->v);
      feed_expr(a, c->e);
      break;
    case POLY_LOOP: {
      const ir_stmt_rec *r = ir_st(a->p, c->st);
      feed_var(a, r->var);
      feed_expr(a, r->lo);
      feed_expr(a, c->e);
    }
    }
  }
  feed(a, 0);
}

static void feed_block(asking *a, int k) {
  const poly_block *b = &a->x->b[k];
  const poly_cond *when = NULL;
  poly_places(a->x, k);
  feed(a, b->n);
  for (const poly_access *x = b->first; x; x = x->next) {
    uint32_t n = a->x->ndim << x->box;
    feed(a, (uint64_t)1 << 32 | (uint64_t)x->write << 1 | x->box);
    if (x == b->first || x->when != when) feed_conditions(a, when = x->when);
    for (uint32_t i = 0; i < n; i++) feed_expr(a, a->p->arg.v[x->at + i]);
  }
}

/* The question is about the parameters first of all. */
static void feed_params(asking *a) {
  const poly_pair *x = a->x;
  feed(a, (uint64_t)x->ndim << 32 | x->nparam);
  for (uint32_t i = 0; i < x->nparam; i++) {
    feed(a, (uint64_t)a->p->var.v[x->param[i]].lo);
    feed(a, (uint64_t)a->p->var.v[x->param[i]].hi);
  }
}

static asking begin_question(const poly_pair *x, int kind, poly_key *key) {
  *key = (poly_key){0x51ed270b0a1f3c4dull, 0x2545f4914f6cdd1dull};
  asking a = {x, x->p, key, MOST_NODES};
  feed(&a, (uint64_t)kind);
  feed_params(&a);
  return a;
}

/* What is too large is not remembered. */
static void end_question(const asking *a) {
  if (!a->budget) a->key->at = 0;
}

void poly_key_of_conflict(const dist *d, const poly_pair *x, poly_key *key) {
  asking a = begin_question(x, 1, key);
  feed_block(&a, 0);
  feed_block(&a, 1);
  for (uint32_t i = 0; d->within && i < d->n; i++) {
    arith_range r = d->within[i];
    feed(&a, (uint64_t)(int64_t)poly_place(&x->b[0], d->var[i]));
    feed(&a, (uint64_t)(int64_t)poly_place(&x->b[1], d->var[i]));
    feed(&a, (uint64_t)r.lo);
    feed(&a, (uint64_t)r.hi);
  }
  end_question(&a);
}

void poly_key_of_condition(const poly_pair *x, ir_expr cond, poly_key *key) {
  asking a = begin_question(x, 2, key);
  poly_places(x, 0);
  feed(&a, x->b[0].n);
  feed_conditions(&a, x->context);
  feed_expr(&a, cond);
  end_question(&a);
}
