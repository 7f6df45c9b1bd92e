/* SPDX-License-Identifier: Apache-2.0
 * Decides which thread loops are cooperative and which private buffers merge: a
 * greatest fixed point, which assumes that all are and drops those for which
 * that does not hold, until nothing changes. */
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/threads/kernel.h"

kernel_axes kernel_axes_around(const kernel *k, ir_stmt s, ir_stmt above) {
  kernel_axes axes = 0;
  while ((s = ir_st(k->p, s)->parent) && s != above) {
    const ir_stmt_rec *r = ir_st(k->p, s);
    if (ir_is_thread_loop(r) && k->spread[s]) axes |= kernel_axis(r);
    if (s == k->top) break;
  }
  return axes;
}

/* The outermost spread loop of the axis around s, 0: none. */
static ir_stmt outermost_of_axis(const kernel *k, ir_stmt s, kernel_axes axis) {
  ir_stmt found = 0;
  for (; s != k->top; s = ir_st(k->p, s)->parent) {
    ir_stmt up = ir_st(k->p, s)->parent;
    if (ir_is_thread_loop(ir_st(k->p, up)) && k->spread[up] &&
        kernel_axis(ir_st(k->p, up)) == axis)
      found = up;
  }
  return found;
}

/* ---- uniformity across threads ------------------------------------------ */

/* Is something uniform across the threads of an axis: independent of the loops
 * of that axis around `from`? */
typedef struct question {
  const kernel *k;
  ir_stmt from;
  kernel_axes axis;
  unsigned depth;
  bool same;
} question;

static bool is_content_uniform(const kernel *k, ir_buf b, ir_stmt from,
                               kernel_axes axis, unsigned depth);

static bool is_of_axis(const question *q, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(q->k->p, s);
  return ir_is_thread_loop(r) && q->k->spread[s] && kernel_axis(r) == q->axis;
}

/* A load is, from a buffer that is shared or merged. */
static bool is_load_uniform(const question *q, ir_buf b) {
  const kernel *k = q->k;
  const kernel_buf *x = &k->buf[b];
  if (!x->alloc || !(x->around & q->axis)) return true;
  if (x->merged & q->axis) return true;
  return ir_is_ancestor(k->p, q->from, x->alloc) && q->depth &&
         is_content_uniform(k, b, q->from, q->axis, q->depth - 1);
}

static void ask_node(const ir_program *p, ir_expr e, void *ud) {
  question *q = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR) {
    ir_stmt by = p->var.v[n->a].owner;
    if (p->var.v[n->a].kind == IR_VAR_LOOP && by && is_of_axis(q, by) &&
        by != q->from && ir_is_ancestor(p, by, q->from))
      q->same = false;
  } else if (n->op == IR_LOAD && q->same) {
    q->same = is_load_uniform(q, n->a);
  }
}

static bool is_expr_uniform(question *q, ir_expr e) {
  if (e && q->same) ir_visit(q->k->p, q->k->scratch, e, ask_node, q);
  return q->same;
}

static bool is_head_uniform(question *q, ir_stmt s) {
  const ir_program *p = q->k->p;
  const ir_stmt_rec r = *ir_st(p, s);
  switch ((ir_kind)r.kind) {
  case IR_LOOP: return is_expr_uniform(q, r.lo) && is_expr_uniform(q, r.extent);
  case IR_STORE:
    for (uint32_t i = 0; i < r.idx.n; i++)
      if (!is_expr_uniform(q, p->arg.v[r.idx.at + i])) return false;
    return is_expr_uniform(q, r.value) && is_expr_uniform(q, r.mask);
  case IR_IF: return is_expr_uniform(q, r.cond);
  case IR_LET: return is_expr_uniform(q, r.let_value);
  default: return true;
  }
}

/* The statement and all that decides whether it runs, up to the outermost
 * loop of the axis. */
static bool is_run_uniform(const kernel *k, ir_stmt s, ir_stmt from,
                           kernel_axes axis, unsigned depth) {
  question q = {k, from, axis, depth, true};
  ir_stmt top = outermost_of_axis(k, from, axis);
  if (!is_head_uniform(&q, s)) return false;
  for (s = ir_st(k->p, s)->parent; s != top; s = ir_st(k->p, s)->parent)
    if (!is_head_uniform(&q, s)) return false;
  return true;
}

static bool is_content_uniform(const kernel *k, ir_buf b, ir_stmt from,
                               kernel_axes axis, unsigned depth) {
  for (uint32_t i = 0; i < k->access.n; i++) {
    const lower_access *a = &k->access.v[i];
    if (a->buf == b && a->writes &&
        !is_run_uniform(k, a->at, from, axis, depth))
      return false;
  }
  return true;
}

