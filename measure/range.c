/* SPDX-License-Identifier: Apache-2.0
 * One walk over the stores of a program, in its order. */
#include "measure/range.h"
#include "ir/scalar.h"
#include <math.h>

enum { FUNCTION_ROUNDINGS = 4 }; /* of exp, tanh, ... */

typedef struct walk {
  const ir_program *p;
  range_plan *plan;
  range_fact *memo; /* by node */
  uint8_t *done;
  ir_buf own;      /* the buffer being stored to; 0: none */
  bool own_varies; /* what is loaded of it is not known */
  double trips;    /* runs of the store, at most */
} walk;

static range_fact find(walk *w, ir_expr e);

/* ---- types -------------------------------------------------------------- */

/* Bits of the significand. */
static int digits(tess_dtype t) {
  if (t.code == TESS_BFLOAT) return 8;
  return t.bits == 16 ? 11 : t.bits == 32 ? 24 : 53;
}

static double unit_of(tess_dtype t) { return ldexp(1, -digits(t)); }

static range_fact exact(double bound, int grain) {
  return (range_fact){
      .seen = true, .known = true, .bound = bound, .grain = grain};
}

/* What roundings two facts carry together. */
static range_fact both(range_fact a, range_fact b) {
  range_fact f = {.seen = true, .jumps = a.jumps || b.jumps};
  f.roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  f.unit = a.unit > b.unit ? a.unit : b.unit;
  return f;
}

/* The result of an operation of type t that is known to be exact only if
 * the type holds it; else it was rounded `n` times more. */
static range_fact settle(tess_dtype t, range_fact f, double n) {
  if (!ir_is_float(t)) {
    double most = ldexp(1, t.bits);
    f.known = true;
    f.grain = 0;
    if (!(f.bound < most)) f.bound = most;
    return f;
  }
  if (f.known && ldexp(f.bound, -f.grain) <= ldexp(1, digits(t))) return f;
  f.known = false;
  f.roundings += n;
  if (unit_of(t) > f.unit) f.unit = unit_of(t);
  return f;
}

/* ---- expressions -------------------------------------------------------- */

static range_fact of_real(double v) {
  int exponent;
  if (v == 0 || isinf(v)) return exact(0, 0);
  double m = frexp(fabs(v), &exponent);
  int grain = exponent;
  for (; m != floor(m); grain--) m *= 2;
  return exact(fabs(v), grain < 0 ? grain : 0);
}

static range_fact of_int(const ir_node *n) {
  double lo = fabs((double)n->lo), hi = fabs((double)n->hi);
  return exact(lo > hi ? lo : hi, 0);
}

static range_fact of_sum(range_fact a, range_fact b) {
  range_fact f = both(a, b);
  f.known = a.known && b.known;
  f.bound = a.bound + b.bound;
  f.grain = a.grain < b.grain ? a.grain : b.grain;
  return f;
}

static range_fact of_product(range_fact a, range_fact b) {
  range_fact f = both(a, b);
  f.known = a.known && b.known;
  f.bound = a.bound * b.bound;
  f.grain = a.grain + b.grain;
  return f;
}

/* One of the two. */
static range_fact of_either(range_fact a, range_fact b) {
  range_fact f = of_sum(a, b);
  f.bound = a.bound > b.bound ? a.bound : b.bound;
  return f;
}

static range_fact of_condition(range_fact a, range_fact b) {
  range_fact f = both(a, b);
  f.jumps = f.jumps || f.roundings > 0;
  f.known = true;
  f.bound = 1;
  return f;
}

static range_fact of_quotient(const walk *w, const ir_node *n, range_fact a,
                              range_fact b) {
  const ir_node *by = ir_at(w->p, n->b);
  int exponent;
  if (by->op == IR_REAL && frexp(fabs(by->f), &exponent) == 0.5)
    return of_product(a, of_real(1 / by->f));
  range_fact f = both(a, b);
  f.bound = a.bound;
  if (ir_is_int(n->dtype)) f.jumps = f.jumps || f.roundings > 0;
  return f;
}

