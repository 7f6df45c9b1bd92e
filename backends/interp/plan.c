/* SPDX-License-Identifier: Apache-2.0
 * Analysis before compilation, in two walks: the first binds variables and
 * finds lifetime scopes of buffers; the second hoists expressions to the scopes
 * of their variables. */
#include "backends/interp/plan.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"

#include "lower/lower.h"

#include <stdio.h>

void plan_fail(interp_error *e, tess_status code, ir_stmt s, ir_buf b,
               const char *fmt, ...) {
  if (e->code) return;
  va_list ap;
  va_start(ap, fmt);
  *e = (interp_error){.code = code, .stmt = s, .buf = b, .element = -1};
  e->fault = code == TESS_UNSUPPORTED ? INTERP_UNSUPPORTED
             : code == TESS_LIMIT     ? INTERP_LIMIT
                                      : INTERP_INVALID;
  vsnprintf(e->what, sizeof e->what, fmt, ap);
  va_end(ap);
}

/* Recursion limit of all walks over expressions. */
enum { DEEPEST = 8000 };

/* ---- binding ------------------------------------------------------------ */

static void bind_var(plan *n, ir_var v, ir_stmt s) {
  plan_var *x = &n->var[v];
  x->many |= x->bound;
  x->bound = 1;
  x->binder = s;
}

static void add_lifetime(plan *n, ir_buf b, ir_stmt lifetime, ir_stmt decl,
                         ir_stmt kernel) {
  plan_buf *x = &n->buf[b];
  if (x->lifetime)
    plan_fail(n->e, TESS_INVALID, decl, b, "it is allocated twice");
  *x = (plan_buf){.lifetime = lifetime,
                  .decl = decl,
                  .kernel = kernel,
                  .next = n->stmt[lifetime].buf};
  n->stmt[lifetime].buf = b;
}

/* The outermost thread loop around s, or s itself, 0: none. */
static ir_stmt kernel_of(const plan *n, ir_stmt s) {
  ir_stmt found = 0;
  for (; n->lockstep && s; s = ir_st(n->p, s)->parent)
    if (ir_is_thread_loop(ir_st(n->p, s))) found = s;
  return found;
}

static void bind_block(plan *n, ir_stmt s) {
  const ir_block_rec *b = ir_blk(n->p, s);
  for (uint32_t i = 0; i < b->iters.n; i++)
    bind_var(n, n->p->iter.v[b->iters.at + i].var, s);
  for (uint32_t i = 0; i < b->matches.n; i++) {
    const ir_match *m = &n->p->match.v[b->matches.at + i];
    n->buf[m->buf] = (plan_buf){
        .lifetime = s, .decl = s, .is_match = 1, .match = b->matches.at + i};
  }
}

/* Lifetime scopes come last: computing them adds expressions to the program. */
static void live_block(plan *n, ir_stmt s) {
  ir_span allocs = ir_blk(n->p, s)->allocs;
  for (uint32_t i = 0; i < allocs.n; i++) {
    ir_buf b = n->p->arg.v[allocs.at + i];
    ir_stmt lifetime = ir_lifetime_scope(n->p, n->memory, b);
    lifetime = lifetime ? lifetime : s;
    add_lifetime(n, b, lifetime, s, kernel_of(n, lifetime));
  }
}

/* Threads, or blocks of threads, share a reduction. */
static bool is_cross(const ir_program *p, ir_stmt loop) {
  for (ir_stmt b = loop; b; b = ir_next(p, b, loop))
    if (ir_is_block(p, b) &&
        (lower_is_cross(p, loop, b) || ir_is_grid_reduction(p, loop, b)))
      return true;
  return false;
}

bool plan_is_racing(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind != IR_LOOP) return false;
  if (r->loop_kind == IR_THREAD) return !is_cross(p, s);
  return r->loop_kind == IR_PARALLEL || r->loop_kind == IR_VECTORIZED;
}

/* The racing level inside s.  In a kernel all threads are two levels: blocks of
 * threads, and the threads of one block; with warps, three. */
