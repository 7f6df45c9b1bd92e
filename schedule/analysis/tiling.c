/* SPDX-License-Identifier: Apache-2.0
 * Whether tiling a block would let it reuse what it reads. */
#include "schedule/sch.h"

/* Two reads of one buffer, or one of a size that is not constant. */
static bool reads_oddly(const ir_program *p, ir_span reads) {
  for (uint32_t i = reads.at; i < reads.at + reads.n; i++) {
    ir_region r = p->region.v[i];
    for (uint32_t k = 0; k < ir_ndim(p, r.buf); k++)
      if (ir_at(p, ir_region_extent(p, r, k))->op != IR_INT) return true;
    for (uint32_t k = reads.at; k < i; k++)
      if (p->region.v[k].buf == r.buf) return true;
  }
  return false;
}

bool sch_is_indexed_by(const ir_program *p, ir_region r, ir_var v) {
  for (uint32_t k = 0; k < ir_ndim(p, r.buf); k++)
    if (ir_uses_var(p, ir_region_min(p, r, k), v)) return true;
  return false;
}

/* Some spatial iter of more than one value does not index something read,
 * so that the same is read again along it. */
static bool reads_again(const ir_program *p, const ir_block_rec *b) {
  for (uint32_t i = b->iters.at; i < b->iters.at + b->iters.n; i++) {
    const ir_iter *it = &p->iter.v[i];
    if (it->kind != IR_SPATIAL || ir_is_const(p, it->extent, 1)) continue;
    for (uint32_t k = b->reads.at; k < b->reads.at + b->reads.n; k++)
      if (!sch_is_indexed_by(p, p->region.v[k], it->var)) return true;
  }
  return false;
}

static bool has_reduce_iter(const ir_program *p, ir_span iters) {
  for (uint32_t i = iters.at; i < iters.at + iters.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE) return true;
  return false;
}

bool sch_needs_tiling(const ir_program *p, ir_stmt block) {
  const ir_block_rec *b = ir_blk(p, block);
  return !ir_anno_get(p, block, "tiling_structure") && b->writes.n == 1 &&
         b->reads.n >= 1 && has_reduce_iter(p, b->iters) &&
         sch_is_trivial(p, block) && !reads_oddly(p, b->reads) &&
         reads_again(p, b);
}
