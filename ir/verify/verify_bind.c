/* SPDX-License-Identifier: Apache-2.0
 * Verifier, part 4a: scoping, by dominance of binders.  Every binder gets a
 * serial number in pre-order; an expression requires the latest binder among
 * those of its variables and buffers (the earlier ones must enclose that one,
 * or the expression could be nowhere). */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/verify/verify_scope.h"

/* ---- binders ------------------------------------------------------------ */

static bool bind_var(scopes *x, ir_stmt s, ir_var i, ir_var_kind kind) {
  const ir_var_rec *r = &x->v->p->var.v[i];
  if (x->var[i])
    return verify_fail_at(x->v, s, "variable '%s' is bound twice",
                          ir_var_text(x->v->p, i, x->v->scratch));
  if (r->kind != kind || (s && r->owner != s))
    return verify_fail_at(x->v, s,
                          "variable '%s' is not what its binder takes "
                          "it for",
                          ir_var_text(x->v->p, i, x->v->scratch));
  x->var[i] = x->serials;
  return true;
}

static bool bind_buf(scopes *x, ir_stmt s, ir_buf b, bool local) {
  const ir_buf_rec *r = &x->v->p->buf.v[b];
  if (x->buf[b])
    return verify_fail_at(x->v, s, "buffer '%s' is bound twice",
                          ir_text(x->v->p, r->name));
  if ((r->role == IR_ROLE_LOCAL) != local)
    return verify_fail_at(x->v, s, "buffer '%s' is %s",
                          ir_text(x->v->p, r->name),
                          local ? "a parameter, not a local one"
                                : "a local one, not a parameter");
  x->buf[b] = x->serials;
  return true;
}

static bool bind_block(scopes *x, ir_stmt s) {
  const ir_program *p = x->v->p;
  const ir_block_rec *b = ir_blk(p, s);
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++)
    if (!bind_var(x, s, p->iter.v[i].var, IR_VAR_ITER)) return false;
  for (uint32_t i = b->allocs.at; i < b->allocs.at + b->allocs.n; i++)
    if (!bind_buf(x, s, p->arg.v[i], true)) return false;
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++)
    if (!bind_buf(x, s, p->match.v[i].buf, true)) return false;
  return true;
}

static bool bind_stmt(scopes *x, ir_stmt s, ir_stmt level) {
  const ir_stmt_rec *r = ir_st(x->v->p, s);
  x->stmt[s] = ++x->serials;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    x->var_level[r->var] = level;
    return bind_var(x, s, r->var, IR_VAR_LOOP);
  case IR_LET: return bind_var(x, s, r->let_var, IR_VAR_LET);
  case IR_ALLOCATE: return bind_buf(x, s, r->alloc, true);
  case IR_BLOCK: return bind_block(x, s);
  default: return true;
  }
}

static bool bind_func(scopes *x, const ir_func *f) {
  const ir_program *p = x->v->p;
  x->serials++;
  for (uint32_t i = 0; i < f->sizes.n; i++)
    if (!bind_var(x, 0, p->arg.v[f->sizes.at + i], IR_VAR_SIZE)) return false;
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    if (x->buf[b] != ALWAYS && !bind_buf(x, f->root, b, false)) return false;
  }
  /* The block around a statement is that of its parent, unless the parent is a
   * block. */
  for (ir_stmt s = f->root; s; s = ir_next(p, s, f->root)) {
    ir_stmt up = ir_st(p, s)->parent;
    x->level_of[s] = up && !ir_is_block(p, up) ? x->level_of[up] : up;
    if (!bind_stmt(x, s, x->level_of[s])) return false;
  }
  return true;
}

/* ---- formal parameters of reducers -------------------------------------- */

static bool bind_formals(scopes *x, uint32_t reducer, ir_span formals) {
  const ir_program *p = x->v->p;
  for (uint32_t i = 0; i < formals.n; i++) {
    ir_var v = p->arg.v[formals.at + i];
    const ir_var_rec *r = &p->var.v[v];
    if (r->kind != IR_VAR_FORMAL || x->formal[v] || r->lo != INT64_MIN ||
        r->hi != INT64_MAX)
      return verify_fail(x->v, "reducer %u has a formal that is not its own",
                         reducer);
    x->formal[v] = reducer;
  }
  return true;
}

/* ---- what expressions require ------------------------------------------- */

static void merge_need(need *to, need from) {
  to->latest = from.latest > to->latest ? from.latest : to->latest;
  if (from.level)
    to->level = !to->level || to->level == from.level ? from.level : CLASH;
  if (from.formal)
    to->formal = !to->formal || to->formal == from.formal ? from.formal : CLASH;
}

static need need_of_var(const scopes *x, ir_var v) {
  if (x->formal[v]) return (need){.formal = x->formal[v]};
  return (need){.latest = x->var[v] ? x->var[v] : NEVER,
                .level = x->var_level[v]};
}

static void find_needs(scopes *x) {
  const ir_program *p = x->v->p;
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node *n = ir_at(p, e);
    const uint32_t *ops;
    uint32_t fixed[3], k = ir_operands(p, e, &ops, fixed);
    need w = {0};
    if (n->op == IR_VAR)
      w = need_of_var(x, n->a);
    else if (n->op == IR_LOAD)
      w.latest = x->buf[n->a] ? x->buf[n->a] : NEVER;
    for (uint32_t i = 0; i < k; i++) merge_need(&w, x->need[ops[i]]);
    x->need[e] = w;
  }
}

bool scopes_init(scopes *x, verifier *v) {
  const ir_program *p = v->p;
  arena *a = v->scratch;
  *x = (scopes){.v = v, .serials = ALWAYS};
  x->var = arena_zalloc(a, p->var.n * sizeof *x->var);
  x->var_level = arena_zalloc(a, p->var.n * sizeof *x->var_level);
  x->formal = arena_zalloc(a, p->var.n * sizeof *x->formal);
  x->buf = arena_zalloc(a, p->buf.n * sizeof *x->buf);
  x->stmt = arena_zalloc(a, p->stmt.n * sizeof *x->stmt);
  x->level_of = arena_zalloc(a, p->stmt.n * sizeof *x->level_of);
  x->need = arena_zalloc(a, p->node.n * sizeof *x->need);
  for (uint32_t i = 0; i < p->constant.n; i++)
    x->buf[p->constant.v[i].buf] = ALWAYS;
  for (uint32_t i = 1; i < p->reducer.n; i++)
    if (!bind_formals(x, i, p->reducer.v[i].lhs) ||
        !bind_formals(x, i, p->reducer.v[i].rhs))
      return false;
  for (uint32_t i = 1; i < p->func.n; i++)
    if (!bind_func(x, &p->func.v[i])) return false;
  x->active = arena_zalloc(a, x->serials + 1);
  x->active[0] = x->active[ALWAYS] = 1;
  find_needs(x);
  return true;
}
