/* SPDX-License-Identifier: Apache-2.0
 * transform_block_layout: reindexes the iteration domain of a block by an
 * index map. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/layout.h"
#include "schedule/analysis/move.h"

#define TRANSFORM_BLOCK_LAYOUT_SIG(F, S)   \
  F(S, IN, BLOCK, block, REQ, "the block") \
  F(S, IN, INDEX_MAP, index_map, REQ, "the new iters, from those there are")

PRIM_DEFINE(
    transform_block_layout, TRANSFORM_BLOCK_LAYOUT_SIG,
    .summary = "Let a block iterate over what a map makes of its iters.",
    .rewrite = "for i in 16: block(vi = i)   ->   "
               "for ax0 in 4: for ax1 in 4: block(v0 = ax0, v1 = ax1), "
               "vi := v0 * 4 + v1",
    .details =
        "1. The block is all that is in its loops, each bound to one\n"
        "   iter, in order, from 0 to the end of its domain, which is the "
        "same\n"
        "   in all iterations of these loops.\n"
        "2. The loops are serial and without annotations.\n"
        "3. The map has a parameter for each iter and at least one result;\n"
        "   the results are from 0 on, take each value once, and no other,\n"
        "   and can be solved for the iters.\n"
        "4. No result mixes spatial, reduce and ordered iters.\n"
        "5. The instances keep their order, or the block may be run in any:\n"
        "   it is complete or a reduction with an init, reads nothing that\n"
        "   it writes, and writes each element once; no reduce iter "
        "determines\n"
        "   where its result goes, or what it starts from.\n"
        "6. Loops whose iterations run in parallel stay free of races.\n"
        "The new loops are ax0, ax1, ...; a result of one iter alone keeps\n"
        "the kind of the iter, a constant result is spatial.\n",
    .refusals = SCH_REASONS(
        SCH_LAYOUT_REASONS, SCH_R_BLOCK_IS_ROOT, SCH_R_BLOCK_NOT_COMPLETE,
        SCH_R_DEPENDENT_LOOP, SCH_R_LOOP_ANNOTATED, SCH_R_LOOP_NOT_SERIAL,
        SCH_R_MAP_NOT_SURJECTIVE, SCH_R_MAP_SURJECTIVE_UNPROVEN,
        SCH_R_MAP_MIXES, SCH_R_MAP_UNSOLVED, SCH_R_NOT_ONLY_CHILD,
        SCH_R_NOT_TRIVIAL, SCH_R_PLACE_REDUCED, SCH_R_WOULD_RACE),
    .example = "sch:transform_block_layout(sch:get_block(\"C\"), "
               "function(i, j, k)\n"
               "  return i // 4, j, i % 4, k\n"
               "end)\n");

/* ---- what is asked ------------------------------------------------------ */

/* The loops of the block, of which the outermost is *top. */
static bool block_layout_check_loops(sch_state *s, ir_stmt block,
                                     ir_stmt *top) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  if (!ir_scope_of(p, block))
    return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {block});
  if (!it.n || ir_blk(p, block)->pred || !sch_is_trivial(p, block))
    return sch_refuse(s, SCH_R_NOT_TRIVIAL, .s = {block});
  *top = block;
  for (uint32_t i = it.n; i-- > 0;) {
    ir_stmt loop = ir_st(p, *top)->parent;
    const ir_stmt_rec *r = ir_st(p, loop);
    if (sch_only_child(p, loop) != *top)
      return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {loop, *top});
    if (r->loop_kind != IR_SERIAL)
      return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {loop});
    if (r->anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {loop});
    if (!ir_is_const(p, r->lo, 0) || p->iter.v[it.at + i].lo != r->lo ||
        p->iter.v[it.at + i].extent != r->extent)
      return sch_refuse(s, SCH_R_NOT_TRIVIAL, .s = {block});
    if (sch_domain_needs(p, block, r->var))
      return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {block, loop});
    *top = loop;
  }
  return true;
}

static bool not_complete(sch_state *s, ir_stmt block, const char *why) {
  return sch_refuse(s, SCH_R_BLOCK_NOT_COMPLETE, .s = {block}, .t = why);
}

/* The number of a point of a box, counted in the order of loops over it. */
static ir_expr number_of(ir_program *p, uint32_t n, const ir_expr *extent,
                         const ir_expr *at) {
  ir_expr sum = ir_index(p, 0);
  for (uint32_t k = 0; k < n; k++)
    sum = ir_add(p, ir_mul(p, sum, extent[k]), at[k]);
  return sum;
}

static bool keeps_order(sch_state *s, const sch_layout *l) {
  ir_program *p = s->p;
  ir_expr *at = arena_array(s->scratch, ir_expr, l->ndim);
  for (uint32_t d = 0; d < l->ndim; d++) at[d] = ir_ref(p, l->var[d]);
  return number_of(p, l->ndim, l->extent, at) ==
         number_of(p, l->nout, l->shape, l->out);
}

static bool block_layout_uses(const ir_program *p, ir_expr e, void *var) {
  return ir_uses_var(p, e, *(ir_var *)var);
}

/* Which instance runs the init makes a difference. */
static bool starts_by_reduced(const ir_program *p, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  for (ir_stmt top = ir_st(p, block)->alt; top; top = ir_st(p, top)->next)
    for (ir_stmt s = top; s; s = ir_next(p, s, top))
      for (uint32_t k = it.at; k < it.at + it.n; k++)
        if (p->iter.v[k].kind == IR_REDUCE &&
            ir_stmt_any_expr(p, s, block_layout_uses, &p->iter.v[k].var))
          return true;
  return ir_reduce_iter_in_write(p, block);
}

