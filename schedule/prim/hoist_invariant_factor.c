/* SPDX-License-Identifier: Apache-2.0
 * hoist_invariant_factor: moves a loop-invariant factor out of a sum, by the
 * distributive law. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/rewrite/init.h"

#define HOIST_INVARIANT_FACTOR_SIG(F, S) \
  F(S, IN, BLOCK, block, REQ, "the sum") \
  F(S, OUT, BLOCK, scale, REQ, "the block X_scale, which multiplies")

PRIM_DEFINE(
    hoist_invariant_factor, HOIST_INVARIANT_FACTOR_SIG,
    .summary = "Multiply a sum by a factor once, instead of each summand.",
    .rewrite = "for i: for k: X[i] += f(i, k) * g(i)   ->   "
               "for i: for k: X_sum[i] += f(i, k); "
               "for i: X[i] = X_sum[i] * g(i)",
    .details =
        "1. The block adds up single values by the reducer \"sum\", from 0.\n"
        "2. They are products and quotients, with factors or, of floats,\n"
        "   divisors that depend neither on iters that reduce nor on the\n"
        "   result; all of these are moved.\n"
        "3. The block is alone in the loops that drive reduce iters.\n"
        "4. Everything that decompose_reduction asks at the outermost loop in\n"
        "   which the block is alone.\n"
        "The sum comes to lie in a buffer X_sum. The block keeps handle and\n"
        "name; behind its nest X_scale multiplies and divides, under copies "
        "of\n"
        "the loops that drive spatial iters.\n",
    .refusals = SCH_REASONS(SCH_INIT_REASONS, SCH_R_BODY_NOT_STORE,
                            SCH_R_HOIST_NONE, SCH_R_HOIST_START,
                            SCH_R_INIT_HEIGHT, SCH_R_NOT_REDUCER,
                            SCH_R_WOULD_RACE),
    .example =
        "local scale = sch:hoist_invariant_factor(sch:get_block(\"S\"))\n");

typedef struct hoisting {
  sch_state *s;
  struct hoist_invariant_factor_args *a;
  sch_def def;
  ir_expr stays, up, down; /* products; 0: none */
} hoisting;

static bool is_invariant(const hoisting *w, ir_expr e) {
  const ir_program *p = w->s->p;
  ir_span it = ir_blk(p, w->a->block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind != IR_SPATIAL && ir_uses_var(p, e, p->iter.v[i].var))
      return false;
  return !ir_has_load(p, e, w->def.buf) && !ir_calls_host(p, e);
}

static void multiply_result(ir_program *p, ir_expr *product, ir_expr by) {
  *product = *product ? ir_mul(p, *product, by) : by;
}

static ir_expr hoist_one(ir_program *p, tess_dtype t) {
  return ir_is_float(t) ? ir_real(p, t, 1) : ir_int(p, t, 1);
}

/* Distributes the factors and divisors of e. */
static void hoist_factors(hoisting *w, ir_expr e) {
  ir_program *p = w->s->p;
  const ir_node n = *ir_at(p, e);
  if (is_invariant(w, e)) {
    multiply_result(p, &w->up, e);
  } else if (n.op == IR_MUL) {
    hoist_factors(w, n.a);
    hoist_factors(w, n.b);
  } else if (n.op == IR_DIV && ir_is_float(n.dtype)) {
    hoist_factors(w, n.a);
    if (is_invariant(w, n.b)) {
      multiply_result(p, &w->down, n.b);
    } else {
      if (!w->stays) w->stays = hoist_one(p, n.dtype);
      w->stays = ir_binary(p, IR_DIV, w->stays, n.b);
    }
  } else {
    multiply_result(p, &w->stays, e);
  }
}

static bool hoist_starts_at_zero(const ir_program *p, ir_stmt block) {
  ir_stmt init = ir_st(p, block)->alt;
  const ir_stmt_rec *r = init ? ir_st(p, init) : NULL;
  if (!r || r->kind != IR_STORE || r->next || r->mask) return false;
  const ir_node *n = ir_at(p, r->value);
  return (n->op == IR_REAL && n->f == 0) || (n->op == IR_INT && n->i == 0);
}

