/* SPDX-License-Identifier: Apache-2.0
 * cache_index: precomputes index expressions (common subexpressions) into
 * integer buffers. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/rewrite/cache.h"

#define CACHE_INDEX_SIG(F, S)                                          \
  F(S, IN, BLOCK, block, REQ, "the block whose indices are computed")  \
  F(S, ATTR, STR, storage_scope, REQ,                                  \
    "where they are kept: \"global\", \"local\", \"shared\", ...")     \
  F(S, ATTR, INT, cse_thresh, DEF(0),                                  \
    "keep what is more often than this in the indices; 0: all that is" \
    " computed of an index")                                           \
  F(S, OUT, BLOCKS, cached, REQ, "the blocks that compute them")

PRIM_DEFINE(
    cache_index, CACHE_INDEX_SIG,
    .summary = "Compute the indices with which a block loads beforehand.",
    .rewrite = "C[i] = A[f(i)]   ->   index_0[i] = f(i); C[i] = A[index_0[i]]",
    .details =
        "1. The threshold is at least 0, and the storage scope is known.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and the\n"
        "   block holds no others.\n"
        "3. The iters that an index is computed from have constant domains.\n"
        "4. Loops whose iterations run in parallel stay free of races.\n"
        "Indices of loads from buffers that the block does not write count, "
        "in\n"
        "so far as they are arithmetic over the block's iters: with threshold "
        "0 each index as a whole, unless it is\n"
        "an iter or a constant; else the largest parts that are more than\n"
        "that often in the block. A block index_0, index_1, ... for each,\n"
        "in the order of the results, fills a buffer of that name with a\n"
        "dimension for each of those iters, when the scope begins. There is\n"
        "no result where there is nothing to compute, and the block may then\n"
        "read the whole of each dimension indexed so, as far as it is seen.\n",
    .refusals = SCH_REASONS(SCH_R_THRESHOLD_NEGATIVE, SCH_R_STORAGE_UNKNOWN,
                            SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN,
                            SCH_R_OTHER_STATEMENT, SCH_R_INIT_OF_SCOPE,
                            SCH_R_NOT_LEAF, SCH_R_NOT_STATIC, SCH_R_WOULD_RACE),
    .example = "local k = sch:get_block(\"C\")\n"
               "local index = { sch:cache_index(k, \"global\") }\n");

typedef struct index_plan {
  sch_state *s;
  ir_stmt block, scope;
  ir_scope storage;
  int64_t threshold;
  uint32_t nnode;  /* nodes when counting began */
  uint32_t *count; /* by node, how often it is in the indices */
  uint32_t n, room;
  ir_expr *kept; /* what is computed beforehand, */
  ir_expr *load; /*   and the loads that represent it */
} index_plan;

/* ---- what is worth it --------------------------------------------------- */

static bool is_arithmetic(const ir_node *n) {
  return n->op >= IR_ADD && n->op <= IR_MAX;
}

/* Arithmetic over the block's iters. */
static bool is_computed(const index_plan *x, ir_expr e) {
  const ir_program *p = x->s->p;
  const ir_node *n = ir_at(p, e);
  if (!is_arithmetic(n) || !n->is_index || n->has_load ||
      !ir_dtype_eq(n->dtype, IR_INDEX))
    return false;
  for (ir_stmt q = x->block; (q = ir_next(p, q, x->block));)
    if ((ir_is_loop(p, q) && ir_uses_var(p, e, ir_st(p, q)->var)) ||
        (ir_st(p, q)->kind == IR_LET &&
         ir_uses_var(p, e, ir_st(p, q)->let_var)))
      return false;
  ir_span it = ir_blk(p, x->block)->iters;
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (ir_uses_var(p, e, p->iter.v[k].var)) return true;
  return false;
}

static void count_parts(index_plan *x, ir_expr e) {
  const ir_node *n = ir_at(x->s->p, e);
  x->count[e]++;
  if (!is_arithmetic(n)) return;
  count_parts(x, n->a);
  count_parts(x, n->b);
}

