/* SPDX-License-Identifier: Apache-2.0
 * Substitution of variables and buffers.  Results are memoized by node; a node
 * whose bit set excludes every mapped variable is not visited. */
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/memo.h"

void ir_subst_init(ir_subst *s, ir_program *p, arena *scratch) {
  *s = (ir_subst){.p = p, .scratch = scratch};
}

/* Grows a map to include index `i`; new entries are 0. */
static void reach(arena *scratch, uint32_t **map, uint32_t *n, uint32_t i,
                  uint32_t size) {
  if (i < *n) return;
  uint32_t *to = arena_zalloc(scratch, (size_t)size * sizeof *to);
  if (*n) memcpy(to, *map, (size_t)*n * sizeof *to);
  *map = to;
  *n = size;
}

void ir_subst_var(ir_subst *s, ir_var v, ir_expr e) {
  const ir_var_rec *r = &s->p->var.v[v];
  reach(s->scratch, &s->var, &s->nvar, v, s->p->var.n);
  if (s->var[v]) ir_subst_restart(s);
  s->var[v] = e;
  s->vars |= 1u << v % 32;
  s->deep |= r->kind != IR_VAR_LOOP;
}

void ir_subst_buf(ir_subst *s, ir_buf b, ir_buf to) {
  reach(s->scratch, &s->buf, &s->nbuf, b, s->p->buf.n);
  s->buf[b] = to;
  s->deep = s->bufs = true;
}

void ir_subst_restart(ir_subst *s) { ir_memo_clear(&s->memo); }

static ir_buf map_buf(const ir_subst *s, ir_buf b) {
  return b < s->nbuf && s->buf[b] ? s->buf[b] : b;
}

/* Can the substitution not change e? */
static bool is_unaffected(const ir_subst *s, ir_expr e) {
  const ir_node *n = ir_at(s->p, e);
  if (n->op == IR_INT || n->op == IR_REAL || !e) return true;
  return !(n->vars & s->vars) && !(n->has_load && (s->bufs || s->load));
}

/* Maps n expressions of the pool into scratch; true: some changed. */
static bool map_args(ir_subst *s, uint32_t at, uint32_t n, ir_expr *out) {
  bool changed = false;
  for (uint32_t i = 0; i < n; i++) {
    ir_expr e = s->p->arg.v[at + i];
    out[i] = ir_subst_expr(s, e);
    changed |= out[i] != e;
  }
  return changed;
}

static ir_expr map_load(ir_subst *s, ir_expr e, const ir_node *n) {
  ir_expr small[8];
  ir_expr *idx = n->n <= 8 ? small : arena_array(s->scratch, ir_expr, n->n);
  bool changed = map_args(s, n->b, n->n, idx);
  ir_expr mask = n->c ? ir_subst_expr(s, n->c) : 0;
  if (s->load) {
    ir_expr r = s->load(s, n->a, n->n, idx);
    if (r) return r;
  }
  ir_buf b = map_buf(s, n->a);
  if (!changed && b == n->a && mask == n->c) return e;
  if (!mask && n->dtype.lanes == s->p->buf.v[b].dtype.lanes)
    return ir_load(s->p, b, n->n, idx);
  return ir_load_masked(s->p, b, n->dtype, n->n, idx, mask);
}

static ir_expr map_call(ir_subst *s, ir_expr e, const ir_node *n) {
  ir_expr small[8];
  ir_expr *arg = n->n <= 8 ? small : arena_array(s->scratch, ir_expr, n->n);
  if (!map_args(s, n->b, n->n, arg)) return e;
  if (ir_fn_is_named(n->a)) {
    const char *name = arena_printf(s->scratch, "%s", ir_text(s->p, n->c));
    return ir_call_named(s->p, (ir_fn)n->a, name, n->dtype, n->n, arg);
  }
  return ir_call(s->p, (ir_fn)n->a, n->dtype, n->n, arg);
}

static ir_expr map_select(ir_subst *s, ir_expr e, const ir_node *n) {
  ir_expr a = ir_subst_expr(s, n->a), b = ir_subst_expr(s, n->b);
  ir_expr c = ir_subst_expr(s, n->c);
  return a == n->a && b == n->b && c == n->c ? e : ir_select(s->p, a, b, c);
}

static ir_expr map_unary(ir_subst *s, ir_expr e, const ir_node *n) {
  ir_expr a = ir_subst_expr(s, n->a);
  if (a == n->a) return e;
  switch ((ir_op)n->op) {
  case IR_NOT: return ir_not(s->p, a);
  case IR_CAST: return ir_cast(s->p, n->dtype, a);
  default: return ir_broadcast(s->p, a, n->dtype.lanes);
  }
}

static ir_expr map_atom(void *ud, ir_expr e) { return ir_subst_expr(ud, e); }

static ir_expr map_binary(ir_subst *s, ir_expr e, const ir_node *n) {
  if ((n->op == IR_ADD || n->op == IR_SUB) && ir_is_algebra(n)) {
    ir_expr sum = lin_map(s->p, e, map_atom, s);
    if (sum) return sum;
  }
  ir_expr a = ir_subst_expr(s, n->a), b = ir_subst_expr(s, n->b);
  if (a == n->a && b == n->b) return e;
  return n->op == IR_RAMP ? ir_ramp(s->p, a, b, n->dtype.lanes)
                          : ir_binary(s->p, (ir_op)n->op, a, b);
}

