/* SPDX-License-Identifier: Apache-2.0
 * Comparing programs in the residue domain. */
#include "backends/interp/interp.h"

#include "backends/interp/residue.h"
#include "base/rng.h"
#include "ir/arith/range.h"
#include "ir/scalar.h"

#include <math.h>
#include <stdio.h>

/* What a parameter holds at the start (an output: UNWRITTEN), what the first
 * program left in it, and what the other one does. */
typedef struct interp_param {
  ir_role role;
  tess_dtype dtype;
  uint32_t ndim;
  uint64_t size;
  uint64_t *start, *value, *got;
} interp_param;

/* No residue, and no integer that anybody will meet. */
#define UNWRITTEN UINT64_C(0xA5A5A5A55A5A5A5A)

void interp_expect_init(interp_expect *x, mem_heap *heap) {
  *x = (interp_expect){.heap = heap};
  arena_init(&x->memory, heap);
}

void interp_expect_free(interp_expect *x) { arena_free(&x->memory); }

static tess_status invalid(interp_error *e, ir_buf buf, const char *what) {
  *e = (interp_error){
      .code = TESS_INVALID, .fault = INTERP_INVALID, .buf = buf, .element = -1};
  snprintf(e->what, sizeof e->what, "%s", what);
  return e->code;
}

/* ---- indices that are data ---------------------------------------------- */

/* How elements of input `b` are used as indices, and how many expressions may
 * still be looked at (parts that are shared are looked at again). */
typedef struct index_use {
  const ir_program *p;
  ir_buf b;
  int64_t extent;
  uint32_t steps;
} index_use;

#define MOST_STEPS 4096

static void note_extent(index_use *u, int64_t extent) {
  if (extent > 0 && (u->extent == 0 || extent < u->extent)) u->extent = extent;
}

/* The values of e while the elements of u->b are 0 .. most. */
static arith_range values_of(index_use *u, ir_expr e, int64_t most) {
  const ir_program *p = u->p;
  const ir_node n = *ir_at(p, e);
  arith_range all = {n.lo, n.hi}, r = all, other;
  if (!u->steps || !ir_is_int(n.dtype) || !ir_has_load(p, e, u->b)) return all;
  u->steps--;
  if (n.op == IR_LOAD) {
    if (n.a == u->b && most > ir_int_max(n.dtype)) most = ir_int_max(n.dtype);
    if (n.a == u->b) r = (arith_range){0, most};
  } else if (n.op == IR_CAST || n.op == IR_BROADCAST) {
    r = values_of(u, n.a, most);
  } else if (n.op == IR_SELECT) {
    r = values_of(u, n.b, most);
    other = values_of(u, n.c, most);
    if (other.lo < r.lo) r.lo = other.lo;
    if (other.hi > r.hi) r.hi = other.hi;
  } else if (n.op >= IR_ADD && n.op <= IR_OR) {
    r = values_of(u, n.a, most);
    r = arith_range_of((ir_op)n.op, r, values_of(u, n.b, most));
  }
  if (r.lo < ir_int_min(n.dtype) || r.hi > ir_int_max(n.dtype)) return all;
  if (r.lo < all.lo) r.lo = all.lo;
  if (r.hi > all.hi) r.hi = all.hi;
  return r;
}

/* e stays in lo .. lo + count - 1: how many values from 0 on the elements may
 * have.  More than there are places are tried, for what limits them. */
static void note_places(index_use *u, ir_expr e, int64_t lo, int64_t count) {
  int64_t n = count <= INT64_MAX / 4 ? 4 * count : count;
  for (; n > 1; n = n > count ? count : n / 2) {
    u->steps = MOST_STEPS;
    arith_range r = values_of(u, e, n - 1);
    if (r.lo >= lo && r.hi - lo < count) break;
  }
  note_extent(u, n > 1 ? n : 1);
}

static void note_index(index_use *u, ir_buf into, uint32_t dim, uint32_t n,
                       ir_expr e) {
  int64_t extent = 1;
  if (!ir_has_load(u->p, e, u->b)) return;
  if (n != ir_ndim(u->p, into) ||
      !ir_const_int(u->p, ir_dim(u->p, into, dim), &extent))
    note_extent(u, 1);
  else
    note_places(u, e, 0, extent);
}

static void note_bind(index_use *u, const ir_iter *it) {
  int64_t lo, extent;
  if (!ir_has_load(u->p, it->bind, u->b)) return;
  if (ir_const_int(u->p, it->lo, &lo) &&
      ir_const_int(u->p, it->extent, &extent) && lo >= 0)
    note_places(u, it->bind, lo, extent);
  else
    note_extent(u, 1);
}

static void look_for_index(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *x = ir_at(p, e);
  if (x->op == IR_LOAD)
    for (uint32_t i = 0; i < x->n; i++)
      note_index(ud, x->a, i, x->n, p->arg.v[x->b + i]);
}