static bool hoist_check(hoisting *w) {
  sch_state *s = w->s;
  const ir_program *p = s->p;
  ir_stmt block = w->a->block;
  ir_op how;
  if (!sch_has_init(p, block))
    return sch_refuse(s, SCH_R_NO_INIT, .s = {block});
  if (!sch_get_def(s, ir_st(p, block)->body, &w->def))
    return sch_refuse(s, SCH_R_BODY_NOT_STORE, .s = {block});
  ir_expr added = sch_added(p, block, &w->def, &how);
  if (!added || how != IR_ADD)
    return sch_refuse(s, SCH_R_NOT_REDUCER, .s = {block});
  if (!hoist_starts_at_zero(p, block))
    return sch_refuse(s, SCH_R_HOIST_START, .s = {block});
  hoist_factors(w, added);
  if (!w->up && !w->down) return sch_refuse(s, SCH_R_HOIST_NONE, .s = {block});
  return true;
}

/* The sum goes to a buffer of its own. */
static ir_buf hoist_redirect(const hoisting *w) {
  ir_program *p = w->s->p;
  const ir_buf_rec of = p->buf.v[w->def.buf];
  ir_stmt block = w->a->block, store = w->def.store;
  ir_scope scope =
      of.role == IR_ROLE_LOCAL ? (ir_scope)of.scope : IR_SCOPE_GLOBAL;
  ir_expr *shape = arena_array(w->s->scratch, ir_expr, of.shape.n);
  memcpy(shape, p->arg.v + of.shape.at, of.shape.n * sizeof *shape);
  ir_buf sum = ir_buf_new(p, ir_name_cat(p, of.name, "_sum"), of.dtype,
                          of.shape.n, shape, scope, IR_ROLE_LOCAL);
  ir_block_add_alloc(p, ir_scope_of(p, block), sum);
  ir_expr stays = w->stays                ? w->stays
                  : ir_is_float(of.dtype) ? ir_real(p, of.dtype, 1)
                                          : ir_int(p, of.dtype, 1);
  ir_expr old = ir_load(p, sum, w->def.n, w->def.idx);
  ir_st(p, store)->value = ir_add(p, old, stays);
  ir_st(p, store)->buf = sum;
  ir_st(p, ir_st(p, block)->alt)->buf = sum;
  ir_block_find_regions(p, w->s->scratch, block);
  return sum;
}

static bool hoist_rewrite(sch_state *s, void *ud) {
  hoisting *w = ud;
  ir_program *p = s->p;
  ir_stmt top = w->a->block;
  sch_init nest;
  ir_subst m;
  for (ir_stmt up = ir_st(p, top)->parent;
       ir_is_loop(p, up) && sch_only_child(p, up) == top;
       up = ir_st(p, up)->parent)
    top = up;
  if (!hoist_check(w) || !sch_init_check(s, w->a->block, top, false, &nest))
    return false;
  ir_buf sum = hoist_redirect(w);
  ir_stmt after = sch_init_nest(&nest, "_scale", &m, &w->a->scale);
  ir_expr *idx = arena_array(s->scratch, ir_expr, w->def.n);
  for (uint32_t d = 0; d < w->def.n; d++)
    idx[d] = ir_subst_expr(&m, w->def.idx[d]);
  ir_expr value = ir_load(p, sum, w->def.n, idx);
  if (w->up) value = ir_mul(p, value, ir_subst_expr(&m, w->up));
  if (w->down) value = ir_binary(p, IR_DIV, value, ir_subst_expr(&m, w->down));
  ir_append(p, w->a->scale, ir_store_new(p, w->def.buf, w->def.n, idx, value));
  ir_block_find_regions(p, s->scratch, w->a->scale);
  ir_insert_after(p, top, after);
  return true;
}

static bool
hoist_invariant_factor_apply(sch_state *s,
                             struct hoist_invariant_factor_args *a) {
  hoisting w = {.s = s, .a = a};
  return sch_transaction_rollback(s, hoist_rewrite, &w, a->block);
}
