/* SPDX-License-Identifier: Apache-2.0
 * Rounding-error analysis: an abstract interpretation of a program's stores, in
 * program order, over the facts of rounding_error.h. */
#include "measure/range.h"
#include "ir/edit.h"
#include "ir/query.h"
#include <math.h>

typedef struct walk {
  const ir_program *p;
  range_plan *plan;
  range_fact *memo; /* by node */
  uint8_t *done;
  ir_buf own;      /* the buffer being stored to; 0: none */
  bool own_varies; /* loads from it are unknown */
} walk;

static range_fact expr_fact(walk *w, ir_expr e);

/* ---- expressions -------------------------------------------------------- */

/* Records that inputs should be non-negative, unless x is. */
static void want_nonneg(walk *w, range_fact x) {
  if (!x.nonneg) w->plan->wants_nonneg = true;
}

static range_fact of_quotient(walk *w, const ir_node *n, range_fact a,
                              range_fact b) {
  const ir_node *by = ir_at(w->p, n->b);
  double v = by->op == IR_REAL ? by->f : (double)by->i;
  bool literal = by->op == IR_REAL || by->op == IR_INT;
  if (!literal && ir_is_float(n->dtype)) want_nonneg(w, b);
  return fact_quotient(n->dtype, a, b, literal ? &v : NULL);
}

static range_fact of_product(const ir_node *n, range_fact a, range_fact b) {
  range_fact f = fact_product(n->dtype, a, b);
  if (n->a == n->b) f.nonneg = true;
  return f;
}

static range_fact of_binary(walk *w, const ir_node *n) {
  range_fact a = expr_fact(w, n->a), b = expr_fact(w, n->b), f;
  switch ((ir_op)n->op) {
  case IR_ADD: return fact_sum(n->dtype, a, b);
  case IR_SUB: b.nonneg = false; return fact_sum(n->dtype, a, b);
  case IR_MUL: return of_product(n, a, b);
  case IR_DIV: return of_quotient(w, n, a, b);
  case IR_MOD: return fact_remainder(n->dtype, a, b);
  case IR_MIN: return fact_either(a, b);
  case IR_MAX:
    f = fact_either(a, b);
    f.nonneg = a.nonneg || b.nonneg;
    return f;
  default: return fact_condition(a, b);
  }
}

/* A power is real if its base is non-negative or its exponent an integer. */
static void want_domain(walk *w, const ir_node *n) {
  ir_fn fn = (ir_fn)n->a;
  const uint32_t *x = w->p->arg.v + n->b;
  if (fn == IR_FN_SQRT || fn == IR_FN_RSQRT || fn == IR_FN_LOG)
    want_nonneg(w, expr_fact(w, x[0]));
  if (fn != IR_FN_POW) return;
  range_fact by = expr_fact(w, x[1]);
  if (!by.known || by.grain < 0) want_nonneg(w, expr_fact(w, x[0]));
}

static range_fact of_call(walk *w, const ir_node *n) {
  range_fact args = fact_exact(0, 0);
  for (uint32_t i = 0; i < n->n; i++) {
    range_fact x = expr_fact(w, w->p->arg.v[n->b + i]);
    args = i ? fact_either(args, x) : x;
  }
  want_domain(w, n);
  return fact_call(n->dtype, (ir_fn)n->a, args);
}

static bool index_facts(walk *w, uint32_t n, const ir_expr *idx) {
  bool jumps = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!ir_at(w->p, idx[i])->has_load) continue;
    range_fact f = expr_fact(w, idx[i]);
    jumps = jumps || f.jumps || f.roundings > 0;
  }
  return jumps;
}

/* An index that jumps selects an arbitrary element. */
static void jump_anywhere(range_fact *f) {
  f->jumps = true;
  f->step = INFINITY;
}

static range_fact of_load(walk *w, const ir_node *n) {
  range_fact f = w->plan->fact[n->a];
  w->plan->use[n->a].read = true;
  if (!f.seen && n->a == w->own) f = fact_exact(0, 0);
  if (!f.seen) f = fact_unknown(n->dtype);
  if (index_facts(w, n->n, w->p->arg.v + n->b)) jump_anywhere(&f);
  if (n->a == w->own && w->own_varies) {
    f.nonneg = false;
    f.bound = INFINITY;
    f.known = ir_is_int(n->dtype);
  }
  return f;
}

