/* SPDX-License-Identifier: Apache-2.0
 * Program builder: reduction axes, reducers, and reductions, whose results are
 * the body of a later compute. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"
#include <math.h>
#include <stdio.h>

/* ---- axes --------------------------------------------------------------- */

tess_status describe_axis_new(ir_builder *b, const char *name, describe_expr lo,
                              describe_expr extent, ir_var *out) {
  ir_expr e[2];
  int64_t min, max;
  tess_status s = describe_name_ok(b, name, "a reduction axis");
  if (!s) s = describe_index(b, lo, "the start of a reduction axis", &e[0]);
  if (!s)
    s = describe_extent(b, extent, 1, "the extent of a reduction axis", &e[1]);
  if (!s)
    s = describe_range_ok(b, e[0], e[1], "the extent of a reduction axis");
  arena_reset(&b->scratch);
  if (s) return s;
  ir_domain_bounds(&b->p, e[0], e[1], &min, &max);
  vec_reserve(b->heap, &b->axis, 1);
  *out =
      ir_var_new(&b->p, IR_VAR_ITER, ir_name(&b->p, name), IR_INDEX, min, max);
  vec_push(b->heap, &b->axis, ((describe_axis){*out, e[0], e[1]}));
  return TESS_OK;
}

/* ---- reducers ----------------------------------------------------------- */

static describe_expr formal(ir_builder *b, char side, uint32_t i, uint32_t n,
                            tess_dtype t) {
  char name[16];
  describe_expr e = 0;
  snprintf(name, sizeof name, n == 1 ? "%c" : "%c%u", side, (unsigned)i);
  ir_var v = ir_var_new(&b->p, IR_VAR_FORMAL, ir_name(&b->p, name), t,
                        INT64_MIN, INT64_MAX);
  describe_give(b, ir_ref(&b->p, v), 1, &e);
  return e;
}

tess_status describe_reducer_begin(ir_builder *b, const char *name, uint32_t n,
                                   const tess_dtype *t, describe_expr *lhs,
                                   describe_expr *rhs) {
  tess_status s = describe_name_ok(b, name, "a reducer");
  if (s) return s;
  if (ir_reducer_is_builtin(name))
    return err_set(b->err, TESS_INVALID,
                   "a reducer cannot be called '%s'; "
                   "there is a built-in one",
                   name);
  if (!n || n > DESCRIBE_MAX_OUT)
    return err_set(b->err, TESS_LIMIT,
                   "reducer '%s' has %u values; 1 to %d are "
                   "possible",
                   name, n, DESCRIBE_MAX_OUT);
  for (uint32_t i = 0; i < n; i++) {
    lhs[i] = formal(b, 'x', i, n, t[i]);
    rhs[i] = formal(b, 'y', i, n, t[i]);
  }
  return TESS_OK;
}

/* Identity i of a reducer, exactly: a value that the type cannot represent is
 * refused. */
static tess_status identity_of(ir_builder *b, const char *name, uint32_t i,
                               tess_dtype t, double v, ir_expr *out) {
  const double whole = 0x1p53; /* up to it doubles represent all integers */
  const char *what =
      arena_printf(&b->scratch, "identity %u of reducer '%s'", i, name);
  describe_expr x;
  if (isinf(v)) {
    *out = ir_extreme(&b->p, t, v > 0);
    return TESS_OK;
  }
  if (t.code == TESS_DTYPE_BOOL && (v == 0 || v == 1)) {
    *out = ir_bool(&b->p, v != 0);
    return TESS_OK;
  }
  if (isnan(v)) return err_set(b->err, TESS_TYPE, "%s is not a number", what);
  bool is_int = !ir_is_float(t) && v == floor(v);
  if (is_int && fabs(v) > whole)
    return err_set(b->err, TESS_TYPE,
                   "%s is %g; of integers one is 2^53 at most, or infinite: "
                   "the least or greatest of the type",
                   what, v);
  tess_status s = describe_literal(b, v, is_int, &x);
  return s ? s : describe_typed(b, x, t, what, out);
}

/* The variable of a formal parameter's handle. */
static ir_var formal_of(const ir_builder *b, describe_expr x) {
  return ir_at(&b->p, b->value.v[x].e)->a;
}

static tess_status check_combine(ir_builder *b, const char *name, uint32_t i,
                                 describe_expr x, tess_dtype t, ir_span lhs,
                                 ir_span rhs, ir_expr *out) {
  const char *what =
      arena_printf(&b->scratch, "result %u of reducer '%s'", i, name);
  tess_status s = describe_typed(b, x, t, what, out);
  if (s) return s;
  if (ir_at(&b->p, *out)->has_load)
    return err_set(b->err, TESS_INVALID, "%s loads from a buffer", what);
  describe_vars formals = {.runs = {lhs, rhs}};
  return describe_check_vars(b, &formals, *out, what);
}

