/* SPDX-License-Identifier: Apache-2.0
 * Lifetime scopes of rolling buffers: whether a block fills the buffer in the
 * first iteration of a loop, under a predicate `t == first || ..` besides the
 * guards of overhanging tiles, with indices that may be circular, as (t * 4 +
 * a) % 6. */
#include "ir/analysis/lifetime_rolled.h"
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { MOST_TERMS = 16 };

typedef struct first {
  ir_program *p;
  arena *scratch;
  ir_stmt writer, loop;
  ir_region made;
  ir_expr given; /* the reader's predicate, 0: none */
  ir_loops l;    /* between lca and the writer */
  uint64_t used; /* bit set: loops that some index uses */
} first;

/* ---- when it writes ----------------------------------------------------- */

/* `t == first || ..` */
static bool tests_first_iteration(const first *f, const ir_node *n) {
  const ir_program *p = f->p;
  const ir_stmt_rec *l = ir_st(p, f->loop);
  if (n->op != IR_OR) return false;
  for (int side = 0; side < 2; side++) {
    const ir_node *is = ir_at(p, side ? n->b : n->a);
    if (is->op == IR_EQ && is->a == ir_ref(p, l->var) && is->b == l->lo)
      return true;
  }
  return false;
}

/* Does the condition only clip an iter to its domain, and only remove points
 * outside of the buffer: is the only index that uses the iter itself plus a
 * constant, and does the domain reach the end of that dimension? */
static bool is_clip_of(const first *f, ir_expr cond, const ir_iter *it) {
  ir_program *p = f->p;
  int64_t c, end, size;
  bool shows = false;
  ir_expr past = ir_add(p, it->lo, it->extent);
  if (cond != ir_binary(p, IR_LT, it->bind, past)) return false;
  for (uint32_t d = 0; d < ir_ndim(p, f->made.buf); d++) {
    ir_expr at = ir_region_min(p, f->made, d);
    if (!ir_uses_var(p, at, it->var)) continue;
    if (shows || !ir_const_int(p, ir_sub(p, at, ir_ref(p, it->var)), &c) ||
        !ir_const_int(p, past, &end) ||
        !ir_const_int(p, ir_dim(p, f->made.buf, d), &size) || end + c < size)
      return false;
    shows = true;
  }
  return shows;
}

static bool is_clip(const first *f, ir_expr cond) {
  ir_span it = ir_blk(f->p, f->writer)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter iter = f->p->iter.v[i];
    if (is_clip_of(f, cond, &iter)) return true;
  }
  return false;
}

/* In the first iteration, does the condition exclude nothing that the reader
 * reads under `given`? *asks: it tests for that iteration, too. */
static bool holds_first(const first *f, ir_expr cond, bool *asks) {
  ir_program *p = f->p;
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND)
    return holds_first(f, n.a, asks) && holds_first(f, n.b, asks);
  if (tests_first_iteration(f, &n)) return *asks = true;
  ir_subst sub;
  ir_subst_init(&sub, p, f->scratch);
  ir_subst_var(&sub, ir_st(p, f->loop)->var, ir_st(p, f->loop)->lo);
  ir_expr then = ir_subst_expr(&sub, cond);
  return ir_is_const(p, then, 1) || is_clip(f, cond) ||
         arith_prove(p, f->scratch, then, f->given);
}

/* ---- what it writes ----------------------------------------------------- */

/* e = one of the loops, each element of which is used once, + *rest; -1: no
 * loop, -2: something else. */
static int loop_digit(first *f, ir_expr e, ir_expr *rest) {
  const ir_program *p = f->p;
  ir_expr atom[MOST_TERMS];
  int64_t coef[MOST_TERMS], c;
  int n = arith_terms(p, e, MOST_TERMS, atom, coef, &c), by = -1;
  *rest = e;
  for (uint32_t k = 0; k < f->l.n; k++) {
    if (!ir_uses_var(p, e, f->l.var[k])) continue;
    if (by >= 0 || k >= 64 || f->used >> k & 1) return -2;
    by = (int)k;
    f->used |= UINT64_C(1) << k;
  }
  if (n < 0 || by < 0) return n < 0 ? -2 : -1;
  ir_expr v = ir_ref(p, f->l.var[by]);
  bool found = false;
  for (int i = 0; i < n; i++)
    if (atom[i] == v && coef[i] == 1)
      found = true;
    else if (ir_uses_var(p, atom[i], f->l.var[by]))
      return -2;
  *rest = ir_sub(f->p, e, v);
  return found ? by : -2;
}

