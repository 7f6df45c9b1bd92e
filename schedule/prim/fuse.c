/* SPDX-License-Identifier: Apache-2.0
 * fuse: collapses a loop nest into a single loop. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define FUSE_SIG(F, S)                                            \
  F(S, IN, LOOPS, loops, REQ, "the loops to fuse, outer first")   \
  F(S, ATTR, BOOL, preserve_unit_iters, DEF(1),                   \
    "kept for traces; loops of extent 1 never count in bindings") \
  F(S, OUT, LOOP, fused_loop, REQ, "the fused loop")

PRIM_DEFINE(
    fuse, FUSE_SIG, .summary = "Fuse loops that are nested directly into one.",
    .rewrite = "for i in m: for j in n: S   ->   for i_j_fused in m * n: "
               "S[i := i_j_fused // n, j := i_j_fused % n]",
    .details =
        "1. Each loop is the only child of the one before.\n"
        "2. The loops are bound to no thread axis, have no annotations and\n"
        "   start at 0.\n"
        "3. No extent depends on another of the loops; those that are no\n"
        "   constants are provably at least 1, and what they read, but for "
        "that\n"
        "   of the first loop, nothing below changes.\n"
        "4. The product of the constant extents is at most 2^60.\n"
        "5. Bounds of loops below that depend on these loops, and domains of\n"
        "   iters, stay in the ranges that they have, as far as is known.\n"
        "   Where extents are no constants this may take that what is made of\n"
        "   the first loop's variable is capped by its last value in them.\n"
        "6. Loops around and below whose iterations run in parallel stay free "
        "of\n"
        "   races, in spite of guards.\n"
        "The fused loop is serial, whatever kinds they had, as in TVM. One "
        "loop\n"
        "alone keeps its handle and becomes serial.\n",
    .refusals = SCH_REASONS(SCH_R_DEPENDENT_LOOP, SCH_R_EXTENT_LARGE,
                            SCH_R_INPUT_OVERWRITTEN, SCH_R_LOOP_ANNOTATED,
                            SCH_R_LOOP_MAY_BE_EMPTY, SCH_R_LOOP_BOUND,
                            SCH_R_LOOP_START_NOT_ZERO, SCH_R_LOOPS_EMPTY,
                            SCH_R_NOT_ONLY_CHILD, SCH_R_NOT_PARENT,
                            SCH_R_WOULD_RACE),
    .example = "local i, j = sch:get_loops(sch:get_block(\"C\"))\n"
               "local f = sch:fuse(i, j)\n");

static bool check_loop(sch_state *s, const struct fuse_args *a, uint32_t k,
                       int64_t *product) {
  const ir_program *p = s->p;
  ir_stmt loop = a->loops.v[k];
  int64_t extent;
  const ir_stmt_rec *r = ir_st(p, loop);
  if (r->loop_kind == IR_THREAD)
    return sch_refuse(s, SCH_R_LOOP_BOUND, .s = {loop});
  if (r->anno) return sch_refuse(s, SCH_R_LOOP_ANNOTATED, .s = {loop});
  if (!ir_is_const(p, r->lo, 0))
    return sch_refuse(s, SCH_R_LOOP_START_NOT_ZERO, .s = {loop});
  if (k) {
    ir_stmt outer = a->loops.v[k - 1];
    if (r->parent != outer)
      return sch_refuse(s, SCH_R_NOT_PARENT, .s = {outer, loop});
    if (sch_only_child(p, outer) != loop)
      return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {outer, loop});
  }
  if (k && !sch_reads_stay(s, a->loops.v[0], r->extent, loop)) return false;
  for (uint32_t i = 0; i < k; i++)
    if (ir_uses_var(p, r->extent, ir_st(p, a->loops.v[i])->var))
      return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {loop, a->loops.v[i]});
  if (!ir_const_int(p, r->extent, &extent))
    return ir_at(p, r->extent)->lo >= 1 ||
           sch_refuse(s, SCH_R_LOOP_MAY_BE_EMPTY, .s = {loop});
  if (__builtin_mul_overflow(*product, extent, product) ||
      *product > SCH_MAX_EXTENT)
    return sch_refuse(s, SCH_R_EXTENT_LARGE, .s = {loop});
  return true;
}

/* The extent of the fused loop; `product`: of the constant ones. */
static ir_expr fused_extent(sch_state *s, const struct fuse_args *a,
                            int64_t product) {
  ir_program *p = s->p;
  ir_expr all = ir_index(p, product);
  int64_t unused;
  for (uint32_t i = 0; i < a->loops.n; i++) {
    ir_expr extent = ir_st(p, a->loops.v[i])->extent;
    if (!ir_const_int(p, extent, &unused)) all = ir_mul(p, all, extent);
  }
  return all;
}