static range_fact of_binary(walk *w, const ir_node *n) {
  range_fact a = find(w, n->a), b = find(w, n->b);
  switch ((ir_op)n->op) {
  case IR_ADD:
  case IR_SUB: return settle(n->dtype, of_sum(a, b), 1);
  case IR_MUL: return settle(n->dtype, of_product(a, b), 1);
  case IR_DIV: return settle(n->dtype, of_quotient(w, n, a, b), 1);
  case IR_MOD: {
    range_fact f = both(a, b);
    f.jumps = f.jumps || f.roundings > 0;
    f.known = a.known && b.known;
    f.bound = b.bound;
    f.grain = a.grain < b.grain ? a.grain : b.grain;
    return settle(n->dtype, f, 1);
  }
  case IR_MIN:
  case IR_MAX: return of_either(a, b);
  default: return of_condition(a, b);
  }
}

static range_fact of_select(walk *w, const ir_node *n) {
  range_fact c = find(w, n->a);
  range_fact f = of_either(find(w, n->b), find(w, n->c));
  f.jumps = f.jumps || c.jumps;
  return f;
}

static range_fact of_cast(walk *w, const ir_node *n) {
  tess_dtype from = ir_at(w->p, n->a)->dtype;
  range_fact f = find(w, n->a);
  if (ir_is_float(from) && ir_is_int(n->dtype)) {
    f.jumps = f.jumps || f.roundings > 0;
    if (!f.known) f.bound = INFINITY;
    return settle(n->dtype, f, 0);
  }
  /* Rounding the same bits gives the same bits. */
  range_fact r = settle(n->dtype, f, f.roundings > 0);
  if (f.roundings == 0) r.unit = f.unit;
  return r;
}

static range_fact of_call(walk *w, const ir_node *n) {
  range_fact f = exact(0, 0);
  for (uint32_t i = 0; i < n->n; i++)
    f = of_either(f, find(w, w->p->arg.v[n->b + i]));
  switch ((ir_fn)n->a) {
  case IR_FN_ABS: return f;
  case IR_FN_FLOOR:
  case IR_FN_CEIL:
  case IR_FN_ROUND:
    f.jumps = f.jumps || f.roundings > 0;
    f.grain = 0;
    f.bound += 1;
    return settle(n->dtype, f, 0);
  default:
    f.known = false;
    f.bound = INFINITY;
    return settle(n->dtype, f, FUNCTION_ROUNDINGS);
  }
}

/* Buffers whose values end in an index of buffer b, dimension dim. */
static void mark_index(walk *w, ir_expr e, ir_buf b, uint32_t dim) {
  const ir_node *n = ir_at(w->p, e);
  if (!n->has_load) return;
  const uint32_t *ops;
  uint32_t fixed[3], k = ir_operands(w->p, e, &ops, fixed);
  for (uint32_t i = 0; i < k; i++) mark_index(w, ops[i], b, dim);
  if (n->op != IR_LOAD) return;
  int64_t extent, *below = &w->plan->use[n->a].below;
  if (!ir_const_int(w->p, ir_dim(w->p, b, dim), &extent)) extent = 1;
  if (!*below || extent < *below) *below = extent;
}

static bool look_at_indices(walk *w, ir_buf b, uint32_t n, const ir_expr *idx) {
  bool jumps = false;
  for (uint32_t i = 0; i < n; i++) {
    if (!ir_at(w->p, idx[i])->has_load) continue;
    if (i < ir_ndim(w->p, b)) mark_index(w, idx[i], b, i);
    range_fact f = find(w, idx[i]);
    jumps = jumps || f.jumps || f.roundings > 0;
  }
  return jumps;
}

/* Of what was filled by means that are not followed here. */
static range_fact unknown(tess_dtype t) {
  return (range_fact){.seen = true,
                      .bound = INFINITY,
                      .roundings = 1000,
                      .unit = ir_is_float(t) ? unit_of(t) : 0};
}