static range_fact of_var(walk *w, const ir_node *n) {
  const ir_var_rec *v = &w->p->var.v[n->a];
  if (v->kind == IR_VAR_LET && v->owner &&
      ir_st(w->p, v->owner)->kind == IR_LET)
    return expr_fact(w, ir_st(w->p, v->owner)->let_value);
  return fact_of_range(n->lo, n->hi);
}

static range_fact compute_fact(walk *w, ir_expr e) {
  const ir_node n = *ir_at(w->p, e);
  switch ((ir_op)n.op) {
  case IR_NONE: return fact_exact(0, 0);
  case IR_INT: return fact_of_range(n.i, n.i);
  case IR_REAL: return fact_of_real(n.f);
  case IR_VAR: return of_var(w, &n);
  case IR_NOT: return expr_fact(w, n.a);
  case IR_SELECT:
    return fact_select(expr_fact(w, n.a), expr_fact(w, n.b), expr_fact(w, n.c));
  case IR_CAST:
    return fact_cast(ir_at(w->p, n.a)->dtype, n.dtype, expr_fact(w, n.a));
  case IR_LOAD: return of_load(w, &n);
  case IR_RAMP: return fact_of_range(n.lo, n.hi);
  case IR_BROADCAST: return expr_fact(w, n.a);
  case IR_CALL: return of_call(w, &n);
  default: return of_binary(w, &n);
  }
}

static range_fact expr_fact(walk *w, ir_expr e) {
  if (!w->done[e]) {
    range_fact f = compute_fact(w, e);
    w->memo[e] = f;
    w->done[e] = 1;
  }
  return w->memo[e];
}

static range_fact compute_without_memo(walk *w, ir_expr e) {
  memset(w->done, 0, w->p->node.n);
  return expr_fact(w, e);
}

/* ---- stores ------------------------------------------------------------- */

static double count_of(const ir_program *p, ir_expr extent) {
  const ir_node *n = ir_at(p, extent);
  double most = n->op == IR_INT ? (double)n->i : (double)n->hi;
  return most < 1 ? 1 : most;
}

/* The trip count of a store; with `element`, of one element, which excludes
 * spatial iters. */
static double count_trips(const ir_program *p, ir_stmt s, bool element) {
  double trips = 1;
  for (s = ir_st(p, s)->parent; s; s = ir_st(p, s)->parent) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_LOOP) trips *= count_of(p, r->extent);
    if (r->kind != IR_BLOCK) continue;
    const ir_block_rec *b = ir_blk(p, s);
    if (!b->iters.n) continue;
    for (uint32_t i = 0; i < b->iters.n; i++) {
      const ir_iter *it = &p->iter.v[b->iters.at + i];
      if (!element || it->kind != IR_SPATIAL) trips *= count_of(p, it->extent);
    }
    return trips; /* the loops around only bind what was counted */
  }
  return trips;
}

/* The operand that a store combines with its element's old value, 0: the store
 * is not an update.  *adds: it is added, else a minimum or maximum. */
static ir_expr combined_operand(const ir_program *p, const ir_stmt_rec *s,
                                bool *adds) {
  const ir_node *n = ir_at(p, s->value);
  bool one = n->op == IR_MIN || n->op == IR_MAX;
  *adds = n->op == IR_ADD || n->op == IR_SUB;
  if (!one && !*adds) return 0;
  for (int side = 0; side < (n->op == IR_SUB ? 1 : 2); side++) {
    ir_expr rest = side ? n->a : n->b;
    if (ir_loads_stored(p, s, side ? n->b : n->a) &&
        !ir_has_load(p, rest, s->buf))
      return rest;
  }
  return 0;
}

static range_fact of_store(walk *w, ir_stmt at) {
  const ir_stmt_rec *s = ir_st(w->p, at);
  tess_dtype t = w->p->buf.v[s->buf].dtype;
  bool adds;
  ir_expr rest = combined_operand(w->p, s, &adds);
  w->own = s->buf;
  w->own_varies = false;
  if (rest) {
    w->plan->use[s->buf].read = true;
    range_fact f = compute_without_memo(w, rest);
    if (!adds) return f;
    if (ir_at(w->p, s->value)->op == IR_SUB) f.nonneg = false;
    return fact_repeated_sum(t, f, count_trips(w->p, at, true));
  }
  if (!ir_has_load(w->p, s->value, s->buf))
    return compute_without_memo(w, s->value);
  const range_fact before = w->plan->fact[s->buf];
  w->own_varies = true;
  range_fact f = compute_without_memo(w, s->value);
  if (f.roundings > before.roundings) {
    double trips = count_trips(w->p, at, false);
    f.roundings = before.roundings + (f.roundings - before.roundings) * trips;
    f.noise = before.noise + fmax(f.noise - before.noise, 0) * trips;
  }
  return f;
}

