/* SPDX-License-Identifier: Apache-2.0
 * May-access regions of a statement: what it reads and writes, relaxed over its
 * loops, as seen from outside, in the order of first appearance: a load before
 * its indices, and a stored value before the indices that it is stored at. */
#include "ir/analysis/analysis.h"
#include "ir/arith/region.h"
#include "ir/edit.h"
#include "ir/memo.h"
#include "ir/query.h"

typedef struct accesses {
  ir_program *p;
  arena *scratch;
  ir_stmt body; /* the statement analyzed */
  bool writes;
  int n, max; /* n -1: too many */
  ir_region *out;
  ir_loops l; /* the loops from it down to the access */
} accesses;

/* ---- loops and lets around an access ------------------------------------ */

/* The inner ones first, since their values may use the outer ones. */
ir_expr ir_inline_lets(ir_program *p, arena *scratch, ir_stmt s, ir_stmt top,
                       ir_expr e) {
  for (;; s = ir_st(p, s)->parent) {
    const ir_stmt_rec r = *ir_st(p, s);
    if (r.kind == IR_LET && ir_uses_var(p, e, r.let_var)) {
      ir_subst sub;
      ir_subst_init(&sub, p, scratch);
      ir_subst_var(&sub, r.let_var, r.let_value);
      e = ir_subst_expr(&sub, e);
    }
    if (s == top) return e;
  }
}

static ir_expr without_lets(accesses *f, ir_stmt s, ir_expr e) {
  return ir_inline_lets(f->p, f->scratch, s, f->body, e);
}

/* The loops around s inside of the body, including the body itself. */
static void find_loops(accesses *f, ir_stmt s) {
  const ir_program *p = f->p;
  ir_loops *l = &f->l;
  l->n = 0;
  for (ir_stmt a = s; a != f->body;) {
    a = ir_st(p, a)->parent;
    l->n += ir_is_loop(p, a);
  }
  l->var = arena_array(f->scratch, ir_var, l->n + 1);
  l->lo = arena_array(f->scratch, ir_expr, l->n + 1);
  l->extent = arena_array(f->scratch, ir_expr, l->n + 1);
  uint32_t i = l->n;
  for (ir_stmt a = s; i > 0;) {
    a = ir_st(p, a)->parent;
    const ir_stmt_rec r = *ir_st(p, a);
    if (r.kind != IR_LOOP) continue;
    l->var[--i] = r.var;
    l->lo[i] = without_lets(f, a, r.lo);
    l->extent[i] = without_lets(f, a, r.extent);
  }
}

/* Is the buffer allocated inside of the body, around s? */
static bool accesses_is_inside(const accesses *f, ir_stmt s, ir_buf b) {
  for (;; s = ir_st(f->p, s)->parent) {
    const ir_stmt_rec *r = ir_st(f->p, s);
    if (r->kind == IR_ALLOCATE && r->alloc == b) return true;
    if (s == f->body) return false;
  }
}

/* ---- one access --------------------------------------------------------- */

/* Clips a constant end to the buffer's. */
static void clip_to_extent(ir_program *p, ir_expr dim, ir_expr *min,
                           ir_expr *max) {
  int64_t lo, hi, n;
  if (ir_const_int(p, *min, &lo) && lo < 0) *min = ir_index(p, 0);
  if (ir_const_int(p, *max, &hi) && ir_const_int(p, dim, &n) && hi >= n)
    *max = ir_index(p, n - 1);
}

/* Tightens the constant bounds of an index by a condition on it. */
static void clip_by_condition(ir_program *p, ir_expr cond, ir_expr e,
                              ir_expr *min, ir_expr *max) {
  const ir_node n = *ir_at(p, cond);
  int64_t end, bound;
  if (n.op == IR_AND) {
    clip_by_condition(p, n.a, e, min, max);
    clip_by_condition(p, n.b, e, min, max);
  } else if (n.op == IR_LT && n.a == e && ir_const_int(p, n.b, &end) &&
             ir_const_int(p, *max, &bound) && bound >= end &&
             ir_at(p, *min)->hi < end) {
    *max = ir_index(p, end - 1);
  } else if (n.op == IR_LE && n.b == e && ir_const_int(p, n.a, &end) &&
             ir_const_int(p, *min, &bound) && bound < end &&
             ir_at(p, *max)->lo >= end) {
    *min = ir_index(p, end);
  }
}

