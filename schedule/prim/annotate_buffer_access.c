/* SPDX-License-Identifier: Apache-2.0
 * annotate_buffer_access: overrides the region that a block declares for a
 * buffer. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define ANNOTATE_BUFFER_ACCESS_SIG(F, S)                     \
  F(S, IN, BLOCK, block, REQ, "the block")                   \
  F(S, ATTR, BUFFER, buffer, REQ,                            \
    "the buffer: {\"read\", i}, {\"write\", i} or its name") \
  F(S, IN, INDEX_MAP, gen_new_ranges, REQ,                   \
    "from the block's iters to begin and end of each dimension in turn")

PRIM_DEFINE(
    annotate_buffer_access, ANNOTATE_BUFFER_ACCESS_SIG, .flags = SCH_UNSAFE,
    .summary = "Say which region of a buffer a block accesses.",
    .rewrite = "block reads A[0 : n]   ->   block reads A[vi - 1 : vi + 2]",
    .details =
        "1. The map has a parameter for each iter of the block and two\n"
        "   results for each dimension of the buffer: where the region\n"
        "   begins and where it ends.\n"
        "2. The region is neither provably empty nor provably outside of the\n"
        "   buffer.\n"
        "3. No access of the block is provably outside of it.\n"
        "4. Loops whose iterations run in parallel stay free of races.\n"
        "That all accesses are in it nobody proves, but the interpreter "
        "reports\n"
        "those that are not; nor that all of a region is written. The region\n"
        "is not computed again: the buffer's name is in the annotation\n"
        "explicit_read_region or explicit_write_region of the block, until\n"
        "inlining brings other reads of the buffer into it; it stays where\n"
        "the block accesses a copy instead. Blocks around it declare what it\n"
        "needs, too.\n",
    .refusals = SCH_REASONS(SCH_BUFFER_REASONS, SCH_R_MAP_ARITY,
                            SCH_R_RANGES_COUNT, SCH_R_REGION_EMPTY,
                            SCH_R_REGION_TOO_SMALL, SCH_R_WOULD_RACE),
    .example =
        "sch:annotate_buffer_access(sch:get_block(\"C\"), { \"read\", 0 },\n"
        "  function(i, j, k) return i, i + 1, 0, 16 end)\n");

/* The region as the map determines it, over the block's iters. */
static bool make_region(sch_state *s, ir_stmt block, ir_buf buf,
                        const sch_map *map, ir_region *out) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  uint32_t n = ir_ndim(p, buf);
  if (map->nin != it.n)
    return sch_refuse(s, SCH_R_MAP_ARITY, .n = {map->nin, it.n});
  if (map->nout != 2 * n)
    return sch_refuse(s, SCH_R_RANGES_COUNT, .buf = buf,
                      .n = {map->nout, 2 * n});
  ir_expr *iter = arena_array(s->scratch, ir_expr, it.n);
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * n);
  for (uint32_t i = 0; i < it.n; i++)
    iter[i] = ir_ref(p, p->iter.v[it.at + i].var);
  for (uint32_t k = 0; k < 2 * n; k++) {
    box[k] = sch_replace_in(s, map->out[k], it.n, map->in, iter);
    if (k % 2 == 0) continue;
    bool outside =
        ir_at(p, box[k - 1])->lo >= ir_at(p, ir_dim(p, buf, k / 2))->hi ||
        ir_at(p, box[k])->hi < 1;
    box[k] = ir_sub(p, box[k], box[k - 1]);
    if (ir_at(p, box[k])->hi < 1)
      return sch_refuse(s, SCH_R_REGION_EMPTY, .buf = buf, .n = {k / 2});
    if (outside)
      return sch_refuse(s, SCH_R_REGION_TOO_SMALL, .s = {block}, .buf = buf);
  }
  *out = ir_region_new(p, buf, box);
  return true;
}

/* What is proved to be outside a checked program does not have. */
static bool is_possible(sch_state *s) {
  strbuf why;
  str_init(&why, s->p->heap);
  bool ok = ir_verify(s->p, s->scratch, &why), no_words = why.bad;
  str_free(&why);
  if (no_words) mem_unwind_refused(s->p->heap);
  return ok;
}

static bool annotate_buffer_access_rewrite(sch_state *s, void *ud) {
  struct annotate_buffer_access_args *a = ud;
  ir_program *p = s->p;
  bool write;
  uint32_t index;
  ir_buf buf;
  ir_region r;
  if (!sch_find_buffer(s, a->block, a->buffer, SCH_READS | SCH_WRITES, &write,
                       &index, &buf) ||
      !make_region(s, a->block, buf, &a->gen_new_ranges, &r))
    return false;
  ir_span side =
      write ? ir_blk(p, a->block)->writes : ir_blk(p, a->block)->reads;
  p->region.v[side.at + index] = r;
  ir_anno_add_buffer(p, s->scratch, a->block,
                     write ? IR_EXPLICIT_WRITES : IR_EXPLICIT_READS, buf);
  sch_widen_scope(s, ir_scope_of(p, a->block));
  p->edits++;
  return is_possible(s) ||
         sch_refuse(s, SCH_R_REGION_TOO_SMALL, .s = {a->block}, .buf = buf);
}

static bool
annotate_buffer_access_apply(sch_state *s,
                             struct annotate_buffer_access_args *a) {
  return sch_transaction_rollback(s, annotate_buffer_access_rewrite, a,
                                  a->block);
}
