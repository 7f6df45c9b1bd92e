/* SPDX-License-Identifier: Apache-2.0
 * Pattern matching of a block against the description of an intrinsic, and its
 * replacement by the implementation.
 *
 * Description and block are in one program, where equal expressions are
 * interned: so the description's variables are substituted by those of the
 * block, and the results must be identical.  The first access of each
 * parameter determines its buffer and offset. */
#include "schedule/rewrite/intrin.h"
#include "schedule/rewrite/intrin_difference.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/pool.h"
#include "ir/query.h"

enum { MOST_PARAMS = 16, MOST_DIMS = 16, MOST_STEPS = 1 << 16 };

/* What a parameter represents. */
typedef struct binding {
  ir_buf buf;              /* 0: not yet known */
  uint32_t ndim;           /* of that buffer */
  ir_expr base[MOST_DIMS]; /* where the box begins */
} binding;

typedef struct match {
  sch_state *s;
  ir_program *p;
  ir_stmt block, at; /* at: the statement looked at */
  ir_span params;    /* of the description */
  binding b[MOST_PARAMS];
  uint8_t *inner; /* by variable: bound inside of the block */
  ir_subst terms; /* variables of the description to those of it */
  uint32_t steps; /* left: orders of operands are tried, each in each */
  intrin_difference first; /* what does not fit */
} match;

/* Of these values. */
static bool differ(match *m, const char *what, intrin_values values,
                   uint32_t described, uint32_t found) {
  if (!m->first.what)
    m->first = (intrin_difference){what, m->at, values, described, found};
  return false;
}

static bool differs(match *m, const char *why) {
  return differ(m, why, INTRIN_NO_VALUES, 0, 0);
}

/* ---- finding it --------------------------------------------------------- */

static uint32_t find_func(const ir_program *p, const char *name,
                          const char *suffix) {
  size_t n = strlen(name);
  for (uint32_t i = 1; i < p->func.n; i++) {
    const char *f = ir_text(p, p->func.v[i].name);
    if (i != p->entry && !strncmp(f, name, n) && !strcmp(f + n, suffix))
      return i;
  }
  return 0;
}

bool sch_knows_intrin(const ir_program *p, const char *name) {
  return find_func(p, name, ".desc") && find_func(p, name, ".impl");
}

const char *sch_next_of_family(sch_state *s, const char *family,
                               uint32_t *func) {
  const ir_program *p = s->p;
  size_t n = strlen(family);
  while (++*func < p->func.n) {
    const char *f = ir_text(p, p->func.v[*func].name);
    const char *dot = strrchr(f, '.');
    bool is_member = !strncmp(f, family, n) && f[n] == '_' && dot &&
                     !strcmp(dot, ".desc") && *func != p->entry;
    if (is_member) return arena_printf(s->scratch, "%.*s", (int)(dot - f), f);
  }
  return NULL;
}

bool sch_find_intrin(sch_state *s, const char *name, uint32_t *desc,
                     uint32_t *impl) {
  *desc = find_func(s->p, name, ".desc");
  *impl = find_func(s->p, name, ".impl");
  return (*desc && *impl) || sch_refuse(s, SCH_R_INTRIN_UNKNOWN, .t = name);
}

/* ---- expressions -------------------------------------------------------- */

static ir_walk is_inner(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  const uint8_t *inner = ud;
  return n->op == IR_VAR && inner[n->a] ? IR_WALK_FOUND : IR_WALK_DESCEND;
}

static bool uses_inner(const match *m, ir_expr e) {
  return ir_any(m->p, e, is_inner, m->inner);
}

/* An index of the description, in the block's terms. */
static ir_expr intrin_see(match *m, ir_expr e) {
  return ir_subst_expr(&m->terms, e);
}

static bool scope_fits(const ir_program *p, ir_buf param, ir_buf buf) {
  uint8_t scope = p->buf.v[param].scope;
  return scope == IR_SCOPE_GLOBAL || scope == p->buf.v[buf].scope;
}

