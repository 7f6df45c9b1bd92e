/* SPDX-License-Identifier: Apache-2.0
 * Verifier, part 1: the tables.  Nothing is assumed; afterwards every index can
 * be followed, and every walk over expressions, values, annotations and names
 * ends. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"
#include "ir/verify/verify.h"

/* ---- pieces ------------------------------------------------------------- */

static bool in(uint32_t i, uint32_t n) { return i && i < n; }
static bool in_or_none(uint32_t i, uint32_t n) { return i < n || !i; }
static bool span_ok(ir_span s, uint32_t n) {
  return s.at <= n && s.n <= n - s.at;
}

/* A text starts where the previous one ends. */
static bool text_ok(const ir_program *p, ir_str s) {
  return s < p->text.n && (!s || !p->text.v[s - 1]);
}

static bool name_ok(const ir_program *p, ir_str s) {
  if (!text_ok(p, s)) return false;
  size_t n = strlen(ir_text(p, s));
  return str_plain(ir_text(p, s), n) == n;
}

/* Are all elements of a run of the pool nonzero indices below n? */
static bool run_ok(const ir_program *p, ir_span s, uint32_t n) {
  if (!span_ok(s, p->arg.n)) return false;
  for (uint32_t i = 0; i < s.n; i++)
    if (!in(p->arg.v[s.at + i], n)) return false;
  return true;
}

static bool region_ok(const ir_program *p, ir_region r) {
  if (!in(r.buf, p->buf.n)) return false;
  uint32_t ndim = p->buf.v[r.buf].shape.n;
  return ndim < UINT32_MAX / 2 &&
         run_ok(p, (ir_span){r.at, 2 * ndim}, p->node.n);
}

/* ---- expressions -------------------------------------------------------- */

static bool call_ok(const ir_program *p, ir_expr e, const ir_node *n) {
  static const uint8_t nargs[] = {
      0,
#define FN(name, text, kind, nargs, doc) nargs,
#include "ir/fn.def"
#undef FN
  };
  if (!in(n->a, IR_FN_COUNT) || !run_ok(p, (ir_span){n->b, n->n}, e))
    return false;
  if (!ir_fn_is_named(n->a)) return n->n == nargs[n->a] && !n->c;
  /* What replaces code may be assembly of several lines. */
  bool is_text = n->a == IR_FN_INSTEAD;
  return n->c && (is_text ? text_ok(p, n->c) : name_ok(p, n->c));
}

/* A mask is stored after the indices, too. */
static bool load_ok(const ir_program *p, ir_expr e, const ir_node *n) {
  ir_span all = {n->b, n->n + (n->c ? 1u : 0u)};
  return in(n->a, p->buf.n) && run_ok(p, all, e) &&
         (!n->c || p->arg.v[n->b + n->n] == n->c);
}

/* Operands are older than their uses. */
static bool node_ok(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  bool pooled = n->op == IR_LOAD || n->op == IR_CALL;
  if (!ir_dtype_ok(n->dtype) || (n->n && !pooled)) return false;
  switch ((ir_op)n->op) {
  case IR_INT:
  case IR_REAL: return true;
  case IR_VAR: return in(n->a, p->var.n) && !n->b && !n->c;
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
  case IR_RAMP: return in(n->a, e) && in(n->b, e) && !n->c;
  case IR_NOT:
  case IR_CAST:
  case IR_BROADCAST: return in(n->a, e) && !n->b && !n->c;
  case IR_SELECT: return in(n->a, e) && in(n->b, e) && in(n->c, e);
  case IR_LOAD: return load_ok(p, e, n);
  case IR_CALL: return call_ok(p, e, n);
  case IR_NONE: break;
  }
  return false;
}

static bool nodes_ok(verifier *v) {
  const ir_program *p = v->p;
  uint32_t *depth = arena_array(v->scratch, uint32_t, p->node.n);
  for (ir_expr e = 1; e < p->node.n; e++) {
    if (!node_ok(p, e)) return verify_fail(v, "expression %u is malformed", e);
    depth[e] = ir_depth_above(p, depth, e);
    if (depth[e] > IR_MAX_EXPR_DEPTH)
      return verify_fail(v, "expression %u nests deeper than %d", e,
                         IR_MAX_EXPR_DEPTH);
  }
  return true;
}

/* ---- variables and buffers ---------------------------------------------- */

static bool var_ok(const ir_program *p, ir_var i) {
  const ir_var_rec *r = &p->var.v[i];
  if (r->kind > IR_VAR_FORMAL || r->form > IR_NAME_INNER ||
      !ir_dtype_ok(r->dtype))
    return false;
  if (!name_ok(p, r->name) || r->from[0] >= i || r->from[1] >= i) return false;
  if (r->owner >= p->stmt.n || !in(r->ref, p->node.n) || r->lo > r->hi)
    return false;
  const ir_node *n = ir_at(p, r->ref);
  return n->op == IR_VAR && n->a == i && ir_dtype_eq(n->dtype, r->dtype);
}

