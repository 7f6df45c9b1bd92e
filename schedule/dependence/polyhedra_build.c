/* SPDX-License-Identifier: Apache-2.0
 * Translation of expressions, conditions and accesses to isl sets and maps. */
#include "ir/edit.h"
#include "schedule/dependence/polyhedra_isl.h"

/* The operations are a second's worth or so, at most. */
enum { MAX_OPERATIONS = 250000, MAX_NODES = 20000 };

isl_ctx *poly_context(sch_state *s) {
  if (s->isl) {
    if (isl_ctx_last_error(s->isl) == isl_error_quota) return NULL;
    isl_ctx_reset_error(s->isl);
    isl_ctx_reset_operations(s->isl);
    return s->isl;
  }
  isl_ctx *ctx = s->isl = isl_ctx_alloc();
  if (!ctx) return NULL;
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx, MAX_OPERATIONS);
  return ctx;
}

void sch_end_questions(sch_state *s) {
  if (s->isl) isl_ctx_free(s->isl);
  s->isl = NULL;
}

void poly_places(const poly_pair *x, int k) {
  const poly_block *b = &x->b[k];
  for (uint32_t v = 0; v < x->p->var.n; v++) x->pos[v] = -1;
  for (uint32_t i = 0; i < x->nparam; i++) x->pos[x->param[i]] = (int32_t)i;
  for (uint32_t i = 0; i < b->n; i++)
    x->pos[b->dim[i]] = (int32_t)(x->nparam + i);
}

void poly_enter(poly_builder *b, isl_ctx *ctx, const poly_pair *x, int k) {
  const poly_block *blk = &x->b[k];
  *b = (poly_builder){.x = x, .p = x->p, .ctx = ctx, .budget = MAX_NODES};
  poly_places(x, k);
  b->space = isl_space_set_alloc(ctx, x->nparam, blk->n);
}

/* ---- expressions -------------------------------------------------------- */

static isl_set *isl_everything(const poly_builder *b) {
  return isl_set_universe(isl_space_copy(b->space));
}

static isl_pw_aff *isl_constant(const poly_builder *b, int64_t v) {
  return isl_pw_aff_val_on_domain(isl_everything(b),
                                  isl_val_int_from_si(b->ctx, v));
}

static isl_pw_aff *strange(poly_builder *b) {
  b->strange = true;
  return NULL;
}

static isl_pw_aff *variable(poly_builder *b, ir_var v) {
  int32_t at = b->x->pos[v];
  if (at < 0)
    return b->x->bound[v] ? poly_value(b, b->x->bound[v]) : strange(b);
  uint32_t k = (uint32_t)at;
  bool param = k < b->x->nparam;
  isl_local_space *ls = isl_local_space_from_space(isl_space_copy(b->space));
  return isl_pw_aff_from_aff(isl_aff_var_on_domain(
      ls, param ? isl_dim_param : isl_dim_set, param ? k : k - b->x->nparam));
}

/* Quotient or remainder by a constant. */
static isl_pw_aff *digit(poly_builder *b, const ir_node *n) {
  int64_t c;
  if (!ir_const_int(b->p, n->b, &c) || c <= 0) return strange(b);
  isl_val *by = isl_val_int_from_si(b->ctx, c);
  isl_pw_aff *of = poly_value(b, n->a);
  return n->op == IR_MOD ? isl_pw_aff_mod_val(of, by)
                         : isl_pw_aff_floor(isl_pw_aff_scale_down_val(of, by));
}

static isl_pw_aff *isl_product(poly_builder *b, const ir_node *n) {
  int64_t c;
  ir_expr of = n->a;
  if (!ir_const_int(b->p, n->b, &c)) {
    if (!ir_const_int(b->p, n->a, &c)) return strange(b);
    of = n->b;
  }
  return isl_pw_aff_scale_val(poly_value(b, of),
                              isl_val_int_from_si(b->ctx, c));
}

static isl_pw_aff *choice(poly_builder *b, const ir_node *n) {
  return isl_pw_aff_cond(isl_set_indicator_function(poly_where(b, n->a)),
                         poly_value(b, n->b), poly_value(b, n->c));
}

/* A sum of variables that have places, times constants, and of one. */
enum { TERMS = 64, LINEAR_NODES = 1000 };
typedef struct linear_sum {
  int64_t of[TERMS], one; /* by place */
  uint32_t nodes;         /* looked at so far */
} linear_sum;