static void visit_store(walk *w, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(w->p, at);
  memset(w->done, 0, w->p->node.n);
  w->own = 0;
  if (s.kind == IR_IF) expr_fact(w, s.cond);
  if (s.kind == IR_EVALUATE) expr_fact(w, s.eval);
  if (s.kind == IR_BLOCK && ir_blk(w->p, at)->pred)
    expr_fact(w, ir_blk(w->p, at)->pred);
  if (s.kind != IR_STORE) return;
  range_fact f = of_store(w, at);
  if (index_facts(w, s.idx.n, w->p->arg.v + s.idx.at)) jump_anywhere(&f);
  w->plan->use[s.buf].written = true;
  range_fact *to = &w->plan->fact[s.buf];
  *to = to->seen ? fact_merge(*to, f) : f;
}

/* ---- the whole ---------------------------------------------------------- */

/* As measure/bench.c fills it: random integers are not negative. */
static range_fact of_input(tess_dtype t, int64_t range, interp_range in) {
  bool is_signed = t.code != TESS_DTYPE_UINT && t.code != TESS_DTYPE_BOOL;
  range_fact f = {.seen = true, .bound = 1};
  if (t.code == TESS_DTYPE_BOOL)
    f = fact_exact(1, 0);
  else if (in.bounded)
    f = fact_exact(fmax(fabs((double)in.least), fabs((double)in.count - 1)), 0);
  else if (ir_is_int(t))
    f = fact_exact(range ? (double)range : 8, 0);
  else if (range)
    f = fact_exact((double)range, 0);
  f.nonneg = !is_signed || (ir_is_int(t) && !range);
  if (in.bounded) f.nonneg = in.least >= 0;
  return f;
}

static void start_facts(const walk *w, int64_t range) {
  const ir_program *p = w->p;
  const ir_func *f = ir_entry(p);
  range_fact *fact = w->plan->fact;
  memset(fact, 0, p->buf.n * sizeof *fact);
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    const ir_buf_rec *r = &p->buf.v[b];
    if (r->role != IR_ROLE_OUTPUT)
      fact[b] = of_input(r->dtype, range, w->plan->use[b].in);
  }
  for (uint32_t i = 0; i < p->constant.n; i++)
    fact[p->constant.v[i].buf] = (range_fact){.seen = true, .bound = INFINITY};
}

static void visit_reducer(walk *w, ir_stmt s) {
  const ir_program *p = w->p;
  if (!ir_is_block(p, s) || !ir_blk(p, s)->reducer) return;
  const ir_reducer *r = &p->reducer.v[ir_blk(p, s)->reducer];
  if (r->n > 1 || !ir_reducer_is_builtin(ir_text(p, r->name)))
    w->plan->chooses = true;
}

static void find_inputs(const ir_program *p, arena *scratch, range_use *use) {
  ir_span params = ir_entry(p)->params;
  arena_mark mark = arena_get_mark(scratch);
  interp_range *in = arena_array(scratch, interp_range, params.n + 1);
  interp_index_ranges(p, scratch, in);
  for (uint32_t i = 0; i < params.n; i++)
    use[p->arg.v[params.at + i]].in = in[i];
  arena_reset_to(scratch, mark);
}

void range_find(const ir_program *p, arena *scratch, int64_t range,
                range_plan *out) {
  out->fact = arena_zalloc(scratch, p->buf.n * sizeof *out->fact);
  out->use = arena_zalloc(scratch, p->buf.n * sizeof *out->use);
  out->chooses = false;
  walk w = {.p = p, .plan = out};
  w.memo = arena_zalloc(scratch, p->node.n * sizeof *w.memo);
  w.done = arena_zalloc(scratch, p->node.n);
  ir_stmt root = ir_entry(p)->root;
  find_inputs(p, scratch, out->use);
  start_facts(&w, range);
  out->wants_nonneg = false;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    visit_store(&w, s);
    visit_reducer(&w, s);
  }
}

double range_bound(const range_fact *f) {
  return f->roundings > 0 ? 16 * (2 * f->unit + sqrt(f->noise)) : 0;
}