/* The range is one of the type's, and not empty. */
static bool holds_ok(const ir_buf_rec *r) {
  if (!r->holds) return !r->least && !r->most;
  if (r->holds & ~IR_HOLDS_ALL || !ir_is_int(r->dtype)) return false;
  if (!(r->holds & IR_HOLDS_RANGE))
    return !(r->holds & IR_HOLDS_ENDS) && !r->least && !r->most;
  return r->least <= r->most && r->least >= ir_int_min(r->dtype) &&
         r->most <= ir_int_max(r->dtype) && r->most < INT64_MAX;
}

static bool buf_ok(const ir_program *p, ir_buf i) {
  const ir_buf_rec *r = &p->buf.v[i];
  return name_ok(p, r->name) && ir_dtype_ok(r->dtype) &&
         r->scope < IR_SCOPE_COUNT && r->role <= IR_ROLE_LAYOUT_FREE &&
         run_ok(p, r->shape, p->node.n) && run_ok(p, r->strides, p->node.n) &&
         (!r->strides.n || r->strides.n == r->shape.n) &&
         in_or_none(r->offset, p->node.n) && holds_ok(r);
}

/* ---- statements and blocks ---------------------------------------------- */

static bool links_in(const ir_program *p, const ir_stmt_rec *r) {
  uint32_t n = p->stmt.n;
  return r->parent < n && r->prev < n && r->next < n && r->body < n &&
         r->alt < n && in_or_none(r->anno, p->anno.n);
}

static bool atomic_ok(unsigned op) {
  return !op || op == IR_ADD || op == IR_MIN || op == IR_MAX;
}

static bool stmt_ok(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  uint32_t n = p->node.n;
  if (r->kind == IR_DEAD) return true;
  if (!links_in(p, r)) return false;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    return r->loop_kind <= IR_THREAD && r->thread < IR_THREAD_COUNT &&
           in(r->var, p->var.n) && in(r->lo, n) && in(r->extent, n);
  case IR_BLOCK:
    return in(r->block, p->block.n) && p->block.v[r->block].stmt == s;
  case IR_STORE:
    return atomic_ok(r->loop_kind) && in(r->buf, p->buf.n) &&
           run_ok(p, r->idx, n) && in(r->value, n) && in_or_none(r->mask, n);
  case IR_IF: return in(r->cond, n);
  case IR_LET: return in(r->let_var, p->var.n) && in(r->let_value, n);
  case IR_EVALUATE: return in(r->eval, n);
  case IR_ALLOCATE: return in(r->alloc, p->buf.n);
  case IR_BARRIER: return r->thread < IR_SCOPE_COUNT;
  case IR_DEAD: break;
  }
  return false;
}

static bool block_ok(const ir_program *p, uint32_t i) {
  const ir_block_rec *b = &p->block.v[i];
  return name_ok(p, b->name) && in(b->stmt, p->stmt.n) &&
         span_ok(b->iters, p->iter.n) && in_or_none(b->pred, p->node.n) &&
         span_ok(b->reads, p->region.n) && span_ok(b->writes, p->region.n) &&
         run_ok(p, b->allocs, p->buf.n) && span_ok(b->matches, p->match.n) &&
         in_or_none(b->reducer, p->reducer.n);
}

static bool iter_ok(const ir_program *p, uint32_t i) {
  const ir_iter *it = &p->iter.v[i];
  uint32_t n = p->node.n;
  return in(it->var, p->var.n) && it->kind <= IR_OPAQUE && in(it->lo, n) &&
         in(it->extent, n) && in(it->bind, n);
}

static bool match_ok(const ir_program *p, uint32_t i) {
  const ir_match *m = &p->match.v[i];
  return in(m->buf, p->buf.n) && in(m->source.buf, p->buf.n);
}

/* ---- the rest ----------------------------------------------------------- */

static bool reducer_ok(const ir_program *p, uint32_t i) {
  const ir_reducer *r = &p->reducer.v[i];
  return name_ok(p, r->name) && r->n && r->ordered <= IR_ORDER_FIXED &&
         r->lhs.n == r->n && r->rhs.n == r->n && r->combine.n == r->n &&
         r->identity.n == r->n && run_ok(p, r->lhs, p->var.n) &&
         run_ok(p, r->rhs, p->var.n) && run_ok(p, r->combine, p->node.n) &&
         run_ok(p, r->identity, p->node.n);
}

static bool func_ok(const ir_program *p, uint32_t i) {
  const ir_func *f = &p->func.v[i];
  return name_ok(p, f->name) && run_ok(p, f->params, p->buf.n) &&
         run_ok(p, f->sizes, p->var.n) && in(f->root, p->stmt.n);
}

static bool const_ok(const ir_program *p, uint32_t i) {
  const ir_const *c = &p->constant.v[i];
  return in(c->buf, p->buf.n) && (c->data || !c->bytes);
}

