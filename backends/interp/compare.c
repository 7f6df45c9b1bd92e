/* SPDX-License-Identifier: Apache-2.0
 * Equivalence check of two programs in the residue domain, on several kinds of
 * random inputs. */
#include "backends/interp/interp.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"

#include <stdio.h>

/* The initial contents of a parameter (an output: UNWRITTEN), what the first
 * program left in it, and what the other one does. */
typedef struct interp_param {
  ir_role role;
  tess_dtype dtype;
  uint32_t ndim;
  int64_t *shape;
  uint64_t size;
  uint64_t *start, *value, *got;
} interp_param;

/* No residue, and no integer that occurs in practice. */
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

/* ---- parameters --------------------------------------------------------- */

bool interp_extent(const ir_program *p, ir_expr e, const interp_options *o,
                   int64_t *v) {
  const ir_node n = *ir_at(p, e);
  ir_span sizes = ir_entry(p)->sizes;
  int64_t a, b;
  if (n.op == IR_INT) return *v = n.i, true;
  for (uint32_t k = 0; n.op == IR_VAR && k < sizes.n && k < o->nsizes; k++)
    if (p->arg.v[sizes.at + k] == n.a) return *v = o->sizes[k], true;
  if (n.op < IR_ADD || n.op > IR_MAX || !interp_extent(p, n.a, o, &a) ||
      !interp_extent(p, n.b, o, &b))
    return false;
  return *v = ir_fold_int((ir_op)n.op, n.dtype, a, b), true;
}

/* An extent; -1: it is not known. */
static int64_t known_extent(const ir_program *p, ir_buf b, uint32_t i,
                            const interp_options *o) {
  int64_t v;
  return interp_extent(p, ir_dim(p, b, i), o, &v) ? v : -1;
}

static bool known_size(const ir_program *p, ir_buf b, const interp_options *o,
                       uint64_t *size) {
  *size = 1;
  for (uint32_t i = 0; i < ir_ndim(p, b); i++) {
    int64_t v = known_extent(p, b, i, o);
    if (v < 0 || __builtin_mul_overflow(*size, (uint64_t)v, size) ||
        *size > UINT64_C(1) << 40)
      return false;
  }
  return true;
}

