/* SPDX-License-Identifier: Apache-2.0
 * Verifier, part 4b: the expressions of each statement: kinds, types,
 * scopes. */
#include "ir/verify/verify_scope.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- expressions in their place ----------------------------------------- */

static bool usable(const scopes *x, need w, ir_stmt level) {
  return w.latest != NEVER && x->active[w.latest] && !w.formal &&
         (!w.level || w.level == level);
}

/* The variable or buffer of e that is out of scope. */
static ir_expr find_out_of_scope(const scopes *x, ir_expr e, ir_stmt level) {
  const uint32_t *ops;
  uint32_t fixed[3], n = ir_operands(x->v->p, e, &ops, fixed);
  for (uint32_t i = 0; i < n; i++)
    if (!usable(x, x->need[ops[i]], level))
      return find_out_of_scope(x, ops[i], level);
  return e;
}

static bool misplaced(scopes *x, ir_stmt s, ir_expr e, ir_stmt level) {
  const ir_program *p = x->v->p;
  ir_expr c = find_out_of_scope(x, e, level);
  const ir_node *n = ir_at(p, c);
  if (n->op == IR_LOAD)
    return verify_fail_at(x->v, s, "buffer '%s' is used where it is not bound",
                          ir_text(p, p->buf.v[n->a].name));
  return verify_fail_at(
      x->v, s, "variable '%s' is used where it is not bound",
      n->op == IR_VAR ? ir_var_text(x->v->p, n->a, x->v->scratch) : "?");
}

static bool expr_ok(scopes *x, ir_stmt s, ir_expr e, ir_stmt level) {
  return usable(x, x->need[e], level) || misplaced(x, s, e, level);
}

/* An expression of one given type. */
static bool typed_ok(scopes *x, ir_stmt s, ir_expr e, ir_stmt level,
                     tess_dtype t, const char *what) {
  tess_dtype is = ir_at(x->v->p, e)->dtype;
  if (ir_dtype_eq(is, t)) return expr_ok(x, s, e, level);
  verify_fail(x->v, "%s is ", what);
  ir_dtype_print(is, x->v->why);
  str_puts(x->v->why, ", not ");
  ir_dtype_print(t, x->v->why);
  return verify_fail_at(x->v, s, "%s", "");
}

/* Values excluded by a condition around `s` may be out of range: after
 * lowering, the condition is all that is left of the domains of blocks.  So may
 * those of idle threads, with conditions nested further in. */
static bool is_conditional(const ir_program *p, ir_stmt s) {
  while ((s = ir_st(p, s)->parent) && !ir_is_block(p, s)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_IF || ir_is_thread_loop(r)) return true;
  }
  return false;
}

/* Do the variable's bounds contain its domain? */
static bool bounds_ok(scopes *x, ir_stmt s, ir_var v, ir_expr lo,
                      ir_expr extent) {
  const ir_program *p = x->v->p;
  const ir_var_rec *r = &p->var.v[v];
  int64_t min, max;
  if (!ir_dtype_eq(r->dtype, IR_INDEX))
    return verify_fail_at(x->v, s, "variable '%s' is not int64",
                          ir_var_text(x->v->p, v, x->v->scratch));
  ir_domain_bounds(p, lo, extent, &min, &max);
  if ((r->lo <= min && r->hi >= max) || is_conditional(p, s)) return true;
  return verify_fail_at(x->v, s,
                        "variable '%s' claims to lie in [%lld, %lld] "
                        "but ranges over [%lld, %lld]",
                        ir_var_text(x->v->p, v, x->v->scratch),
                        (long long)r->lo, (long long)r->hi, (long long)min,
                        (long long)max);
}

static bool domain_ok(scopes *x, ir_stmt s, ir_var v, ir_expr lo,
                      ir_expr extent, ir_stmt level) {
  return typed_ok(x, s, lo, level, IR_INDEX, "the start") &&
         typed_ok(x, s, extent, level, IR_INDEX, "the extent") &&
         bounds_ok(x, s, v, lo, extent);
}

static bool run_ok(scopes *x, ir_stmt s, ir_span run, ir_stmt level,
                   const char *what) {
  for (uint32_t i = 0; i < run.n; i++)
    if (!typed_ok(x, s, x->v->p->arg.v[run.at + i], level, IR_INDEX, what))
      return false;
  return true;
}

