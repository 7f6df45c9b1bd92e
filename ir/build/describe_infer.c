/* SPDX-License-Identifier: Apache-2.0
 * Program builder: recognizing the reduction of an imperative block: an init
 * that stores the identity of a built-in reducer, and an update of the same
 * element. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* The only statement of a list, if it is a store; else NULL. */
static const ir_stmt_rec *only_store(const ir_program *p, ir_stmt first) {
  const ir_stmt_rec *r = ir_st(p, first);
  bool one = first && r->kind == IR_STORE && !r->next && !r->mask;
  return one ? r : NULL;
}

static bool same_element(const ir_program *p, const ir_stmt_rec *a,
                         const ir_stmt_rec *b) {
  return a->buf == b->buf && !memcmp(p->arg.v + a->idx.at, p->arg.v + b->idx.at,
                                     a->idx.n * sizeof *p->arg.v);
}

/* Is e exactly a load of the element that the store writes? */
static bool is_old(const ir_program *p, const ir_stmt_rec *store, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && n->a == store->buf && !n->c &&
         !memcmp(p->arg.v + n->b, p->arg.v + store->idx.at,
                 n->n * sizeof *p->arg.v);
}

/* Is value `old op x`, or `x op old`, where x does not read the buffer? */
static bool is_update(const ir_program *p, const ir_stmt_rec *store, ir_op op) {
  const ir_node *n = ir_at(p, store->value);
  if (n->op != op) return false;
  if (is_old(p, store, n->a)) return !ir_has_load(p, n->b, store->buf);
  return is_old(p, store, n->b) && !ir_has_load(p, n->a, store->buf);
}

void describe_infer_reducer(ir_builder *b, ir_stmt block) {
  static const char *const names[] = {"sum", "prod", "min", "max"};
  ir_program *p = &b->p;
  for (int i = 0; i < 4; i++) {
    const ir_stmt_rec *init = only_store(p, ir_st(p, block)->alt);
    const ir_stmt_rec *store = only_store(p, ir_st(p, block)->body);
    if (!init || !store || !same_element(p, init, store)) return;
    tess_dtype t = p->buf.v[store->buf].dtype;
    uint32_t reducer = ir_reducer_builtin(p, names[i], t);
    const ir_reducer *r = &p->reducer.v[reducer];
    ir_op op = (ir_op)ir_at(p, p->arg.v[r->combine.at])->op;
    if (p->arg.v[r->identity.at] != init->value || !is_update(p, store, op))
      continue;
    ir_blk(p, block)->reducer = reducer;
    return;
  }
}