/* Reports which size is unknown, and the way out. */
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
                              const interp_options *o,
                              const interp_range *range, interp_error *e) {
  ir_buf b = p->arg.v[ir_entry(p)->params.at + i];
  const ir_buf_rec *r = &p->buf.v[b];
  interp_param *q = &x->param[i];
  *q = (interp_param){
      .role = (ir_role)r->role, .dtype = r->dtype, .ndim = r->shape.n};
  if (!known_size(p, b, o, &q->size)) return no_size(p, b, o, e);
  q->shape = arena_array(&x->memory, int64_t, q->ndim + 1);
  for (uint32_t d = 0; d < q->ndim; d++) q->shape[d] = known_extent(p, b, d, o);
  q->start = arena_array(&x->memory, uint64_t, q->size + 1);
  q->value = arena_array(&x->memory, uint64_t, q->size + 1);
  q->got = arena_array(&x->memory, uint64_t, q->size + 1);
  if (q->role != IR_ROLE_OUTPUT)
    interp_draw(&x->inputs, q->dtype, x->seed, i, range[i], q->size, q->start);
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

/* Runs p; the final contents of the parameters go to `value`, or to `got`. */
static tess_status run_subject(interp_expect *x, interp *in,
                               const ir_program *p, const interp_options *o,
                               bool first, interp_error *e) {
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

static tess_status run_reference(void *ud) {
  job *j = ud;
  interp_expect *x = j->x;
  interp_options o = residue_options(x, j->o);
  arena_reset(&x->memory);
  x->nparams = ir_entry(j->p)->params.n;
  x->choices = interp_choices(j->p, &x->memory);
  x->param = arena_array(&x->memory, interp_param, x->nparams + 1);
  interp_range *range = arena_array(&x->memory, interp_range, x->nparams + 1);
  if (x->range)
    memcpy(range, x->range, x->nparams * sizeof *range);
  else
    interp_index_ranges(j->p, &x->memory, range);
  for (uint32_t i = 0; i < x->nparams; i++)
    if (make_param(x, j->p, i, &o, range, j->e)) return j->e->code;
  return run_subject(x, j->in, j->p, &o, true, j->e);
}

/* Equal extents, or the flattened ones of a lowered program; a parameter whose
 * layout the schedule chose has its own. */
static bool same_shape(const job *j, const interp_param *x, ir_buf b) {
  const ir_program *q = j->p;
  uint32_t n = ir_ndim(q, b);
  if (n != x->ndim) return n == 1;
  for (uint32_t d = 0; d < n && x->role != IR_ROLE_LAYOUT_FREE; d++)
    if (known_extent(q, b, d, j->o) != x->shape[d]) return false;
  return true;
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
        size != x->size || !same_shape(j, x, b))
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

static tess_status compare_check_program(void *ud) {
  job *j = ud;
  interp_options o = residue_options(j->x, j->o);
  j->o = &o;
  if (same_params(j) || run_subject(j->x, j->in, j->p, &o, false, j->e))
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
  return same_params(j) ? j->e->code
                        : run_subject(j->x, j->in, j->p, &o, true, j->e);
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
  return protected(&j, run_reference);
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
  return protected(&j, compare_check_program);
}

/* Checks two programs on inputs of several kinds. */
typedef struct pair {
  mem_heap *heap;
  interp in;
  interp_expect x;
  const ir_program *p, *q;
  const interp_options *o;
  interp_error *e;
  uint64_t seed, steps; /* of the last time, of both */
  int which;
  interp_few few; /* of both */
  arena ranges;
  interp_range *range;
} pair;

/* The reference left a buffer, perhaps because of what was drawn for an input:
 * that says nothing of the programs. */
static tess_status blame_inputs(const pair *c) {
  const ir_program *p = c->p;
  interp_error *e = c->e;
  ir_span params = ir_entry(p)->params;
  if (e->fault != INTERP_OUTSIDE && e->fault != INTERP_DOMAIN) return e->code;
  for (uint32_t i = 0; i < params.n; i++) {
    ir_buf b = p->arg.v[params.at + i];
    if (!c->range[i].unproven) continue;
    const char *of = e->buf ? ir_text(p, p->buf.v[e->buf].name) : "a buffer";
    invalid(e, 0, "");
    e->code = TESS_UNSUPPORTED;
    bool is_int = ir_is_int(p->buf.v[b].dtype);
    snprintf(e->what, sizeof e->what,
             "no inputs can be drawn for which '%.60s' is accessed in bounds: "
             "%s '%.60s'%s",
             of, is_int ? "declare what" : "its indices are computed from",
             ir_text(p, p->buf.v[b].name),
             is_int ? " holds (range, offsets_into)" : ", of floats");
    return e->code;
  }
  return e->code;
}

static tess_status compare_outputs(pair *c, uint64_t number) {
  tess_status st =
      interp_expect_run(&c->x, &c->in, c->p, c->seed + number, c->o, c->e);
  c->which = st ? 0 : 1;
  c->steps = c->in.steps;
  if (st) return blame_inputs(c);
  st = interp_expect_check(&c->x, &c->in, c->q, c->o, c->e);
  c->steps += c->in.steps;
  return st;
}

/* How often inputs of few values are drawn: small ones more often, so that each
 * outcome of their comparisons occurs with high probability. */
static uint32_t times_few(const interp_expect *x) {
  const uint64_t values = x->inputs.few.n;
  uint64_t n = 1, elements = values < 32 ? 512 : 16 * values;
  for (uint32_t i = 0; i < x->nparams; i++)
    if (x->param[i].role != IR_ROLE_OUTPUT) n += x->param[i].size;
  uint64_t times = n > elements ? 1 : elements / n;
  uint64_t most = values < 8 ? 16 : 2 * values;
  return (uint32_t)(times < most ? times : most);
}

/* Inputs that are one of the few values each, for sums and products of many
 * elements. */
static tess_status compare_alone(pair *c) {
  enum { MOST_STEPS = 1 << 19, EACH = 2048, ROUNDS = 8 };
  uint32_t n = c->x.inputs.few.n;
  uint64_t times = MOST_STEPS / (c->steps + EACH);
  tess_status st = TESS_OK;
  if (times > ROUNDS * n) times = ROUNDS * n;
  for (uint32_t k = 0; k < times && !st; k++) {
    c->x.inputs.alone = k % n + 1;
    st = compare_outputs(c, k);
  }
  return st;
}

static tess_status compare_few(pair *c) {
  interp_few_add(&c->x.inputs.few, c->p);
  interp_few_add(&c->x.inputs.few, c->q);
  uint32_t n = c->x.inputs.few.n ? times_few(&c->x) : 0;
  tess_status st = TESS_OK;
  for (uint32_t k = 0; k < n && !st; k++) st = compare_outputs(c, k);
  if (!st && n) st = compare_alone(c);
  c->few = c->x.inputs.few;
  c->x.inputs = (interp_inputs){.extreme = false};
  return st;
}

/* Is any input of another type than float? */
static bool takes_integers(const interp_expect *x) {
  for (uint32_t i = 0; i < x->nparams; i++)
    if (x->param[i].role != IR_ROLE_OUTPUT && !ir_is_float(x->param[i].dtype))
      return true;
  return false;
}

static tess_status compare_extremes(pair *c) {
  uint32_t n = takes_integers(&c->x) ? times_few(&c->x) : 0;
  tess_status st = TESS_OK;
  c->x.inputs.extreme = true;
  for (uint32_t k = 0; k < n && !st; k++) st = compare_outputs(c, k);
  c->x.inputs.extreme = false;
  return st;
}

/* Constant inputs, and some constant ones beside random others: a wrong
 * identity element, or an assumption on a condition, shows only there. */
static tess_status compare_ends(pair *c) {
  enum { MOST_STEPS = 1 << 20, EACH = 2048, MOST = 14 };
  bool matters = c->x.choices || takes_integers(&c->x);
  uint64_t times = MOST_STEPS / (c->steps + EACH);
  tess_status st = TESS_OK;
  if (times > MOST) times = MOST;
  if (times < 2) times = 2;
  for (uint32_t k = 0; k < times && matters && !st; k++) {
    c->x.inputs = (interp_inputs){.ends = k < 2 ? k + 1 : 3};
    st = compare_outputs(c, k);
  }
  return st;
}

/* Makes each element in turn the greatest and the least of those that a min,
 * max or select reduces, within a budget of loop iterations. */
static tess_status compare_peaks(pair *c) {
  enum { MOST_STEPS = 1 << 21, EACH = 2048 };
  uint64_t times = MOST_STEPS / (c->steps + EACH);
  tess_status st = TESS_OK;
  for (uint64_t k = 0; k < times && c->x.choices && !st; k++) {
    if (!interp_peaks(&c->x.inputs, &c->few, c->x.choices, k)) break;
    st = compare_outputs(c, k);
  }
  return st;
}

/* By parameter, the range that p's uses admit, or q's where only that is
 * known: a schedule may hide where p's indices come from, or show it. */
static tess_status find_ranges(void *ud) {
  pair *c = ud;
  interp_init(&c->in, c->heap);
  uint32_t n = ir_entry(c->p)->params.n;
  c->range = arena_array(&c->ranges, interp_range, n + 1);
  interp_index_ranges(c->p, &c->ranges, c->range);
  c->x.range = c->range;
  if (ir_entry(c->q)->params.n != n) return TESS_OK;
  interp_range *other = arena_array(&c->ranges, interp_range, n + 1);
  interp_index_ranges(c->q, &c->ranges, other);
  for (uint32_t i = 0; i < n; i++)
    if (c->range[i].unproven && !other[i].unproven) c->range[i] = other[i];
  return TESS_OK;
}

tess_status interp_equal(mem_heap *heap, const ir_program *p,
                         const ir_program *q, uint64_t seed,
                         const interp_options *o, interp_error *e, int *which) {
  pair c = {.heap = heap, .p = p, .q = q, .o = o, .e = e, .seed = seed};
  interp_expect_init(&c.x, heap);
  arena_init(&c.ranges, heap);
  *e = (interp_error){.element = -1};
  tess_status st = mem_protect(heap, find_ranges, &c);
  if (st)
    *e = (interp_error){
        .code = st, .fault = INTERP_LIMIT, .element = -1, .what = "memory"};
  if (!st) st = compare_outputs(&c, 0);
  if (!st) st = compare_few(&c);
  if (!st) st = compare_extremes(&c);
  if (!st) st = compare_ends(&c);
  if (!st) st = compare_peaks(&c);
  if (which) *which = c.which;
  interp_expect_free(&c.x);
  interp_free(&c.in);
  arena_free(&c.ranges);
  return st;
}

static bool any_unproven(const pair *c) {
  for (uint32_t i = 0; i < ir_entry(c->p)->params.n; i++)
    if (c->range[i].unproven) return true;
  return false;
}

tess_status interp_drawable(mem_heap *heap, const ir_program *p,
                            const interp_options *o, interp_error *e) {
  pair c = {.heap = heap, .p = p, .q = p, .o = o, .e = e, .seed = 1};
  interp_expect_init(&c.x, heap);
  arena_init(&c.ranges, heap);
  *e = (interp_error){.element = -1};
  tess_status st = mem_protect(heap, find_ranges, &c);
  if (!st && any_unproven(&c) &&
      interp_expect_run(&c.x, &c.in, p, c.seed, o, e))
    st = blame_inputs(&c) == TESS_UNSUPPORTED ? TESS_UNSUPPORTED : TESS_OK;
  interp_expect_free(&c.x);
  interp_free(&c.in);
  arena_free(&c.ranges);
  return st;
}
