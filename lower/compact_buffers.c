/* SPDX-License-Identifier: Apache-2.0
 * Compacts local buffers to their footprint: in each dimension, from the least
 * index accessed under the allocation, and as long as the widest access.  A
 * cache of a whole tensor becomes a tile once it is computed under a loop.
 * Also pads strides as storage_align asks. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

#define MAX_LOOPS 64

typedef struct shrink {
  ir_program *p;
  arena *scratch;
  ir_stmt top; /* the allocation */
  ir_buf buf;
  uint32_t ndim;
  ir_expr *min;    /* per dimension, over variables outside; 0: none
                    * seen yet */
  int64_t *extent; /* per dimension, the size needed; -1: as it is */
  ir_expr *max;    /* the greatest index, over variables outside */
  bool *whole;     /* this dimension cannot be shrunk */
} shrink;

/* ---- the footprint ------------------------------------------------------ */

/* A guard, as `v < c && w < d`, of what is below it ends the loops of those
 * variables: the tail of a copy that threads share is not accessed. */
static void clip_by_guard(const shrink *k, ir_expr cond, uint32_t n,
                          const ir_var *var, const ir_expr *lo,
                          ir_expr *extent) {
  ir_program *p = k->p;
  const ir_node e = *ir_at(p, cond);
  if (e.op == IR_AND) {
    clip_by_guard(k, e.a, n, var, lo, extent);
    clip_by_guard(k, e.b, n, var, lo, extent);
  }
  int64_t end, count;
  if (e.op != IR_LT || ir_at(p, e.a)->op != IR_VAR ||
      !ir_const_int(p, e.b, &end))
    return;
  for (uint32_t i = 0; i < n; i++)
    if (var[i] == ir_at(p, e.a)->a && ir_is_const(p, lo[i], 0) &&
        ir_const_int(p, extent[i], &count) && end < count && end > 0)
      extent[i] = ir_index(p, end);
}

static void clip_by_guards(const shrink *k, ir_stmt s, uint32_t n,
                           const ir_var *var, const ir_expr *lo,
                           ir_expr *extent) {
  for (ir_stmt up; s != k->top; s = up) {
    up = ir_st(k->p, s)->parent;
    if (ir_st(k->p, up)->kind == IR_IF && !ir_st(k->p, s)->in_alt)
      clip_by_guard(k, ir_st(k->p, up)->cond, n, var, lo, extent);
  }
}

/* Where the let's variable stands in e[0 .. n), its value does. */
static void expand_let(const shrink *k, ir_stmt let, uint32_t n, ir_expr *e) {
  const ir_stmt_rec r = *ir_st(k->p, let);
  ir_subst sub;
  ir_subst_init(&sub, k->p, k->scratch);
  ir_subst_var(&sub, r.let_var, r.let_value);
  for (uint32_t i = 0; i < n; i++) e[i] = ir_subst_expr(&sub, e[i]);
}

/* The loop variables bound between the allocation and s, with their ranges;
 * idx[0 .. ndim), an access of s, is over them then. */
static uint32_t inner_vars(const shrink *k, ir_stmt s, uint32_t ndim,
                           ir_expr *idx, ir_var *var, ir_expr *lo,
                           ir_expr *extent, bool *ok) {
  uint32_t n = 0;
  for (ir_stmt t = ir_st(k->p, s)->parent; t && t != k->top;
       t = ir_st(k->p, t)->parent) {
    const ir_stmt_rec *r = ir_st(k->p, t);
    if (r->kind == IR_LET) {
      expand_let(k, t, ndim, idx);
      expand_let(k, t, n, lo);
      expand_let(k, t, n, extent);
    }
    r = ir_st(k->p, t);
    if (r->kind != IR_LOOP) continue;
    if (n == MAX_LOOPS) {
      *ok = false;
      break;
    }
    var[n] = r->var;
    lo[n] = r->lo;
    extent[n++] = r->extent;
  }
  if (*ok) clip_by_guards(k, s, n, var, lo, extent);
  return n;
}

static void extend_footprint(shrink *k, uint32_t d, ir_expr lo, ir_expr hi) {
  ir_program *p = k->p;
  if (!k->min[d]) {
    k->min[d] = lo;
    k->max[d] = hi;
    return;
  }
  k->min[d] = ir_binary(p, IR_MIN, k->min[d], lo);
  k->max[d] = ir_binary(p, IR_MAX, k->max[d], hi);
}

