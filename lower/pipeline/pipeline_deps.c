/* SPDX-License-Identifier: Apache-2.0
 * Dependences between the statements of a software pipeline: accesses,
 * overlaps within and across iterations, and the order that preserves them. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pipeline/pipeline.h"

#include "ir/expr.h"

enum { MAX_LOOPS = 64 };

/* ---- accesses ----------------------------------------------------------- */

/* Allocated within the statement, it is private to it. */
static bool pipeline_deps_is_inside(const ir_program *p, ir_stmt at,
                                    ir_stmt top, ir_buf b) {
  for (ir_stmt s = at; s != ir_st(p, top)->parent; s = ir_st(p, s)->parent)
    if (ir_st(p, s)->kind == IR_ALLOCATE && ir_st(p, s)->alloc == b)
      return true;
  return false;
}

void lower_pipe_accesses(pipe *x) {
  const ir_program *p = x->p;
  lower_accesses all = lower_find_accesses(p, x->scratch, x->loop);
  x->access = arena_array(x->scratch, pipe_access, all.n + 1);
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < all.n; k++) {
      const lower_access *a = &all.v[k];
      if (ir_is_ancestor(p, x->stmt[i], a->at) &&
          !pipeline_deps_is_inside(p, a->at, x->stmt[i], a->buf))
        x->access[x->naccess++] =
            (pipe_access){i, a->writes, a->at, a->buf, a->idx};
    }
}

/* ---- overlaps ----------------------------------------------------------- */

/* The least and greatest index in dimension d over one iteration. */
static bool pipe_range_of(const pipe *x, const pipe_access *a, uint32_t d,
                          ir_expr *min, ir_expr *max) {
  ir_var var[MAX_LOOPS];
  ir_expr lo[MAX_LOOPS], extent[MAX_LOOPS];
  uint32_t n = 0;
  for (ir_stmt s = ir_st(x->p, a->at)->parent; s != x->loop;
       s = ir_st(x->p, s)->parent) {
    const ir_stmt_rec *r = ir_st(x->p, s);
    if (r->kind == IR_LET || n == MAX_LOOPS) return false;
    if (r->kind != IR_LOOP) continue;
    var[n] = r->var;
    lo[n] = r->lo;
    extent[n++] = r->extent;
  }
  ir_expr idx = x->p->arg.v[a->idx.at + d];
  /* A load may have another value in the next iteration; relaxing over loops
   * may have introduced one. */
  return !ir_at(x->p, idx)->has_load &&
         arith_relax(x->p, x->scratch, idx, n, var, lo, extent, min, max,
                     NULL) &&
         !ir_may_clobber(x->p, x->loop, *min) &&
         !ir_may_clobber(x->p, x->loop, *max);
}

/* The factor of the loop's variable in e, a sum in which it occurs nowhere
 * else. */
static bool slope(const pipe *x, ir_expr e, int64_t *out) {
  ir_expr atom[16];
  int64_t coef[16], constant;
  ir_var v = ir_st(x->p, x->loop)->var;
  int n = arith_terms(x->p, e, 16, atom, coef, &constant);
  *out = 0;
  for (int i = 0; i < n; i++) {
    if (atom[i] == ir_ref(x->p, v))
      *out = coef[i];
    else if (ir_uses_var(x->p, atom[i], v))
      return false;
  }
  return n >= 0;
}

static ir_expr one_later(const pipe *x, ir_expr e) {
  ir_subst sub;
  ir_var v = ir_st(x->p, x->loop)->var;
  ir_subst_init(&sub, x->p, x->scratch);
  ir_subst_var(&sub, v, ir_add(x->p, ir_ref(x->p, v), ir_index(x->p, 1)));
  return ir_subst_expr(&sub, e);
}

static bool less(const pipe *x, ir_expr a, ir_expr b) {
  ir_expr next = ir_add(x->p, a, ir_index(x->p, 1));
  return arith_prove_le(x->p, next, b);
}

/* Provably disjoint in dimension d: in one iteration, or, when `later`, a in
 * any iteration and b in any later one. */
static bool apart_in(const pipe *x, const pipe_access *a, const pipe_access *b,
                     uint32_t d, bool later) {
  ir_expr amin, amax, bmin, bmax;
  int64_t up, down;
  if (!pipe_range_of(x, a, d, &amin, &amax) ||
      !pipe_range_of(x, b, d, &bmin, &bmax))
    return false;
  if (!later) return less(x, amax, bmin) || less(x, bmax, amin);
  bool rises = slope(x, bmin, &up) && up >= 0;
  bool falls = slope(x, bmax, &down) && down <= 0;
  return (rises && less(x, amax, one_later(x, bmin))) ||
         (falls && less(x, one_later(x, bmax), amin));
}