/* ---- buffers ------------------------------------------------------------ */

static bool decl_ok(scopes *x, ir_stmt s, ir_buf b, ir_stmt level) {
  const ir_buf_rec *r = &x->v->p->buf.v[b];
  return run_ok(x, s, r->shape, level, "an extent of a buffer") &&
         run_ok(x, s, r->strides, level, "a stride of a buffer") &&
         (!r->offset ||
          typed_ok(x, s, r->offset, level, IR_INDEX, "the offset of a buffer"));
}

static bool buf_ok(scopes *x, ir_stmt s, ir_buf b) {
  uint32_t by = x->buf[b];
  if (by && x->active[by]) return true;
  return verify_fail_at(x->v, s, "buffer '%s' is used where it is not bound",
                        ir_text(x->v->p, x->v->p->buf.v[b].name));
}

static bool region_ok(scopes *x, ir_stmt s, ir_region r) {
  ir_span run = {r.at, 2 * ir_ndim(x->v->p, r.buf)};
  return buf_ok(x, s, r.buf) && run_ok(x, s, run, s, "an end of a region");
}

/* ---- statements --------------------------------------------------------- */

/* Has a loop around the block no iteration, or is a predicate never true? */
static bool never_runs(const ir_program *p, ir_stmt block) {
  for (ir_stmt s = block; s; s = ir_st(p, s)->parent) {
    ir_expr pred = ir_is_block(p, s) ? ir_blk(p, s)->pred : 0;
    if (pred && ir_is_const(p, pred, 0)) return true;
    if (ir_is_loop(p, s) && ir_at(p, ir_st(p, s)->extent)->hi < 1) return true;
  }
  return false;
}

/* A binding whose values are all outside of the domain is wrong if the block
 * may ever run. */
static bool binding_ok(scopes *x, ir_stmt s, const ir_iter *it) {
  const ir_program *p = x->v->p;
  const ir_node *bind = ir_at(p, it->bind);
  int64_t min, max;
  ir_domain_bounds(p, it->lo, it->extent, &min, &max);
  if ((bind->lo <= max && bind->hi >= min) || never_runs(p, s)) return true;
  return verify_fail_at(x->v, s,
                        "the value of variable '%s', in [%lld, %lld], "
                        "is outside of its domain",
                        ir_var_text(x->v->p, it->var, x->v->scratch),
                        (long long)bind->lo, (long long)bind->hi);
}

static bool block_outside(scopes *x, ir_stmt s, ir_stmt level) {
  const ir_program *p = x->v->p;
  const ir_block_rec *b = ir_blk(p, s);
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    if (!domain_ok(x, s, it->var, it->lo, it->extent, level) ||
        !typed_ok(x, s, it->bind, level, IR_INDEX, "a binding") ||
        !binding_ok(x, s, it))
      return false;
  }
  return !b->pred || typed_ok(x, s, b->pred, level, IR_BOOL, "the predicate");
}

static bool block_inside(scopes *x, ir_stmt s) {
  const ir_program *p = x->v->p;
  const ir_block_rec *b = ir_blk(p, s);
  for (uint32_t i = 0; i < b->allocs.n; i++)
    if (!decl_ok(x, s, p->arg.v[b->allocs.at + i], s)) return false;
  for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++) {
    const ir_match *m = &p->match.v[i];
    if (!decl_ok(x, s, m->buf, s) || !region_ok(x, s, m->source)) return false;
    if (!ir_dtype_eq(p->buf.v[m->buf].dtype, p->buf.v[m->source.buf].dtype))
      return verify_fail_at(x->v, s,
                            "a match buffer has another type than "
                            "its source");
  }
  for (uint32_t i = 0; i < b->reads.n; i++)
    if (!region_ok(x, s, p->region.v[b->reads.at + i])) return false;
  for (uint32_t i = 0; i < b->writes.n; i++)
    if (!region_ok(x, s, p->region.v[b->writes.at + i])) return false;
  return true;
}

