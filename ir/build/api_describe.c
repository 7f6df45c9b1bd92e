/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera): describing computations.  Each function runs
 * its counterpart of describe.h in the frame of a public call. */
#include "ir/object.h"
#include "ir/query.h"

/* The arguments of any of these functions. */
typedef struct args {
  ir_builder *b;
  const char *s;
  tess_dtype t;
  uint32_t n, m;
  uint32_t x, y, z; /* handles */
  int64_t i, j;
  double f;
  const void *p[5];
  void *out, *out2;
  uint32_t nhandles; /* number of handles in `out` */
  ir_role role;
  ir_scope scope;
  bool has_name, has_out;
} args;

/* A name and a place for the results, both required: a handle, n of them, or
 * something else. */
#define NAME(text) .s = (text), .has_name = true
#define INTO(place) .out = (place), .has_out = true
#define OUT(place) INTO(place), .nhandles = 1
#define OUTS(place, count) \
  .out = (place), .has_out = (count) > 0, .nhandles = (count)

tess_status builder_null(tess_builder *b) {
  if (!b) return TESS_INVALID;
  return ctx_fail(b->c, TESS_INVALID, "NULL was given where a value is needed");
}

/* Sets the results of a failed call to 0.  Only then, since the place may also
 * be one of its arguments; and only for lists of a valid length. */
static tess_status give_none(uint32_t *out, uint32_t n, tess_status s) {
  bool known = s != TESS_OK && out && n <= DESCRIBE_MAX_DIM;
  for (uint32_t i = 0; known && i < n; i++) out[i] = 0;
  return s;
}

/* Is a required list missing? p[0] and p[1] are lists of n and m. */
static bool lacks_argument(const args *a) {
  return (a->has_name && !a->s) || (a->has_out && !a->out) ||
         (a->n && !a->p[0]) || (a->m && !a->p[1]);
}

#define run(...) run_in(__func__, __VA_ARGS__)
static tess_status run_in(const char *call, tess_builder *b,
                          tess_status (*fn)(void *), args a) {
  tess_status s = !b || lacks_argument(&a) ? builder_null(b) : TESS_OK;
  if (s == TESS_OK) {
    a.b = &b->b;
    s = ctx_run_in(call, b->c, fn, &a);
  }
  return give_none(a.out, a.nhandles, s);
}

/* Defines the body of a call: `a` are its arguments. */
#define DO(name, ...)                      \
  static tess_status do_##name(void *ud) { \
    args *a = ud;                          \
    return __VA_ARGS__;                    \
  }

/* ---- builders ----------------------------------------------------------- */

static tess_status start_builder(void *ud) {
  tess_builder *b = ud;
  describe_init(&b->b, &b->c->heap, &b->c->err);
  return TESS_OK;
}

tess_status tess_builder_new(tess_context *c, tess_builder **out) {
  if (out) *out = NULL;
  if (!c || !out) return TESS_INVALID;
  tess_builder *b = mem_try_resize(&c->heap, NULL, 0, sizeof *b);
  if (!b) return ctx_ran_out(c, mem_refusal(&c->heap), "a builder");
  *b = (tess_builder){.c = c};
  tess_status s = ctx_run(c, start_builder, b);
  if (s == TESS_OK)
    *out = b;
  else
    tess_builder_free(b);
  return s;
}

void tess_builder_free(tess_builder *b) {
  if (!b) return;
  describe_free(&b->b);
  mem_free(&b->c->heap, b, sizeof *b);
}

/* ---- buffers ------------------------------------------------------------ */

static ir_role private_role(tess_role r) {
  switch (r) {
  case TESS_ROLE_OUTPUT: return IR_ROLE_OUTPUT;
  case TESS_ROLE_CONSTANT: return IR_ROLE_CONSTANT;
  case TESS_ROLE_LAYOUT_FREE: return IR_ROLE_LAYOUT_FREE;
  default: return IR_ROLE_INPUT;
  }
}

DO(buffer,
   describe_buffer(a->b, a->s, a->t, a->n, a->p[0], a->scope, a->role, a->out))