/* ---- loops -------------------------------------------------------------- */

enum { DEPTH = 4 };

/* An access in a spread loop nested in others of its axis is to a shared or
 * merged buffer, or to one allocated in it, and its indices and values do not
 * depend on the outer loops; neither do those of buffers allocated in it. */
static bool access_together(const kernel *k, ir_stmt loop, ir_stmt outer,
                            const lower_access *a) {
  const kernel_buf *x = &k->buf[a->buf];
  kernel_axes axis = kernel_axis(ir_st(k->p, loop));
  if (!is_run_uniform(k, a->at, loop, axis, DEPTH)) return false;
  if (x->alloc && ir_is_ancestor(k->p, loop, x->alloc)) return true;
  if (!x->alloc || !ir_is_ancestor(k->p, outer, x->alloc)) return !a->writes;
  return x->merged & axis;
}

static bool is_plain(const ir_program *p, ir_stmt loop) {
  for (ir_stmt s = loop; s; s = ir_next(p, s, loop)) {
    ir_kind kind = (ir_kind)ir_st(p, s)->kind;
    if (kind == IR_EVALUATE || kind == IR_BARRIER) return false;
  }
  return true;
}

static bool may_cooperate(const kernel *k, ir_stmt loop) {
  const ir_program *p = k->p;
  kernel_axes axis = kernel_axis(ir_st(p, loop));
  ir_stmt outer = outermost_of_axis(k, loop, axis);
  if (!is_run_uniform(k, loop, loop, axis, DEPTH) || !is_plain(p, loop))
    return false;
  for (uint32_t i = 0; i < k->access.n; i++)
    if (ir_is_ancestor(p, loop, k->access.v[i].at) &&
        !access_together(k, loop, outer, &k->access.v[i]))
      return false;
  return true;
}

/* ---- until nothing changes ---------------------------------------------- */

static bool check_cooperation(kernel *k) {
  bool changed = false;
  for (ir_stmt s = k->top; s; s = ir_next(k->p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(k->p, s);
    if (!ir_is_thread_loop(r) || !k->spread[s] || !kernel_axis(r) ||
        !outermost_of_axis(k, s, kernel_axis(r)) || may_cooperate(k, s))
      continue;
    k->spread[s] = false;
    changed = true;
  }
  return changed;
}

static bool check_buffers(kernel *k) {
  bool changed = false;
  for (ir_buf b = 1; b < k->p->buf.n; b++) {
    kernel_buf *x = &k->buf[b];
    if (!x->alloc) continue;
    x->around = kernel_axes_around(k, x->alloc, 0);
    kernel_axes keep = x->merged & x->around;
    for (unsigned i = 0; i < 3; i++)
      if ((keep >> i & 1) &&
          !is_content_uniform(k, b, x->alloc, (kernel_axes)(1u << i), DEPTH))
        keep &= (kernel_axes) ~(1u << i);
    changed |= keep != x->merged;
    x->merged = keep;
  }
  return changed;
}

/* A grid loop nested in one of its axis: each block of threads runs all of
 * it. */
static bool grid_is_taken(const kernel *k, ir_stmt loop) {
  for (ir_stmt s = loop; s != k->top;) {
    s = ir_st(k->p, s)->parent;
    if (ir_is_thread_loop(ir_st(k->p, s)) &&
        ir_st(k->p, s)->thread == ir_st(k->p, loop)->thread)
      return true;
  }
  return false;
}

/* Keeps merged only what has to be. */
static void drop_needless_merges(kernel *k, ir_buf b) {
  kernel_buf *x = &k->buf[b];
  kernel_axes below = 0;
  for (uint32_t i = 0; i < k->access.n; i++)
    if (k->access.v[i].buf == b)
      below |= kernel_axes_around(k, k->access.v[i].at, x->alloc);
  if (ir_scope_is_fragment(k->p->buf.v[b].scope)) below &= 6;
  x->under = below;
  if (!ir_scope_is_shared(k->p->buf.v[b].scope)) x->merged &= below;
}

void kernel_share(kernel *k) {
  const ir_program *p = k->p;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (ir_is_thread_loop(r))
      k->spread[s] = kernel_axis(r) || !grid_is_taken(k, s);
    if (r->kind == IR_ALLOCATE)
      k->buf[r->alloc] = (kernel_buf){.alloc = s, .merged = 7};
  }
  check_buffers(k);
  for (bool more = true; more;) {
    more = check_cooperation(k);
    more = check_buffers(k) || more;
  }
  for (ir_buf b = 1; b < p->buf.n; b++)
    if (k->buf[b].alloc) drop_needless_merges(k, b);
}