static bool anno_ok(const ir_program *p, uint32_t i) {
  const ir_anno *a = &p->anno.v[i];
  return a->key && text_ok(p, a->key) && a->val < p->value.n &&
         (!a->next || (a->next > i && a->next < p->anno.n));
}

static bool value_ok(const ir_program *p, ir_val i) {
  const ir_value *x = &p->value.v[i];
  if (x->tag == IR_VAL_STR) return text_ok(p, x->s);
  if (x->tag != IR_VAL_LIST && x->tag != IR_VAL_DICT)
    return x->tag <= IR_VAL_DICT;
  if (!span_ok((ir_span){x->at, x->n}, p->arg.n)) return false;
  bool dict = x->tag == IR_VAL_DICT;
  if (dict && x->n % 2) return false;
  for (uint32_t k = 0; k < x->n; k++) {
    ir_val e = p->arg.v[x->at + k];
    if (e >= i || (dict && k % 2 == 0 && p->value.v[e].tag != IR_VAL_STR))
      return false;
  }
  return true;
}

/* Values nest and share; expanded to trees they must stay small. */
static bool values_ok(verifier *v) {
  const ir_program *p = v->p;
  uint32_t *size = arena_array(v->scratch, uint32_t, p->value.n);
  uint32_t *depth = arena_array(v->scratch, uint32_t, p->value.n);
  for (ir_val i = 0; i < p->value.n; i++) {
    if (!value_ok(p, i)) return verify_fail(v, "value %u is malformed", i);
    const ir_value *x = &p->value.v[i];
    bool has = x->tag == IR_VAL_LIST || x->tag == IR_VAL_DICT;
    uint64_t total = 1;
    depth[i] = 1;
    for (uint32_t k = 0; has && k < x->n; k++) {
      ir_val e = p->arg.v[x->at + k];
      total += size[e];
      depth[i] = depth[e] >= depth[i] ? depth[e] + 1 : depth[i];
    }
    if (total > IR_MAX_VALUE_SIZE || depth[i] > IR_MAX_VALUE_DEPTH)
      return verify_fail(v, "value %u is too large", i);
    size[i] = (uint32_t)total;
  }
  return true;
}

/* The blank first entry of every table. */
static bool starts_ok(const ir_program *p) {
  return p->node.n && p->var.n && p->buf.n && p->stmt.n && p->block.n &&
         p->reducer.n && p->func.n && p->anno.n && p->value.n && p->arg.n &&
         p->text.n && !p->text.v[0] && !p->text.v[p->text.n - 1] &&
         ir_at(p, 0)->op == IR_NONE && ir_st(p, 0)->kind == IR_DEAD &&
         in_or_none(p->entry, p->func.n) && (p->entry || p->func.n == 1);
}

bool verify_tables(verifier *v) {
  const ir_program *p = v->p;
  if (!starts_ok(p))
    return verify_fail(v, "the tables do not start as they must");
  if (!nodes_ok(v) || !values_ok(v)) return false;
#define EACH(table, from, check, what)           \
  for (uint32_t i = (from); i < p->table.n; i++) \
    if (!check(p, i)) return verify_fail(v, what " %u is malformed", i);
  EACH(buf, 1, buf_ok, "buffer")
  EACH(var, 1, var_ok, "variable")
  EACH(stmt, 1, stmt_ok, "statement")
  EACH(block, 1, block_ok, "block")
  EACH(iter, 0, iter_ok, "iteration variable")
  EACH(match, 0, match_ok, "match buffer")
  EACH(reducer, 1, reducer_ok, "reducer")
  EACH(func, 1, func_ok, "function")
  EACH(constant, 0, const_ok, "constant")
  EACH(anno, 1, anno_ok, "annotation")
#undef EACH
  return true;
}

/* ---- regions ------------------------------------------------------------ */

static bool regions_ok(verifier *v, ir_stmt s, ir_span regions) {
  const ir_program *p = v->p;
  for (uint32_t i = 0; i < regions.n; i++)
    if (!region_ok(p, p->region.v[regions.at + i]))
      return verify_fail(v, "a region of statement %u is malformed", s);
  return true;
}

/* A buffer may get another shape, after which an unused region may no longer
 * match it; so only regions of blocks in the trees are checked. */
bool verify_blocks(verifier *v) {
  const ir_program *p = v->p;
  for (ir_stmt s = 1; s < p->stmt.n; s++) {
    if (!v->reached[s] || !ir_is_block(p, s)) continue;
    const ir_block_rec *b = ir_blk(p, s);
    if (!regions_ok(v, s, b->reads) || !regions_ok(v, s, b->writes))
      return false;
    for (uint32_t i = b->matches.at; i < b->matches.at + b->matches.n; i++)
      if (!region_ok(p, p->match.v[i].source))
        return verify_fail(v, "a match of statement %u is malformed", s);
  }
  return true;
}
