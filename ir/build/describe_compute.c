/* SPDX-License-Identifier: Apache-2.0
 * Program builder: computes.  A compute becomes a stage: one loop per dimension
 * and reduction axis, from 0, around a block named after it whose iters vi, vj,
 * ... are bound to the loops i, j, ... */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

/* ---- beginning a compute ------------------------------------------------ */

static const char *axis_name(const char *const *names, uint32_t d) {
  static const char *const usual[DESCRIBE_MAX_DIM] = {
      "i",  "j",  "k",   "l",   "m",   "n",   "i6",  "i7",
      "i8", "i9", "i10", "i11", "i12", "i13", "i14", "i15"};
  return names && names[d] && *names[d] ? names[d] : usual[d];
}

static tess_status check_dimension(ir_builder *b, const char *name, uint32_t d,
                                   describe_expr x, ir_expr *out) {
  const char *what =
      arena_printf(&b->scratch, "dimension %u of compute '%s'", d, name);
  tess_status s = describe_extent(b, x, 1, what, out);
  describe_vars sizes = {.sizes = true};
  return s ? s : describe_check_vars(b, &sizes, *out, what);
}

tess_status describe_compute_begin(ir_builder *b, const char *name,
                                   uint32_t ndim, const describe_expr *shape,
                                   const char *const *axis_names,
                                   ir_var *vars) {
  describe_compute c = {.n = ndim};
  tess_status s = describe_name_ok(b, name, "a compute");
  if (!s && ndim > DESCRIBE_MAX_DIM)
    s = err_set(b->err, TESS_LIMIT,
                "compute '%s' has %u dimensions; at most %d "
                "are possible",
                name, ndim, DESCRIBE_MAX_DIM);
  if (!s && b->open.n)
    s = err_set(b->err, TESS_INVALID,
                "compute '%s' is described inside of %s, which is open; it is "
                "a stage of its own: describe it before or after that",
                name, describe_spell_open(b));
  for (uint32_t d = 0; d < ndim && !s; d++) {
    s = check_dimension(b, name, d, shape[d], &c.extent[d]);
    if (!s) s = describe_name_ok(b, axis_name(axis_names, d), "an axis");
  }
  if (!s)
    s = describe_elements_ok(b, ndim, c.extent,
                             arena_printf(&b->scratch, "compute '%s'", name));
  arena_reset(&b->scratch);
  if (s) return s;
  c.name = ir_name(&b->p, name);
  for (uint32_t d = 0; d < ndim; d++) {
    int64_t min, max;
    ir_domain_bounds(&b->p, ir_index(&b->p, 0), c.extent[d], &min, &max);
    c.var[d] =
        ir_var_new(&b->p, IR_VAR_ITER, ir_name(&b->p, axis_name(axis_names, d)),
                   IR_INDEX, min, max);
  }
  vec_push(b->heap, &b->compute, c);
  for (uint32_t d = 0; d < ndim; d++) vars[d] = c.var[d];
  return TESS_OK;
}

/* ---- ending it ---------------------------------------------------------- */

/* The nest of a compute under construction. */
typedef struct nest {
  ir_builder *b;
  describe_compute c;
  const describe_reduction *r; /* NULL: none */
  uint32_t nout;
  ir_expr body[DESCRIBE_MAX_OUT];
  ir_buf out[DESCRIBE_MAX_OUT];
  uint32_t niter;
  ir_iter iter[2 * DESCRIBE_MAX_DIM];
  ir_stmt top, last;   /* the loops so far */
  ir_subst over_loops; /* iters to their bindings */
  ir_subst inside;     /* reduction axes to iters */
} nest;

/* Checks that the bodies are the results of one reduction, in order. */
static tess_status check_results(ir_builder *b, const char *name, uint32_t n,
                                 const describe_expr *body) {
  const describe_value *first = &b->value.v[body[0]];
  const describe_reduction *r = &b->reduction.v[first->reduction];
  uint32_t want = b->p.reducer.v[r->reducer].n;
  bool ok = n == want;
  for (uint32_t i = 0; i < n && ok; i++) {
    const describe_value *v = &b->value.v[body[i]];
    ok = v->kind == DESCRIBE_REDUCTION && v->output == i &&
         v->reduction == first->reduction;
  }
  if (ok) return TESS_OK;
  return err_set(b->err, TESS_INVALID,
                 "the body of compute '%s' must be all %u "
                 "results of one reduction, in order",
                 name, want);
}

