/* SPDX-License-Identifier: Apache-2.0
 * Program builder: recognizing the reduction of an imperative block: an init
 * that stores the identities of built-in reducers, one a result, and an update
 * of the same elements, through lets or not, in which each result is combined
 * with what depends on none of them. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct infer_update {
  ir_program *p;
  ir_subst lets; /* lets by their values */
  uint32_t n;    /* results */
  ir_stmt init[DESCRIBE_MAX_OUT], store[DESCRIBE_MAX_OUT];
  ir_expr value[DESCRIBE_MAX_OUT]; /* what is stored, without lets */
} infer_update;

static bool is_plain_store(const ir_program *p, ir_stmt s) {
  return ir_st(p, s)->kind == IR_STORE && !ir_st(p, s)->mask;
}

static bool same_element(const ir_program *p, ir_stmt a, ir_stmt b) {
  const ir_stmt_rec *x = ir_st(p, a), *y = ir_st(p, b);
  return x->buf == y->buf && !memcmp(p->arg.v + x->idx.at, p->arg.v + y->idx.at,
                                     x->idx.n * sizeof *p->arg.v);
}

/* Does e load one of the results? */
static bool infer_loads_result(const infer_update *u, ir_expr e) {
  for (uint32_t k = 0; k < u->n; k++)
    if (ir_has_load(u->p, e, ir_st(u->p, u->init[k])->buf)) return true;
  return false;
}

/* Does e, which is evaluated there, load a result that was updated? */
static bool infer_loads_updated(const infer_update *u, ir_expr e) {
  for (uint32_t k = 0; k < u->n; k++)
    if (u->store[k] && ir_has_load(u->p, e, ir_st(u->p, u->init[k])->buf))
      return true;
  return false;
}

static bool infer_find_inits(infer_update *u, ir_stmt first) {
  const ir_program *p = u->p;
  for (ir_stmt c = first; c; c = ir_st(p, c)->next) {
    if (!is_plain_store(p, c) || u->n == DESCRIBE_MAX_OUT) return false;
    for (uint32_t k = 0; k < u->n; k++)
      if (ir_st(p, u->init[k])->buf == ir_st(p, c)->buf) return false;
    u->init[u->n++] = c;
  }
  return u->n > 0;
}

/* The results are stored in the order of their init. */
static bool infer_add_store(infer_update *u, ir_stmt c) {
  const ir_program *p = u->p;
  uint32_t k = 0;
  while (k < u->n && u->store[k]) k++;
  if (k == u->n || !is_plain_store(p, c) || !same_element(p, u->init[k], c))
    return false;
  ir_expr value = ir_st(p, c)->value;
  if (infer_loads_updated(u, value)) return false;
  u->store[k] = c;
  u->value[k] = ir_subst_expr(&u->lets, value);
  return true;
}

/* Lets are around all that follows them. */
static bool infer_find_stores(infer_update *u, ir_stmt first) {
  ir_program *p = u->p;
  for (ir_stmt c = first; c;) {
    const ir_stmt_rec r = *ir_st(p, c);
    if (r.kind == IR_LET) {
      if (r.next || infer_loads_updated(u, r.let_value)) return false;
      ir_expr value = ir_subst_expr(&u->lets, r.let_value);
      ir_subst_var(&u->lets, r.let_var, value);
      ir_subst_restart(&u->lets);
    } else if (!infer_add_store(u, c)) {
      return false;
    }
    c = r.kind == IR_LET ? r.body : r.next;
  }
  for (uint32_t k = 0; k < u->n; k++)
    if (!u->store[k]) return false;
  return true;
}

/* Is e exactly a load of the element that the store writes? */
static bool is_old(const ir_program *p, const ir_stmt_rec *store, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return n->op == IR_LOAD && n->a == store->buf && !n->c &&
         !memcmp(p->arg.v + n->b, p->arg.v + store->idx.at,
                 n->n * sizeof *p->arg.v);
}

/* Is value k `old op x`, or `x op old`, where x reads no result? */
static bool is_update(const infer_update *u, uint32_t k, ir_op op) {
  const ir_node *n = ir_at(u->p, u->value[k]);
  const ir_stmt_rec *store = ir_st(u->p, u->store[k]);
  if (n->op != op) return false;
  if (is_old(u->p, store, n->a)) return !infer_loads_result(u, n->b);
  return is_old(u->p, store, n->b) && !infer_loads_result(u, n->a);
}

/* The built-in reducer of result k; 0: none. */
static uint32_t infer_builtin(infer_update *u, uint32_t k) {
  static const char *const names[] = {"sum", "prod", "min", "max"};
  ir_program *p = u->p;
  for (int i = 0; i < 4; i++) {
    const ir_stmt_rec init = *ir_st(p, u->init[k]);
    uint32_t reducer =
        ir_reducer_builtin(p, names[i], p->buf.v[init.buf].dtype);
    const ir_reducer *r = &p->reducer.v[reducer];
    ir_op op = (ir_op)ir_at(p, p->arg.v[r->combine.at])->op;
    if (p->arg.v[r->identity.at] == init.value && is_update(u, k, op))
      return reducer;
  }
  return 0;
}

/* The reducer of tuples that reduces each component by one of these. */
static uint32_t infer_tuple(infer_update *u, arena *scratch,
                            const uint32_t *each) {
  ir_program *p = u->p;
  ir_var x[DESCRIBE_MAX_OUT], y[DESCRIBE_MAX_OUT];
  ir_expr combine[DESCRIBE_MAX_OUT], identity[DESCRIBE_MAX_OUT];
  const char *name = "";
  for (uint32_t k = 0; k < u->n; k++) {
    ir_reducer r = p->reducer.v[each[k]];
    tess_dtype t = p->var.v[p->arg.v[r.lhs.at]].dtype;
    ir_str text[2] = {ir_name(p, arena_printf(scratch, "x%u", k)),
                      ir_name(p, arena_printf(scratch, "y%u", k))};
    x[k] = ir_var_new(p, IR_VAR_FORMAL, text[0], t, INT64_MIN, INT64_MAX);
    y[k] = ir_var_new(p, IR_VAR_FORMAL, text[1], t, INT64_MIN, INT64_MAX);
    ir_expr a = ir_ref(p, x[k]), b = ir_ref(p, y[k]);
    ir_reducer_apply(p, scratch, each[k], &a, &b, &combine[k]);
    identity[k] = p->arg.v[r.identity.at];
    name =
        arena_printf(scratch, k ? "%s_%s" : "%s%s", name, ir_text(p, r.name));
  }
  return ir_reducer_new(p, ir_name(p, name), u->n, x, y, combine, identity);
}

void describe_infer_reducer(ir_builder *b, ir_stmt block) {
  ir_program *p = &b->p;
  infer_update u = {.p = p};
  uint32_t each[DESCRIBE_MAX_OUT];
  ir_subst_init(&u.lets, p, &b->scratch);
  if (!infer_find_inits(&u, ir_st(p, block)->alt) ||
      !infer_find_stores(&u, ir_st(p, block)->body))
    return;
  for (uint32_t k = 0; k < u.n; k++)
    if (!(each[k] = infer_builtin(&u, k))) return;
  ir_blk(p, block)->reducer =
      u.n == 1 ? each[0] : infer_tuple(&u, &b->scratch, each);
}