tess_status describe_reducer_end(ir_builder *b, const char *name, uint32_t n,
                                 const describe_expr *lhs,
                                 const describe_expr *rhs,
                                 const describe_expr *combine,
                                 const double *identity, uint32_t *reducer) {
  ir_var x[DESCRIBE_MAX_OUT] = {0}, y[DESCRIBE_MAX_OUT] = {0};
  ir_expr c[DESCRIBE_MAX_OUT], id[DESCRIBE_MAX_OUT];
  for (uint32_t i = 0; i < n; i++) {
    x[i] = formal_of(b, lhs[i]);
    y[i] = formal_of(b, rhs[i]);
  }
  ir_span sx = ir_arg_span(&b->p, n, x), sy = ir_arg_span(&b->p, n, y);
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < n && !s; i++) {
    tess_dtype t = b->p.var.v[x[i]].dtype;
    s = check_combine(b, name, i, combine[i], t, sx, sy, &c[i]);
    if (!s) s = identity_of(b, name, i, t, identity[i], &id[i]);
  }
  if (!s)
    *reducer = ir_reducer_new(&b->p, ir_name(&b->p, name), n, x, y, c, id);
  arena_reset(&b->scratch);
  return s;
}

tess_status describe_builtin(ir_builder *b, const char *name,
                             describe_expr source, uint32_t *reducer) {
  ir_expr e;
  if (!name || !ir_reducer_is_builtin(name))
    return err_set(b->err, TESS_INVALID, "there is no reducer '%s'",
                   name ? name : "");
  tess_status s = describe_plain(b, source, "the source of a reduction", &e);
  arena_reset(&b->scratch);
  if (!s) *reducer = ir_reducer_builtin(&b->p, name, ir_at(&b->p, e)->dtype);
  return s;
}

/* ---- reductions --------------------------------------------------------- */

static tess_status check_axes(ir_builder *b, uint32_t n, const ir_var *axes) {
  if (!n || n > DESCRIBE_MAX_DIM)
    return err_set(b->err, TESS_INVALID, "a reduction has 1 to %d axes, not %u",
                   DESCRIBE_MAX_DIM, n);
  for (uint32_t i = 0; i < n; i++) {
    if (!axes[i] || axes[i] >= b->p.var.n || !describe_axis_of(b, axes[i]))
      return err_set(b->err, TESS_INVALID,
                     "axis %u of a reduction is not a "
                     "reduction axis",
                     i + 1);
    for (uint32_t k = 0; k < i; k++)
      if (axes[k] == axes[i])
        return err_set(b->err, TESS_INVALID, "a reduction has axis '%s' twice",
                       describe_spell(b, axes[i]));
  }
  return TESS_OK;
}

/* Each use can only constrain the order further. */
static void find_order(ir_builder *b, uint32_t reducer, const ir_expr *source,
                       uint32_t naxes, const ir_var *axes) {
  ir_reducer *r = &b->p.reducer.v[reducer];
  if (ir_reducer_is_builtin(ir_text(&b->p, r->name))) return;
  ir_order order = describe_find_order(b, r, source, naxes, axes);
  if (order > r->ordered) r->ordered = order;
}

tess_status describe_reduce(ir_builder *b, uint32_t reducer, uint32_t n,
                            const describe_expr *sources, uint32_t naxes,
                            const ir_var *axes, describe_expr *out) {
  ir_expr e[DESCRIBE_MAX_OUT];
  const ir_reducer *r = &b->p.reducer.v[reducer];
  ir_span lhs = r->lhs;
  if (n != r->n)
    return err_set(b->err, TESS_INVALID,
                   "reducer '%s' takes %u source%s, not "
                   "%u",
                   ir_text(&b->p, r->name), r->n, r->n == 1 ? "" : "s", n);
  tess_status s = check_axes(b, naxes, axes);
  for (uint32_t i = 0; i < n && !s; i++) {
    const char *what = arena_printf(&b->scratch, "source %u of a reduction", i);
    tess_dtype t = b->p.var.v[b->p.arg.v[lhs.at + i]].dtype;
    s = describe_typed(b, sources[i], t, what, &e[i]);
  }
  if (!s) find_order(b, reducer, e, naxes, axes);
  arena_reset(&b->scratch);
  if (s) return s;
  describe_reduction d = {reducer, ir_arg_span(&b->p, n, e),
                          ir_arg_span(&b->p, naxes, axes)};
  vec_reserve(b->heap, &b->value, n);
  uint32_t at = vec_push(b->heap, &b->reduction, d);
  for (uint32_t i = 0; i < n; i++)
    out[i] = vec_push(b->heap, &b->value,
                      ((describe_value){.kind = DESCRIBE_REDUCTION,
                                        .depth = 1,
                                        .reduction = at,
                                        .output = i}));
  return TESS_OK;
}