/* The same by all conditions around s inside of the body. */
static void clip_by_conditions(accesses *f, ir_stmt s, ir_expr e, ir_expr *min,
                               ir_expr *max) {
  const ir_program *p = f->p;
  for (ir_stmt a = s; a != f->body; a = ir_st(p, a)->parent) {
    const ir_stmt_rec *up = ir_st(p, ir_st(p, a)->parent);
    if (up->kind == IR_IF && !ir_st(p, a)->in_alt)
      clip_by_condition(f->p, up->cond, e, min, max);
  }
}

/* The range first .. last of an index of one dimension over all iterations;
 * false: unknown. */
static bool relax_dim(accesses *f, ir_stmt s, ir_expr *first, ir_expr *last) {
  ir_program *p = f->p;
  bool point = *first == *last;
  ir_buf b;
  ir_expr e = without_lets(f, s, *first), g = e, low;
  if (ir_at(p, e)->has_load || ir_at(p, e)->dtype.lanes != 1) return false;
  if (!ir_is_int(ir_at(p, e)->dtype)) return false;
  if (!point) g = without_lets(f, s, *last);
  if (!arith_relax(p, f->scratch, e, f->l.n, f->l.var, f->l.lo, f->l.extent,
                   first, last, NULL) ||
      (!point && !arith_relax(p, f->scratch, g, f->l.n, f->l.var, f->l.lo,
                              f->l.extent, &low, last, NULL)))
    return false;
  if (point) clip_by_conditions(f, s, e, first, last);
  if (ir_first_clobber(p, f->body, *first, &b) ||
      ir_first_clobber(p, f->body, *last, &b))
    return false;
  *first = ir_cast(p, IR_INDEX, *first);
  *last = ir_cast(p, IR_INDEX, *last);
  return true;
}

static void add_region(accesses *f, ir_region r) {
  for (int i = 0; i < f->n; i++)
    if (f->out[i].buf == r.buf) {
      f->out[i] = arith_region_union(f->p, f->out[i], r);
      return;
    }
  if (f->n == f->max)
    f->n = -1;
  else if (f->n >= 0)
    f->out[f->n++] = r;
}

/* Adds the access [first, last] of buffer b by statement s; overwrites both
 * arrays. */
static void add_access(accesses *f, ir_stmt s, ir_buf b, ir_expr *first,
                       ir_expr *last) {
  ir_program *p = f->p;
  uint32_t n = ir_ndim(p, b);
  ir_expr zero = ir_index(p, 0), one = ir_index(p, 1);
  if (accesses_is_inside(f, s, b)) return;
  ir_expr *v = arena_array(f->scratch, ir_expr, 2 * n + 1);
  for (uint32_t i = 0; i < n; i++) {
    if (!relax_dim(f, s, &first[i], &last[i])) {
      first[i] = zero;
      last[i] = ir_sub(p, ir_dim(p, b, i), one);
    }
    if (f->l.n) clip_to_extent(p, ir_dim(p, b, i), &first[i], &last[i]);
    v[2 * i] = first[i];
    v[2 * i + 1] = arith_extent_of(p, first[i], last[i]);
  }
  add_region(f, ir_region_new(p, b, v));
}

static void add_point(accesses *f, ir_stmt s, ir_buf b, uint32_t n,
                      uint32_t at) {
  ir_expr *e = arena_array(f->scratch, ir_expr, 2 * n + 1);
  for (uint32_t i = 0; i < n; i++) e[i] = e[n + i] = f->p->arg.v[at + i];
  add_access(f, s, b, e, e + n);
}

