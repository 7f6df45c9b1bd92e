/* SPDX-License-Identifier: Apache-2.0
 * Guards of what not all threads of a kernel do: those without an iteration of
 * the loops around it, and all but one of those that would do the same. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/threads/kernel.h"

/* The guard that the thread has an iteration of the loops around s: of the
 * innermost loop of each axis, since a nested one is cooperative, also for
 * threads without an iteration of the outer one. */
static ir_expr iteration_guard(const kernel *k, ir_stmt s, kernel_axes axes) {
  ir_program *p = k->p;
  ir_expr cond = 0;
  unsigned seen = 0;
  while (s != k->top) {
    s = ir_st(p, s)->parent;
    const ir_stmt_rec r = *ir_st(p, s);
    if (!ir_is_thread_loop(&r) || (seen >> r.thread & 1)) continue;
    seen |= 1u << r.thread;
    if (kernel_axis(&r) && !(kernel_axis(&r) & axes)) continue;
    if (!kernel_covers_axis(k, &r))
      cond =
          ir_and(p, cond,
                 ir_binary(p, IR_LT, ir_ref(p, k->index[r.thread]), r.extent));
  }
  return cond;
}

/* The guard that selects one of the threads that would all do the same to a
 * shared buffer. */
static ir_expr is_the_one(const kernel *k, ir_stmt s, const kernel_buf *x) {
  ir_program *p = k->p;
  kernel_axes around = kernel_axes_around(k, s, 0), idle = ~around & 7;
  if (x && x->is_private) return 0;
  if (x && x->alloc) idle |= x->merged & ~kernel_axes_around(k, s, x->alloc);
  ir_expr cond = 0;
  for (unsigned a = 0; a < 3; a++)
    if ((idle >> a & 1) && k->extent[IR_THREADIDX_X + a] > 1)
      cond = ir_and(p, cond,
                    ir_binary(p, IR_EQ, ir_ref(p, k->index[IR_THREADIDX_X + a]),
                              ir_index(p, 0)));
  return cond;
}

/* The guard for the first block of threads along axes without a loop around
 * s. */
static ir_expr is_first_block(const kernel *k, ir_stmt s) {
  ir_program *p = k->p;
  unsigned around = kernel_grid_around(k, s, 0);
  ir_expr cond = 0;
  for (unsigned t = 0; t <= IR_BLOCKIDX_Z; t++)
    if (k->extent[t] > 1 && !(around >> t & 1))
      cond = ir_and(
          p, cond, ir_binary(p, IR_EQ, ir_ref(p, k->index[t]), ir_index(p, 0)));
  return cond;
}

typedef struct variation {
  const kernel *k;
  bool loads;
  kernel_axes axes;
} variation;

static void look_at(const ir_program *p, ir_expr e, void *ud) {
  variation *v = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR) v->axes |= v->k->var_axes[n->a];
  if (n->op != IR_LOAD) return;
  v->loads = true;
  if (v->k->buf[n->a].is_private) v->axes = 7;
}

/* What the control flow of s depends on. */
static variation deciding(const kernel *k, const ir_stmt_rec *r) {
  variation v = {.k = k};
  ir_expr e[2] = {0, 0};
  if (r->kind == IR_LOOP) e[0] = r->lo, e[1] = r->extent;
  if (r->kind == IR_IF) e[0] = r->cond;
  if (r->kind == IR_LET) e[0] = r->let_value;
  for (int i = 0; i < 2 && e[i]; i++)
    ir_visit(k->p, k->scratch, e[i], look_at, &v);
  return v;
}

/* Loop variables and lets may depend on the thread index, too. */
static void find_var_axes(kernel *k) {
  const ir_program *p = k->p;
  k->var_axes = arena_zalloc(k->scratch, p->var.n * sizeof *k->var_axes);
  for (unsigned a = 0; a < 3; a++)
    if (k->extent[IR_THREADIDX_X + a])
      k->var_axes[k->index[IR_THREADIDX_X + a]] = (kernel_axes)(1u << a);
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP) k->var_axes[r->var] |= deciding(k, r).axes;
    if (r->kind == IR_LET) k->var_axes[r->let_var] |= deciding(k, r).axes;
  }
}

static ir_expr thread_guard(const kernel *k, ir_stmt s) {
  const ir_stmt_rec r = *ir_st(k->p, s);
  if (r.kind == IR_EVALUATE && lower_of_copies(k->p, s)) return 0;
  if (r.kind == IR_STORE || r.kind == IR_EVALUATE) {
    const kernel_buf *x = r.kind == IR_STORE ? &k->buf[r.buf] : NULL;
    ir_expr who = ir_and(k->p, iteration_guard(k, s, 7), is_the_one(k, s, x));
    return x && x->alloc ? who : ir_and(k->p, who, is_first_block(k, s));
  }
  /* Idle threads, and blocks, might load out of bounds. */
  variation v = deciding(k, &r);
  return v.loads ? iteration_guard(k, s, v.axes) : 0;
}

/* The guard of all stores below the let; 0: they have several, or there are
 * other statements. */
static ir_expr common_guard(const kernel *k, ir_stmt let) {
  ir_expr all = 0;
  for (ir_stmt s = let; (s = ir_next(k->p, s, let));) {
    ir_kind kind = (ir_kind)ir_st(k->p, s)->kind;
    if (kind == IR_LET) continue;
    ir_expr cond = kind == IR_STORE ? thread_guard(k, s) : 0;
    if (!cond || (all && cond != all)) return 0;
    all = cond;
  }
  return all;
}

/* Values that only the threads with this guard store are read by them alone:
 * others would read what those change meanwhile. */
static ir_expr guard_of(const kernel *k, ir_stmt s, bool *all_below) {
  ir_expr all = ir_st(k->p, s)->kind == IR_LET ? common_guard(k, s) : 0;
  *all_below = all != 0;
  return all ? all : thread_guard(k, s);
}

void kernel_add_conditions(kernel *k) {
  ir_program *p = k->p;
  uint32_t n = 0;
  find_var_axes(k);
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) n++;
  ir_stmt *list = arena_array(k->scratch, ir_stmt, n);
  n = 0;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) list[n++] = s;
  for (uint32_t i = 1; i < n; i++) {
    bool all_below;
    ir_stmt s = list[i];
    ir_expr cond = guard_of(k, s, &all_below);
    if (cond) ir_wrap(p, s, ir_if_new(p, cond));
    while (all_below && i + 1 < n && ir_is_ancestor(p, s, list[i + 1])) i++;
  }
}