/* An access of `buf` where the description accesses `param`. */
static bool intrin_bind(match *m, ir_buf param, uint32_t n, const ir_expr *idx,
                        ir_buf buf, uint32_t nw, const ir_expr *at) {
  ir_program *p = m->p;
  uint32_t k = 0;
  while (k < m->params.n && p->arg.v[m->params.at + k] != param) k++;
  if (k == m->params.n) return differs(m, "the description allocates a buffer");
  binding now = {.buf = buf, .ndim = nw}, *b = &m->b[k];
  if (!ir_dtype_eq(p->buf.v[param].dtype, p->buf.v[buf].dtype))
    return differ(m, "the element type of a parameter", INTRIN_BUFFER_TYPES,
                  param, buf);
  if (nw < n || nw > MOST_DIMS)
    return differ(m, "the number of dimensions of a parameter",
                  INTRIN_BUFFER_DIMS, param, buf);
  if (!scope_fits(p, param, buf))
    return differ(m, "the storage scope of a parameter", INTRIN_BUFFER_SCOPES,
                  param, buf);
  for (uint32_t d = 0; d < nw; d++) {
    now.base[d] =
        d < nw - n ? at[d] : ir_sub(p, at[d], intrin_see(m, idx[d - (nw - n)]));
    if (uses_inner(m, now.base[d]))
      return differs(m, "a buffer is accessed at other indices");
  }
  if (!b->buf) {
    *b = now;
    return true;
  }
  if (b->buf != buf)
    return differ(m, "a parameter that would be two buffers", INTRIN_BUFFERS,
                  param, buf);
  for (uint32_t d = 0; d < nw; d++)
    if (b->base[d] != now.base[d])
      return differs(m, "a buffer is accessed at other indices");
  return true;
}

static bool intrin_same(match *m, ir_expr d, ir_expr w);

static bool same_load(match *m, const ir_node *d, const ir_node *w) {
  ir_program *p = m->p;
  ir_expr *idx = arena_array(m->s->scratch, ir_expr, d->n + w->n);
  if (d->c || w->c) return differs(m, "a load is masked");
  memcpy(idx, p->arg.v + d->b, d->n * sizeof *idx);
  memcpy(idx + d->n, p->arg.v + w->b, w->n * sizeof *idx);
  return intrin_bind(m, d->a, d->n, idx, w->a, w->n, idx + d->n);
}

static bool commutes(uint32_t op) {
  return op == IR_ADD || op == IR_MUL || op == IR_MIN || op == IR_MAX ||
         op == IR_AND || op == IR_OR || op == IR_EQ || op == IR_NE;
}

/* Operands in order, or, of two that may change places, the other way. */
static bool same_operands(match *m, ir_expr d, ir_expr w) {
  ir_program *p = m->p;
  uint32_t fixed[3];
  const uint32_t *arg;
  uint32_t n = ir_operands(p, d, &arg, fixed);
  ir_expr *x = arena_array(m->s->scratch, ir_expr, 2 * n);
  memcpy(x, arg, n * sizeof *x);
  if (ir_operands(p, w, &arg, fixed) != n)
    return differ(m, "an expression", INTRIN_OPERATORS, d, w);
  memcpy(x + n, arg, n * sizeof *x);
  binding was[MOST_PARAMS];
  memcpy(was, m->b, sizeof was);
  uint32_t i = 0;
  while (i < n && intrin_same(m, x[i], x[n + i])) i++;
  if (i == n) return true;
  if (n != 2 || !commutes(ir_at(p, d)->op)) return false;
  const intrin_difference kept = m->first;
  binding first[MOST_PARAMS];
  memcpy(first, m->b, sizeof first);
  memcpy(m->b, was, sizeof was);
  m->first.what = NULL;
  bool ok = intrin_same(m, x[0], x[3]) && intrin_same(m, x[1], x[2]);
  if (!ok) {
    m->first = kept;
    memcpy(m->b, first, sizeof first);
  }
  return ok;
}

