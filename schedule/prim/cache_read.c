/* SPDX-License-Identifier: Apache-2.0
 * cache_read: stages a buffer, so that consumers read a copy. */
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/rewrite/cache.h"

#define CACHE_READ_SIG(F, S)                                               \
  F(S, IN, BLOCK, block, REQ, "a block that reads the buffer")             \
  F(S, ATTR, BUFFER, read_buffer_index, REQ,                               \
    "the buffer; an index counts those it reads, from 0")                  \
  F(S, ATTR, STR, storage_scope, REQ,                                      \
    "where the copy lives: \"global\", \"local\", \"shared\", ...")        \
  F(S, IN, BLOCKS, consumer_blocks, OPT,                                   \
    "the blocks that read the copy; all readers of the scope if left out") \
  F(S, OUT, BLOCK, cached, REQ, "the block that copies")

PRIM_DEFINE(
    cache_read, CACHE_READ_SIG,
    .summary = "Let blocks read a copy of a buffer.",
    .rewrite = "for i: B[i] = f(A[i])   ->   "
               "for ax0: A_local[ax0] = A[ax0]; for i: B[i] = f(A_local[i])",
    .details =
        "1. The storage scope is known, and the index is that of a region\n"
        "   which the block reads.\n"
        "2. The scope of the block consists of loops and blocks, as far as\n"
        "   it shares buffers with the block, and none\n"
        "   of them matches the buffer to another. Bounds of loops load\n"
        "   nothing; in the outermost scope they may, where the buffer is an\n"
        "   input, all of which is copied then.\n"
        "3. At most one block of the scope writes the buffer, and writes all\n"
        "   of a box.  Where the caller gives the buffer its values the\n"
        "   consumers are all before that block, or all behind it and read\n"
        "   only what it wrote.\n"
        "4. The listed consumers read it and are in the same scope, or in\n"
        "   blocks of it; neither they nor the blocks around them there write\n"
        "   it.\n"
        "5. In a block other than the outermost, where the buffer has not\n"
        "   its lifetime scope: no block of it writes the buffer, or all that\n"
        "   the consumers read is written before them in the same iteration.\n"
        "6. Loops whose iterations run in parallel stay free of races.\n"
        "The copy of a buffer A in scope \"local\" is named A_local, as is\n"
        "the block that makes it. It is made at the beginning of the scope,\n"
        "or, where a block of the scope writes the buffer, before the first\n"
        "consumer in the innermost loop around that block and a consumer.\n"
        "It holds as much of the buffer as is used, or written.\n",
    .refusals = SCH_REASONS(SCH_STAGE_REASONS, SCH_R_COPY_OVERWRITTEN,
                            SCH_R_NO_READER, SCH_R_WOULD_RACE),
    .example =
        "local cached = sch:cache_read(sch:get_block(\"C\"), 0, \"local\")\n");

/* Nobody in the scope writes the buffer before the consumers: what they read
 * of it is copied when the scope begins. */
static bool copy_first(sch_state *s, sch_stage *st, sch_list readers) {
  const ir_program *p = s->p;
  uint8_t role = p->buf.v[st->buf].role;
  bool made = role == IR_ROLE_LOCAL || role == IR_ROLE_OUTPUT;
  st->filled = !made;
  st->above = st->scope;
  st->before = ir_st(p, st->scope)->body;
  for (uint32_t k = 0; k < readers.n; k++) {
    ir_span r = ir_blk(p, readers.v[k])->reads;
    if (made && sch_chooses(s, readers.v[k]))
      return sch_refuse(s, SCH_R_REGION_NOT_WHOLE, .s = {readers.v[k]},
                        .buf = st->buf);
    for (uint32_t i = r.at; i < r.at + r.n; i++)
      if (p->region.v[i].buf == st->buf &&
          !sch_stage_add(s, st, readers.v[k], p->region.v[i], made))
        return false;
  }
  return true;
}

/* The block of the scope that is or holds the listed one; 0: none. */
static ir_stmt child_around(const ir_program *p, ir_stmt scope, ir_stmt block) {
  ir_stmt at = block, up;
  while (at && (up = ir_scope_of(p, at)) != scope) at = up;
  return at;
}

/* The blocks of the scope that are or hold the listed ones. */
static bool find_children(sch_state *s, const sch_stage *st, sch_list list,
                          sch_list *out) {
  const ir_program *p = s->p;
  ir_stmt *v = arena_array(s->scratch, ir_stmt, list.n);
  for (uint32_t i = 0; i < list.n; i++) {
    v[i] = child_around(p, st->scope, list.v[i]);
    if (!v[i])
      return sch_refuse(s, SCH_R_SCOPES_DIFFER, .s = {list.v[i], st->scope});
    if (!sch_reads_buf(p, list.v[i], st->buf))
      return sch_refuse(s, SCH_R_NOT_READER, .s = {list.v[i]}, .buf = st->buf);
    if (v[i] != list.v[i] && sch_writes_buf(p, v[i], st->buf))
      return sch_refuse(s, SCH_R_COPY_OVERWRITTEN, .s = {v[i], list.v[i]},
                        .buf = st->buf);
  }
  *out = (sch_list){list.n, v};
  return true;
}

/* What of the reader is listed reads the copy; all of it without a list. */
static void redirect(sch_state *s, const sch_stage *st, ir_stmt reader,
                     sch_list list, ir_buf made) {
  const ir_program *p = s->p;
  for (uint32_t i = 0; i < list.n; i++)
    if (list.v[i] == reader) list.n = 0;
  if (!list.n) sch_stage_redirect(s, st, reader, made);
  for (uint32_t i = 0; i < list.n; i++) {
    if (!ir_is_ancestor(p, reader, list.v[i])) continue;
    sch_stage_redirect(s, st, list.v[i], made);
    sch_widen_scope(s, ir_scope_of(p, list.v[i]));
  }
}

static bool cache_read_rewrite(sch_state *s, void *ud) {
  struct cache_read_args *a = ud;
  sch_stage st;
  sch_list children;
  ir_stmt writer;
  ir_buf buf, made;
  if (!sch_find_buffer(s, a->block, a->read_buffer_index, SCH_READS, NULL, NULL,
                       &buf) ||
      !sch_stage_init_read(s, &st, a->block, buf, a->storage_scope) ||
      !find_children(s, &st, a->consumer_blocks, &children) ||
      !sch_stage_any_writer(s, &st, &writer))
    return false;
  sch_list readers = sch_stage_readers(s, &st, writer, children, true);
  if (!readers.n)
    return sch_refuse(s, SCH_R_NO_READER, .s = {a->block}, .buf = buf);
  bool given = writer && sch_stage_is_given(s->p, &st);
  if (given && sch_stage_reads_given(s->p, &st, writer, readers)) writer = 0;
  if (writer) {
    sch_stage_place(s, &st, writer, readers);
    if (!(given ? sch_stage_reads_made : sch_stage_check_made)(s, &st, writer,
                                                               readers))
      return false;
  }
  if (writer ? !sch_stage_add_writes(s, &st, writer)
             : !copy_first(s, &st, readers))
    return false;
  if (!sch_stage_make(s, &st, false, &made, &a->cached)) return false;
  for (uint32_t i = 0; i < readers.n; i++)
    redirect(s, &st, readers.v[i], a->consumer_blocks, made);
  return true;
}

static bool cache_read_apply(sch_state *s, struct cache_read_args *a) {
  return sch_transaction(s, cache_read_rewrite, a, a->block);
}