static bool apart(const pipe *x, const pipe_access *a, const pipe_access *b,
                  bool later) {
  if (a->idx.n != b->idx.n) return false;
  ir_mark made = ir_get_mark(x->p);
  arena_mark mark = arena_get_mark(x->scratch);
  bool yes = false;
  for (uint32_t d = 0; d < a->idx.n && !yes; d++)
    yes = apart_in(x, a, b, d, later);
  ir_rollback(x->p, made);
  arena_reset_to(x->scratch, mark);
  return yes;
}

/* ---- order -------------------------------------------------------------- */

bool lower_pipe_owns(const pipe *x, ir_buf b) {
  for (uint32_t i = 0; i < x->nbuf; i++)
    if (x->buf[i].buf == b) return true;
  return false;
}

bool lower_pipe_runs_before(const pipe *x, uint32_t i, uint32_t j,
                            int distance) {
  int64_t d = x->stage[j] + distance - x->stage[i];
  return d > 0 || (d == 0 && x->order[i] < x->order[j]);
}

static bool refuse_order(pipe *x, uint32_t a, uint32_t b, int distance,
                         const char *because) {
  const ir_program *p = x->p;
  err_set(x->e, TESS_UNSUPPORTED,
          "loop %s: statement %u (stage %lld, order %lld) must run before "
          "statement %u (stage %lld, order %lld)%s, because of %s; the "
          "pipeline runs it after",
          ir_var_text(p, ir_st(p, x->loop)->var, x->scratch), (unsigned)a,
          (long long)x->stage[a], (long long)x->order[a], (unsigned)b,
          (long long)x->stage[b], (long long)x->order[b],
          distance ? " of the next iteration" : "", because);
  return false;
}

/* a precedes b, or is in an earlier iteration. */
static bool pair_allowed(pipe *x, const pipe_access *a, const pipe_access *b) {
  if (a->buf != b->buf || a->by == b->by || !(a->writes || b->writes))
    return true;
  const char *name = ir_text(x->p, x->p->buf.v[a->buf].name);
  if (a->by < b->by && !lower_pipe_runs_before(x, a->by, b->by, 0) &&
      !apart(x, a, b, false))
    return refuse_order(x, a->by, b->by, 0, name);
  if (!lower_pipe_owns(x, a->buf) &&
      !lower_pipe_runs_before(x, a->by, b->by, 1) && !apart(x, a, b, true))
    return refuse_order(x, a->by, b->by, 1, name);
  return true;
}

/* What the host's functions do is seen: calls of two statements stay in their
 * order. */
static bool calls_allowed(pipe *x) {
  const ir_program *p = x->p;
  bool *calls = arena_array(x->scratch, bool, x->n + 1);
  for (uint32_t i = 0; i < x->n; i++) calls[i] = ir_has_effects(p, x->stmt[i]);
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->n; k++) {
      if (i == k || !calls[i] || !calls[k]) continue;
      for (int later = i > k; later < 2; later++)
        if (!lower_pipe_runs_before(x, i, k, later))
          return refuse_order(x, i, k, later, "what they call");
    }
  return true;
}

bool lower_pipe_allowed(pipe *x) {
  if (!calls_allowed(x)) return false;
  for (uint32_t i = 0; i < x->naccess; i++)
    for (uint32_t k = 0; k < x->naccess; k++)
      if (!pair_allowed(x, &x->access[i], &x->access[k])) return false;
  return true;
}

/* Version n of an iteration's buffer may be used again once its first
 * access n iterations later runs after the last one now. */
int64_t lower_pipe_versions(const pipe *x, ir_buf b) {
  bool any = false;
  uint32_t first = 0, last = 0;
  for (uint32_t i = 0; i < x->naccess; i++) {
    const pipe_access *a = &x->access[i];
    if (a->buf != b) continue;
    if (!any || lower_pipe_runs_before(x, a->by, first, 0)) first = a->by;
    if (!any || lower_pipe_runs_before(x, last, a->by, 0)) last = a->by;
    any = true;
  }
  if (!any || first == last) return 1;
  int64_t n = x->stage[last] - x->stage[first];
  return n + (x->order[first] < x->order[last]) > 1
             ? n + (x->order[first] < x->order[last])
             : 1;
}
