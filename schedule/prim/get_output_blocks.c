/* SPDX-License-Identifier: Apache-2.0
 * get_output_blocks: the blocks whose results are live outside of a scope. */
#include "schedule/sch.h"

#define GET_OUTPUT_BLOCKS_SIG(F, S)                           \
  F(S, IN, BLOCK, scope_block, REQ, "the block to look into") \
  F(S, OUT, BLOCKS, blocks, REQ, "its output blocks, in program order")

PRIM_DEFINE(
    get_output_blocks, GET_OUTPUT_BLOCKS_SIG, .flags = SCH_PURE,
    .summary = "Get the blocks of a scope that write what is seen outside it.",
    .rewrite = "",
    .details = "A block is an output block when it writes a buffer that its "
               "scope does\n"
               "not allocate.\n",
    .refusals = (const uint16_t[]){0},
    .example = "local out = sch:get_output_blocks(sch:get_block(\"root\"))\n");

static bool get_output_blocks_apply(sch_state *s,
                                    struct get_output_blocks_args *a) {
  sch_list all = sch_child_blocks(s, a->scope_block);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < all.n; i++)
    if (sch_is_output(s->p, all.v[i])) v[n++] = all.v[i];
  a->blocks = (sch_list){n, v};
  return true;
}
