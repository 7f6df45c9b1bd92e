/* SPDX-License-Identifier: Apache-2.0
 * unsafe_hide_buffer_access: drops regions from what a block declares to
 * access. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

#define UNSAFE_HIDE_BUFFER_ACCESS_SIG(F, S)               \
  F(S, IN, BLOCK, block, REQ, "the block")                \
  F(S, ATTR, STR, buf_type, REQ, "\"read\" or \"write\"") \
  F(S, ATTR, INTS, buf_index_array, REQ,                  \
    "which of those regions it does not declare, from 0")

PRIM_DEFINE(
    unsafe_hide_buffer_access, UNSAFE_HIDE_BUFFER_ACCESS_SIG,
    .flags = SCH_UNSAFE,
    .summary = "Let a block not declare some of what it reads or writes.",
    .rewrite = "block reads A, B   ->   block reads A",
    .details =
        "1. buf_type is \"read\" or \"write\".\n"
        "2. The indices are those of regions that the block declares so, and\n"
        "   no block accesses another buffer of the same name.\n"
        "The block accesses the buffers as before. Other primitives do not\n"
        "see it, though, so that what they do may be wrong. The buffers'\n"
        "names are in the annotation hidden_read_region or\n"
        "hidden_write_region of the block, by which the regions stay hidden\n"
        "when they are computed again; with it they come back.\n",
    .refusals = SCH_REASONS(SCH_R_SIDE_UNKNOWN, SCH_R_BUFFER_INDEX,
                            SCH_R_BUFFER_NAMES),
    .example = "sch:unsafe_hide_buffer_access(sch:get_block(\"C\"), \"read\", "
               "{ 0 })\n");

static bool is_listed(sch_ints list, uint32_t i) {
  for (uint32_t k = 0; k < list.n; k++)
    if (list.v[k] == i) return true;
  return false;
}

static bool is_namesake(const ir_program *p, ir_span r, ir_buf buf) {
  for (uint32_t i = r.at; i < r.at + r.n; i++) {
    ir_buf b = p->region.v[i].buf;
    if (b != buf && p->buf.v[b].name == p->buf.v[buf].name) return true;
  }
  return false;
}

/* What is hidden is determined by its name: some block accesses another
 * buffer that bears it, too. */
static ir_stmt finds_namesake(const ir_program *p, ir_buf buf) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_is_block(p, s) && (is_namesake(p, ir_blk(p, s)->reads, buf) ||
                              is_namesake(p, ir_blk(p, s)->writes, buf)))
      return s;
  return 0;
}

static bool
unsafe_hide_buffer_access_apply(sch_state *s,
                                struct unsafe_hide_buffer_access_args *a) {
  ir_program *p = s->p;
  bool write = !strcmp(a->buf_type, "write");
  if (!write && strcmp(a->buf_type, "read") != 0)
    return sch_refuse(s, SCH_R_SIDE_UNKNOWN, .t = a->buf_type);
  ir_span r = write ? ir_blk(p, a->block)->writes : ir_blk(p, a->block)->reads;
  for (uint32_t k = 0; k < a->buf_index_array.n; k++)
    if (a->buf_index_array.v[k] < 0 || a->buf_index_array.v[k] >= r.n)
      return sch_refuse(s, SCH_R_BUFFER_INDEX, .s = {a->block},
                        .n = {a->buf_index_array.v[k], r.n});
  for (uint32_t i = 0; i < r.n; i++) {
    ir_buf buf = p->region.v[r.at + i].buf;
    ir_stmt by = is_listed(a->buf_index_array, i) ? finds_namesake(p, buf) : 0;
    if (by)
      return sch_refuse(s, SCH_R_BUFFER_NAMES, .s = {by},
                        .t = ir_text(p, p->buf.v[buf].name));
  }
  const char *key = write ? IR_HIDDEN_WRITES : IR_HIDDEN_READS;
  ir_region *keep = arena_array(s->scratch, ir_region, r.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < r.n; i++) {
    ir_region old = p->region.v[r.at + i];
    if (is_listed(a->buf_index_array, i))
      ir_anno_add_buffer(p, s->scratch, a->block, key, old.buf);
    else
      keep[n++] = old;
  }
  if (write)
    ir_block_set_writes(p, a->block, n, keep);
  else
    ir_block_set_reads(p, a->block, n, keep);
  return true;
}
