/* SPDX-License-Identifier: Apache-2.0
 * get_producers: the blocks of the scope on which a block depends (RAW or
 * WAW). */
#include "schedule/sch.h"

#define GET_PRODUCERS_SIG(F, S)            \
  F(S, IN, BLOCK, block, REQ, "the block") \
  F(S, OUT, BLOCKS, producers, REQ, "its producers, in program order")

PRIM_DEFINE(
    get_producers, GET_PRODUCERS_SIG, .flags = SCH_PURE,
    .summary = "Get the blocks that make what a block uses.", .rewrite = "",
    .details =
        "The blocks of the same scope that `block` depends on because one\n"
        "writes what the other, later, reads or writes again. Regions that\n"
        "cannot overlap make no dependence.\n",
    .refusals = (const uint16_t[]){0},
    .example = "local b = sch:get_block(\"D\")\n"
               "local other = sch:get_producers(b)\n");

static bool get_producers_apply(sch_state *s, struct get_producers_args *a) {
  a->producers = sch_producers(s, a->block);
  return true;
}