static tess_status check_placeholder(tess_builder *b, const char *name,
                                     tess_role role) {
  if (!b || !name) return builder_null(b);
  if (role == TESS_ROLE_INPUT || role == TESS_ROLE_LAYOUT_FREE) return TESS_OK;
  return ctx_fail(b->c, TESS_INVALID,
                  "placeholder %s: its role must be input or layout_free",
                  name);
}

tess_status tess_placeholder(tess_builder *b, const char *name, tess_dtype t,
                             uint32_t ndim, const tess_expr *shape,
                             tess_role role, tess_buffer *out) {
  tess_status s = check_placeholder(b, name, role);
  if (s != TESS_OK) return give_none(out, 1, s);
  return run(b, do_buffer,
             (args){NAME(name), .t = t, .n = ndim, .p = {shape},
                    .role = private_role(role), OUT(out)});
}

static tess_status check_buffer_args(tess_builder *b, const char *name,
                                     const char *scope, tess_role role,
                                     int is_parameter, ir_scope *found) {
  if (!b || !name) return builder_null(b);
  if (!ir_scope_parse(scope ? scope : "global", found))
    return ctx_fail(b->c, TESS_INVALID,
                    "buffer %s: there is no storage "
                    "scope '%s'",
                    name, scope);
  if (is_parameter && role != TESS_ROLE_INPUT && role != TESS_ROLE_OUTPUT &&
      role != TESS_ROLE_LAYOUT_FREE)
    return ctx_fail(b->c, TESS_INVALID,
                    "buffer %s: the role of a parameter must be input, output "
                    "or layout_free",
                    name);
  return TESS_OK;
}

tess_status tess_buffer_new(tess_builder *b, const char *name, tess_dtype t,
                            uint32_t ndim, const tess_expr *shape,
                            const char *scope, tess_role role, int is_parameter,
                            tess_buffer *out) {
  ir_scope found;
  tess_status s = check_buffer_args(b, name, scope, role, is_parameter, &found);
  if (s != TESS_OK) return give_none(out, 1, s);
  return run(b, do_buffer,
             (args){NAME(name), .t = t, .n = ndim, .p = {shape}, .scope = found,
                    OUT(out),
                    .role = is_parameter ? private_role(role) : IR_ROLE_LOCAL});
}

DO(holds, describe_holds(a->b, a->x, (uint8_t)a->y, a->i, a->j))
tess_status tess_buffer_holds(tess_builder *b, tess_buffer buf,
                              const tess_contents *contents) {
  tess_contents c = {.struct_size = sizeof c};
  if (!b || !contents) return builder_null(b);
  tess_status s = ctx_take(b->c, tess_contents, contents, &c);
  if (s != TESS_OK) return s;
  if (c.offsets && (!c.has_range || c.least))
    return ctx_fail(b->c, TESS_INVALID,
                    "offsets need a range that begins at 0");
  uint32_t holds = (c.has_range ? IR_HOLDS_RANGE : 0) |
                   (c.sorted || c.offsets ? IR_HOLDS_SORTED : 0) |
                   (c.unique ? IR_HOLDS_UNIQUE : 0) |
                   (c.offsets ? IR_HOLDS_ENDS : 0);
  return run(b, do_holds,
             (args){.x = buf, .y = holds, .i = c.least, .j = c.below});
}

DO(constant,
   describe_constant(a->b, a->s, a->t, a->n, a->p[0], a->p[1], a->out))
tess_status tess_constant(tess_builder *b, const char *name, tess_dtype t,
                          uint32_t ndim, const int64_t *shape, const void *data,
                          tess_buffer *out) {
  if (!data) return give_none(out, 1, builder_null(b));
  return run(
      b, do_constant,
      (args){NAME(name), .t = t, .n = ndim, .p = {shape, data}, OUT(out)});
}

static const ir_buf_rec *buffer_of(tess_builder *b, tess_buffer buf) {
  return describe_buf_ok(&b->b, buf) ? &b->b.p.buf.v[buf] : NULL;
}

typedef struct info_work {
  tess_builder *b;
  tess_buffer buf;
  uint32_t n; /* number of extents */
  tess_expr *shape;
} info_work;