static uint16_t level_in(const plan *n, ir_stmt s, uint16_t outer) {
  const ir_stmt_rec *r = ir_st(n->p, s);
  if (!plan_is_racing(n->p, s)) return outer;
  if (n->lockstep && ir_is_thread_loop(r)) {
    if (!kernel_of(n, r->parent)) return (uint16_t)(outer + 2 + n->warps);
    return r->thread == IR_WARP ? (uint16_t)(outer - 1) : outer;
  }
  return (uint16_t)(outer + 1);
}

static void bind_stmt(plan *n, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(n->p, s);
  plan_stmt *x = &n->stmt[s];
  uint16_t outer = r->parent ? n->stmt[r->parent].level : 0;
  x->depth = r->parent ? n->stmt[r->parent].depth + 1 : 1;
  x->level = level_in(n, s, outer);
  if (x->level > n->levels) n->levels = x->level;
  if (r->kind == IR_LOOP)
    bind_var(n, r->var, s);
  else if (r->kind == IR_LET)
    bind_var(n, r->let_var, s);
  else if (r->kind == IR_ALLOCATE)
    add_lifetime(n, r->alloc, s, s, kernel_of(n, s));
  else if (r->kind == IR_BLOCK)
    bind_block(n, s);
}

/* ---- expressions -------------------------------------------------------- */

uint32_t plan_operands(const ir_program *p, ir_expr e, const uint32_t **out,
                       uint32_t small[4]) {
  const ir_node *x = ir_at(p, e);
  *out = small;
  small[0] = x->a, small[1] = x->b, small[2] = x->c;
  switch ((ir_op)x->op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL:
  case IR_VAR: return 0;
  case IR_NOT:
  case IR_CAST:
  case IR_BROADCAST: return 1;
  case IR_SELECT: return 3;
  case IR_LOAD:
  case IR_CALL: *out = p->arg.v + x->b; return x->n;
  default: return 2;
  }
}

/* The innermost of two binders, both of which enclose one place. */
static ir_stmt deeper(const plan *n, ir_stmt a, ir_stmt b) {
  if (!a || !b) return a ? a : b;
  return n->stmt[a].depth >= n->stmt[b].depth ? a : b;
}

static void know_var(plan *n, ir_expr e, plan_node *x) {
  ir_var v = ir_at(n->p, e)->a;
  const plan_var *b = &n->var[v];
  if (!b->bound) {
    strbuf name;
    str_init(&name, n->p->heap);
    ir_var_name(n->p, v, &name);
    plan_fail(n->e, TESS_INVALID, 0, 0, "variable '%s' is not bound",
              str_or(&name, "?"));
    str_free(&name);
  }
  x->pure = !b->many;
  x->scope = b->binder;
  if (b->alias) x->scope = plan_of(n, b->alias)->scope;
}

static void know(plan *n, ir_expr e, plan_node *x) {
  const ir_node node = *ir_at(n->p, e);
  const uint32_t *op;
  uint32_t small[4], k = plan_operands(n->p, e, &op, small);
  x->pure = node.op != IR_LOAD &&
            !(node.op == IR_CALL &&
              (ir_fn_is_named(node.a) || ir_fn_of_warp(node.a) ||
               ir_fn_of_copies(node.a)));
  for (uint32_t i = 0; i < k; i++) {
    const plan_node *y = plan_of(n, op[i]);
    x->pure &= y->pure;
    x->scope = deeper(n, x->scope, y->scope);
  }
  if (node.op == IR_VAR) know_var(n, e, x);
}

const plan_node *plan_of(plan *n, ir_expr e) {
  plan_node *x = &n->node[e];
  if (!x->known) {
    x->known = 1;
    know(n, e, x);
  }
  return x;
}

static void put_in_list(plan *n, ir_expr e) {
  plan_stmt *s = &n->stmt[n->node[e].scope];
  if (s->last)
    n->node[s->last].next = e;
  else
    s->first = e;
  s->last = e;
  n->node[e].listed = 1;
}

/* Adds e and its operands to the lists of their scopes, operands first; records
 * the buffers loaded from. */