/* The block's expression w is d, which the description has there. */
static bool intrin_same(match *m, ir_expr d, ir_expr w) {
  const ir_node x = *ir_at(m->p, d), y = *ir_at(m->p, w);
  if (!m->steps)
    return differs(m, "the comparison exceeds the limit of effort");
  m->steps--;
  if (!ir_dtype_eq(x.dtype, y.dtype))
    return differ(m, "the type of an expression", INTRIN_EXPR_TYPES, d, w);
  if (x.is_index && !x.has_load)
    return intrin_see(m, d) == w ||
           differ(m, "an index", INTRIN_EXPRS, intrin_see(m, d), w);
  if (x.op != y.op) return differ(m, "an expression", INTRIN_OPERATORS, d, w);
  switch ((ir_op)x.op) {
  case IR_INT:
  case IR_REAL: return d == w || differ(m, "a constant", INTRIN_EXPRS, d, w);
  case IR_VAR:
    return intrin_see(m, d) == w ||
           differ(m, "an index", INTRIN_EXPRS, intrin_see(m, d), w);
  case IR_LOAD: return same_load(m, &x, &y);
  case IR_CALL:
    if (x.a != y.a || x.c != y.c)
      return differ(m, "an expression", INTRIN_OPERATORS, d, w);
    break;
  default: break;
  }
  return same_operands(m, d, w);
}

/* ---- statements --------------------------------------------------------- */

static bool same_list(match *m, ir_stmt d, ir_stmt w);

static void intrin_enter(match *m, ir_var d, ir_var w) {
  ir_subst_var(&m->terms, d, ir_ref(m->p, w));
  ir_subst_restart(&m->terms);
}

static bool same_loop(match *m, ir_stmt at, const ir_stmt_rec *d,
                      const ir_stmt_rec *w) {
  ir_expr lo = intrin_see(m, d->lo), extent = intrin_see(m, d->extent);
  if (lo != w->lo)
    return differ(m, "the start of a loop", INTRIN_EXPRS, lo, w->lo);
  if (extent != w->extent)
    return differ(m, "the extent of a loop", INTRIN_EXPRS, extent, w->extent);
  if (d->loop_kind != w->loop_kind || d->thread != w->thread)
    return differ(m, "the kind of a loop", INTRIN_LOOP_KINDS, at, m->at);
  intrin_enter(m, d->var, w->var);
  return same_list(m, d->body, w->body);
}

static bool same_iters(match *m, ir_span d, ir_span w) {
  const ir_program *p = m->p;
  if (d.n != w.n)
    return differ(m, "the number of iters", INTRIN_COUNTS, d.n, w.n);
  for (uint32_t i = 0; i < d.n; i++) {
    const ir_iter x = p->iter.v[d.at + i], y = p->iter.v[w.at + i];
    if (x.kind != y.kind)
      return differ(m, "the kind of an iter", INTRIN_ITER_KINDS, x.kind,
                    y.kind);
    ir_expr lo = intrin_see(m, x.lo), extent = intrin_see(m, x.extent);
    ir_expr bind = intrin_see(m, x.bind);
    if (lo != y.lo)
      return differ(m, "the start of an iter", INTRIN_EXPRS, lo, y.lo);
    if (extent != y.extent)
      return differ(m, "the extent of an iter", INTRIN_EXPRS, extent, y.extent);
    if (bind != y.bind)
      return differ(m, "the binding of an iter", INTRIN_EXPRS, bind, y.bind);
  }
  for (uint32_t i = 0; i < d.n; i++)
    intrin_enter(m, p->iter.v[d.at + i].var, p->iter.v[w.at + i].var);
  return true;
}

static bool same_block(match *m, ir_stmt d, ir_stmt w) {
  const ir_program *p = m->p;
  const ir_block_rec x = *ir_blk(p, d), y = *ir_blk(p, w);
  if (!x.pred != !y.pred || (x.pred && !intrin_same(m, x.pred, y.pred)))
    return differs(m, "the predicate of a block differs");
  if (x.allocs.n || y.allocs.n || x.matches.n || y.matches.n)
    return differs(m, "a block allocates buffers");
  ir_stmt init = ir_st(p, d)->alt, found = ir_st(p, w)->alt;
  if (!init != !found)
    return differ(m, "the init", INTRIN_STATEMENTS, init, found);
  return same_iters(m, x.iters, y.iters) &&
         same_list(m, ir_st(p, d)->alt, ir_st(p, w)->alt) &&
         same_list(m, ir_st(p, d)->body, ir_st(p, w)->body);
}

