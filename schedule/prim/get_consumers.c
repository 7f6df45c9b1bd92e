/* SPDX-License-Identifier: Apache-2.0
 * get_consumers: the blocks of the scope that depend on a block (RAW or WAW).
 */
#include "schedule/sch.h"

#define GET_CONSUMERS_SIG(F, S)            \
  F(S, IN, BLOCK, block, REQ, "the block") \
  F(S, OUT, BLOCKS, consumers, REQ, "its consumers, in program order")

PRIM_DEFINE(
    get_consumers, GET_CONSUMERS_SIG, .flags = SCH_PURE,
    .summary = "Get the blocks that use what a block makes.", .rewrite = "",
    .details =
        "The blocks of the same scope that depend on `block` because one\n"
        "writes what the other, later, reads or writes again. Regions that\n"
        "cannot overlap make no dependence.\n",
    .refusals = (const uint16_t[]){0},
    .example = "local b = sch:get_block(\"C\")\n"
               "local other = sch:get_consumers(b)\n");

static bool get_consumers_apply(sch_state *s, struct get_consumers_args *a) {
  a->consumers = sch_consumers(s, a->block);
  return true;
}