static bool add_term(int64_t *to, int64_t x, int64_t scale) {
  return !__builtin_mul_overflow(x, scale, &x) &&
         !__builtin_add_overflow(*to, x, to);
}

/* *to + e * scale; false: e is no such sum. */
static bool add_linear(const poly_builder *b, ir_expr e, int64_t scale,
                       linear_sum *to) {
  const ir_node *n = ir_at(b->p, e);
  int64_t c;
  if (++to->nodes > LINEAR_NODES) return false;
  if (n->op == IR_INT) return add_term(&to->one, n->i, scale);
  if (!ir_dtype_eq(n->dtype, IR_INDEX) || n->wraps) return false;
  switch ((ir_op)n->op) {
  case IR_VAR: {
    int32_t at = b->x->pos[n->a];
    if (at >= 0) return at < TERMS && add_term(&to->of[at], 1, scale);
    return b->x->bound[n->a] && add_linear(b, b->x->bound[n->a], scale, to);
  }
  case IR_ADD:
    return add_linear(b, n->a, scale, to) && add_linear(b, n->b, scale, to);
  case IR_SUB:
    return scale != INT64_MIN && add_linear(b, n->a, scale, to) &&
           add_linear(b, n->b, -scale, to);
  case IR_MUL:
    return ir_const_int(b->p, n->b, &c) &&
           !__builtin_mul_overflow(scale, c, &c) && add_linear(b, n->a, c, to);
  default: return false;
  }
}

/* The sum as isl has it, at once instead of operation by operation. */
static isl_aff *linear_value(const poly_builder *b, const linear_sum *sum) {
  const poly_pair *x = b->x;
  uint32_t n = (uint32_t)isl_space_dim(b->space, isl_dim_set);
  isl_local_space *ls = isl_local_space_from_space(isl_space_copy(b->space));
  isl_aff *aff =
      isl_aff_val_on_domain(ls, isl_val_int_from_si(b->ctx, sum->one));
  for (uint32_t i = 0; i < x->nparam + n && i < TERMS; i++) {
    bool param = i < x->nparam;
    if (sum->of[i])
      aff =
          isl_aff_set_coefficient_val(aff, param ? isl_dim_param : isl_dim_in,
                                      (int)(param ? i : i - x->nparam),
                                      isl_val_int_from_si(b->ctx, sum->of[i]));
  }
  return aff;
}

static isl_pw_aff *poly_nested(poly_builder *b, ir_expr e);

/* Indices are of 64 bits; what may wrap is none that isl knows. */
isl_pw_aff *poly_value(poly_builder *b, ir_expr e) {
  linear_sum sum = {.one = 0};
  if (b->budget && !b->strange && add_linear(b, e, 1, &sum)) {
    b->budget--;
    return isl_pw_aff_from_aff(linear_value(b, &sum));
  }
  return poly_nested(b, e);
}

static isl_pw_aff *poly_nested(poly_builder *b, ir_expr e) {
  const ir_node *n = ir_at(b->p, e);
  if (!b->budget || b->strange) return strange(b);
  b->budget--;
  if (n->op == IR_INT) return isl_constant(b, n->i);
  if (!ir_dtype_eq(n->dtype, IR_INDEX) || n->wraps) return strange(b);
  switch ((ir_op)n->op) {
  case IR_VAR: return variable(b, n->a);
  case IR_ADD: return isl_pw_aff_add(poly_value(b, n->a), poly_value(b, n->b));
  case IR_SUB: return isl_pw_aff_sub(poly_value(b, n->a), poly_value(b, n->b));
  case IR_MIN: return isl_pw_aff_min(poly_value(b, n->a), poly_value(b, n->b));
  case IR_MAX: return isl_pw_aff_max(poly_value(b, n->a), poly_value(b, n->b));
  case IR_MUL: return isl_product(b, n);
  case IR_DIV:
  case IR_MOD: return digit(b, n);
  case IR_SELECT: return choice(b, n);
  default: return strange(b);
  }
}

/* ---- conditions --------------------------------------------------------- */

static isl_set *strange_set(poly_builder *b) {
  b->strange = true;
  return NULL;
}