/* Adds a region that block s declares, with its iters bound. */
static void add_declared(accesses *f, ir_stmt s, ir_region r) {
  ir_program *p = f->p;
  uint32_t n = ir_ndim(p, r.buf);
  ir_expr *e = arena_array(f->scratch, ir_expr, 2 * n + 1);
  for (uint32_t i = 0; i < n; i++) {
    ir_expr min = ir_region_min(p, r, i), extent = ir_region_extent(p, r, i);
    e[i] = min;
    e[n + i] = ir_is_const(p, extent, 1)
                   ? min
                   : ir_sub(p, ir_add(p, min, extent), ir_index(p, 1));
  }
  ir_bind_iters(p, f->scratch, s, 2 * n, e);
  add_access(f, s, r.buf, e, e + n);
}

/* ---- statements --------------------------------------------------------- */

typedef struct loads {
  const ir_program *p;
  arena *scratch;
  ir_memo met;
  uint32_t n;
  ir_expr *e;
} loads;

/* A load stands before those in its indices. */
static void collect_loads(loads *l, ir_expr e) {
  const ir_node *x = ir_at(l->p, e);
  if (!x->has_load) return;
  uint32_t *met = ir_memo_of(&l->met, l->scratch, e), fixed[3];
  const uint32_t *ops;
  if (*met) return;
  *met = 1;
  if (x->op == IR_LOAD) l->e[l->n++] = e;
  uint32_t k = ir_operands(l->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++) collect_loads(l, ops[i]);
}

/* Collects the loads in e before it analyzes any, since that makes nodes. */
static void add_loads(accesses *f, ir_stmt s, ir_expr e) {
  ir_program *p = f->p;
  if (f->writes || !e || !ir_at(p, e)->has_load) return;
  loads l = {.p = p,
             .scratch = f->scratch,
             .e = arena_array(f->scratch, ir_expr, (size_t)e + 1)};
  collect_loads(&l, e);
  for (uint32_t i = 0; i < l.n; i++) {
    const ir_node n = *ir_at(p, l.e[i]);
    add_point(f, s, n.a, n.n, n.b);
  }
}

static void add_block(accesses *f, ir_stmt s) {
  ir_program *p = f->p;
  const ir_block_rec b = *ir_blk(p, s);
  ir_span r = f->writes ? b.writes : b.reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    add_declared(f, s, p->region.v[i]);
  for (uint32_t i = b.iters.at; i < b.iters.at + b.iters.n; i++)
    add_loads(f, s, p->iter.v[i].bind);
  add_loads(f, s, b.pred);
}

static void add_statement(accesses *f, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(f->p, s);
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    add_loads(f, s, r.lo);
    add_loads(f, s, r.extent);
    break;
  case IR_BLOCK: add_block(f, s); break;
  case IR_STORE:
    if (f->writes) add_point(f, s, r.buf, r.idx.n, r.idx.at);
    add_loads(f, s, r.value);
    for (uint32_t i = r.idx.at; i < r.idx.at + r.idx.n; i++)
      add_loads(f, s, f->p->arg.v[i]);
    add_loads(f, s, r.mask);
    break;
  case IR_IF: add_loads(f, s, r.cond); break;
  case IR_LET: add_loads(f, s, r.let_value); break;
  case IR_EVALUATE: add_loads(f, s, r.eval); break;
  default: break;
  }
}

int ir_accessed_regions(ir_program *p, arena *scratch, ir_stmt body,
                        bool writes, int max, ir_region *out) {
  accesses f = {.p = p,
                .scratch = scratch,
                .body = body,
                .writes = writes,
                .max = max,
                .out = out};
  arena_mark mark = arena_get_mark(scratch);
  for (ir_stmt s = body; s && f.n >= 0;
       s = ir_is_block(p, s) ? ir_skip(p, s, body) : ir_next(p, s, body)) {
    arena_mark here = arena_get_mark(scratch);
    find_loops(&f, s);
    add_statement(&f, s);
    arena_reset_to(scratch, here);
  }
  arena_reset_to(scratch, mark);
  return f.n;
}