/* The instances may be run in any order that keeps, for each point of the
 * spatial iters, the first of the reduce iters first. */
static bool block_layout_check_order(sch_state *s, ir_stmt block,
                                     const sch_layout *l) {
  const ir_program *p = s->p;
  if (keeps_order(s, l)) return true;
  ir_span it = ir_blk(p, block)->iters, w = ir_blk(p, block)->writes;
  bool reduces = sch_has_init(p, block) && sch_reduction_commutes(p, block);
  for (uint32_t k = it.at; k < it.at + it.n; k++)
    if (p->iter.v[k].kind == IR_OPAQUE ||
        (p->iter.v[k].kind == IR_REDUCE && !reduces))
      return not_complete(s, block, "one of its iters must keep its order");
  if (reduces && starts_by_reduced(p, block))
    return sch_refuse(s, SCH_R_PLACE_REDUCED, .s = {block});
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    if (sch_reads_buf(p, block, p->region.v[i].buf))
      return not_complete(s, block, "it reads what it writes");
  if (!w.n) return not_complete(s, block, "it writes nothing");
  return sch_writes_once(s, block) ||
         not_complete(s, block, "it writes an element more than once");
}

/* The kind of each result. */
static bool find_kinds(sch_state *s, ir_stmt block, const sch_layout *l,
                       uint32_t *kind) {
  const ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t k = 0; k < l->nout; k++) {
    unsigned kinds = 0;
    for (uint32_t i = 0; i < it.n; i++)
      if (ir_uses_var(p, l->out[k], l->var[i]))
        kinds |= 1u << p->iter.v[it.at + i].kind;
    if (kinds & (kinds - 1))
      return sch_refuse(s, SCH_R_MAP_MIXES, .s = {block}, .n = {k});
    kind[k] = kinds == 1u << IR_REDUCE   ? IR_REDUCE
              : kinds == 1u << IR_OPAQUE ? IR_OPAQUE
                                         : IR_SPATIAL;
  }
  return true;
}

/* ---- the change --------------------------------------------------------- */

/* The new iters, with loops for them from the block outwards; what the old
 * ones are is replaced in the block. */
static void replace_nest(sch_state *s, ir_stmt block, ir_stmt top,
                         const sch_layout *l, const uint32_t *kind,
                         const ir_expr *ref, const ir_expr *old) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  ir_iter *iter = arena_array(s->scratch, ir_iter, l->nout);
  ir_stmt nest = block;
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t i = 0; i < it.n; i++)
    ir_subst_var(&sub, p->iter.v[it.at + i].var, old[i]);
  ir_block_set_iters(p, block, 0, NULL);
  ir_subst_stmt(&sub, block);
  ir_stmt outer = ir_loop_new(p, sch_ax_var(p, 0, l->shape[0]), ir_index(p, 0),
                              l->shape[0], IR_SERIAL);
  ir_replace(p, top, outer);
  ir_detach(p, block);
  for (uint32_t k = l->nout; k-- > 0;) {
    ir_var v = k ? sch_ax_var(p, k, l->shape[k]) : ir_st(p, outer)->var;
    ir_stmt loop =
        k ? ir_loop_new(p, v, ir_index(p, 0), l->shape[k], IR_SERIAL) : outer;
    iter[k] = (ir_iter){ir_at(p, ref[k])->a, kind[k], ir_index(p, 0),
                        l->shape[k], ir_ref(p, v)};
    ir_append(p, loop, nest);
    nest = loop;
  }
  ir_block_set_iters(p, block, l->nout, iter);
  ir_kill(p, top);
}

static bool transform_block_layout_rewrite(sch_state *s, void *ud) {
  struct transform_block_layout_args *a = ud;
  ir_program *p = s->p;
  ir_stmt top;
  sch_layout l;
  if (!block_layout_check_loops(s, a->block, &top)) return false;
  ir_span it = ir_blk(p, a->block)->iters;
  ir_expr *extent = arena_array(s->scratch, ir_expr, 2 * it.n);
  ir_expr *old = extent + it.n;
  for (uint32_t i = 0; i < it.n; i++) extent[i] = p->iter.v[it.at + i].extent;
  if (!sch_layout_init(s, it.n, extent, &a->index_map, false, &l)) return false;
  if (l.holes)
    return sch_refuse(
        s, l.sized ? SCH_R_MAP_SURJECTIVE_UNPROVEN : SCH_R_MAP_NOT_SURJECTIVE,
        .s = {a->block}, .n = {l.holes});
  uint32_t *kind = arena_array(s->scratch, uint32_t, l.nout);
  if (!block_layout_check_order(s, a->block, &l) ||
      !find_kinds(s, a->block, &l, kind))
    return false;
  ir_expr *ref = arena_array(s->scratch, ir_expr, l.nout);
  for (uint32_t k = 0; k < l.nout; k++) {
    int64_t min, max;
    ir_domain_bounds(p, ir_index(p, 0), l.shape[k], &min, &max);
    ir_str name = ir_name(p, arena_printf(s->scratch, "v%u", k));
    ref[k] = ir_ref(p, ir_var_new(p, IR_VAR_ITER, name, IR_INDEX, min, max));
  }
  if (!sch_layout_solve(s, &l, ref, old))
    return sch_refuse(s, SCH_R_MAP_UNSOLVED);
  replace_nest(s, a->block, top, &l, kind, ref, old);
  return true;
}

static bool
transform_block_layout_apply(sch_state *s,
                             struct transform_block_layout_args *a) {
  return sch_transaction(s, transform_block_layout_rewrite, a, a->block);
}