static void keep_parts(index_plan *x, ir_expr e) {
  const ir_node *n = ir_at(x->s->p, e);
  if (!is_arithmetic(n)) return;
  if (is_computed(x, e) && (int64_t)x->count[e] > x->threshold) {
    for (uint32_t i = 0; i < x->n; i++)
      if (x->kept[i] == e) return;
    x->kept[x->n++] = e;
    return;
  }
  keep_parts(x, n->a);
  keep_parts(x, n->b);
}

typedef struct walk {
  index_plan *x;
  void (*f)(index_plan *x, ir_expr e);
} walk;

static void visit_load(const ir_program *p, ir_expr e, void *ud) {
  const walk *w = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || n->c || sch_writes_buf(p, w->x->block, n->a)) return;
  for (uint32_t i = 0; i < n->n; i++) {
    ir_expr index = p->arg.v[n->b + i];
    if (ir_is_small(p, index)) w->f(w->x, index);
  }
}

static void each_index(index_plan *x, void (*f)(index_plan *, ir_expr)) {
  const ir_program *p = x->s->p;
  walk w = {x, f};
  for (ir_stmt q = x->block; (q = ir_next(p, q, x->block));) {
    const ir_stmt_rec *r = ir_st(p, q);
    if (r->kind == IR_STORE) {
      ir_visit(p, x->s->scratch, r->value, visit_load, &w);
      for (uint32_t i = 0; i < r->idx.n; i++)
        ir_visit(p, x->s->scratch, p->arg.v[r->idx.at + i], visit_load, &w);
    }
    if (r->kind == IR_IF) ir_visit(p, x->s->scratch, r->cond, visit_load, &w);
  }
}

/* ---- legality ----------------------------------------------------------- */

static bool check_iters(index_plan *x) {
  const ir_program *p = x->s->p;
  ir_span it = ir_blk(p, x->block)->iters;
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    for (uint32_t i = 0; i < x->n; i++)
      if (ir_uses_var(p, x->kept[i], p->iter.v[k].var) &&
          (ir_at(p, p->iter.v[k].lo)->op != IR_INT ||
           ir_at(p, p->iter.v[k].extent)->op != IR_INT))
        return sch_refuse(x->s, SCH_R_NOT_STATIC, .s = {x->block});
  return true;
}

static bool plan(index_plan *x, const struct cache_index_args *a) {
  sch_state *s = x->s;
  const ir_program *p = s->p;
  if (a->cse_thresh < 0)
    return sch_refuse(s, SCH_R_THRESHOLD_NEGATIVE, .n = {a->cse_thresh});
  if (!ir_scope_parse(a->storage_scope, &x->storage))
    return sch_refuse(s, SCH_R_STORAGE_UNKNOWN, .t = a->storage_scope);
  if (!sch_check_alone(s, x->scope, x->block)) return false;
  for (ir_stmt q = x->block; (q = ir_next(p, q, x->block));)
    if (ir_is_block(p, q))
      return sch_refuse(s, SCH_R_NOT_LEAF, .s = {x->block, q});
  x->count = arena_zalloc(s->scratch, p->node.n * sizeof *x->count);
  x->kept = arena_array(s->scratch, ir_expr, p->node.n);
  each_index(x, count_parts);
  each_index(x, keep_parts);
  return check_iters(x);
}

/* ---- the change --------------------------------------------------------- */

/* index_<k>[used iters] = the expression, in a separate block; the load
 * that represents it in the block. */