/* A literal body is a float unless its type is stated. */
static tess_status plain_body(ir_builder *b, describe_expr x, const char *what,
                              ir_expr *out) {
  const describe_value *v = &b->value.v[x];
  bool literal = v->kind != DESCRIBE_EXPR && v->kind != DESCRIBE_REDUCTION;
  tess_dtype f32 = {TESS_DTYPE_FLOAT, 32, 1};
  return literal ? describe_typed(b, x, f32, what, out)
                 : describe_plain(b, x, what, out);
}

static tess_status check_body(nest *m, const char *name, uint32_t n,
                              const describe_expr *body) {
  ir_builder *b = m->b;
  const char *what =
      arena_printf(&b->scratch, "the body of compute '%s'", name);
  for (uint32_t i = 0; i < n; i++)
    if (!describe_get(b, body[i], what)) return TESS_INVALID;
  describe_vars k = {.c = &m->c, .sizes = true};
  if (b->value.v[body[0]].kind != DESCRIBE_REDUCTION) {
    if (n != 1)
      return err_set(b->err, TESS_INVALID,
                     "compute '%s' has %u bodies; several "
                     "are possible only for a reduction "
                     "with as many results",
                     name, n);
    tess_status s = plain_body(b, body[0], what, &m->body[0]);
    return s ? s : describe_check_vars(b, &k, m->body[0], what);
  }
  tess_status s = check_results(b, name, n, body);
  if (s) return s;
  m->r = &b->reduction.v[b->value.v[body[0]].reduction];
  k.runs[0] = m->r->axes;
  for (uint32_t i = 0; i < n && !s; i++) {
    m->body[i] = b->p.arg.v[m->r->sources.at + i];
    s = describe_check_vars(b, &k, m->body[i], what);
  }
  for (uint32_t i = 0; i < m->r->axes.n && !s; i++) {
    const describe_axis *a = describe_axis_of(b, b->p.arg.v[m->r->axes.at + i]);
    const char *domain = arena_printf(&b->scratch, "the domain of axis '%s'",
                                      describe_spell(b, a->var));
    s = describe_check_vars(b, &k, a->lo, domain);
    if (!s) s = describe_check_vars(b, &k, a->extent, domain);
  }
  return s;
}

/* Adds a loop from 0 around the block; returns its variable. */
static ir_var add_loop(nest *m, ir_str name, ir_expr extent) {
  ir_program *p = &m->b->p;
  int64_t min, max;
  ir_expr zero = ir_index(p, 0);
  ir_domain_bounds(p, zero, extent, &min, &max);
  ir_var v = ir_var_new(p, IR_VAR_LOOP, name, IR_INDEX, min, max);
  ir_stmt s = ir_loop_new(p, v, zero, extent, IR_SERIAL);
  if (m->last)
    ir_append(p, m->last, s);
  else
    m->top = s;
  m->last = s;
  return v;
}

static ir_str prefixed(ir_builder *b, ir_str name) {
  return ir_name(&b->p, arena_printf(&b->scratch, "v%s", ir_text(&b->p, name)));
}

static void add_dimension(nest *m, uint32_t d) {
  ir_program *p = &m->b->p;
  ir_var v = m->c.var[d];
  ir_str name = p->var.v[v].name;
  ir_expr bind = ir_ref(p, add_loop(m, name, m->c.extent[d]));
  ir_str block_name = prefixed(m->b, name);
  p->var.v[v].name = block_name;
  ir_subst_var(&m->over_loops, v, bind);
  m->iter[m->niter++] =
      (ir_iter){v, IR_SPATIAL, ir_index(p, 0), m->c.extent[d], bind};
}

/* An axis may be used by several computes, so each makes its own variable. */
static void add_axis(nest *m, ir_var axis) {
  ir_program *p = &m->b->p;
  describe_axis a = *describe_axis_of(m->b, axis);
  const ir_var_rec r = p->var.v[axis];
  ir_expr lo = ir_subst_expr(&m->over_loops, a.lo);
  ir_expr extent = ir_subst_expr(&m->over_loops, a.extent);
  ir_expr bind = ir_add(p, ir_ref(p, add_loop(m, r.name, extent)), lo);
  ir_var v =
      ir_var_new(p, IR_VAR_ITER, prefixed(m->b, r.name), IR_INDEX, r.lo, r.hi);
  ir_subst_var(&m->over_loops, axis, bind);
  ir_subst_restart(&m->over_loops);
  ir_subst_var(&m->inside, axis, ir_ref(p, v));
  m->iter[m->niter++] = (ir_iter){v, IR_REDUCE, lo, extent, bind};
}

static void make_buffers(nest *m, const char *name) {
  ir_program *p = &m->b->p;
  for (uint32_t i = 0; i < m->nout; i++) {
    const char *text =
        m->nout == 1 ? name : arena_printf(&m->b->scratch, "%s_v%u", name, i);
    m->out[i] = ir_buf_new(p, ir_name(p, text), ir_at(p, m->body[i])->dtype,
                           m->c.n, m->c.extent, IR_SCOPE_GLOBAL, IR_ROLE_LOCAL);
  }
}

