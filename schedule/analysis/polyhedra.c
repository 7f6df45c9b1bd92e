/* SPDX-License-Identifier: Apache-2.0
 * Asking isl whether two iterations meet.  Everything of isl's that is NULL
 * makes what is made of it NULL, so code is straight and errors are looked
 * at in the end.  No memory of ours is taken here. */
#include "schedule/analysis/polyhedra.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

/* The operations are some tenths of a second's worth. */
enum { MAX_OPERATIONS = 250000, MAX_NODES = 20000 };

/* Translating, for one block of the pair. */
typedef struct builder {
  const poly_pair *x;
  const ir_program *p;
  isl_ctx *ctx;
  isl_space *space;  /* of the block's iterations */
  uint32_t budget;   /* nodes that may yet be looked at */
  bool strange;      /* what was looked at is not quasi-affine */
  bool vague;        /* something was left out of a domain */
} builder;

/* ---- expressions --------------------------------------------------------- */

static isl_pw_aff *value_of(builder *b, ir_expr e);

static isl_set *everything(const builder *b) {
  return isl_set_universe(isl_space_copy(b->space));
}

static isl_pw_aff *constant(const builder *b, int64_t v) {
  return isl_pw_aff_val_on_domain(everything(b),
                                  isl_val_int_from_si(b->ctx, v));
}

static isl_pw_aff *strange(builder *b) {
  b->strange = true;
  return NULL;
}

static isl_pw_aff *variable(builder *b, ir_var v) {
  int32_t at = b->x->pos[v];
  if (at < 0)
    return b->x->bound[v] ? value_of(b, b->x->bound[v]) : strange(b);
  uint32_t k = (uint32_t)at;
  bool param = k < b->x->nparam;
  isl_local_space *ls = isl_local_space_from_space(isl_space_copy(b->space));
  return isl_pw_aff_from_aff(isl_aff_var_on_domain(
    ls, param ? isl_dim_param : isl_dim_set, param ? k : k - b->x->nparam));
}

/* Quotient or remainder by a constant. */
static isl_pw_aff *digit(builder *b, const ir_node *n) {
  int64_t c;
  if (!ir_const_int(b->p, n->b, &c) || c <= 0) return strange(b);
  isl_val *by = isl_val_int_from_si(b->ctx, c);
  isl_pw_aff *of = value_of(b, n->a);
  return n->op == IR_MOD ? isl_pw_aff_mod_val(of, by)
                         : isl_pw_aff_floor(isl_pw_aff_scale_down_val(of, by));
}

static isl_pw_aff *product(builder *b, const ir_node *n) {
  int64_t c;
  ir_expr of = n->a;
  if (!ir_const_int(b->p, n->b, &c)) {
    if (!ir_const_int(b->p, n->a, &c)) return strange(b);
    of = n->b;
  }
  return isl_pw_aff_scale_val(value_of(b, of), isl_val_int_from_si(b->ctx, c));
}

static isl_set *where(builder *b, ir_expr cond);

static isl_pw_aff *choice(builder *b, const ir_node *n) {
  return isl_pw_aff_cond(isl_set_indicator_function(where(b, n->a)),
                         value_of(b, n->b), value_of(b, n->c));
}

/* Indices are of 64 bits and do not wrap. */
static isl_pw_aff *value_of(builder *b, ir_expr e) {
  const ir_node *n = ir_at(b->p, e);
  if (!b->budget || b->strange) return strange(b);
  b->budget--;
  if (n->op == IR_INT) return constant(b, n->i);
  if (!ir_dtype_eq(n->dtype, IR_INDEX)) return strange(b);
  switch ((ir_op)n->op) {
  case IR_VAR: return variable(b, n->a);
  case IR_ADD: return isl_pw_aff_add(value_of(b, n->a), value_of(b, n->b));
  case IR_SUB: return isl_pw_aff_sub(value_of(b, n->a), value_of(b, n->b));
  case IR_MIN: return isl_pw_aff_min(value_of(b, n->a), value_of(b, n->b));
  case IR_MAX: return isl_pw_aff_max(value_of(b, n->a), value_of(b, n->b));
  case IR_MUL: return product(b, n);
  case IR_DIV:
  case IR_MOD: return digit(b, n);
  case IR_SELECT: return choice(b, n);
  default: return strange(b);
  }
}

/* ---- conditions ---------------------------------------------------------- */