static void plan_expr(plan *n, ir_expr e, uint16_t level) {
  if (!e || n->node[e].visit == n->visit || n->node[e].listed) return;
  if (n->deep == DEEPEST)
    plan_fail(n->e, TESS_LIMIT, 0, 0, "an expression is too deep");
  if (n->e->code) return;
  n->deep++;
  n->node[e].visit = n->visit;
  const ir_node *node = ir_at(n->p, e);
  if (node->op == IR_LOAD) {
    plan_buf *b = &n->buf[node->a];
    b->used = 1;
    b->level = level > b->level ? level : b->level;
    plan_expr(n, node->c, level);
  }
  const uint32_t *op;
  uint32_t small[4], k = plan_operands(n->p, e, &op, small);
  for (uint32_t i = 0; i < k; i++) plan_expr(n, op[i], level);
  if (plan_of(n, e)->pure && k) put_in_list(n, e);
  n->deep--;
}

static void look_at_region(plan *n, ir_region r, uint16_t level) {
  for (uint32_t i = 0; i < 2 * ir_ndim(n->p, r.buf); i++)
    plan_expr(n, n->p->arg.v[r.at + i], level);
}

static void look_at_shape(plan *n, ir_buf b) {
  for (uint32_t i = 0; i < ir_ndim(n->p, b); i++)
    plan_expr(n, ir_dim(n->p, b, i), 0);
}

/* Copy propagation: an iteration variable or let whose value can be computed
 * where its own variables are bound is an alias of that value. */
static void alias(plan *n, ir_var v, ir_expr value) {
  plan_var *x = &n->var[v];
  const plan_node *y = plan_of(n, value);
  if (y->pure && !x->many) x->alias = value;
}

static void look_at_block(plan *n, ir_stmt s, uint16_t outer) {
  const ir_block_rec b = *ir_blk(n->p, s);
  plan_expr(n, b.pred, outer);
  for (uint32_t i = b.iters.at; i < b.iters.at + b.iters.n; i++) {
    const ir_iter *it = &n->p->iter.v[i];
    plan_expr(n, it->lo, outer);
    plan_expr(n, it->extent, outer);
    plan_expr(n, it->bind, outer);
    alias(n, it->var, it->bind);
  }
  for (uint32_t i = b.matches.at; i < b.matches.at + b.matches.n; i++)
    look_at_region(n, n->p->match.v[i].source, outer);
  for (uint32_t i = 0; n->regions && i < b.reads.n; i++)
    look_at_region(n, n->p->region.v[b.reads.at + i], outer);
  for (uint32_t i = 0; n->regions && i < b.writes.n; i++)
    look_at_region(n, n->p->region.v[b.writes.at + i], outer);
}

static void look_at_store(plan *n, const ir_stmt_rec *r, ir_stmt s,
                          uint16_t level) {
  plan_buf *b = &n->buf[r->buf];
  if (n->p->buf.v[r->buf].role == IR_ROLE_CONSTANT)
    plan_fail(n->e, TESS_INVALID, s, r->buf, "a store to a constant");
  if (ir_at(n->p, r->value)->dtype.lanes > 1) level++;
  b->stored = b->used = 1;
  b->level = level > b->level ? level : b->level;
  n->levels = level > n->levels ? level : n->levels;
  plan_expr(n, r->value, level);
  plan_expr(n, r->mask, level);
  for (uint32_t i = 0; i < r->idx.n; i++)
    plan_expr(n, n->p->arg.v[r->idx.at + i], level);
}

static void look_at_stmt(plan *n, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(n->p, s);
  uint16_t outer = r.parent ? n->stmt[r.parent].level : 0;
  n->visit++;
  switch ((ir_kind)r.kind) {
  case IR_LOOP:
    plan_expr(n, r.lo, outer);
    plan_expr(n, r.extent, outer);
    break;
  case IR_BLOCK: look_at_block(n, s, outer); break;
  case IR_STORE: look_at_store(n, &r, s, outer); break;
  case IR_IF:
    if (!ir_is_instead(n->p, r.cond)) plan_expr(n, r.cond, outer);
    break;
  case IR_LET:
    plan_expr(n, r.let_value, outer);
    alias(n, r.let_var, r.let_value);
    break;
  case IR_EVALUATE: plan_expr(n, r.eval, outer); break;
  case IR_ALLOCATE:
  case IR_BARRIER:
  case IR_DEAD: break;
  }
  for (ir_buf b = n->stmt[s].buf; b; b = n->buf[b].next) look_at_shape(n, b);
}