/* An index loaded from memory may differ between evaluations: only its value
 * range bounds all of them.  false: it has none. */
static bool without_loads(ir_program *p, ir_expr *min, ir_expr *max) {
  int64_t lo = ir_at(p, *min)->lo, hi = ir_at(p, *max)->hi;
  bool low = ir_at(p, *min)->has_load, high = ir_at(p, *max)->has_load;
  if ((low && lo == INT64_MIN) || (high && hi == INT64_MAX)) return false;
  if (low) *min = ir_index(p, lo);
  if (high) *max = ir_index(p, hi);
  return true;
}

static void note_access(shrink *k, ir_stmt s, uint32_t n, ir_expr *idx) {
  ir_var var[MAX_LOOPS];
  ir_expr lo[MAX_LOOPS], extent[MAX_LOOPS], min, max;
  bool ok = true;
  uint32_t m = inner_vars(k, s, n, idx, var, lo, extent, &ok);
  for (uint32_t d = 0; d < n; d++) {
    if (k->whole[d]) continue;
    if (ok &&
        arith_relax(k->p, k->scratch, idx[d], m, var, lo, extent, &min, &max,
                    NULL) &&
        without_loads(k->p, &min, &max))
      extend_footprint(k, d, min, max);
    else
      k->whole[d] = true;
  }
}

typedef struct visit {
  shrink *k;
  ir_stmt s;
} visit;

static void visit_node(const ir_program *p, ir_expr e, void *ud) {
  visit *v = ud;
  const ir_node n = *ir_at(p, e);
  if (n.op != IR_LOAD || n.a != v->k->buf) return;
  ir_expr *idx = arena_array(v->k->scratch, ir_expr, n.n + 1u);
  memcpy(idx, p->arg.v + n.b, n.n * sizeof *idx);
  note_access(v->k, v->s, n.n, idx);
}

/* The expressions that a statement itself holds. */
static uint32_t held(const ir_program *p, ir_stmt s, ir_expr *out) {
  const ir_stmt_rec *r = ir_st(p, s);
  uint32_t n = 0;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    out[n++] = r->lo;
    out[n++] = r->extent;
    break;
  case IR_STORE:
    for (uint32_t i = 0; i < r->idx.n; i++) out[n++] = p->arg.v[r->idx.at + i];
    out[n++] = r->value;
    break;
  case IR_IF: out[n++] = r->cond; break;
  case IR_LET: out[n++] = r->let_value; break;
  case IR_EVALUATE: out[n++] = r->eval; break;
  default: break;
  }
  return n;
}

static void find_accesses(shrink *k) {
  ir_program *p = k->p;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    ir_expr out[40];
    uint32_t n = ir_st(p, s)->kind == IR_STORE && ir_st(p, s)->idx.n > 32
                     ? 0
                     : held(p, s, out);
    for (uint32_t i = 0; i < n; i++) {
      visit v = {k, s};
      if (ir_at(p, out[i])->has_load)
        ir_visit(p, k->scratch, out[i], visit_node, &v);
    }
    if (ir_st(p, s)->kind != IR_STORE || ir_st(p, s)->buf != k->buf) continue;
    ir_span at = ir_st(p, s)->idx;
    ir_expr *idx = arena_array(k->scratch, ir_expr, at.n);
    memcpy(idx, p->arg.v + at.at, at.n * sizeof *idx);
    note_access(k, s, at.n, idx);
  }
}

/* ---- shrinking ---------------------------------------------------------- */

/* Settles each dimension's size; true when any is smaller than it was. */
static bool settle(shrink *k) {
  ir_program *p = k->p;
  bool any = false;
  for (uint32_t d = 0; d < k->ndim; d++) {
    int64_t full = INT64_MAX;
    ir_const_int(p, ir_dim(p, k->buf, d), &full);
    k->extent[d] = -1;
    if (k->whole[d] || !k->min[d]) {
      k->min[d] = ir_index(p, 0);
      continue;
    }
    int64_t span = ir_at(p, ir_sub(p, k->max[d], k->min[d]))->hi;
    if (span == INT64_MAX || span < 0 || span + 1 >= full) {
      k->min[d] = ir_index(p, 0);
      continue;
    }
    k->extent[d] = span + 1;
    any = true;
  }
  return any;
}

static void shift(const shrink *k, uint32_t n, ir_expr *idx) {
  for (uint32_t d = 0; d < n; d++) idx[d] = ir_sub(k->p, idx[d], k->min[d]);
}