/* The lanes that the indices of an access span; 0: inconsistent. */
static uint32_t index_lanes(const ir_program *p, ir_span idx) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < idx.n; i++) {
    tess_dtype t = ir_at(p, p->arg.v[idx.at + i])->dtype;
    if (t.code != TESS_DTYPE_INT || t.bits != 64 ||
        (t.lanes != 1 && most != 1 && t.lanes != most))
      return 0;
    most = t.lanes > most ? t.lanes : most;
  }
  return most;
}

/* What is stored to a buffer whose contents are known keeps them so. */
static bool holds_ok(scopes *x, ir_stmt s, const ir_stmt_rec *r) {
  const ir_program *p = x->v->p;
  const ir_buf_rec *b = &p->buf.v[r->buf];
  const ir_node *n = ir_at(p, r->value);
  if (!b->holds) return true;
  if (b->holds == IR_HOLDS_RANGE && n->lo >= b->least && n->hi <= b->most)
    return true;
  return verify_fail_at(x->v, s,
                        "what is stored to '%s' may not be what the buffer is "
                        "declared to hold",
                        ir_text(p, b->name));
}

static bool store_types_ok(scopes *x, ir_stmt s, const ir_stmt_rec *r) {
  const ir_program *p = x->v->p;
  const ir_buf_rec *b = &p->buf.v[r->buf];
  tess_dtype want = b->dtype, mask = IR_BOOL;
  uint32_t lanes = index_lanes(p, r->idx) * want.lanes;
  want.lanes = mask.lanes = (uint16_t)lanes;
  if (b->role == IR_ROLE_CONSTANT)
    return verify_fail_at(x->v, s, "constant '%s' is written",
                          ir_text(p, b->name));
  if (r->idx.n != b->shape.n)
    return verify_fail_at(x->v, s,
                          "buffer '%s' has %u dimensions but is "
                          "indexed by %u",
                          ir_text(p, b->name), b->shape.n, r->idx.n);
  if (!lanes || lanes > UINT16_MAX ||
      !ir_dtype_eq(ir_at(p, r->value)->dtype, want))
    return verify_fail_at(x->v, s,
                          "the type of the stored value does not match");
  if (r->mask && !ir_dtype_eq(ir_at(p, r->mask)->dtype, mask))
    return verify_fail_at(x->v, s, "the type of the mask does not fit");
  return holds_ok(x, s, r);
}

static bool store_ok(scopes *x, ir_stmt s, const ir_stmt_rec *r,
                     ir_stmt level) {
  if (!store_types_ok(x, s, r) || !buf_ok(x, s, r->buf)) return false;
  for (uint32_t i = 0; i < r->idx.n; i++)
    if (!expr_ok(x, s, x->v->p->arg.v[r->idx.at + i], level)) return false;
  return expr_ok(x, s, r->value, level) &&
         (!r->mask || expr_ok(x, s, r->mask, level));
}

static bool let_ok(scopes *x, ir_stmt s, const ir_stmt_rec *r, ir_stmt level) {
  const ir_program *p = x->v->p;
  const ir_var_rec *v = &p->var.v[r->let_var];
  const ir_node *n = ir_at(p, r->let_value);
  if (!typed_ok(x, s, r->let_value, level, v->dtype, "the value")) return false;
  if (!ir_is_int(v->dtype) || (v->lo <= n->lo && v->hi >= n->hi) ||
      is_conditional(p, s))
    return true;
  return verify_fail_at(x->v, s,
                        "variable '%s' claims narrower bounds than "
                        "its value has",
                        ir_var_text(x->v->p, r->let_var, x->v->scratch));
}

