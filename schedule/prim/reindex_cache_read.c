/* SPDX-License-Identifier: Apache-2.0
 * reindex_cache_read: stages a read through a copy that is indexed by a map of
 * the block's iters. */
#include "schedule/rewrite/remap.h"

#define REINDEX_CACHE_READ_SIG(F, S)                                \
  F(S, IN, BLOCK, block, REQ, "the block that reads the buffer")    \
  F(S, ATTR, BUFFER, read_buffer_index, REQ,                        \
    "the buffer; an index counts those it reads, from 0")           \
  F(S, ATTR, STR, storage_scope, REQ,                               \
    "where the copy lives: \"global\", \"local\", \"shared\", ...") \
  F(S, IN, INDEX_MAP, index_map, REQ,                               \
    "the indices of the copy, over the iters of the block")         \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies")

PRIM_DEFINE(
    reindex_cache_read, REINDEX_CACHE_READ_SIG,
    .summary = "Let a block read a copy of a buffer that is indexed by a map "
               "of its iters.",
    .rewrite = "C[i, j] += A[i, k]   ->   "
               "A_local[k, i] = A[i, k]; C[i, j] += A_local[k, i]",
    .details =
        "1. The operand names a buffer that the block reads, and the\n"
        "   storage scope is known.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another; the block holds no\n"
        "   others.\n"
        "3. The block reads the buffer at one place, which its iters alone\n"
        "   determine, and does not write it; the domains of these iters are\n"
        "   constant, or sizes alone determine them.\n"
        "4. The map has a parameter for each iter of the block and at least\n"
        "   one result, all from 0 on. It is made of the iters that the\n"
        "   place is made of, and takes no two values of them to the same\n"
        "   indices; iters of one iteration do not matter.\n"
        "5. At most one block of the scope writes the buffer, which is then\n"
        "   not given by the caller, and writes all of a box.\n"
        "6. In a block other than the outermost, where the buffer has not\n"
        "   its lifetime scope: no block of it writes the buffer.\n"
        "7. Loops whose iterations run in parallel stay free of races.\n"
        "The copy of A in scope \"local\" is named A_local, as is the block\n"
        "that makes it where cache_read would, and is as long in each\n"
        "dimension as the greatest result.\n",
    .refusals = SCH_REASONS(SCH_REMAP_REASONS, SCH_R_BUFFER_LIVE_IN,
                            SCH_REMAP_MAP_REASONS, SCH_BUFFER_REASONS),
    .example = "local b = sch:get_block(\"C\")\n"
               "local there = sch:reindex_cache_read(b, 0, \"local\",\n"
               "  function(i, j, k) return k, i end)\n");

static bool reindex_cache_read_rewrite(sch_state *s, void *ud) {
  struct reindex_cache_read_args *a = ud;
  return sch_remap_cache(s, a->block, a->read_buffer_index, false,
                         a->storage_scope, &a->index_map, &a->cached);
}

static bool reindex_cache_read_apply(sch_state *s,
                                     struct reindex_cache_read_args *a) {
  return sch_transaction(s, reindex_cache_read_rewrite, a, a->block);
}
