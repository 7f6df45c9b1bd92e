/* SPDX-License-Identifier: Apache-2.0
 * reindex: stages an access through a copy that is indexed by the block's
 * iters. */
#include "ir/expr.h"
#include "schedule/rewrite/remap.h"

#define REINDEX_SIG(F, S)                                           \
  F(S, IN, BLOCK, block, REQ, "the block that accesses the buffer") \
  F(S, ATTR, BUFFER, buffer, REQ,                                   \
    "the buffer: {\"read\", 0}, {\"write\", 0} or its name")        \
  F(S, OUT, BLOCK, reindexed, REQ, "the block that copies")

PRIM_DEFINE(
    reindex, REINDEX_SIG,
    .summary = "Let a block access a copy of a buffer that is indexed by "
               "its iters.",
    .rewrite = "C[i, j] += A[f(i, k)]   ->   "
               "A_reindex[i, k] = A[f(i, k)]; C[i, j] += A_reindex[i, k]",
    .details =
        "1. The operand names a buffer that the block reads, or writes.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another; the block holds no\n"
        "   others.\n"
        "3. The block accesses the buffer at one place, which its iters\n"
        "   alone determine. What it reads it does not write, and it writes "
        "under\n"
        "   no condition of its own.\n"
        "4. A buffer that is read is written by at most one block of the\n"
        "   scope, which is then not given by the caller, and which writes\n"
        "   all of a box.\n"
        "5. A block that writes the buffer is complete or a reduction, its\n"
        "   only writer, writes no element twice, and its instances that\n"
        "   run are known.\n"
        "6. The iters that the place is made of have constant domains, or\n"
        "   such as sizes alone determine.\n"
        "7. In a block other than the outermost, where the buffer has not\n"
        "   its lifetime scope: no block of it writes a buffer that is read.\n"
        "8. Loops whose iterations run in parallel stay free of races.\n"
        "The copy of A is named A_reindex, as is the block that makes it,\n"
        "and has a dimension for each iter of the place, in their order. It\n"
        "is where cache_read or cache_write would put it.\n",
    .refusals = SCH_REASONS(SCH_REMAP_REASONS, SCH_R_BUFFER_LIVE_IN,
                            SCH_BUFFER_REASONS),
    .example = "local b = sch:get_block(\"C\")\n"
               "local back = sch:reindex(b, { \"write\", 0 })\n"
               "local there = sch:reindex(b, { \"read\", 0 })\n");

static bool reindex_rewrite(sch_state *s, void *ud) {
  struct reindex_args *a = ud;
  sch_remap m;
  ir_buf buf;
  bool write;
  if (!sch_find_buffer(s, a->block, a->buffer, SCH_READS | SCH_WRITES, &write,
                       NULL, &buf) ||
      !sch_remap_init(s, &m, a->block, buf, write, NULL))
    return false;
  sch_remap_by_iters(s, &m);
  if (!sch_remap_place(s, &m)) return false;
  a->reindexed = sch_remap_make(s, &m, "_reindex");
  return true;
}

static bool reindex_apply(sch_state *s, struct reindex_args *a) {
  return sch_transaction(s, reindex_rewrite, a, a->block);
}
