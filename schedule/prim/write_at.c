/* SPDX-License-Identifier: Apache-2.0
 * write_at: stages what the blocks under a loop write, copied out at the end
 * of each iteration. */
#include "schedule/rewrite/auto_copy.h"

#define WRITE_AT_SIG(F, S)                                                \
  F(S, IN, LOOP, loop, REQ, "the loop in which it is copied")             \
  F(S, IN, BLOCK, block, REQ, "a block under it that writes the buffer")  \
  F(S, ATTR, BUFFER, write_buffer_index, REQ,                             \
    "the buffer; an index counts those it writes, from 0")                \
  F(S, ATTR, STR, storage_scope, REQ,                                     \
    "where the new buffer lives: \"global\", \"local\", \"shared\", ...") \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies back")

PRIM_DEFINE(
    write_at, WRITE_AT_SIG,
    .summary = "Let all blocks under a loop write a new buffer, "
               "which one block copies in each iteration.",
    .rewrite = "for i: B[i] = f(A[i])   ->   "
               "for i: B_local[i] = f(A[i]); B[i] = B_local[i]",
    .details =
        "1. The operand names a buffer that the block writes.\n"
        "2. The storage scope is known.\n"
        "3. The loop is around the block, both in a scope of loops and\n"
        "   blocks, and none of them matches the buffer to another.\n"
        "4. All blocks of the scope that write the buffer are under the\n"
        "   loop, and it is not given by the caller.\n"
        "5. In one iteration they must write all of a box of constant\n"
        "   size.\n"
        "6. In a block other than the outermost, where the buffer has not\n"
        "   its lifetime scope: no block that uses the copy reads it.\n"
        "7. Loops whose iterations run in parallel stay free of races.\n"
        "The new buffer of B in scope \"local\" is named B_local, as is the\n"
        "block that copies it to B, behind the last child of the loop that\n"
        "writes B. Blocks before that which read B read B_local. The loops\n"
        "over the box are in the block, which is annotated as that of\n"
        "read_at is.\n",
    .refusals = SCH_REASONS(SCH_AUTO_REASONS, SCH_R_SEVERAL_WRITERS),
    .example = "local b = sch:get_block(\"C\")\n"
               "local i = sch:get_loops(b)\n"
               "local copy = sch:write_at(i, b, 0, \"local\")\n");

static bool write_at_rewrite(sch_state *s, void *ud) {
  struct write_at_args *a = ud;
  return sch_auto_copy(s, a->loop, a->block, a->write_buffer_index, true,
                       a->storage_scope, &a->cached);
}

static bool write_at_apply(sch_state *s, struct write_at_args *a) {
  return sch_transaction(s, write_at_rewrite, a, a->block);
}