static void look_in_stmt(index_use *u, arena *scratch, ir_stmt s) {
  const ir_program *p = u->p;
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->kind == IR_STORE) {
    ir_visit(p, scratch, r->value, look_for_index, u);
    for (uint32_t i = 0; i < r->idx.n; i++) {
      ir_visit(p, scratch, p->arg.v[r->idx.at + i], look_for_index, u);
      note_index(u, r->buf, i, r->idx.n, p->arg.v[r->idx.at + i]);
    }
  } else if (r->kind == IR_BLOCK) {
    ir_span it = ir_blk(p, s)->iters;
    for (uint32_t i = 0; i < it.n; i++) note_bind(u, &p->iter.v[it.at + i]);
  } else if (r->kind == IR_LET) {
    ir_visit(p, scratch, r->let_value, look_for_index, u);
  }
}

int64_t interp_index_range(const ir_program *p, ir_buf b, arena *scratch) {
  index_use u = {.p = p, .b = b};
  tess_dtype t = p->buf.v[b].dtype;
  if (t.code == TESS_BOOL) return 2;
  if (!ir_is_int(t)) return 0;
  arena_mark mark = arena_get_mark(scratch);
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    look_in_stmt(&u, scratch, s);
  arena_reset_to(scratch, mark);
  if (u.extent > ir_int_max(t)) return ir_int_max(t);
  return u.extent;
}

/* ---- a few values ------------------------------------------------------- */

static void add_value(interp_few *few, double v) {
  for (uint32_t i = 0; i < few->n; i++)
    if (few->v[i] == v) return;
  if (few->n < sizeof few->v / sizeof *few->v) few->v[few->n++] = v;
}

static bool is_constant(const ir_node *n) {
  return n->op == IR_INT || n->op == IR_REAL;
}

/* An operand of what compares, other than an index. */
static bool is_data(const ir_node *n) {
  return !is_constant(n) && !n->is_index;
}

static void add_constant(interp_few *few, const ir_node *n) {
  const double most = 0x1p31;
  if (!is_constant(n)) return;
  double v = n->op == IR_INT ? (double)n->i : n->f;
  for (int d = -1; d <= 1 && fabs(v) < most; d++) add_value(few, v + d);
}

void interp_few_add(interp_few *few, const ir_program *p) {
  bool compares = false;
  for (ir_expr e = 1; e < p->node.n && !compares; e++) {
    const ir_node *n = ir_at(p, e);
    compares = n->op >= IR_EQ && n->op <= IR_LE &&
               (is_data(ir_at(p, n->a)) || is_data(ir_at(p, n->b)));
  }
  if (!compares) return;
  for (int v = -1; v <= 2; v++) add_value(few, v);
  for (ir_expr e = 1; e < p->node.n; e++) {
    const ir_node *n = ir_at(p, e);
    if (n->op < IR_MIN || n->op > IR_LE) continue;
    const ir_node *a = ir_at(p, n->a), *b = ir_at(p, n->b);
    if (is_data(a)) add_constant(few, b);
    if (is_data(b)) add_constant(few, a);
  }
}

/* ---- drawing ------------------------------------------------------------ */

/* Integers over their whole range, most of them odd, so that products do not
 * come to 0. */
static uint64_t draw_int(rng *r, tess_dtype t) {
  uint64_t odd = rng_below(r, 4) != 0;
  return (uint64_t)ir_wrap_int(t, (int64_t)(rng_u64(r) | odd));
}

static uint64_t draw_few(rng *r, tess_dtype t, const interp_few *few) {
  double v = few->v[rng_below(r, few->n)];
  return ir_is_float(t) ? residue_of_real(ir_round_real(t, v))
                        : (uint64_t)ir_wrap_int(t, (int64_t)v);
}

static void draw(interp_param *x, uint64_t seed, uint32_t number,
                 int64_t values, const interp_few *few) {
  rng r;
  rng_init(&r, seed, number);
  for (uint64_t i = 0; i < x->size; i++)
    x->start[i] = values                  ? rng_below(&r, (uint64_t)values)
                  : few->n                ? draw_few(&r, x->dtype, few)
                  : ir_is_float(x->dtype) ? rng_below(&r, RESIDUE_P)
                                          : draw_int(&r, x->dtype);
}

static bool known_size(const ir_program *p, ir_buf b, const interp_options *o,
                       uint64_t *size) {
  *size = 1;
  for (uint32_t i = 0; i < ir_ndim(p, b); i++) {
    const ir_node *n = ir_at(p, ir_dim(p, b, i));
    ir_func f = *ir_entry(p);
    int64_t v = -1;
    if (n->op == IR_INT) v = n->i;
    for (uint32_t k = 0; n->op == IR_VAR && k < f.sizes.n; k++)
      if (p->arg.v[f.sizes.at + k] == n->a && k < o->nsizes) v = o->sizes[k];
    if (v < 0 || __builtin_mul_overflow(*size, (uint64_t)v, size) ||
        *size > UINT64_C(1) << 40)
      return false;
  }
  return true;
}