static ir_stmt compute(index_plan *x, uint32_t k) {
  sch_state *s = x->s;
  ir_program *p = s->p;
  ir_span it = ir_blk(p, x->block)->iters;
  ir_iter *iter = arena_array(s->scratch, ir_iter, it.n);
  sch_span *span = arena_array(s->scratch, sch_span, it.n);
  ir_expr *shape = arena_array(s->scratch, ir_expr, 3 * it.n);
  ir_expr *new = shape + it.n, *old = shape + 2 * it.n;
  uint32_t n = 0;
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_iter from = p->iter.v[i];
    if (!ir_uses_var(p, x->kept[k], from.var)) continue;
    const ir_var_rec rec = p->var.v[from.var];
    ir_var v = ir_var_new(p, IR_VAR_ITER, sch_nth_name(p, 'v', n), rec.dtype,
                          rec.lo, rec.hi);
    ir_subst_var(&sub, from.var, ir_ref(p, v));
    shape[n] = from.extent;
    new[n] = ir_sub(p, ir_ref(p, v), from.lo);
    old[n] = ir_sub(p, ir_ref(p, from.var), from.lo);
    span[n] = (sch_span){0, SCH_SPAN_WHOLE};
    iter[n++] = (ir_iter){v, IR_SPATIAL, from.lo, from.extent, from.lo};
  }
  const char *text = arena_printf(s->scratch, "index_%u", (unsigned)k);
  ir_str name = ir_fresh_block_name(p, ir_name(p, text));
  ir_buf made =
      ir_buf_new(p, name, IR_INDEX, n, shape, x->storage, IR_ROLE_LOCAL);
  ir_block_add_alloc(p, x->scope, made);
  ir_stmt b = ir_block_new(p, name);
  ir_block_set_iters(p, b, n, iter);
  ir_append(p, b,
            ir_store_new(p, made, n, new, ir_subst_expr(&sub, x->kept[k])));
  ir_block_find_regions(p, s->scratch, b);
  sch_nest nest;
  sch_nest_plan(s, b, span, true, &nest);
  sch_nest_hang(s, b, &nest, x->scope, ir_st(p, x->scope)->body);
  x->load[k] = ir_load(p, made, n, old);
  return b;
}

static ir_expr rebuild(const index_plan *x, ir_expr e) {
  ir_program *p = x->s->p;
  const ir_node n = *ir_at(p, e);
  for (uint32_t i = 0; i < x->n; i++)
    if (x->kept[i] == e) return x->load[i];
  if (!is_arithmetic(&n)) return e;
  ir_expr a = rebuild(x, n.a), b = rebuild(x, n.b);
  return a == n.a && b == n.b ? e : ir_binary(p, (ir_op)n.op, a, b);
}

static ir_expr new_load(ir_subst *sub, ir_buf buf, uint32_t n,
                        const ir_expr *idx) {
  const index_plan *x = sub->ud;
  if (sch_writes_buf(sub->p, x->block, buf)) return 0;
  ir_expr *to = arena_array(sub->scratch, ir_expr, n);
  for (uint32_t i = 0; i < n; i++) to[i] = rebuild(x, idx[i]);
  return ir_load(sub->p, buf, n, to);
}

static bool cache_index_rewrite(sch_state *s, void *ud) {
  struct cache_index_args *a = ud;
  index_plan x = {.s = s,
                  .block = a->block,
                  .scope = ir_scope_of(s->p, a->block),
                  .threshold = a->cse_thresh};
  if (!plan(&x, a)) return false;
  ir_stmt *made = arena_array(s->scratch, ir_stmt, x.n);
  x.load = arena_array(s->scratch, ir_expr, x.n);
  for (uint32_t k = 0; k < x.n; k++) made[k] = compute(&x, k);
  a->cached = (sch_list){x.n, made};
  if (!x.n) return true;
  ir_subst sub;
  ir_subst_init(&sub, s->p, s->scratch);
  sub.load = new_load;
  sub.ud = &x;
  ir_subst_stmt(&sub, a->block);
  sch_refresh_regions(s, a->block);
  return true;
}

static bool cache_index_apply(sch_state *s, struct cache_index_args *a) {
  return sch_transaction(s, cache_index_rewrite, a, a->block);
}