static ir_expr shift_load(ir_subst *s, ir_buf b, uint32_t n,
                          const ir_expr *idx) {
  const shrink *k = s->ud;
  if (b != k->buf) return 0;
  ir_expr *at = arena_array(s->scratch, ir_expr, n);
  memcpy(at, idx, n * sizeof *at);
  shift(k, n, at);
  return ir_load(s->p, b, n, at);
}

static void rewrite(shrink *k) {
  ir_program *p = k->p;
  ir_subst sub;
  ir_subst_init(&sub, p, k->scratch);
  sub.load = shift_load;
  sub.ud = k;
  for (ir_stmt s = k->top; s; s = ir_next(p, s, k->top)) {
    ir_subst_head(&sub, s, true);
    if (ir_st(p, s)->kind != IR_STORE || ir_st(p, s)->buf != k->buf) continue;
    ir_span at = ir_st(p, s)->idx;
    ir_expr *idx = arena_array(k->scratch, ir_expr, at.n);
    memcpy(idx, p->arg.v + at.at, at.n * sizeof *idx);
    shift(k, at.n, idx);
    ir_span made = ir_arg_span(p, at.n, idx);
    ir_st(p, s)->idx = made;
  }
  ir_expr *shape = arena_array(k->scratch, ir_expr, k->ndim + 1);
  for (uint32_t d = 0; d < k->ndim; d++)
    shape[d] =
        k->extent[d] < 0 ? ir_dim(p, k->buf, d) : ir_index(p, k->extent[d]);
  ir_span made = ir_arg_span(p, k->ndim, shape);
  p->buf.v[k->buf].shape = made;
  p->buf.v[k->buf].strides = (ir_span){0, 0};
}

/* ---- aligning ----------------------------------------------------------- */

/* The least number from `step` on that is `rest` more than a multiple of
 * `factor`. */
static int64_t align_step(int64_t step, int64_t factor, int64_t rest) {
  int64_t more = (rest - step % factor) % factor;
  return step + (more < 0 ? more + factor : more);
}

/* The strides that the allocation's notes ask for; alignments that do not fit
 * the buffer, which may have changed since, ask for nothing. */
static void align(ir_program *p, arena *scratch, ir_stmt s) {
  const ir_anno *a = ir_anno_get(p, s, LOWER_ALIGN_KEY);
  ir_buf b = ir_st(p, s)->alloc;
  uint32_t n = ir_ndim(p, b);
  ir_expr *stride = arena_array(scratch, ir_expr, n + 1);
  int64_t step = 1, size, e[4];
  bool any = false;
  if (!a) return;
  ir_value all = p->value.v[a->val];
  for (uint32_t d = n; d-- > 0; step *= size) {
    for (uint32_t i = 0; i < all.n; i++)
      if (lower_ints(p, p->arg.v[all.at + i], 4, e) && e[1] == d && e[2] >= 1 &&
          e[2] <= INT32_MAX && e[3] >= 0 && e[3] < e[2]) {
        step = align_step(step, e[2], e[3]);
        any = true;
      }
    stride[d] = ir_index(p, step);
    if (!ir_const_int(p, ir_dim(p, b, d), &size) || size < 1 ||
        step > INT32_MAX || size > INT32_MAX)
      return;
  }
  if (!any) return;
  ir_span made = ir_arg_span(p, n, stride);
  p->buf.v[b].strides = made;
}

LOWER_PASS(compact_buffers) {
  (void)o, (void)e;
  LOWER_EACH(p, s) {
    if (ir_st(p, s)->kind != IR_ALLOCATE) continue;
    ir_buf b = ir_st(p, s)->alloc;
    uint32_t n = ir_ndim(p, b);
    if (p->buf.v[b].strides.n) { /* its layout was chosen */
      ir_anno_remove(p, s, LOWER_ALIGN_KEY);
      continue;
    }
    shrink k = {.p = p,
                .scratch = scratch,
                .top = s,
                .buf = b,
                .ndim = n,
                .min = arena_zalloc(scratch, (n + 1) * sizeof(ir_expr)),
                .max = arena_zalloc(scratch, (n + 1) * sizeof(ir_expr)),
                .extent = arena_zalloc(scratch, (n + 1) * sizeof(int64_t)),
                .whole = arena_zalloc(scratch, n + 1)};
    find_accesses(&k);
    if (settle(&k)) rewrite(&k);
    align(p, scratch, s);
    ir_anno_remove(p, s, LOWER_ALIGN_KEY);
  }
  return TESS_OK;
}