/* Which size is not known, and what to do about it. */
static tess_status no_size(const ir_program *p, ir_buf b,
                           const interp_options *o, interp_error *e) {
  ir_func f = *ir_entry(p);
  for (uint32_t k = o->nsizes; k < f.sizes.n; k++)
    for (uint32_t i = 0; i < ir_ndim(p, b); i++) {
      ir_var v = p->arg.v[f.sizes.at + k];
      if (!ir_uses_var(p, ir_dim(p, b, i), v)) continue;
      invalid(e, 0, "");
      snprintf(e->what, sizeof e->what,
               "size '%.40s' of parameter '%.40s' is known only when the "
               "program is called: describe both programs with a number in "
               "its place, or interpret both with tensors",
               ir_text(p, p->var.v[v].name), ir_text(p, p->buf.v[b].name));
      return e->code;
    }
  return invalid(e, b, "a parameter that is too large");
}

static tess_status make_param(interp_expect *x, const ir_program *p, uint32_t i,
                              const interp_options *o, interp_error *e) {
  ir_buf b = p->arg.v[ir_entry(p)->params.at + i];
  const ir_buf_rec *r = &p->buf.v[b];
  interp_param *q = &x->param[i];
  *q = (interp_param){
      .role = (ir_role)r->role, .dtype = r->dtype, .ndim = r->shape.n};
  if (!known_size(p, b, o, &q->size)) return no_size(p, b, o, e);
  q->start = arena_array(&x->memory, uint64_t, q->size + 1);
  q->value = arena_array(&x->memory, uint64_t, q->size + 1);
  q->got = arena_array(&x->memory, uint64_t, q->size + 1);
  if (q->role != IR_ROLE_OUTPUT)
    draw(q, x->seed, i, interp_index_range(p, b, &x->memory), &x->few);
  for (uint64_t at = 0; q->role == IR_ROLE_OUTPUT && at < q->size; at++)
    q->start[at] = UNWRITTEN;
  return TESS_OK;
}

/* ---- running ------------------------------------------------------------ */

static interp_options residue_options(const interp_expect *x,
                                      const interp_options *o) {
  interp_options r = o ? *o : (interp_options){0};
  r.domain = INTERP_RESIDUE;
  r.seed = x->seed;
  return r;
}

/* Runs p; what it leaves in the parameters comes to `value`, or to `got`. */
static tess_status run(interp_expect *x, interp *in, const ir_program *p,
                       const interp_options *o, bool first, interp_error *e) {
  arena_mark mark = arena_get_mark(&x->memory);
  interp_arg *args = arena_array(&x->memory, interp_arg, x->nparams + 1);
  for (uint32_t i = 0; i < x->nparams; i++) {
    interp_param *q = &x->param[i];
    uint64_t *v = first ? q->value : q->got;
    args[i] = (interp_arg){v, (size_t)q->size * sizeof *v};
    memcpy(v, q->start, args[i].bytes);
  }
  tess_status st = interp_run(in, p, x->nparams, args, o, e);
  if (first) x->effects = in->effects;
  arena_reset_to(&x->memory, mark);
  return st;
}

typedef struct job {
  interp_expect *x;
  interp *in;
  const ir_program *p;
  const interp_options *o;
  interp_error *e;
} job;

static tess_status expect(void *ud) {
  job *j = ud;
  interp_expect *x = j->x;
  interp_options o = residue_options(x, j->o);
  arena_reset(&x->memory);
  x->nparams = ir_entry(j->p)->params.n;
  x->param = arena_array(&x->memory, interp_param, x->nparams + 1);
  for (uint32_t i = 0; i < x->nparams; i++)
    if (make_param(x, j->p, i, &o, j->e)) return j->e->code;
  return run(x, j->in, j->p, &o, true, j->e);
}

static tess_status same_params(job *j) {
  const ir_program *q = j->p;
  const ir_func *f = ir_entry(q);
  if (f->params.n != j->x->nparams) {
    invalid(j->e, 0, "");
    snprintf(j->e->what, sizeof j->e->what,
             "the programs have %u and %u parameters", (unsigned)j->x->nparams,
             (unsigned)f->params.n);
    return j->e->code;
  }
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = q->arg.v[f->params.at + i];
    const ir_buf_rec *r = &q->buf.v[b];
    const interp_param *x = &j->x->param[i];
    uint64_t size;
    if (!known_size(q, b, j->o, &size)) return no_size(q, b, j->o, j->e);
    if ((ir_role)r->role != x->role || !ir_dtype_eq(r->dtype, x->dtype) ||
        size != x->size || (r->shape.n != x->ndim && r->shape.n != 1))
      return invalid(j->e, b, "a parameter of another role, type or shape");
  }
  return TESS_OK;
}