static range_fact of_load(walk *w, const ir_node *n) {
  range_fact f = w->plan->fact[n->a];
  w->plan->use[n->a].read = true;
  if (look_at_indices(w, n->a, n->n, w->p->arg.v + n->b)) f.jumps = true;
  if (!f.seen && n->a == w->own) f = exact(0, 0);
  if (!f.seen) f = unknown(n->dtype);
  if (n->a == w->own && w->own_varies) {
    f.bound = INFINITY;
    f.known = ir_is_int(n->dtype);
  }
  return f;
}

static range_fact of_var(walk *w, const ir_node *n) {
  const ir_var_rec *v = &w->p->var.v[n->a];
  if (v->kind == IR_VAR_LET && v->owner &&
      ir_st(w->p, v->owner)->kind == IR_LET)
    return find(w, ir_st(w->p, v->owner)->let_value);
  return of_int(n);
}

static range_fact compute(walk *w, ir_expr e) {
  const ir_node n = *ir_at(w->p, e);
  switch ((ir_op)n.op) {
  case IR_NONE: return exact(0, 0);
  case IR_INT: return exact(fabs((double)n.i), 0);
  case IR_REAL: return of_real(n.f);
  case IR_VAR: return of_var(w, &n);
  case IR_NOT: return find(w, n.a);
  case IR_SELECT: return of_select(w, &n);
  case IR_CAST: return of_cast(w, &n);
  case IR_LOAD: return of_load(w, &n);
  case IR_RAMP: return of_int(&n);
  case IR_BROADCAST: return find(w, n.a);
  case IR_CALL: return of_call(w, &n);
  default: return of_binary(w, &n);
  }
}

static range_fact find(walk *w, ir_expr e) {
  if (!w->done[e]) {
    range_fact f = compute(w, e);
    w->memo[e] = f;
    w->done[e] = 1;
  }
  return w->memo[e];
}

static range_fact find_afresh(walk *w, ir_expr e) {
  memset(w->done, 0, w->p->node.n);
  return find(w, e);
}

/* ---- stores ------------------------------------------------------------- */

static double count_of(const ir_program *p, ir_expr extent) {
  const ir_node *n = ir_at(p, extent);
  double most = n->op == IR_INT ? (double)n->i : (double)n->hi;
  return most < 1 ? 1 : most;
}

/* How often the store runs: for one element, when `element`, in which case
 * the spatial iterations of blocks do not count. */
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

/* What is combined with what the store's own element held, 0: the value is
 * no such combination.  *adds: it is added to it, else one of the two. */
static ir_expr operand(const ir_program *p, const ir_stmt_rec *s, bool *adds) {
  const ir_node *n = ir_at(p, s->value);
  bool one = n->op == IR_MIN || n->op == IR_MAX;
  *adds = n->op == IR_ADD || n->op == IR_SUB;
  if (!one && !*adds) return 0;
  for (int side = 0; side < (n->op == IR_SUB ? 1 : 2); side++) {
    const ir_node *x = ir_at(p, side ? n->b : n->a);
    ir_expr rest = side ? n->a : n->b;
    bool same = x->op == IR_LOAD && x->a == s->buf && x->n == s->idx.n &&
                !memcmp(p->arg.v + x->b, p->arg.v + s->idx.at,
                        s->idx.n * sizeof(ir_expr));
    if (same && !ir_has_load(p, rest, s->buf)) return rest;
  }
  return 0;
}

/* own + x, trips times over. */
static range_fact of_repeated_sum(tess_dtype t, range_fact x, double trips) {
  range_fact f = x;
  f.bound = x.bound * trips;
  if (ir_is_int(t)) return settle(t, f, 0);
  return settle(t, f, trips);
}