/* The iters as indices of the block's outputs. */
static void iter_refs(const nest *m, ir_expr *idx) {
  for (uint32_t d = 0; d < m->c.n; d++) idx[d] = ir_ref(&m->b->p, m->c.var[d]);
}

static ir_stmt store_outputs(nest *m, uint32_t i, ir_expr value) {
  ir_expr idx[DESCRIBE_MAX_DIM];
  iter_refs(m, idx);
  return ir_store_new(&m->b->p, m->out[i], m->c.n, idx, value);
}

/* Several results are all computed before any is stored, so that the update
 * reads everything before it writes. */
static void add_update(nest *m, ir_stmt block, const ir_expr *value) {
  ir_program *p = &m->b->p;
  ir_stmt at = block;
  ir_expr stored[DESCRIBE_MAX_OUT];
  for (uint32_t i = 0; i < m->nout; i++) {
    stored[i] = value[i];
    if (m->nout == 1) continue;
    const ir_node *n = ir_at(p, value[i]);
    ir_str name = prefixed(m->b, p->buf.v[m->out[i]].name);
    ir_var v = ir_var_new(p, IR_VAR_LET, name, n->dtype, n->lo, n->hi);
    ir_stmt let = ir_let_new(p, v, value[i]);
    ir_append(p, at, let);
    at = let;
    stored[i] = ir_ref(p, v);
  }
  for (uint32_t i = 0; i < m->nout; i++)
    ir_append(p, at, store_outputs(m, i, stored[i]));
}

static void add_reduction(nest *m, ir_stmt block) {
  ir_program *p = &m->b->p;
  ir_expr idx[DESCRIBE_MAX_DIM], lhs[DESCRIBE_MAX_OUT], rhs[DESCRIBE_MAX_OUT];
  ir_expr value[DESCRIBE_MAX_OUT];
  uint32_t reducer = m->r->reducer;
  ir_blk(p, block)->reducer = reducer;
  iter_refs(m, idx);
  for (uint32_t i = 0; i < m->nout; i++) {
    ir_expr identity = p->arg.v[p->reducer.v[reducer].identity.at + i];
    ir_append_alt(p, block, store_outputs(m, i, identity));
    lhs[i] = ir_load(p, m->out[i], m->c.n, idx);
    rhs[i] = ir_subst_expr(&m->inside, m->body[i]);
  }
  ir_reducer_apply(p, &m->b->scratch, reducer, lhs, rhs, value);
  add_update(m, block, value);
}

static void build_nest(nest *m, const char *name) {
  ir_builder *b = m->b;
  ir_program *p = &b->p;
  ir_subst_init(&m->over_loops, p, &b->scratch);
  ir_subst_init(&m->inside, p, &b->scratch);
  for (uint32_t d = 0; d < m->c.n; d++) add_dimension(m, d);
  ir_span axes = m->r ? m->r->axes : (ir_span){0, 0};
  for (uint32_t i = 0; i < axes.n; i++) add_axis(m, p->arg.v[axes.at + i]);
  make_buffers(m, name);
  ir_stmt block = ir_block_new(p, m->c.name);
  if (m->last)
    ir_append(p, m->last, block);
  else
    m->top = block;
  ir_block_set_iters(p, block, m->niter, m->iter);
  if (m->r)
    add_reduction(m, block);
  else
    ir_append(p, block, store_outputs(m, 0, m->body[0]));
  ir_block_find_regions(p, &b->scratch, block);
}

tess_status describe_compute_end(ir_builder *b, uint32_t n,
                                 const describe_expr *body, ir_buf *out) {
  if (!b->compute.n) return err_set(b->err, TESS_INVALID, "no compute is open");
  nest m = {.b = b, .c = b->compute.v[b->compute.n - 1], .nout = n};
  const char *name = arena_printf(&b->scratch, "%s", ir_text(&b->p, m.c.name));
  tess_status s = n && n <= DESCRIBE_MAX_OUT
                      ? check_body(&m, name, n, body)
                      : err_set(b->err, TESS_INVALID,
                                "compute '%s' has %u bodies; "
                                "1 to %d are possible",
                                name, n, DESCRIBE_MAX_OUT);
  if (!s) {
    vec_reserve(b->heap, &b->stage, 1);
    build_nest(&m, name);
    describe_add_stage(b, m.top);
    (void)vec_pop(&b->compute);
    memcpy(out, m.out, n * sizeof *out);
  }
  arena_reset(&b->scratch);
  return s;
}