static isl_set *strange_set(builder *b) {
  b->strange = true;
  return NULL;
}

static isl_set *compared(builder *b, const ir_node *n) {
  isl_pw_aff *x = value_of(b, n->a), *y = value_of(b, n->b);
  switch ((ir_op)n->op) {
  case IR_EQ: return isl_pw_aff_eq_set(x, y);
  case IR_NE: return isl_pw_aff_ne_set(x, y);
  case IR_LT: return isl_pw_aff_lt_set(x, y);
  default: return isl_pw_aff_le_set(x, y);
  }
}

static isl_set *where(builder *b, ir_expr cond) {
  const ir_node *n = ir_at(b->p, cond);
  if (!b->budget || b->strange) return strange_set(b);
  b->budget--;
  switch ((ir_op)n->op) {
  case IR_INT:
    return n->i ? everything(b) : isl_set_empty(isl_space_copy(b->space));
  case IR_EQ:
  case IR_NE:
  case IR_LT:
  case IR_LE: return compared(b, n);
  case IR_AND: return isl_set_intersect(where(b, n->a), where(b, n->b));
  case IR_OR: return isl_set_union(where(b, n->a), where(b, n->b));
  case IR_NOT: return isl_set_complement(where(b, n->a));
  default: return strange_set(b);
  }
}

/* Where it holds, as far as that is quasi-affine: what is not is left out,
 * which makes the set larger. */
static isl_set *surely(builder *b, isl_set *in, ir_expr cond, bool holds) {
  const ir_node *n = ir_at(b->p, cond);
  if (n->op == (holds ? IR_AND : IR_OR)) {
    in = surely(b, in, n->a, holds);
    return surely(b, in, n->b, holds);
  }
  isl_set *s = where(b, cond);
  if (b->strange) {
    b->strange = false;
    b->vague = true;
    isl_set_free(s);
    return in;
  }
  return isl_set_intersect(in, holds ? s : isl_set_complement(s));
}

/* in, where lo <= v < lo + extent; v: a variable or what it stands for. */
static isl_set *in_range(builder *b, isl_set *in, ir_var v, ir_expr lo,
                         ir_expr extent) {
  isl_pw_aff *first = value_of(b, lo);
  isl_pw_aff *end = isl_pw_aff_add(isl_pw_aff_copy(first),
                                   value_of(b, extent));
  isl_set *s = isl_set_intersect(isl_pw_aff_le_set(first, variable(b, v)),
                                 isl_pw_aff_lt_set(variable(b, v), end));
  if (!b->strange) return isl_set_intersect(in, s);
  b->strange = false;
  b->vague = true;
  isl_set_free(s);
  return in;
}