static inline ir_expr map_var(const ir_subst *s, ir_expr e, ir_var v) {
  return v < s->nvar && s->var[v] ? s->var[v] : e;
}

static ir_expr map_node(ir_subst *s, ir_expr e) {
  const ir_node n = *ir_at(s->p, e);
  switch ((ir_op)n.op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL: return e;
  case IR_VAR: return map_var(s, e, n.a);
  case IR_SELECT: return map_select(s, e, &n);
  case IR_LOAD: return map_load(s, e, &n);
  case IR_CALL: return map_call(s, e, &n);
  case IR_NOT:
  case IR_CAST:
  case IR_BROADCAST: return map_unary(s, e, &n);
  default: return map_binary(s, e, &n);
  }
}

ir_expr ir_subst_expr(ir_subst *s, ir_expr e) {
  if (is_unaffected(s, e)) return e;
  const ir_node *n = ir_at(s->p, e);
  if (n->op == IR_VAR) return map_var(s, e, n->a);
  uint32_t *slot = ir_memo_of(&s->memo, s->scratch, e);
  if (*slot) return *slot;
  const uint32_t *before = s->memo.v;
  ir_expr r = map_node(s, e);
  if (s->memo.v != before) slot = ir_memo_of(&s->memo, s->scratch, e);
  return *slot = r;
}

/* ---- statements --------------------------------------------------------- */

/* Maps a run of expressions; a new run replaces it if some changed. */
static void map_span(ir_subst *s, ir_span *span) {
  ir_program *p = s->p;
  ir_span old = *span;
  for (uint32_t i = 0; i < old.n; i++) {
    ir_expr e = p->arg.v[old.at + i], r = ir_subst_expr(s, e);
    if (r == e) continue;
    if (span->at == old.at) span->at = ir_args(p, old.n, p->arg.v + old.at);
    p->arg.v[span->at + i] = r;
  }
}

ir_region ir_subst_region(ir_subst *s, ir_region r) {
  ir_span span = {r.at, 2 * ir_ndim(s->p, r.buf)};
  map_span(s, &span);
  return (ir_region){map_buf(s, r.buf), span.at};
}

/* Maps a run of regions; a new run replaces it if some changed. */
static ir_span map_regions(ir_subst *s, ir_span span) {
  ir_program *p = s->p;
  ir_span out = span;
  for (uint32_t i = 0; i < span.n; i++) {
    ir_region old = p->region.v[span.at + i], r = ir_subst_region(s, old);
    if (r.buf == old.buf && r.at == old.at) continue;
    if (out.at == span.at) {
      out.at = vec_extend(p->heap, &p->region, span.n);
      memcpy(p->region.v + out.at, p->region.v + span.at,
             span.n * sizeof *p->region.v);
    }
    p->region.v[out.at + i] = r;
  }
  return out;
}

static void map_inside(ir_subst *s, uint32_t b) {
  ir_program *p = s->p;
  ir_span reads = map_regions(s, p->block.v[b].reads);
  ir_span writes = map_regions(s, p->block.v[b].writes);
  p->block.v[b].reads = reads;
  p->block.v[b].writes = writes;
  ir_span m = p->block.v[b].matches;
  for (uint32_t i = 0; i < m.n; i++) {
    ir_region r = ir_subst_region(s, p->match.v[m.at + i].source);
    p->match.v[m.at + i].source = r;
  }
}

/* Maps the domains and bindings of the iters, and the predicate: expressions
 * over variables bound outside the block. */
static void map_outside(ir_subst *s, uint32_t b) {
  ir_program *p = s->p;
  ir_span it = p->block.v[b].iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_iter old = p->iter.v[i];
    ir_expr lo = ir_subst_expr(s, old.lo);
    ir_expr extent = ir_subst_expr(s, old.extent);
    ir_expr bind = ir_subst_expr(s, old.bind);
    p->iter.v[i] = (ir_iter){old.var, old.kind, lo, extent, bind};
  }
  ir_expr pred = ir_subst_expr(s, p->block.v[b].pred);
  p->block.v[b].pred = pred;
}

static void map_store(ir_subst *s, ir_stmt_rec *r) {
  r->buf = map_buf(s, r->buf);
  map_span(s, &r->idx);
  r->value = ir_subst_expr(s, r->value);
  r->mask = ir_subst_expr(s, r->mask);
}

void ir_subst_head(ir_subst *s, ir_stmt st, bool inside) {
  ir_program *p = s->p;
  ir_stmt_rec r = *ir_st(p, st);
  p->edits++;
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    r.lo = ir_subst_expr(s, r.lo);
    r.extent = ir_subst_expr(s, r.extent);
    break;
  case IR_BLOCK:
    map_outside(s, r.block);
    if (inside) map_inside(s, r.block);
    break;
  case IR_STORE: map_store(s, &r); break;
  case IR_IF: r.cond = ir_subst_expr(s, r.cond); break;
  case IR_LET: r.let_value = ir_subst_expr(s, r.let_value); break;
  case IR_EVALUATE: r.eval = ir_subst_expr(s, r.eval); break;
  case IR_ALLOCATE: r.alloc = map_buf(s, r.alloc); break;
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  *ir_st(p, st) = r;
}

void ir_subst_stmt(ir_subst *s, ir_stmt st) {
  bool inside = s->deep || s->load;
  for (ir_stmt t = st; t;) {
    ir_subst_head(s, t, inside);
    t = inside || !ir_is_block(s->p, t) ? ir_next(s->p, t, st)
                                        : ir_skip(s->p, t, st);
  }
}
