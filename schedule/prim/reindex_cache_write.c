/* SPDX-License-Identifier: Apache-2.0
 * reindex_cache_write: stages a write through a buffer that is indexed by a
 * map of the block's iters. */
#include "schedule/rewrite/remap.h"

#define REINDEX_CACHE_WRITE_SIG(F, S)                                     \
  F(S, IN, BLOCK, block, REQ, "the block that writes the buffer")         \
  F(S, ATTR, BUFFER, write_buffer_index, REQ,                             \
    "the buffer; an index counts those it writes, from 0")                \
  F(S, ATTR, STR, storage_scope, REQ,                                     \
    "where the new buffer lives: \"global\", \"local\", \"shared\", ...") \
  F(S, IN, INDEX_MAP, index_map, REQ,                                     \
    "the indices of the new buffer, over the iters of the block")         \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies back")

PRIM_DEFINE(
    reindex_cache_write, REINDEX_CACHE_WRITE_SIG,
    .summary = "Let a block write a new buffer that is indexed by a "
               "map of its iters, and copy that.",
    .rewrite = "C[i, j] += A[i, k]   ->   "
               "C_local[j, i] += A[i, k]; C[i, j] = C_local[j, i]",
    .details =
        "1. The operand names a buffer that the block writes, and the\n"
        "   storage scope is known.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another; the block holds no\n"
        "   others.\n"
        "3. The block accesses the buffer at one place, which its spatial\n"
        "   iters alone determine, and stores under no condition of its own; "
        "the\n"
        "   domains of these iters are constant, or sizes alone determine "
        "them.\n"
        "4. The map has a parameter for each iter of the block and at least\n"
        "   one result, all from 0 on. It is made of the iters that the\n"
        "   place is made of, and takes no two values of them to the same\n"
        "   indices; iters of one iteration do not matter.\n"
        "5. The block is complete or a reduction, the only writer of the\n"
        "   buffer, which is not given by the caller, writes no element\n"
        "   twice, and its instances that run are known.\n"
        "6. Loops whose iterations run in parallel stay free of races.\n"
        "The new buffer of C in scope \"local\" is named C_local, as is the\n"
        "block that copies it to C where cache_write would, and is as long\n"
        "in each dimension as the greatest result.\n",
    .refusals = SCH_REASONS(SCH_REMAP_REASONS, SCH_REMAP_MAP_REASONS,
                            SCH_BUFFER_REASONS),
    .example = "local b = sch:get_block(\"C\")\n"
               "local back = sch:reindex_cache_write(b, 0, \"local\",\n"
               "  function(i, j, k) return j, i end)\n");

static bool reindex_cache_write_rewrite(sch_state *s, void *ud) {
  struct reindex_cache_write_args *a = ud;
  return sch_remap_cache(s, a->block, a->write_buffer_index, true,
                         a->storage_scope, &a->index_map, &a->cached);
}

static bool reindex_cache_write_apply(sch_state *s,
                                      struct reindex_cache_write_args *a) {
  return sch_transaction(s, reindex_cache_write_rewrite, a, a->block);
}
