/* SPDX-License-Identifier: Apache-2.0
 * blockize: makes a loop, or adjacent blocks, the body of a new block
 * (outlining into a block). */
#include "schedule/rewrite/init.h"
#include "schedule/rewrite/nesting.h"

#define BLOCKIZE_SIG(F, S)                                 \
  F(S, IN, NODES, target, REQ,                             \
    "the loop, or the blocks, that go into the new block") \
  F(S, ATTR, BOOL, preserve_unit_iters, DEF(1),            \
    "the new block gets iters of one value, too")          \
  F(S, OUT, BLOCK, new_block, REQ, "the block around them, named X_o")

PRIM_DEFINE(
    blockize, BLOCKIZE_SIG,
    .summary = "Put a block around a loop, or around blocks that are "
               "together.",
    .rewrite = "for i: for j in 8: X(i * 8 + j)   ->   "
               "for i: X_o(i): for j in 8: X(j)",
    .details =
        "1. There is a loop, or at least one block; all in one scope, none of\n"
        "   them its block.\n"
        "2. Below what surrounds all of them they are adjacent, one "
        "after\n"
        "   the other, with nothing between; and only loops, blocks and\n"
        "   conditions without loads are around them there.\n"
        "3. Every iter of a block inside is made of tiles: the loops around "
        "the\n"
        "   new block determine the tile and those inside of it the place in "
        "the\n"
        "   tile, as many places as a tile has. What determines the tile "
        "becomes "
        "an\n"
        "   iter of the new block, X's v is now v_o * places + v_i.\n"
        "4. What is inside depends on the loops around through these iters "
        "only,\n"
        "   and no loop below may get more iterations where tiles overhang.\n"
        "5. Where the loops around the new block carry a reduction it gets "
        "the\n"
        "   init, in separate loops; then it holds one block, for which\n"
        "   decompose_reduction would be right. That goes for loops of one\n"
        "   iteration, too, if decompose_reduction would be right; else, and\n"
        "   with several blocks, the init stays inside.\n"
        "6. Loops around whose iterations run in parallel stay free of races, "
        "as "
        "far\n"
        "   as the regions of the new block determine.\n"
        "The blocks inside keep their handles and names.\n",
    .refusals = SCH_REASONS(SCH_NESTING_REASONS, SCH_INIT_REASONS,
                            SCH_R_BLOCK_BETWEEN, SCH_R_BLOCK_IS_ROOT,
                            SCH_R_NODES_EMPTY, SCH_R_NOT_SIDE_BY_SIDE,
                            SCH_R_SCOPES_DIFFER, SCH_R_WOULD_RACE),
    .example = "local c = sch:get_block(\"C\")\n"
               "local i, j, k = sch:get_loops(c)\n"
               "local j0, j1 = sch:split(j, { ts.auto, 4 })\n"
               "local tile = sch:blockize(j1)\n");

static bool blockize_rewrite(sch_state *s, void *ud) {
  struct blockize_args *a = ud;
  return sch_blockize(s, a->target.n, a->target.v, a->preserve_unit_iters,
                      &a->new_block);
}

static bool blockize_apply(sch_state *s, struct blockize_args *a) {
  return sch_transaction(s, blockize_rewrite, a,
                         a->target.n ? a->target.v[0] : 0);
}