static tess_status shape_handles(void *ud) {
  info_work *w = ud;
  ir_program *p = &w->b->b.p;
  for (uint32_t d = 0; d < w->n; d++) {
    tess_status s =
        describe_give(&w->b->b, ir_dim(p, w->buf, d), 1, &w->shape[d]);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

tess_status tess_buffer_info(tess_builder *b, tess_buffer buf,
                             const char **name, tess_dtype *t, uint32_t max,
                             tess_expr *shape, uint32_t *ndim) {
  if (!b || !name || !t || !ndim || (max && !shape)) return builder_null(b);
  const ir_buf_rec *r = buffer_of(b, buf);
  if (!r) return ctx_fail(b->c, TESS_INVALID, "there is no such buffer");
  uint32_t n = r->shape.n < max ? r->shape.n : max;
  tess_status s = ctx_run(b->c, shape_handles, &(info_work){b, buf, n, shape});
  if (s != TESS_OK) return give_none(shape, n, s);
  r = buffer_of(b, buf); /* making handles may have moved it */
  *name = ir_text(&b->b.p, r->name);
  *t = r->dtype;
  *ndim = r->shape.n;
  return TESS_OK;
}

/* ---- expressions -------------------------------------------------------- */

DO(int, describe_int(a->b, a->t, a->i, a->out))
tess_status tess_int(tess_builder *b, tess_dtype t, int64_t v, tess_expr *out) {
  return run(b, do_int, (args){.t = t, .i = v, OUT(out)});
}

DO(real, describe_real(a->b, a->t, a->f, a->out))
tess_status tess_real(tess_builder *b, tess_dtype t, double v, tess_expr *out) {
  return run(b, do_real, (args){.t = t, .f = v, OUT(out)});
}

DO(literal, describe_literal(a->b, a->f, a->i != 0, a->out))
tess_status tess_literal(tess_builder *b, double v, int is_int,
                         tess_expr *out) {
  return run(b, do_literal, (args){.f = v, .i = is_int, OUT(out)});
}

DO(binary, describe_binary(a->b, a->s, a->x, a->y, a->out))
tess_status tess_binary(tess_builder *b, const char *op, tess_expr x,
                        tess_expr y, tess_expr *out) {
  return run(b, do_binary, (args){NAME(op), .x = x, .y = y, OUT(out)});
}

DO(call, describe_call(a->b, a->s, a->n, a->p[0], a->out))
tess_status tess_call(tess_builder *b, const char *fn, uint32_t n,
                      const tess_expr *x, tess_expr *out) {
  return run(b, do_call, (args){NAME(fn), .n = n, .p = {x}, OUT(out)});
}

DO(extern, describe_extern(a->b, a->s, a->t, a->n, a->p[0], a->out))
tess_status tess_call_extern(tess_builder *b, const char *name, tess_dtype t,
                             uint32_t n, const tess_expr *x, tess_expr *out) {
  return run(b, do_extern,
             (args){NAME(name), .t = t, .n = n, .p = {x}, OUT(out)});
}

DO(select, describe_select(a->b, a->x, a->y, a->z, a->out))
tess_status tess_select(tess_builder *b, tess_expr cond, tess_expr yes,
                        tess_expr no, tess_expr *out) {
  return run(b, do_select, (args){.x = cond, .y = yes, .z = no, OUT(out)});
}

DO(cast, describe_cast(a->b, a->t, a->x, a->out))
tess_status tess_cast(tess_builder *b, tess_dtype t, tess_expr x,
                      tess_expr *out) {
  return run(b, do_cast, (args){.t = t, .x = x, OUT(out)});
}

DO(bit_cast, describe_bit_cast(a->b, a->t, a->x, a->out))
tess_status tess_bit_cast(tess_builder *b, tess_dtype t, tess_expr x,
                          tess_expr *out) {
  return run(b, do_bit_cast, (args){.t = t, .x = x, OUT(out)});
}

DO(load, describe_load(a->b, a->x, a->n, a->p[0], a->out))
tess_status tess_load(tess_builder *b, tess_buffer buf, uint32_t n,
                      const tess_expr *idx, tess_expr *out) {
  return run(b, do_load, (args){.x = buf, .n = n, .p = {idx}, OUT(out)});
}

DO(var, describe_var(a->b, a->x, a->out))
tess_status tess_var_ref(tess_builder *b, tess_var v, tess_expr *out) {
  return run(b, do_var, (args){.x = v, OUT(out)});
}

DO(dtype, describe_dtype(a->b, a->x, a->out))
tess_status tess_expr_dtype(tess_builder *b, tess_expr e, tess_dtype *out) {
  return run(b, do_dtype, (args){.x = e, INTO(out)});
}

DO(text, describe_text(a->b, a->x, a->out))

typedef struct text_work {
  tess_context *c;
  strbuf *b;
  char **out;
} text_work;
static tess_status give_text(void *ud) {
  text_work *w = ud;
  *w->out = ctx_text_of(w->c, w->b);
  return TESS_OK;
}

tess_status tess_expr_text(tess_builder *b, tess_expr e, char **out) {
  strbuf text;
  if (out) *out = NULL;
  if (!b || !out) return builder_null(b);
  str_init(&text, &b->c->heap);
  tess_status s = run(b, do_text, (args){.x = e, .out = &text});
  if (s == TESS_OK)
    s = ctx_run(b->c, give_text, &(text_work){b->c, &text, out});
  str_free(&text);
  return s;
}

/* ---- reductions --------------------------------------------------------- */

DO(axis, describe_axis_new(a->b, a->s, a->x, a->y, a->out))
tess_status tess_reduce_axis(tess_builder *b, const char *name, tess_expr lo,
                             tess_expr extent, tess_var *out) {
  return run(b, do_axis, (args){NAME(name), .x = lo, .y = extent, OUT(out)});
}

DO(size, describe_size(a->b, a->s, a->out))
tess_status tess_size_var(tess_builder *b, const char *name, tess_var *out) {
  return run(b, do_size, (args){NAME(name), OUT(out)});
}

static tess_status do_reduce(void *ud) {
  args *a = ud;
  uint32_t reducer;
  if (a->n != 1)
    return err_set(a->b->err, TESS_INVALID,
                   "the reducer %s takes one "
                   "source, not %u",
                   a->s, a->n);
  tess_status s =
      describe_builtin(a->b, a->s, *(const tess_expr *)a->p[0], &reducer);
  if (s != TESS_OK) return s;
  return describe_reduce(a->b, reducer, 1, a->p[0], a->m, a->p[1], a->out);
}

tess_status tess_reduce(tess_builder *b, const char *reducer, uint32_t n,
                        const tess_expr *sources, uint32_t naxes,
                        const tess_var *axes, tess_expr *out) {
  return run(b, do_reduce,
             (args){NAME(reducer), .n = n, .m = naxes, .p = {sources, axes},
                    OUT(out)});
}

/* The formal parameters of a reducer over n values, typed like the sources. */
static tess_status do_begin_reducer(void *ud) {
  args *a = ud;
  const tess_expr *sources = a->p[0];
  tess_dtype t[DESCRIBE_MAX_OUT];
  if (!a->n || a->n > DESCRIBE_MAX_OUT)
    return err_set(a->b->err, TESS_INVALID, "a reducer has 1 to %d values",
                   DESCRIBE_MAX_OUT);
  for (uint32_t i = 0; i < a->n; i++) {
    tess_status s = describe_dtype(a->b, sources[i], &t[i]);
    if (s != TESS_OK) return s;
  }
  return describe_reducer_begin(a->b, a->s, a->n, t, a->out, a->out2);
}

static tess_status do_end_reducer(void *ud) {
  args *a = ud;
  return describe_reducer_end(a->b, a->s, a->n, a->p[0], a->p[1], a->p[2],
                              a->p[3], a->out);
}

DO(reduce_with,
   describe_reduce(a->b, a->x, a->n, a->p[0], a->m, a->p[1], a->out))

/* The callback runs outside of any frame: it makes public calls itself. */
static tess_status make_reducer(tess_builder *b, const tess_reducer_def *r,
                                uint32_t n, const tess_expr *sources,
                                uint32_t *reducer) {
  tess_expr lhs[DESCRIBE_MAX_OUT], rhs[DESCRIBE_MAX_OUT];
  tess_expr combined[DESCRIBE_MAX_OUT];
  if (n != r->n)
    return ctx_fail(b->c, TESS_INVALID,
                    "the reducer %s takes %u sources, "
                    "not %u",
                    r->name, r->n, n);
  tess_status s = run(
      b, do_begin_reducer,
      (args){.s = r->name, .n = n, .p = {sources}, .out = lhs, .out2 = rhs});
  if (s != TESS_OK) return s;
  if (r->combine(r->ud, b, lhs, rhs, combined))
    return ctx_fail(b->c, TESS_CALLBACK,
                    "the combine function of reducer "
                    "%s failed",
                    r->name);
  return run(b, do_end_reducer,
             (args){.s = r->name,
                    .n = n,
                    .p = {lhs, rhs, combined, r->identity},
                    .out = reducer});
}

tess_status tess_reduce_with(tess_builder *b, const tess_reducer_def *r,
                             uint32_t n, const tess_expr *sources,
                             uint32_t naxes, const tess_var *axes,
                             tess_expr *out) {
  uint32_t reducer = 0;
  if (!b || !r || !out) return give_none(out, 1, builder_null(b));
  tess_reducer_def def = TESS_INIT(tess_reducer_def);
  tess_status s = ctx_take(b->c, tess_reducer_def, r, &def);
  if (s == TESS_OK && (!def.name || !def.combine || !def.identity))
    s = builder_null(b);
  if (s == TESS_OK) s = make_reducer(b, &def, n, sources, &reducer);
  if (s != TESS_OK) return give_none(out, 1, s);
  return run(
      b, do_reduce_with,
      (args){.x = reducer, .n = n, .m = naxes, .p = {sources, axes}, OUT(out)});
}

/* ---- computes ----------------------------------------------------------- */

DO(compute_begin,
   describe_compute_begin(a->b, a->s, a->n, a->p[0], a->p[1], a->out))
tess_status tess_compute_begin(tess_builder *b, const char *name, uint32_t ndim,
                               const tess_expr *shape,
                               const char *const *axis_names, tess_var *vars) {
  return run(b, do_compute_begin,
             (args){NAME(name), .n = ndim, .p = {shape, axis_names},
                    OUTS(vars, ndim)});
}

DO(compute_end, describe_compute_end(a->b, a->n, a->p[0], a->out))
tess_status tess_compute_end(tess_builder *b, uint32_t n, const tess_expr *body,
                             tess_buffer *out) {
  return run(b, do_compute_end,
             (args){.n = n, .p = {body}, INTO(out), .nhandles = n});
}

uint32_t tess_builder_depth(const tess_builder *b) {
  return b ? describe_depth(&b->b) : 0;
}

DO(cancel, (describe_cancel(a->b, a->x), TESS_OK))
tess_status tess_builder_cancel(tess_builder *b, uint32_t depth) {
  return run(b, do_cancel, (args){.x = depth});
}

/* ---- statements --------------------------------------------------------- */

DO(loop_begin, describe_loop_begin(a->b, a->s, a->x, a->y, a->out))
tess_status tess_loop_begin(tess_builder *b, const char *name, tess_expr lo,
                            tess_expr extent, tess_var *out) {
  return run(b, do_loop_begin,
             (args){NAME(name), .x = lo, .y = extent, OUT(out)});
}

static tess_status do_block_begin(void *ud) {
  args *a = ud;
  const tess_iter_kind *kinds = a->p[1];
  ir_iter_kind k[DESCRIBE_MAX_DIM];
  const tess_expr *const *ranges = a->p[2];
  for (uint32_t i = 0; a->n <= DESCRIBE_MAX_DIM && i < a->n; i++) {
    if (kinds[i] != TESS_SPATIAL && kinds[i] != TESS_REDUCE &&
        kinds[i] != TESS_OPAQUE)
      return err_set(a->b->err, TESS_INVALID,
                     "variable %u of block '%s' is of kind %d, and there is "
                     "none such",
                     i + 1, a->s, (int)kinds[i]);
    k[i] = kinds[i] == TESS_SPATIAL  ? IR_SPATIAL
           : kinds[i] == TESS_REDUCE ? IR_REDUCE
                                     : IR_OPAQUE;
  }
  return describe_block_begin(a->b, a->s, a->n, a->p[0], k, ranges[0],
                              ranges[1], ranges[2], a->x, a->out);
}

tess_status tess_block_begin(tess_builder *b, const char *name, uint32_t n,
                             const char *const *iter_names,
                             const tess_iter_kind *kinds, const tess_expr *lo,
                             const tess_expr *extent, const tess_expr *bind,
                             tess_expr predicate, tess_var *vars) {
  const tess_expr *ranges[3] = {lo, extent, bind};
  bool missing = n && (!iter_names || !kinds || !lo || !extent || !bind);
  for (uint32_t i = 0; !missing && n <= DESCRIBE_MAX_DIM && i < n; i++)
    missing = !iter_names[i];
  if (missing) return give_none(vars, n, builder_null(b));
  return run(b, do_block_begin,
             (args){NAME(name), .n = n, .x = predicate,
                    .p = {iter_names, kinds, ranges}, OUTS(vars, n)});
}

DO(init_begin, describe_init_begin(a->b))
tess_status tess_init_begin(tess_builder *b) {
  return run(b, do_init_begin, (args){0});
}
DO(if_begin, describe_if_begin(a->b, a->x))
tess_status tess_if_begin(tess_builder *b, tess_expr cond) {
  return run(b, do_if_begin, (args){.x = cond});
}
DO(else_begin, describe_else_begin(a->b))
tess_status tess_else_begin(tess_builder *b) {
  return run(b, do_else_begin, (args){0});
}
DO(let_begin, describe_let_begin(a->b, a->s, a->x, a->out))
tess_status tess_let_begin(tess_builder *b, const char *name, tess_expr value,
                           tess_var *out) {
  return run(b, do_let_begin, (args){NAME(name), .x = value, OUT(out)});
}
DO(end, describe_end(a->b))
tess_status tess_end(tess_builder *b) { return run(b, do_end, (args){0}); }

DO(store, describe_store(a->b, a->x, a->n, a->p[0], a->y))
tess_status tess_store(tess_builder *b, tess_buffer buf, uint32_t n,
                       const tess_expr *idx, tess_expr value) {
  return run(b, do_store, (args){.x = buf, .n = n, .p = {idx}, .y = value});
}
DO(evaluate, describe_evaluate(a->b, a->x))
tess_status tess_evaluate(tess_builder *b, tess_expr e) {
  return run(b, do_evaluate, (args){.x = e});
}

DO(section, (a->b->section = a->x, TESS_OK))
tess_status tess_section(tess_builder *b, uint32_t n) {
  return run(b, do_section, (args){.x = n});
}

typedef struct trim_work {
  ir_builder *b, to;
  describe_kept k;
} trim_work;

static tess_status do_trim(void *ud) {
  trim_work *w = ud;
  describe_init(&w->to, w->b->heap, w->b->err);
  return describe_trim(w->b, &w->to, &w->k);
}

tess_status tess_builder_trim(tess_builder *b, const tess_kept *kept) {
  tess_kept k = TESS_INIT(tess_kept);
  if (!b || !kept) return builder_null(b);
  tess_status s = ctx_take(b->c, tess_kept, kept, &k);
  if (s != TESS_OK) return s;
  if ((k.nexprs && !k.exprs) || (k.nbuffers && !k.buffers) ||
      (k.nvars && !k.vars) || (k.nsections && !k.sections))
    return builder_null(b);
  trim_work w = {.b = &b->b,
                 .k = {k.nexprs, k.nbuffers, k.nvars, k.nsections, k.exprs,
                       k.buffers, k.vars, k.sections}};
  s = ctx_run(b->c, do_trim, &w);
  if (s == TESS_OK) {
    ir_builder old = b->b;
    b->b = w.to;
    w.to = old;
  } else {
    vec_clear(&w.to.p.constant); /* not held yet */
  }
  describe_free(&w.to);
  return s;
}