/* Accesses to a match buffer count for its source, which may be one, too. */
static void pass_on_matches(plan *n) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t b = 1; b < n->p->buf.n; b++) {
      const plan_buf *m = &n->buf[b];
      if (!m->is_match || !m->used) continue;
      plan_buf *src = &n->buf[n->p->match.v[m->match].source.buf], old = *src;
      src->used = 1;
      src->stored |= m->stored;
      src->level = m->level > src->level ? m->level : src->level;
      changed |=
          !old.used || old.stored != src->stored || old.level != src->level;
    }
  }
}

/* ---- the whole ---------------------------------------------------------- */

/* Does some expression call a function of a warp? */
static bool calls_warp(const ir_program *p) {
  for (ir_expr e = 1; e < p->node.n; e++)
    if (ir_at(p, e)->op == IR_CALL && ir_fn_of_warp(ir_at(p, e)->a))
      return true;
  return false;
}

/* Is there a warp-synchronous loop within a loop over its lanes? */
static bool is_lowered_warp(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  if (!ir_is_thread_loop(r) || r->thread != IR_WARP) return false;
  while ((s = ir_st(p, s)->parent))
    if (ir_is_thread_loop(ir_st(p, s)) && ir_st(p, s)->thread == IR_THREADIDX_X)
      return true;
  return false;
}

/* With a barrier, thread loops are a device's. */
static bool wants_lockstep(const ir_program *p, ir_stmt root) {
  for (ir_stmt s = ir_next(p, root, root); s; s = ir_next(p, s, root))
    if (ir_st(p, s)->kind == IR_BARRIER || is_lowered_warp(p, s)) return true;
  return calls_warp(p);
}

static bool has_warps(const ir_program *p, ir_stmt root) {
  for (ir_stmt s = ir_next(p, root, root); s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if ((ir_is_thread_loop(r) && r->thread == IR_WARP) ||
        (r->kind == IR_BARRIER && r->thread == IR_SCOPE_WARP) ||
        (r->kind == IR_ALLOCATE &&
         plan_is_of_warp((ir_scope)p->buf.v[r->alloc].scope)))
      return true;
    ir_span allocs = ir_is_block(p, s) ? ir_blk(p, s)->allocs : (ir_span){0};
    for (uint32_t i = allocs.at; i < allocs.at + allocs.n; i++)
      if (plan_is_of_warp((ir_scope)p->buf.v[p->arg.v[i]].scope)) return true;
  }
  return calls_warp(p);
}

static void *table(arena *a, uint32_t n, size_t size) {
  return arena_zalloc(a, (size_t)n * size);
}

void plan_make(plan *n, ir_program *p, arena *memory, const interp_options *o,
               interp_error *e) {
  *n = (plan){.p = p, .memory = memory, .e = e};
  ir_stmt root = ir_entry(p)->root;
  n->regions = o->check_regions;
  n->lockstep = o->threads == INTERP_LOCKSTEP ||
                (o->threads == INTERP_THREADS_AUTO && wants_lockstep(p, root));
  n->warps = n->lockstep && has_warps(p, root);
  n->var = table(memory, p->var.n, sizeof *n->var);
  n->stmt = table(memory, p->stmt.n, sizeof *n->stmt);
  n->buf = table(memory, p->buf.n, sizeof *n->buf);
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) bind_stmt(n, s);
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s)) live_block(n, s);
  ir_func f = *ir_entry(p);
  for (uint32_t i = 0; i < f.sizes.n; i++)
    bind_var(n, p->arg.v[f.sizes.at + i], 0);
  n->node = table(memory, p->node.n, sizeof *n->node);
  n->visit = 1;
  for (uint32_t i = 0; i < f.params.n; i++)
    look_at_shape(n, p->arg.v[f.params.at + i]);
  for (uint32_t i = 0; i < p->constant.n; i++)
    look_at_shape(n, p->constant.v[i].buf);
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) look_at_stmt(n, s);
  pass_on_matches(n);
}