/* All values of index e, as a range; false: unknown. */
static bool rolled_range(first *f, ir_expr e, ir_expr dim, ir_expr *min,
                         ir_expr *max) {
  ir_program *p = f->p;
  const ir_node n = *ir_at(p, e);
  int64_t size = 0, steps;
  bool wraps = n.op == IR_MOD && n.b == dim && ir_const_int(p, dim, &size);
  int by = loop_digit(f, wraps ? n.a : e, min);
  if (by == -2) return false;
  if (by == -1) {
    *min = *max = e;
    return true;
  }
  if (!ir_is_const(p, f->l.lo[by], 0) ||
      !ir_const_int(p, f->l.extent[by], &steps) || steps < 1 ||
      (wraps && steps < size))
    return false;
  if (wraps) *min = ir_index(p, 0);
  *max = ir_add(p, *min, ir_index(p, (wraps ? size : steps) - 1));
  return true;
}

static bool written_first(first *f, ir_expr *min, ir_expr *max) {
  ir_program *p = f->p;
  const ir_region r = f->made;
  uint32_t ndim = ir_ndim(p, r.buf);
  ir_expr *at = arena_array(f->scratch, ir_expr, ndim);
  ir_subst sub;
  ir_subst_init(&sub, p, f->scratch);
  ir_subst_var(&sub, ir_st(p, f->loop)->var, ir_st(p, f->loop)->lo);
  for (uint32_t d = 0; d < ndim; d++) {
    if (!ir_is_const(p, ir_region_extent(p, r, d), 1)) return false;
    at[d] = ir_region_min(p, r, d);
  }
  ir_bind_iters(p, f->scratch, f->writer, ndim, at);
  for (uint32_t d = 0; d < ndim; d++)
    if (!rolled_range(f, ir_subst_expr(&sub, at[d]), ir_dim(p, r.buf, d),
                      &min[d], &max[d]))
      return false;
  for (uint32_t k = 0; k < f->l.n; k++)
    if (ir_at(p, f->l.extent[k])->lo < 1 ||
        ir_uses_var(p, f->l.extent[k], ir_st(p, f->loop)->var))
      return false;
  return true;
}

static ir_region region_of(const ir_program *p, ir_span r, ir_buf b) {
  uint32_t i = r.at;
  while (i < r.at + r.n && p->region.v[i].buf != b) i++;
  return i < r.at + r.n ? p->region.v[i] : (ir_region){0, 0};
}

/* Are only loops in between, with bounds that are the same in each iteration of
 * `loop`? */
static bool runs_alike(const ir_program *p, ir_stmt loop, ir_stmt lca) {
  ir_var t = ir_st(p, loop)->var;
  for (ir_stmt l = lca; l != loop; l = ir_st(p, l)->parent)
    if (!ir_is_loop(p, l) || ir_uses_var(p, ir_st(p, l)->lo, t) ||
        ir_uses_var(p, ir_st(p, l)->extent, t))
      return false;
  return true;
}

bool ir_fills_in_first_iteration(ir_program *p, arena *scratch, ir_buf b,
                                 ir_stmt w, ir_stmt r, ir_stmt lca,
                                 ir_stmt loop) {
  first f = {.p = p,
             .scratch = scratch,
             .writer = w,
             .loop = loop,
             .made = region_of(p, ir_blk(p, w)->writes, b),
             .given = ir_blk(p, r)->pred};
  uint32_t ndim = ir_ndim(p, b);
  ir_expr pred = ir_blk(p, w)->pred;
  ir_expr *box = arena_array(scratch, ir_expr, 4 * ndim + 1);
  uint8_t kind = ir_st(p, loop)->loop_kind;
  ir_stmt top = loop == lca ? ir_st(p, lca)->parent : lca;
  bool asks = false;
  if (!ir_is_loop(p, loop) || !runs_alike(p, loop, lca) ||
      (kind != IR_SERIAL && kind != IR_UNROLLED) || !f.made.buf || !pred ||
      !holds_first(&f, pred, &asks) || !asks ||
      !ir_loops_between(p, scratch, lca, w, &f.l) ||
      !written_first(&f, box, box + ndim) ||
      !ir_must_access_region(p, scratch, w, f.made, true))
    return false;
  ir_span reads = ir_blk(p, r)->reads;
  for (uint32_t i = reads.at; i < reads.at + reads.n; i++) {
    ir_region used = p->region.v[i];
    if (used.buf == b && (!ir_may_access_box(p, scratch, r, used, top,
                                             box + 2 * ndim, box + 3 * ndim) ||
                          !ir_box_within(p, scratch, b, box + 2 * ndim,
                                         box + 3 * ndim, box, box + ndim, 0)))
      return false;
  }
  return true;
}