/* e + *off = the result + *off then. */
static ir_expr without_constant(const ir_program *p, ir_expr e, int64_t *off) {
  int64_t c, sum;
  for (;;) {
    const ir_node *n = ir_at(p, e);
    if ((n->op != IR_ADD && n->op != IR_SUB) || n->wraps ||
        !ir_const_int(p, n->b, &c) ||
        (n->op == IR_ADD ? __builtin_add_overflow(*off, c, &sum)
                         : __builtin_sub_overflow(*off, c, &sum)))
      return e;
    *off = sum;
    e = n->a;
  }
}

static isl_set *at_most(poly_builder *b, ir_expr x, ir_expr y, int64_t off);

/* x <= y + off, where one of both, which is `of`, is a least or greatest value:
 * where it has to hold for both sides, or for the one that it is, which is
 * another one in either part. */
static isl_set *at_most_choice(poly_builder *b, ir_expr x, ir_expr y,
                               int64_t off, ir_expr of) {
  const ir_node *n = ir_at(b->p, of);
  bool left = of == x, least = n->op == IR_MIN;
  isl_set *one = at_most(b, left ? n->a : x, left ? y : n->a, off);
  isl_set *two = at_most(b, left ? n->b : x, left ? y : n->b, off);
  if (left != least) return isl_set_intersect(one, two);
  isl_set *is_a = least ? at_most(b, n->a, n->b, 0) : at_most(b, n->b, n->a, 0);
  isl_set *is_b =
      least ? at_most(b, n->b, n->a, -1) : at_most(b, n->a, n->b, -1);
  return isl_set_union(isl_set_intersect(is_a, one),
                       isl_set_intersect(is_b, two));
}

static bool is_choice(const ir_program *p, ir_expr e) {
  const ir_node *n = ir_at(p, e);
  return (n->op == IR_MIN || n->op == IR_MAX) && !n->wraps &&
         ir_dtype_eq(n->dtype, IR_INDEX);
}

/* x <= y + off.  Bounds that are least or greatest values become conditions on
 * what they are made of: as values they would be many pieces. */
static isl_set *at_most(poly_builder *b, ir_expr x, ir_expr y, int64_t off) {
  int64_t less = 0;
  if (!b->budget || b->strange) return strange_set(b);
  b->budget--;
  y = without_constant(b->p, y, &off);
  ir_expr left = without_constant(b->p, x, &less);
  if (!__builtin_sub_overflow(off, less, &less)) {
    x = left;
    off = less;
  }
  if (is_choice(b->p, x)) return at_most_choice(b, x, y, off, x);
  if (is_choice(b->p, y)) return at_most_choice(b, x, y, off, y);
  linear_sum sum = {.one = ~off}; /* x - y - off - 1 < 0 */
  if (add_linear(b, x, 1, &sum) && add_linear(b, y, -1, &sum))
    return isl_set_from_basic_set(isl_aff_neg_basic_set(linear_value(b, &sum)));
  isl_pw_aff *high = poly_value(b, y);
  if (off) high = isl_pw_aff_add(high, isl_constant(b, off));
  return isl_pw_aff_le_set(poly_value(b, x), high);
}

static isl_set *compared(poly_builder *b, const ir_node *n) {
  if (n->op == IR_LT) return at_most(b, n->a, n->b, -1);
  if (n->op == IR_LE) return at_most(b, n->a, n->b, 0);
  isl_pw_aff *x = poly_value(b, n->a), *y = poly_value(b, n->b);
  return n->op == IR_EQ ? isl_pw_aff_eq_set(x, y) : isl_pw_aff_ne_set(x, y);
}

isl_set *poly_where(poly_builder *b, ir_expr cond) {
  const ir_node *n = ir_at(b->p, cond);
  if (!b->budget || b->strange) return strange_set(b);
  b->budget--;
  switch ((ir_op)n->op) {
  case IR_INT:
    return n->i ? isl_everything(b) : isl_set_empty(isl_space_copy(b->space));
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return compared(b, n);
  case IR_AND:
    return isl_set_intersect(poly_where(b, n->a), poly_where(b, n->b));
  case IR_OR: return isl_set_union(poly_where(b, n->a), poly_where(b, n->b));
  case IR_NOT: return isl_set_complement(poly_where(b, n->a));
  default: return strange_set(b);
  }
}

/* Where it holds, as far as that is quasi-affine: what is not is left out,
 * which makes the set larger. */
