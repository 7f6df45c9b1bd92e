/* SPDX-License-Identifier: Apache-2.0
 * reorder_block_iter_var: permutes the iters of a block. */
#include "ir/edit.h"
#include "schedule/sch.h"

#define REORDER_BLOCK_ITER_VAR_SIG(F, S)   \
  F(S, IN, BLOCK, block, REQ, "the block") \
  F(S, ATTR, INTS, new_order, REQ,         \
    "which iter comes at each place, counted from 0")

PRIM_DEFINE(
    reorder_block_iter_var, REORDER_BLOCK_ITER_VAR_SIG,
    .summary = "List the iters of a block in another order.",
    .rewrite = "block(vi, vj): S   ->   block(vj, vi): S",
    .details = "1. The new order names each iter of the block once.\n"
               "What is computed, and when, does not change.\n",
    .refusals = SCH_REASONS(SCH_R_NOT_PERMUTATION),
    .example = "sch:reorder_block_iter_var(sch:get_block(\"D\"), { 1, 0 })\n");

static bool
reorder_block_iter_var_apply(sch_state *s,
                             struct reorder_block_iter_var_args *a) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, a->block)->iters;
  sch_ints o = a->new_order;
  if (o.n != it.n)
    return sch_refuse(s, SCH_R_NOT_PERMUTATION, .s = {a->block}, .n = {it.n});
  ir_iter *next = arena_array(s->scratch, ir_iter, it.n);
  for (uint32_t i = 0; i < o.n; i++) {
    bool fits = o.v[i] >= 0 && o.v[i] < it.n;
    for (uint32_t k = 0; k < i; k++) fits = fits && o.v[k] != o.v[i];
    if (!fits)
      return sch_refuse(s, SCH_R_NOT_PERMUTATION, .s = {a->block}, .n = {it.n});
    next[i] = p->iter.v[it.at + (uint32_t)o.v[i]];
  }
  ir_block_set_iters(p, a->block, it.n, next);
  return true;
}
