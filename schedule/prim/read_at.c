/* SPDX-License-Identifier: Apache-2.0
 * read_at: stages what the blocks under a loop read, copied in each of its
 * iterations. */
#include "schedule/rewrite/auto_copy.h"

#define READ_AT_SIG(F, S)                                               \
  F(S, IN, LOOP, loop, REQ, "the loop in which the copy is made")       \
  F(S, IN, BLOCK, block, REQ, "a block under it that reads the buffer") \
  F(S, ATTR, BUFFER, read_buffer_index, REQ,                            \
    "the buffer; an index counts those it reads, from 0")               \
  F(S, ATTR, STR, storage_scope, REQ,                                   \
    "where the copy lives: \"global\", \"local\", \"shared\", ...")     \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies")

PRIM_DEFINE(
    read_at, READ_AT_SIG,
    .summary = "Let all blocks under a loop read a copy of a buffer, made in "
               "one block in each iteration.",
    .rewrite = "for i: B[i] = f(A[i])   ->   "
               "for i: A_local[i] = A[i]; B[i] = f(A_local[i])",
    .details =
        "1. The operand names a buffer that the block reads.\n"
        "2. The storage scope is known.\n"
        "3. The loop is around the block, both in a scope of loops and\n"
        "   blocks, and none of them matches the buffer to another.\n"
        "4. No block under the loop writes the buffer but before the child\n"
        "   of the loop in which it is first read.\n"
        "5. What the blocks under the loop read in one iteration lies in a\n"
        "   box of constant size. Of a buffer that is not given by the\n"
        "   caller some block has made all of that box before.\n"
        "6. Loops whose iterations run in parallel stay free of races.\n"
        "The copy of a buffer A in scope \"local\" is named A_local, as is\n"
        "the block that makes it, before the first child of the loop that\n"
        "reads A. The loops over the box are in that block, and its\n"
        "annotation auto_copy = 1 leaves it to lowering how to copy. Others\n"
        "say more: vector_bytes, how many bytes to move at once;\n"
        "local_stage = 1, to load all into registers first;\n"
        "double_buffer_scope = 0, to alternate between two copies, of which\n"
        "one is made ahead. In scope \"shared\" it holds what all threads of\n"
        "a block read.\n",
    .refusals = SCH_REASONS(SCH_AUTO_REASONS, SCH_R_COPY_OVERWRITTEN,
                            SCH_R_NOT_COVERED),
    .example = "local b = sch:get_block(\"C\")\n"
               "local i = sch:get_loops(b)\n"
               "local copy = sch:read_at(i, b, 0, \"local\")\n"
               "sch:annotate(copy, \"vector_bytes\", 16)\n");

static bool read_at_rewrite(sch_state *s, void *ud) {
  struct read_at_args *a = ud;
  return sch_auto_copy(s, a->loop, a->block, a->read_buffer_index, false,
                       a->storage_scope, &a->cached);
}

static bool read_at_apply(sch_state *s, struct read_at_args *a) {
  return sch_transaction(s, read_at_rewrite, a, a->block);
}