static isl_set *must_hold(poly_builder *b, isl_set *in, ir_expr cond,
                          bool holds) {
  const ir_node *n = ir_at(b->p, cond);
  if (n->op == (holds ? IR_AND : IR_OR)) {
    in = must_hold(b, in, n->a, holds);
    return must_hold(b, in, n->b, holds);
  }
  isl_set *s = poly_where(b, cond);
  if (b->strange) {
    b->strange = false;
    b->vague = true;
    isl_set_free(s);
    return in;
  }
  return isl_set_intersect(in, holds ? s : isl_set_complement(s));
}

/* in, where lo <= v <= hi, of which INT64_MIN and INT64_MAX say nothing;
 * variables that have a place. */
static isl_set *between(const poly_builder *b, isl_set *in, ir_var v,
                        int64_t lo, int64_t hi) {
  uint32_t k = (uint32_t)b->x->pos[v];
  bool param = k < b->x->nparam;
  enum isl_dim_type type = param ? isl_dim_param : isl_dim_set;
  if (!param) k -= b->x->nparam;
  if (lo != INT64_MIN)
    in = isl_set_lower_bound_val(in, type, k, isl_val_int_from_si(b->ctx, lo));
  if (hi != INT64_MAX)
    in = isl_set_upper_bound_val(in, type, k, isl_val_int_from_si(b->ctx, hi));
  return in;
}

/* in, where lo (0: zero) <= v < end; v: a variable or what it represents. */
static isl_set *in_range(poly_builder *b, isl_set *in, ir_var v, ir_expr lo,
                         ir_expr end) {
  int64_t from = 0, to;
  if ((!lo || ir_const_int(b->p, lo, &from)) && ir_const_int(b->p, end, &to) &&
      b->x->pos[v] >= 0)
    return between(b, in, v, from, to - 1);
  ir_expr is = ir_ref(b->p, v);
  isl_set *s =
      lo ? at_most(b, lo, is, 0) : isl_pw_aff_nonneg_set(variable(b, v));
  s = isl_set_intersect(s, at_most(b, is, end, -1));
  if (!b->strange) return isl_set_intersect(in, s);
  b->strange = false;
  b->vague = true;
  isl_set_free(s);
  return in;
}

isl_set *poly_at_start(poly_builder *b, isl_set *in, ir_stmt block) {
  ir_span it = ir_blk(b->p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *r = &b->p->iter.v[i];
    if (r->kind != IR_REDUCE) continue;
    isl_set *s = isl_pw_aff_eq_set(variable(b, r->var), poly_value(b, r->lo));
    if (b->strange) {
      b->strange = false;
      b->vague = true;
      isl_set_free(s);
    } else {
      in = isl_set_intersect(in, s);
    }
  }
  return in;
}

static isl_set *conditions(poly_builder *b, const poly_cond *c) {
  isl_set *in = isl_everything(b);
  for (; c; c = c->up) switch (c->kind) {
    case POLY_TRUE: in = must_hold(b, in, c->e, true); break;
    case POLY_FALSE: in = must_hold(b, in, c->e, false); break;
    case POLY_START: in = poly_at_start(b, in, c->st); break;
    case POLY_RANGE: in = in_range(b, in, c->v, 0, c->e); break;
    case POLY_LOOP: {
      const ir_stmt_rec *r = ir_st(b->p, c->st);
      in = in_range(b, in, r->var, r->lo, c->e);
    }
    }
  return in;
}

/* What is known of the parameters: the domains of iters, the bounds of
 * sizes. */
static isl_set *with_params(poly_builder *b, isl_set *in) {
  for (uint32_t i = 0; i < b->x->nparam; i++) {
    const ir_var_rec *v = &b->p->var.v[b->x->param[i]];
    in = between(b, in, b->x->param[i], v->lo, v->hi);
  }
  return in;
}

isl_set *poly_domain(poly_builder *b, const poly_cond *when) {
  return with_params(b, conditions(b, when));
}

/* ---- accesses ----------------------------------------------------------- */

/* Iterations to values of one index: those from `first` to `last`, or any
 * (first is not quasi-affine). */