static void differ(job *j, uint32_t i, uint64_t at) {
  const interp_param *x = &j->x->param[i];
  ir_buf b = j->p->arg.v[ir_entry(j->p)->params.at + i];
  uint64_t v = x->value[at], w = x->got[at];
  *j->e = (interp_error){.code = TESS_MISMATCH,
                         .fault = INTERP_DIFFERS,
                         .buf = b,
                         .element = (int64_t)at,
                         .value = {{.u = v}, {.u = w}}};
  if (v == UNWRITTEN || w == UNWRITTEN)
    snprintf(j->e->what, sizeof j->e->what, "only the %s program writes it",
             v == UNWRITTEN ? "second" : "first");
  else
    snprintf(j->e->what, sizeof j->e->what, "%lld became %lld%s", (long long)v,
             (long long)w, ir_is_float(x->dtype) ? " (residues)" : "");
}

static tess_status check(void *ud) {
  job *j = ud;
  interp_options o = residue_options(j->x, j->o);
  j->o = &o;
  if (same_params(j) || run(j->x, j->in, j->p, &o, false, j->e))
    return j->e->code;
  for (uint32_t i = 0; i < j->x->nparams; i++) {
    const interp_param *x = &j->x->param[i];
    for (uint64_t at = 0; at < x->size; at++)
      if (x->value[at] != x->got[at]) return differ(j, i, at), TESS_MISMATCH;
  }
  if (j->x->effects == j->in->effects) return TESS_OK;
  *j->e = (interp_error){
      .code = TESS_MISMATCH, .fault = INTERP_EFFECTS, .element = -1};
  return TESS_MISMATCH;
}

static tess_status instead(void *ud) {
  job *j = ud;
  interp_options o = residue_options(j->x, j->o);
  j->o = &o;
  return same_params(j) ? j->e->code : run(j->x, j->in, j->p, &o, true, j->e);
}

static tess_status protected(job *j, tess_status (*fn)(void *)) {
  *j->e = (interp_error){.element = -1};
  tess_status st = mem_protect(j->x->heap, fn, j);
  if (st && !j->e->code)
    *j->e = (interp_error){
        .code = st, .fault = INTERP_LIMIT, .element = -1, .what = "memory"};
  return st;
}

tess_status interp_expect_run(interp_expect *x, interp *in, const ir_program *p,
                              uint64_t seed, const interp_options *o,
                              interp_error *e) {
  x->seed = seed;
  job j = {x, in, p, o, e};
  return protected(&j, expect);
}

tess_status interp_expect_instead(interp_expect *x, interp *in,
                                  const ir_program *q, const interp_options *o,
                                  interp_error *e) {
  job j = {x, in, q, o, e};
  return protected(&j, instead);
}

tess_status interp_expect_check(interp_expect *x, interp *in,
                                const ir_program *q, const interp_options *o,
                                interp_error *e) {
  job j = {x, in, q, o, e};
  return protected(&j, check);
}

/* Both programs on inputs of one kind. */
static tess_status equal_once(interp_expect *x, interp *in, const ir_program *p,
                              const ir_program *q, uint64_t seed,
                              const interp_options *o, interp_error *e,
                              int *which) {
  tess_status st = interp_expect_run(x, in, p, seed, o, e);
  *which = st ? 0 : 1;
  return st ? st : interp_expect_check(x, in, q, o, e);
}

/* How often inputs of a few values are drawn: small ones more often, so that
 * each of the ways in which they compare surely comes up. */
static uint32_t times_few(const interp_expect *x) {
  uint64_t n = 1;
  for (uint32_t i = 0; i < x->nparams; i++)
    if (x->param[i].role != IR_ROLE_OUTPUT) n += x->param[i].size;
  return n > 512 ? 1 : n < 32 ? 16 : (uint32_t)(512 / n);
}

tess_status interp_equal(mem_heap *heap, const ir_program *p,
                         const ir_program *q, uint64_t seed,
                         const interp_options *o, interp_error *e, int *which) {
  interp in;
  interp_expect x;
  interp_init(&in, heap);
  interp_expect_init(&x, heap);
  int at;
  tess_status st = equal_once(&x, &in, p, q, seed, o, e, &at);
  interp_few_add(&x.few, p);
  interp_few_add(&x.few, q);
  uint32_t times = st || !x.few.n ? 0 : times_few(&x);
  for (uint32_t k = 0; k < times && !st; k++)
    st = equal_once(&x, &in, p, q, seed + k, o, e, &at);
  if (which) *which = at;
  interp_expect_free(&x);
  interp_free(&in);
  return st;
}