/* The expressions of the statement, before its own binders are in scope. */
static bool head_ok(scopes *x, ir_stmt s, ir_stmt level) {
  const ir_stmt_rec *r = ir_st(x->v->p, s);
  switch ((ir_kind)r->kind) {
  case IR_LOOP: return domain_ok(x, s, r->var, r->lo, r->extent, level);
  case IR_BLOCK: return block_outside(x, s, level);
  case IR_STORE: return store_ok(x, s, r, level);
  case IR_IF: return typed_ok(x, s, r->cond, level, IR_BOOL, "the condition");
  case IR_LET: return let_ok(x, s, r, level);
  case IR_EVALUATE: return expr_ok(x, s, r->eval, level);
  case IR_ALLOCATE: return decl_ok(x, s, r->alloc, level);
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  return true;
}

static bool stmt_ok(scopes *x, ir_stmt s) {
  const ir_program *p = x->v->p;
  const ir_stmt_rec *r = ir_st(p, s);
  if (!head_ok(x, s, x->level_of[s])) return false;
  x->active[x->stmt[s]] = 1;
  if (r->kind == IR_BLOCK && !block_inside(x, s)) return false;
  for (ir_stmt c = r->body; c; c = ir_st(p, c)->next)
    if (!stmt_ok(x, c)) return false;
  for (ir_stmt c = r->alt; c; c = ir_st(p, c)->next)
    if (!stmt_ok(x, c)) return false;
  x->active[x->stmt[s]] = 0;
  return true;
}

/* ---- the whole ---------------------------------------------------------- */

static bool names_ok(verifier *v, ir_stmt root, uint8_t *taken) {
  const ir_program *p = v->p;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!ir_is_block(p, s)) continue;
    ir_str name = ir_blk(p, s)->name;
    if (!name || taken[name])
      return verify_fail(
          v, name ? "two blocks are called '%s'" : "a block has no name%s",
          ir_text(p, name));
    taken[name] = 1;
  }
  return true;
}

static bool func_ok(scopes *x, const ir_func *f) {
  verifier *v = x->v;
  const ir_program *p = v->p;
  uint32_t serial = x->stmt[f->root] - 1;
  arena_mark m = arena_get_mark(v->scratch);
  bool named = names_ok(v, f->root, arena_zalloc(v->scratch, p->text.n));
  arena_reset_to(v->scratch, m);
  if (!named) return false;
  x->active[serial] = 1;
  for (uint32_t i = 0; i < f->params.n; i++)
    if (!decl_ok(x, f->root, p->arg.v[f->params.at + i], f->root)) return false;
  if (!stmt_ok(x, f->root)) return false;
  x->active[serial] = 0;
  return true;
}

static bool reducer_ok(scopes *x, uint32_t i) {
  const ir_program *p = x->v->p;
  const ir_reducer *r = &p->reducer.v[i];
  for (uint32_t k = 0; k < r->n; k++) {
    tess_dtype t = p->var.v[p->arg.v[r->lhs.at + k]].dtype;
    ir_expr combine = p->arg.v[r->combine.at + k];
    ir_expr identity = p->arg.v[r->identity.at + k];
    need a = x->need[combine], b = x->need[identity];
    if (!ir_dtype_eq(t, p->var.v[p->arg.v[r->rhs.at + k]].dtype) ||
        !ir_dtype_eq(t, ir_at(p, combine)->dtype) ||
        !ir_dtype_eq(t, ir_at(p, identity)->dtype))
      return verify_fail(x->v, "the types of reducer %u do not fit", i);
    if (a.latest || (a.formal && a.formal != i) || b.latest || b.formal)
      return verify_fail(x->v, "reducer %u uses more than its formals", i);
  }
  return true;
}

/* A constant has the size of its buffer, whose shape is constant. */
static bool constant_ok(verifier *v, const ir_const *c) {
  const ir_program *p = v->p;
  const ir_buf_rec *b = &p->buf.v[c->buf];
  uint64_t bytes = ir_dtype_bytes(b->dtype);
  bool ok = b->role == IR_ROLE_CONSTANT && !b->strides.n && !b->offset;
  for (uint32_t d = 0; d < b->shape.n; d++) {
    int64_t n = -1;
    ok = ok && ir_const_int(p, ir_dim(p, c->buf, d), &n) && n >= 0 &&
         !__builtin_mul_overflow(bytes, (uint64_t)n, &bytes);
  }
  if (ok && bytes == c->bytes) return true;
  return verify_fail(v, "the contents of constant '%s' do not fit its buffer",
                     ir_text(p, b->name));
}

bool verify_scopes(verifier *v) {
  const ir_program *p = v->p;
  scopes x;
  if (!scopes_init(&x, v)) return false;
  for (uint32_t i = 0; i < p->constant.n; i++)
    if (!constant_ok(v, &p->constant.v[i])) return false;
  for (uint32_t i = 1; i < p->reducer.n; i++)
    if (!reducer_ok(&x, i)) return false;
  for (uint32_t i = 1; i < p->func.n; i++)
    if (!func_ok(&x, &p->func.v[i])) return false;
  return true;
}