static isl_map *one_index(poly_builder *b, isl_pw_aff *first,
                          isl_pw_aff *last) {
  isl_space *line = isl_space_set_alloc(b->ctx, b->x->nparam, 1);
  if (b->strange) {
    b->strange = false;
    b->vague = true;
    isl_pw_aff_free(first);
    isl_pw_aff_free(last);
    isl_space *all =
        isl_space_map_from_domain_and_range(isl_space_copy(b->space), line);
    return isl_map_universe(all);
  }
  isl_map *le = isl_map_lex_le(line);
  isl_map *from =
      isl_map_apply_range(isl_map_from_pw_aff(first), isl_map_copy(le));
  isl_map *to =
      isl_map_apply_range(isl_map_from_pw_aff(last), isl_map_reverse(le));
  return isl_map_intersect(from, to);
}

static isl_map *index_map(poly_builder *b, const poly_access *a, uint32_t d) {
  const uint32_t *arg = b->p->arg.v + a->at;
  if (!a->box) {
    isl_pw_aff *at = poly_value(b, arg[d]);
    return b->strange ? one_index(b, at, NULL) : isl_map_from_pw_aff(at);
  }
  isl_pw_aff *first = poly_value(b, arg[2 * d]);
  isl_pw_aff *last =
      isl_pw_aff_add(isl_pw_aff_copy(first), poly_value(b, arg[2 * d + 1]));
  last = isl_pw_aff_sub(last, isl_constant(b, 1));
  return one_index(b, first, last);
}

isl_map *poly_access_map(poly_builder *b, const poly_access *a, isl_set *in) {
  isl_map *m = isl_map_from_domain(isl_everything(b));
  for (uint32_t d = 0; d < b->x->ndim; d++)
    m = isl_map_flat_range_product(m, index_map(b, a, d));
  return isl_map_intersect_domain(m, in);
}

isl_map *poly_accesses(isl_ctx *ctx, const poly_pair *x, int k,
                       const poly_access *a, bool *vague) {
  poly_builder b;
  poly_enter(&b, ctx, x, k);
  isl_map *m = poly_access_map(&b, a, poly_domain(&b, a->when));
  isl_space_free(b.space);
  *vague |= b.vague;
  return m;
}

/* ---- what isl found ----------------------------------------------------- */

int poly_place(const poly_block *b, ir_var v) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->dim[i] == v) return (int)i;
  return -1;
}

int64_t poly_coordinate(isl_point *at, enum isl_dim_type type, uint32_t k) {
  isl_val *v = isl_point_get_coordinate_val(at, type, (int)k);
  int64_t c = v ? isl_val_get_num_si(v) : 0;
  isl_val_free(v);
  return c;
}

void poly_add(poly_iteration *to, ir_var v, int64_t at) {
  if (to->n == POLY_LOOPS) return;
  to->var[to->n] = v;
  to->at[to->n++] = at;
}

void poly_note(const poly_pair *x, isl_point *at, int k, poly_iteration *out) {
  const poly_block *b = &x->b[k];
  for (uint32_t i = 0; i < x->nparam; i++)
    if (x->p->var.v[x->param[i]].kind != IR_VAR_SIZE)
      poly_add(out, x->param[i], poly_coordinate(at, isl_dim_param, i));
  for (uint32_t i = 0; i < b->around; i++)
    poly_add(out, b->dim[i],
             poly_coordinate(at, isl_dim_set, i + (k ? x->b[0].n : 0)));
}

/* Loop number i of `a` has another value in `b`. */
static bool differs(const poly_iteration *a, uint32_t i,
                    const poly_iteration *b) {
  for (uint32_t k = 0; b && k < b->n; k++)
    if (b->var[k] == a->var[i]) return b->at[k] != a->at[i];
  return false;
}

static void tell_side(const poly_iteration *a, const poly_iteration *b, int k,
                      sch_conflict *out) {
  bool told[POLY_LOOPS] = {false};
  uint32_t room = SCH_CONFLICT_LOOPS, n = 0;
  for (uint32_t i = 0; i < a->n && room; i++)
    if (differs(a, i, b)) told[i] = true, room--;
  for (uint32_t i = a->n; i-- && room;)
    if (!told[i]) told[i] = true, room--;
  for (uint32_t i = 0; i < a->n; i++)
    if (told[i]) {
      out->var[k][n] = a->var[i];
      out->at[k][n++] = a->at[i];
    }
  out->n[k] = (uint8_t)n;
}

void poly_tell(const poly_iteration *a, const poly_iteration *b,
               sch_conflict *out) {
  *out = (sch_conflict){0};
  tell_side(a, b, 0, out);
  if (b) tell_side(b, a, 1, out);
}