/* The variable of the fused loop, spelled after all of them. */
static ir_var fused_var(sch_state *s, const struct fuse_args *a,
                        ir_expr extent) {
  ir_program *p = s->p;
  int64_t min, max;
  ir_domain_bounds(p, ir_index(p, 0), extent, &min, &max);
  ir_var v = ir_st(p, a->loops.v[0])->var;
  for (uint32_t i = 1; i < a->loops.n; i++) {
    v = ir_var_fused(p, v, ir_st(p, a->loops.v[i])->var, max);
    p->var.v[v].part = i + 1 < a->loops.n;
  }
  return v;
}

/* The first loop that may have several iterations: the ones before are at 0,
 * and it needs no remainder. */
static uint32_t first_long(const ir_program *p, const struct fuse_args *a) {
  uint32_t i = 0;
  while (i + 1 < a->loops.n &&
         ir_is_const(p, ir_st(p, a->loops.v[i])->extent, 1))
    i++;
  return i;
}

/* Domains below that depend on the loops claim no more than they did.  What an
 * extent that is no constant is divided out of has no end that is known,
 * but the first loop has one: where it takes that, domains are given it. */
static bool fit_domains(sch_state *s, const struct fuse_args *a, ir_stmt below,
                        const ir_var *var, const ir_expr *to) {
  ir_program *p = s->p;
  uint32_t n = a->loops.n;
  if (!sch_replaced_misfit(s, below, n, var, to)) return true;
  uint32_t k = first_long(p, a);
  ir_stmt first = a->loops.v[k];
  ir_expr *capped = arena_array(s->scratch, ir_expr, n);
  memcpy(capped, to, n * sizeof *to);
  ir_expr last = ir_sub(p, ir_st(p, first)->extent, ir_index(p, 1));
  capped[k] = ir_binary(p, IR_MIN, to[k], last);
  ir_stmt misfit = sch_replaced_misfit(s, below, n, var, capped);
  if (misfit) return sch_refuse(s, SCH_R_DEPENDENT_LOOP, .s = {misfit, first});
  sch_replace_in_domains(s, below, n, var, capped);
  return true;
}

static bool fuse_rewrite(sch_state *s, void *ud) {
  struct fuse_args *a = ud;
  ir_program *p = s->p;
  uint32_t n = a->loops.n;
  int64_t product = 1;
  for (uint32_t k = 0; k < n; k++)
    if (!check_loop(s, a, k, &product)) return false;
  a->fused_loop = a->loops.v[0];
  if (n == 1) {
    sch_set_loop_kind(s, a->fused_loop, IR_SERIAL, 0);
    return true;
  }

  ir_var *var = arena_array(s->scratch, ir_var, n);
  ir_expr *to = arena_array(s->scratch, ir_expr, n);
  ir_expr all = fused_extent(s, a, product);
  ir_var v = fused_var(s, a, all);
  ir_stmt outer = a->loops.v[0], inner = a->loops.v[n - 1];
  ir_stmt fused = ir_loop_new(p, v, ir_index(p, 0), all, IR_SERIAL);
  ir_expr rest = ir_ref(p, v);
  uint32_t first = first_long(p, a);
  for (uint32_t k = n; k-- > 0;) {
    ir_expr extent = ir_st(p, a->loops.v[k])->extent;
    /* A loop that does not run has no digit, and none is asked for. */
    if (ir_is_const(p, extent, 0)) extent = ir_index(p, 1);
    var[k] = ir_st(p, a->loops.v[k])->var;
    to[k] = k > first ? ir_binary(p, IR_MOD, rest, extent) : rest;
    rest = k > first ? ir_binary(p, IR_DIV, rest, extent) : ir_index(p, 0);
  }
  if (!fit_domains(s, a, inner, var, to)) return false;
  sch_replace_vars(s, inner, n, var, to);
  ir_move_body(p, inner, fused);
  ir_replace(p, outer, fused);
  ir_kill(p, outer);
  a->fused_loop = fused;
  return true;
}

static bool fuse_apply(sch_state *s, struct fuse_args *a) {
  if (!a->loops.n) return sch_refuse(s, SCH_R_LOOPS_EMPTY);
  /* Of quotients and remainders it may not be seen any more that iterations
   * fill what they read of a buffer, which was their own then. */
  return sch_transaction_loop(s, fuse_rewrite, a, a->loops.v[0], true);
}