static range_fact of_store(walk *w, ir_stmt at) {
  const ir_stmt_rec *s = ir_st(w->p, at);
  tess_dtype t = w->p->buf.v[s->buf].dtype;
  bool adds;
  ir_expr rest = operand(w->p, s, &adds);
  w->own = s->buf;
  w->own_varies = false;
  if (rest) {
    w->plan->use[s->buf].read = true;
    range_fact f = find_afresh(w, rest);
    if (!adds) return f;
    return of_repeated_sum(t, f, count_trips(w->p, at, true));
  }
  if (!ir_has_load(w->p, s->value, s->buf)) return find_afresh(w, s->value);
  double before = w->plan->fact[s->buf].roundings;
  w->own_varies = true;
  range_fact f = find_afresh(w, s->value);
  if (f.roundings > before)
    f.roundings =
        before + (f.roundings - before) * count_trips(w->p, at, false);
  return f;
}

/* What a buffer that several stores fill may hold; bounds add up, since one
 * store may start what another goes on with. */
static void merge(range_fact *to, range_fact f) {
  *to = to->seen ? of_sum(*to, f) : f;
}

static void look_at(walk *w, ir_stmt at) {
  const ir_stmt_rec s = *ir_st(w->p, at);
  memset(w->done, 0, w->p->node.n);
  w->own = 0;
  if (s.kind == IR_IF) find(w, s.cond);
  if (s.kind == IR_EVALUATE) find(w, s.eval);
  if (s.kind == IR_BLOCK && ir_blk(w->p, at)->pred)
    find(w, ir_blk(w->p, at)->pred);
  if (s.kind != IR_STORE) return;
  range_fact f = of_store(w, at);
  if (look_at_indices(w, s.buf, s.idx.n, w->p->arg.v + s.idx.at))
    f.jumps = true;
  w->plan->use[s.buf].written = true;
  merge(&w->plan->fact[s.buf], f);
}

/* ---- the whole ---------------------------------------------------------- */

static range_fact of_input(tess_dtype t, int64_t range, int64_t below) {
  int64_t most = range > below ? range : below;
  if (t.code == TESS_BOOL) return exact(1, 0);
  if (ir_is_int(t)) return exact(most ? (double)most : 8, 0);
  if (range) return exact((double)range, 0);
  return (range_fact){.seen = true, .bound = 1};
}

static bool is_builtin(const char *name) {
  return !strcmp(name, "sum") || !strcmp(name, "prod") ||
         !strcmp(name, "min") || !strcmp(name, "max");
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
      fact[b] = of_input(r->dtype, range, w->plan->use[b].below);
  }
  for (uint32_t i = 0; i < p->constant.n; i++)
    fact[p->constant.v[i].buf] = (range_fact){.seen = true, .bound = 1};
}

static void look_at_reducer(walk *w, ir_stmt s) {
  const ir_program *p = w->p;
  if (!ir_is_block(p, s) || !ir_blk(p, s)->reducer) return;
  const ir_reducer *r = &p->reducer.v[ir_blk(p, s)->reducer];
  if (r->n > 1 || !is_builtin(ir_text(p, r->name))) w->plan->chooses = true;
}

/* Twice, since what is an index is known only after the first time. */
void range_find(const ir_program *p, arena *scratch, int64_t range,
                range_plan *out) {
  out->fact = arena_zalloc(scratch, p->buf.n * sizeof *out->fact);
  out->use = arena_zalloc(scratch, p->buf.n * sizeof *out->use);
  out->chooses = false;
  walk w = {.p = p, .plan = out};
  w.memo = arena_zalloc(scratch, p->node.n * sizeof *w.memo);
  w.done = arena_zalloc(scratch, p->node.n);
  ir_stmt root = ir_entry(p)->root;
  for (int pass = 0; pass < 2; pass++) {
    start_facts(&w, range);
    for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
      look_at(&w, s);
      look_at_reducer(&w, s);
    }
  }
}

double range_bound(const range_fact *f) {
  return f->roundings > 0 ? 16 * f->unit * (2 + sqrt(f->roundings)) : 0;
}