static bool same_store(match *m, const ir_stmt_rec *d, const ir_stmt_rec *w) {
  ir_program *p = m->p;
  ir_expr *idx = arena_array(m->s->scratch, ir_expr, d->idx.n + w->idx.n);
  if (d->mask || w->mask) return differs(m, "a store is masked");
  memcpy(idx, p->arg.v + d->idx.at, d->idx.n * sizeof *idx);
  memcpy(idx + d->idx.n, p->arg.v + w->idx.at, w->idx.n * sizeof *idx);
  return intrin_bind(m, d->buf, d->idx.n, idx, w->buf, w->idx.n,
                     idx + d->idx.n) &&
         intrin_same(m, d->value, w->value);
}

static bool same_stmt(match *m, ir_stmt d, ir_stmt w) {
  const ir_stmt_rec x = *ir_st(m->p, d), y = *ir_st(m->p, w);
  m->at = w;
  if (x.kind != y.kind)
    return differ(m, "a statement", INTRIN_STATEMENTS, d, w);
  switch ((ir_kind)x.kind) {
  case IR_LOOP: return same_loop(m, d, &x, &y);
  case IR_BLOCK: return same_block(m, d, w);
  case IR_STORE: return same_store(m, &x, &y);
  case IR_IF:
    return intrin_same(m, x.cond, y.cond) && same_list(m, x.body, y.body) &&
           same_list(m, x.alt, y.alt);
  default: return differs(m, "a statement of this kind cannot be matched");
  }
}

static bool same_list(match *m, ir_stmt d, ir_stmt w) {
  const ir_program *p = m->p;
  ir_stmt at = m->at;
  for (; d && w; d = ir_st(p, d)->next, w = ir_st(p, w)->next)
    if (!same_stmt(m, d, w)) return false;
  m->at = at;
  return (!d && !w) || differ(m, "a statement", INTRIN_STATEMENTS, d, w);
}

/* ---- parameters --------------------------------------------------------- */

/* The box that parameter k represents. */
static ir_region box_of(const match *m, uint32_t k) {
  ir_program *p = m->p;
  const binding *b = &m->b[k];
  ir_buf param = p->arg.v[m->params.at + k];
  uint32_t skip = b->ndim - ir_ndim(p, param);
  ir_expr v[2 * MOST_DIMS];
  for (uint32_t d = 0; d < b->ndim; d++) {
    v[2 * d] = b->base[d];
    v[2 * d + 1] = d < skip ? ir_index(p, 1) : ir_dim(p, param, d - skip);
  }
  return ir_region_new(p, b->buf, v);
}

static bool declares(const match *m, ir_span regions, ir_region box) {
  ir_program *p = m->p;
  for (uint32_t i = regions.at; i < regions.at + regions.n; i++) {
    ir_region r = p->region.v[i];
    if (r.buf == box.buf && (sch_same_region(p, r, box) ||
                             arith_region_covers(p, m->s->scratch, r, box)))
      return true;
  }
  return false;
}

static bool writes(const ir_program *p, ir_stmt root, ir_buf buf) {
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_st(p, s)->kind == IR_STORE && ir_st(p, s)->buf == buf) return true;
  return false;
}

static bool check_params(match *m, uint32_t desc, ir_region *box) {
  const ir_program *p = m->p;
  const ir_block_rec b = *ir_blk(p, m->block);
  for (uint32_t k = 0; k < m->params.n; k++) {
    ir_buf param = p->arg.v[m->params.at + k];
    bool write = writes(p, p->func.v[desc].root, param);
    if (!m->b[k].buf) return differs(m, "a parameter is not accessed");
    for (uint32_t i = 0; i < m->params.n; i++)
      if (write && i != k && m->b[i].buf == m->b[k].buf)
        return sch_refuse(m->s, SCH_R_INTRIN_BUFFER, .s = {m->block},
                          .buf = m->b[k].buf);
    box[k] = box_of(m, k);
    if (!declares(m, write ? b.writes : b.reads, box[k]))
      return differs(m, "a box of a buffer is not accessed as a whole");
  }
  return true;
}

/* ---- putting it there --------------------------------------------------- */

