/* SPDX-License-Identifier: Apache-2.0
 * cache_write: stages a result: a block writes a new buffer, which is then
 * copied out. */
#include "ir/expr.h"
#include "schedule/rewrite/cache.h"

#define CACHE_WRITE_SIG(F, S)                                             \
  F(S, IN, BLOCK, block, REQ, "the block that writes the buffer")         \
  F(S, ATTR, BUFFER, write_buffer_index, REQ,                             \
    "the buffer; an index counts those it writes, from 0")                \
  F(S, ATTR, STR, storage_scope, REQ,                                     \
    "where the new buffer lives: \"global\", \"local\", \"shared\", ...") \
  F(S, IN, BLOCKS, consumer_blocks, OPT,                                  \
    "blocks that read the new buffer instead of the old one")             \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies back")

PRIM_DEFINE(
    cache_write, CACHE_WRITE_SIG,
    .summary = "Let a block write a new buffer, which a new block copies.",
    .rewrite = "for i: B[i] = f(A[i])   ->   "
               "for i: B_local[i] = f(A[i]); for ax0: B[ax0] = B_local[ax0]",
    .details =
        "1. The storage scope is known, and the index is that of a region\n"
        "   which the block writes.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another.\n"
        "3. The block is the only one of its scope that writes the buffer,\n"
        "   and it writes all of a box.  Where the caller gives the buffer "
        "its\n"
        "   values, the block does not read it, and the listed consumers read\n"
        "   only what it wrote.\n"
        "4. The listed consumers are other blocks of the same scope that\n"
        "   read it.\n"
        "5. In a block other than the outermost, where the buffer has not\n"
        "   its lifetime scope: neither the block nor the consumers read it.\n"
        "6. Loops whose iterations run in parallel stay free of races.\n"
        "The new buffer of B in scope \"local\" is named B_local, as is the\n"
        "block that copies it to B. It is copied at the end of the scope,\n"
        "or, where other blocks of the scope read B, before the first of\n"
        "them in the innermost loop around the block and one of them.\n",
    .refusals = SCH_REASONS(SCH_STAGE_REASONS, SCH_R_WOULD_RACE),
    .example =
        "local copy = sch:cache_write(sch:get_block(\"C\"), 0, \"local\")\n");

/* Neither the block nor the consumers need what the caller gave. */
static bool changes_all(sch_state *s, const sch_stage *st, ir_stmt block,
                        sch_list listed) {
  if (sch_reads_buf(s->p, block, st->buf) ||
      !sch_stage_finds_own(s, block, st->buf))
    return sch_refuse(s, SCH_R_INPUT_WRITTEN, .s = {block}, .buf = st->buf);
  return sch_stage_reads_made(s, st, block, listed);
}

static bool cache_write_rewrite(sch_state *s, void *ud) {
  struct cache_write_args *a = ud;
  sch_list listed = a->consumer_blocks;
  sch_stage st;
  ir_stmt writer;
  ir_buf buf, made;
  if (!sch_find_buffer(s, a->block, a->write_buffer_index, SCH_WRITES, NULL,
                       NULL, &buf) ||
      !sch_stage_init(s, &st, a->block, buf, a->storage_scope) ||
      !sch_stage_check_list(s, &st, listed) ||
      !sch_stage_any_writer(s, &st, &writer) ||
      !sch_stage_check_reader(s, &st, a->block))
    return false;
  for (uint32_t i = 0; i < listed.n; i++)
    if (!sch_stage_check_reader(s, &st, listed.v[i])) return false;
  sch_stage_place(s, &st, a->block,
                  sch_stage_readers(s, &st, a->block, listed, false));
  if (sch_stage_is_given(s->p, &st) && !changes_all(s, &st, a->block, listed))
    return false;
  if (!sch_stage_add_writes(s, &st, a->block) ||
      !sch_stage_make(s, &st, true, &made, &a->cached))
    return false;
  sch_stage_redirect(s, &st, a->block, made);
  for (uint32_t i = 0; i < listed.n; i++)
    if (listed.v[i] != a->block) sch_stage_redirect(s, &st, listed.v[i], made);
  return true;
}

static bool cache_write_apply(sch_state *s, struct cache_write_args *a) {
  return sch_transaction(s, cache_write_rewrite, a, a->block);
}
