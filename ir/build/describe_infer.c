/* SPDX-License-Identifier: Apache-2.0
 * Program builder: recognizing the reduction of an imperative block: an init
 * that stores constants, one a result, and an update of the same elements,
 * through lets or not.  Either each result is combined by a built-in reducer
 * with what depends on none of them; or all are combined together, as those of
 * an arg max, with one such value each, and obey the laws that a reducer of the
 * description's own must (describe_laws.c). */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/memo.h"
#include "ir/query.h"

typedef struct infer_update {
  ir_program *p;
  bool has_init; /* else `init` are the updates themselves */
  ir_subst lets; /* lets by their values */
  uint32_t n;    /* results */
  ir_stmt init[DESCRIBE_MAX_OUT], store[DESCRIBE_MAX_OUT];
  ir_expr value[DESCRIBE_MAX_OUT]; /* what is stored, without lets */
  ir_memo seen;                    /* by the search for a source */
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

/* Is value k `old op x`, or `x op old`, where x reads no result? */
static bool is_update(const infer_update *u, uint32_t k, ir_op op) {
  const ir_node *n = ir_at(u->p, u->value[k]);
  const ir_stmt_rec *store = ir_st(u->p, u->store[k]);
  if (n->op != op) return false;
  if (ir_loads_stored(u->p, store, n->a)) return !infer_loads_result(u, n->b);
  return ir_loads_stored(u->p, store, n->b) && !infer_loads_result(u, n->a);
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
    bool starts = !u->has_init || p->arg.v[r->identity.at] == init.value;
    if (starts && is_update(u, k, op)) return reducer;
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

/* ---- results that are combined together --------------------------------- */

/* The only value that depends on no result and that what is stored may be, or
 * is computed from: *out, 0: none.  false: there are several. */
static bool infer_find_source(infer_update *u, ir_expr e, ir_expr *out) {
  const ir_node *n = ir_at(u->p, e);
  uint32_t *slot = ir_memo_of(&u->seen, u->lets.scratch, e);
  if (*slot) return true;
  *slot = 1;
  if (!infer_loads_result(u, e)) {
    if (n->op == IR_INT || n->op == IR_REAL) return true;
    bool same = !*out || *out == e;
    *out = e;
    return same;
  }
  switch ((ir_op)n->op) {
  case IR_SELECT:
    return infer_find_source(u, n->b, out) && infer_find_source(u, n->c, out);
  case IR_ADD:
  case IR_SUB:
  case IR_MUL:
  case IR_MIN:
  case IR_MAX:
  case IR_AND:
  case IR_OR:
    return infer_find_source(u, n->a, out) && infer_find_source(u, n->b, out);
  default: return true;
  }
}

static ir_walk infer_is_foreign(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  (void)ud;
  bool foreign =
      n->op == IR_LOAD ||
      (n->op == IR_VAR && p->var.v[n->a].kind != (uint8_t)IR_VAR_FORMAL);
  return foreign ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

/* Loads stay, but for those of results. */
static ir_expr infer_keep_load(ir_subst *s, ir_buf buf, uint32_t n,
                               const ir_expr *idx) {
  (void)s, (void)buf, (void)n, (void)idx;
  return 0;
}

/* The node becomes a formal parameter. */
static void infer_abstract(ir_subst *s, ir_expr e, ir_var formal) {
  const ir_node *n = ir_at(s->p, e);
  if (n->op == IR_VAR)
    ir_subst_var(s, n->a, ir_ref(s->p, formal));
  else
    *ir_memo_of(&s->memo, s->scratch, e) = ir_ref(s->p, formal);
}

/* What is stored as a function of the results and of their sources; false: it
 * depends on something else. */
static bool infer_combine(infer_update *u, arena *scratch, const ir_var *x,
                          const ir_var *y, const ir_expr *source,
                          ir_expr *combine) {
  ir_program *p = u->p;
  ir_subst s;
  ir_subst_init(&s, p, scratch);
  s.load = infer_keep_load;
  s.vars = UINT32_MAX; /* every node is looked at */
  for (uint32_t k = 0; k < u->n; k++) {
    const ir_stmt_rec r = *ir_st(p, u->store[k]);
    ir_expr *idx = arena_array(scratch, ir_expr, r.idx.n);
    memcpy(idx, p->arg.v + r.idx.at, r.idx.n * sizeof *idx);
    infer_abstract(&s, source[k], y[k]);
    infer_abstract(&s, ir_load(p, r.buf, r.idx.n, idx), x[k]);
  }
  for (uint32_t k = 0; k < u->n; k++) {
    combine[k] = ir_subst_expr(&s, u->value[k]);
    if (ir_any(p, combine[k], infer_is_foreign, NULL)) return false;
  }
  return true;
}

/* The reduce iters of the block. */
static uint32_t infer_axes(const ir_program *p, ir_stmt block, ir_var *out) {
  ir_span it = ir_blk(p, block)->iters;
  uint32_t n = 0;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE && n < DESCRIBE_MAX_DIM)
      out[n++] = p->iter.v[i].var;
  return n;
}

/* A reducer of the block's own, where it may be reassociated; 0: none. */
static uint32_t infer_own(infer_update *u, ir_builder *b, ir_stmt block) {
  ir_program *p = u->p;
  ir_var x[DESCRIBE_MAX_OUT], y[DESCRIBE_MAX_OUT], axis[DESCRIBE_MAX_DIM];
  ir_expr source[DESCRIBE_MAX_OUT] = {0}, identity[DESCRIBE_MAX_OUT];
  ir_expr combine[DESCRIBE_MAX_OUT];
  for (uint32_t k = 0; k < u->n; k++) {
    tess_dtype t = p->buf.v[ir_st(p, u->init[k])->buf].dtype;
    identity[k] = ir_st(p, u->init[k])->value;
    ir_memo_clear(&u->seen);
    uint32_t op = ir_at(p, identity[k])->op;
    if ((op != IR_INT && op != IR_REAL) ||
        !infer_find_source(u, u->value[k], &source[k]) || !source[k] ||
        !ir_dtype_eq(ir_at(p, source[k])->dtype, t))
      return 0;
    for (uint32_t i = 0; i < k; i++)
      if (source[i] == source[k]) return 0;
    ir_str text[2] = {ir_name(p, arena_printf(&b->scratch, "x%u", k)),
                      ir_name(p, arena_printf(&b->scratch, "y%u", k))};
    x[k] = ir_var_new(p, IR_VAR_FORMAL, text[0], t, INT64_MIN, INT64_MAX);
    y[k] = ir_var_new(p, IR_VAR_FORMAL, text[1], t, INT64_MIN, INT64_MAX);
  }
  if (!infer_combine(u, &b->scratch, x, y, source, combine)) return 0;
  ir_str name = ir_name_cat(p, ir_blk(p, block)->name, "_reducer");
  uint32_t made = ir_reducer_new(p, name, u->n, x, y, combine, identity);
  uint32_t naxes = infer_axes(p, block, axis);
  ir_order order =
      describe_find_order(b, &p->reducer.v[made], source, naxes, axis);
  p->reducer.v[made].ordered = order;
  if (order == IR_ORDER_FIXED) p->reducer.n = made; /* what nothing refers to */
  return order == IR_ORDER_FIXED ? 0 : made;
}

/* Finds what the block initializes and updates, or only what it updates. */
static bool infer_find_results(infer_update *u, ir_builder *b, ir_stmt block) {
  const ir_stmt_rec *r = ir_st(u->p, block);
  ir_subst_init(&u->lets, u->p, &b->scratch);
  return infer_find_inits(u, u->has_init ? r->alt : r->body) &&
         infer_find_stores(u, r->body);
}

/* That of built-in reducers, one a result; 0: there is none. */
static uint32_t infer_builtins(infer_update *u, ir_builder *b) {
  uint32_t each[DESCRIBE_MAX_OUT];
  for (uint32_t k = 0; k < u->n; k++)
    if (!(each[k] = infer_builtin(u, k))) return 0;
  return u->n == 1 ? each[0] : infer_tuple(u, &b->scratch, each);
}

void describe_infer_reducer(ir_builder *b, ir_stmt block) {
  infer_update u = {.p = &b->p, .has_init = true};
  if (!infer_find_results(&u, b, block)) return;
  uint32_t reducer = infer_builtins(&u, b);
  if (!reducer) reducer = infer_own(&u, b, block);
  ir_blk(&b->p, block)->reducer = reducer;
}

uint32_t describe_likely_reducer(ir_builder *b, ir_stmt block) {
  infer_update u = {.p = &b->p, .has_init = ir_st(&b->p, block)->alt != 0};
  if (!u.has_init && !ir_has_reduce_iter(&b->p, block)) return 0;
  return infer_find_results(&u, b, block) ? infer_builtins(&u, b) : 0;
}

void describe_likely_regions(ir_program *p, arena *scratch, ir_stmt block) {
  if (ir_st(p, block)->parent) {
    ir_block_find_all_regions(p, scratch, block);
    return;
  }
  ir_block_set_reads(p, block, 0, NULL);
  ir_block_set_writes(p, block, 0, NULL);
}