/* A buffer of the block for each box; mapped from the implementation's. */
static void make_matches(match *m, uint32_t impl, const ir_region *box,
                         ir_subst *to) {
  ir_program *p = m->p;
  ir_match *x = arena_array(m->s->scratch, ir_match, m->params.n);
  for (uint32_t k = 0; k < m->params.n; k++) {
    ir_buf param = p->arg.v[p->func.v[impl].params.at + k];
    ir_buf_rec r = p->buf.v[param];
    ir_buf_rec of = p->buf.v[m->b[k].buf];
    ir_expr shape[MOST_DIMS];
    for (uint32_t d = 0; d < r.shape.n; d++) shape[d] = ir_dim(p, param, d);
    ir_str name = ir_name_cat(p, of.name, "_m");
    ir_buf made = ir_buf_new(p, name, r.dtype, r.shape.n, shape,
                             (ir_scope)of.scope, IR_ROLE_LOCAL);
    x[k] = (ir_match){made, box[k]};
    ir_subst_buf(to, param, made);
  }
  uint32_t at;
  POOL_ADD(p->heap, &p->match, m->params.n, x, at);
  ir_blk(p, m->block)->matches = (ir_span){at, m->params.n};
}

static void merge_annotations(ir_program *p, ir_stmt from, ir_stmt to) {
  for (uint32_t a = ir_st(p, from)->anno; a; a = p->anno.v[a].next) {
    ir_anno r = p->anno.v[a];
    if (!ir_anno_get(p, to, ir_text(p, r.key)))
      ir_anno_set(p, to, r.key, r.val);
  }
}

static void intrin_put(match *m, uint32_t impl, const ir_region *box) {
  ir_program *p = m->p;
  ir_subst to;
  ir_subst_init(&to, p, m->s->scratch);
  make_matches(m, impl, box, &to);
  /* Copied while the old blocks are there: none of the new takes a name that
   * a script knew another by. */
  ir_stmt copy = ir_clone_stmt(&to, p->func.v[impl].root, "");
  while (ir_st(p, m->block)->body) ir_kill(p, ir_st(p, m->block)->body);
  merge_annotations(p, copy, m->block);
  ir_span a = ir_blk(p, copy)->allocs;
  for (uint32_t i = 0; i < a.n; i++)
    ir_block_add_alloc(p, m->block, p->arg.v[a.at + i]);
  ir_move_body(p, copy, m->block);
  ir_kill(p, copy);
}

static void mark_inner(match *m) {
  const ir_program *p = m->p;
  m->inner = arena_zalloc(m->s->scratch, p->var.n);
  for (ir_stmt s = ir_st(p, m->block)->body; s; s = ir_next(p, s, m->block)) {
    if (ir_is_loop(p, s)) m->inner[ir_st(p, s)->var] = 1;
    if (!ir_is_block(p, s)) continue;
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = it.at; i < it.at + it.n; i++)
      m->inner[p->iter.v[i].var] = 1;
  }
}

bool sch_use_intrin(sch_state *s, ir_stmt block, uint32_t desc, uint32_t impl) {
  ir_program *p = s->p;
  match *m = arena_zalloc(s->scratch, sizeof *m);
  ir_region box[MOST_PARAMS];
  *m = (match){.s = s,
               .p = p,
               .block = block,
               .at = block,
               .params = p->func.v[desc].params,
               .steps = MOST_STEPS};
  mark_inner(m);
  ir_subst_init(&m->terms, p, s->scratch);
  s->refusal.reason = SCH_R_NONE;
  if (ir_blk(p, block)->allocs.n || ir_blk(p, block)->matches.n)
    differs(m, "the block allocates buffers");
  else if (m->params.n > MOST_PARAMS)
    differs(m, "it has too many parameters");
  else if (same_list(m, ir_st(p, p->func.v[desc].root)->body,
                     ir_st(p, block)->body) &&
           check_params(m, desc, box)) {
    intrin_put(m, impl, box);
    return true;
  }
  if (s->refusal.reason != SCH_R_NONE) return false;
  intrin_print_difference(p, desc, &m->first, s->text, sizeof s->text);
  return sch_refuse(s, SCH_R_INTRIN_MISMATCH, .s = {m->first.where},
                    .t = s->text);
}
