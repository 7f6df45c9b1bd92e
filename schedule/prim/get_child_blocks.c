/* SPDX-License-Identifier: Apache-2.0
 * get_child_blocks: the child blocks of a block or loop. */
#include "schedule/sch.h"

#define GET_CHILD_BLOCKS_SIG(F, S)                        \
  F(S, IN, NODE, block_or_loop, REQ, "the block or loop") \
  F(S, OUT, BLOCKS, blocks, REQ, "the blocks below it, in program order")

PRIM_DEFINE(get_child_blocks, GET_CHILD_BLOCKS_SIG, .flags = SCH_PURE,
            .summary = "Get the blocks right below a block or loop.",
            .rewrite = "",
            .details = "Right below means: with no other block between. Blocks "
                       "in the init of\n"
                       "a block belong to it and are not listed.\n",
            .refusals = (const uint16_t[]){0},
            .example = "local root = sch:get_block(\"root\")\n"
                       "local b = sch:get_child_blocks(root)\n");

static bool get_child_blocks_apply(sch_state *s,
                                   struct get_child_blocks_args *a) {
  a->blocks = sch_child_blocks(s, a->block_or_loop);
  return true;
}