static isl_set *at_start(builder *b, isl_set *in, ir_stmt block) {
  ir_span it = ir_blk(b->p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    const ir_iter *r = &b->p->iter.v[i];
    if (r->kind != IR_REDUCE) continue;
    isl_set *s = isl_pw_aff_eq_set(variable(b, r->var), value_of(b, r->lo));
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

static isl_set *domain(builder *b, const poly_cond *c) {
  isl_set *in = everything(b);
  for (; c; c = c->up)
    switch (c->kind) {
    case POLY_TRUE: in = surely(b, in, c->e, true); break;
    case POLY_FALSE: in = surely(b, in, c->e, false); break;
    case POLY_START: in = at_start(b, in, c->st); break;
    case POLY_LOOP: {
      const ir_stmt_rec *r = ir_st(b->p, c->st);
      in = in_range(b, in, r->var, r->lo, r->extent);
    }
    }
  return in;
}

/* What is known of the parameters: the domains of iters, the bounds of
 * sizes. */
static isl_set *with_params(builder *b, isl_set *in) {
  for (uint32_t i = 0; i < b->x->nparam; i++) {
    const ir_var_rec *v = &b->p->var.v[b->x->param[i]];
    if (v->lo != INT64_MIN)
      in = isl_set_intersect(
        in, isl_pw_aff_ge_set(variable(b, b->x->param[i]),
                              constant(b, v->lo)));
    if (v->hi != INT64_MAX)
      in = isl_set_intersect(
        in, isl_pw_aff_le_set(variable(b, b->x->param[i]),
                              constant(b, v->hi)));
  }
  return in;
}

/* ---- accesses ------------------------------------------------------------ */

/* Iterations to values of one index: those from `first` to `last`, or any
 * (first is not quasi-affine). */
static isl_map *one_index(builder *b, isl_pw_aff *first, isl_pw_aff *last) {
  isl_space *line = isl_space_set_alloc(b->ctx, b->x->nparam, 1);
  if (b->strange) {
    b->strange = false;
    b->vague = true;
    isl_pw_aff_free(first);
    isl_pw_aff_free(last);
    isl_space *all = isl_space_map_from_domain_and_range(
      isl_space_copy(b->space), line);
    return isl_map_universe(all);
  }
  isl_map *le = isl_map_lex_le(line);
  isl_map *from = isl_map_apply_range(isl_map_from_pw_aff(first),
                                      isl_map_copy(le));
  isl_map *to = isl_map_apply_range(isl_map_from_pw_aff(last),
                                    isl_map_reverse(le));
  return isl_map_intersect(from, to);
}

static isl_map *index_map(builder *b, const poly_access *a, uint32_t d) {
  const uint32_t *arg = b->p->arg.v + a->at;
  if (!a->box) {
    isl_pw_aff *at = value_of(b, arg[d]);
    return b->strange ? one_index(b, at, NULL) : isl_map_from_pw_aff(at);
  }
  isl_pw_aff *first = value_of(b, arg[2 * d]);
  isl_pw_aff *last = isl_pw_aff_add(isl_pw_aff_copy(first),
                                    value_of(b, arg[2 * d + 1]));
  last = isl_pw_aff_sub(last, constant(b, 1));
  return one_index(b, first, last);
}

/* Iterations to the elements they access. */
static isl_map *access_map(builder *b, const poly_access *a) {
  isl_set *dom = with_params(b, domain(b, a->when));
  isl_map *m = isl_map_from_domain(dom);
  for (uint32_t d = 0; d < b->x->ndim; d++)
    m = isl_map_flat_range_product(m, index_map(b, a, d));
  return m;
}

/* Gives the variables of block k of the pair their places. */
static void enter(builder *b, isl_ctx *ctx, const poly_pair *x, int k) {
  const poly_block *blk = &x->b[k];
  *b = (builder){.x = x, .p = x->p, .ctx = ctx, .budget = MAX_NODES};
  for (uint32_t v = 0; v < x->p->var.n; v++) x->pos[v] = -1;
  for (uint32_t i = 0; i < x->nparam; i++) x->pos[x->param[i]] = (int32_t)i;
  for (uint32_t i = 0; i < blk->n; i++)
    x->pos[blk->dim[i]] = (int32_t)(x->nparam + i);
  b->space = isl_space_set_alloc(ctx, x->nparam, blk->n);
}

static isl_map *map_of(isl_ctx *ctx, const poly_pair *x, int k,
                       const poly_access *a, bool *vague) {
  builder b;
  enter(&b, ctx, x, k);
  isl_map *m = access_map(&b, a);
  isl_space_free(b.space);
  *vague |= b.vague;
  return m;
}

static isl_ctx *new_context(void) {
  isl_ctx *ctx = isl_ctx_alloc();
  if (!ctx) return NULL;
  isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx, MAX_OPERATIONS);
  return ctx;
}

int poly_holds(sch_state *s, ir_stmt st, ir_expr cond) {
  poly_pair x;
  builder b;
  poly_around(s, st, &x);
  isl_ctx *ctx = new_context();
  if (!ctx) return 0;
  enter(&b, ctx, &x, 0);
  isl_set *all = with_params(&b, domain(&b, x.context));
  isl_set *yes = where(&b, cond);
  int holds = 0;
  if (!b.strange) {
    isl_set *no = isl_set_subtract(isl_set_copy(all), isl_set_copy(yes));
    isl_set *some = isl_set_intersect(isl_set_copy(all), isl_set_copy(yes));
    holds = (isl_set_is_empty(no) == isl_bool_true) -
            (isl_set_is_empty(some) == isl_bool_true);
    isl_set_free(no);
    isl_set_free(some);
  }
  isl_set_free(all);
  isl_set_free(yes);
  isl_space_free(b.space);
  isl_ctx_free(ctx);
  return holds;
}

/* ---- two iterations ------------------------------------------------------ */

static int place_of(const poly_block *b, ir_var v) {
  for (uint32_t i = 0; i < b->n; i++)
    if (b->dim[i] == v) return (int)i;
  return -1;
}

/* Keeps pairs of iterations at the distances asked for. */
static isl_map *confine(const dist *d, const poly_pair *x, isl_map *m) {
  for (uint32_t i = 0; d->within && i < d->n; i++) {
    arith_range r = d->within[i];
    int in = place_of(&x->b[0], d->var[i]), out = place_of(&x->b[1], d->var[i]);
    if (in < 0 || out < 0) continue;
    if (r.lo == 0 && r.hi == 0)
      m = isl_map_equate(m, isl_dim_in, in, isl_dim_out, out);
    else if (r.lo > 0)
      m = isl_map_order_gt(m, isl_dim_in, in, isl_dim_out, out);
    else if (r.hi < 0)
      m = isl_map_order_lt(m, isl_dim_in, in, isl_dim_out, out);
  }
  return m;
}

static int64_t coordinate(isl_point *at, enum isl_dim_type type, uint32_t k) {
  isl_val *v = isl_point_get_coordinate_val(at, type, (int)k);
  int64_t c = v ? isl_val_get_num_si(v) : 0;
  isl_val_free(v);
  return c;
}

/* The loops around one of the blocks, the shared ones first, as far as there
 * is room: the inner ones. */
static void note_side(const poly_pair *x, isl_point *at, int k,
                      sch_clash *out) {
  const poly_block *b = &x->b[k];
  uint32_t total = x->nparam + b->around, n = 0;
  uint32_t skip = total > SCH_CLASH_LOOPS ? total - SCH_CLASH_LOOPS : 0;
  for (uint32_t i = skip; i < total; i++) {
    bool param = i < x->nparam;
    uint32_t d = i - x->nparam + (k ? x->b[0].n : 0);
    ir_var v = param ? x->param[i] : b->dim[i - x->nparam];
    if (x->p->var.v[v].kind == IR_VAR_SIZE) continue;
    out->var[k][n] = v;
    out->at[k][n++] = param ? coordinate(at, isl_dim_param, i)
                            : coordinate(at, isl_dim_set, d);
  }
  out->n[k] = (uint8_t)n;
}

/* POLY_APART too where isl failed: that is told in the end. */
static poly_verdict pair_meets(isl_ctx *ctx, const dist *d, const poly_pair *x,
                               const poly_access *w, const poly_access *r,
                               sch_clash *out) {
  bool vague = false;
  isl_map *to = map_of(ctx, x, 0, w, &vague);
  isl_map *from = isl_map_reverse(map_of(ctx, x, 1, r, &vague));
  isl_map *both = confine(d, x, isl_map_apply_range(to, from));
  isl_point *at = isl_set_sample_point(isl_map_wrap(both));
  poly_verdict v = POLY_APART;
  if (at && isl_point_is_void(at) == isl_bool_false) {
    v = vague ? POLY_NOT_AFFINE : POLY_MEET;
    if (v == POLY_MEET && out) {
      note_side(x, at, 0, out);
      note_side(x, at, 1, out);
    }
  }
  isl_point_free(at);
  return v;
}

poly_verdict poly_meet(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf,
                       sch_clash *out) {
  poly_pair x;
  poly_verdict v = POLY_APART;
  poly_find(d, b1, b2, buf, &x);
  isl_ctx *ctx = new_context();
  if (!ctx) return POLY_TOO_HARD;
  for (poly_access *w = x.b[0].first; w && v != POLY_MEET; w = w->next)
    for (poly_access *r = x.b[1].first; r && v != POLY_MEET; r = r->next) {
      poly_verdict k = pair_meets(ctx, d, &x, w, r, out);
      if (k != POLY_APART) v = k;
    }
  if (v != POLY_MEET && isl_ctx_last_error(ctx) != isl_error_none)
    v = POLY_TOO_HARD;
  isl_ctx_free(ctx);
  return v;
}

bool poly_clears(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf) {
  sch_state *s = d->s;
  sch_clash clash = {0};
  switch (poly_meet(d, b1, b2, buf, &clash)) {
  case POLY_APART: return true;
  case POLY_MEET: s->refusal.clash = clash; return false;
  case POLY_NOT_AFFINE:
    return sch_refuse(s, SCH_R_NOT_AFFINE, .s = {b1, b2}, .buf = buf);
  default: return sch_refuse(s, SCH_R_UNDECIDED, .s = {b1, b2}, .buf = buf);
  }
}
