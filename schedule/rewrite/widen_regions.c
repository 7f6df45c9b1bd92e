/* SPDX-License-Identifier: Apache-2.0
 * Recomputes the regions that enclosing blocks declare after a change below. */
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/sch.h"

/* The old regions stay where one of them holds what was found of the buffer;
 * else all of them and that become one.  What is not accessed any more
 * goes. */
static uint32_t union_regions(sch_state *s, ir_span old, ir_span found,
                              ir_region *out) {
  ir_program *p = s->p;
  uint32_t n = 0;
  for (uint32_t i = found.at; i < found.at + found.n; i++) {
    ir_region r = p->region.v[i];
    bool held = false;
    for (uint32_t k = old.at; k < old.at + old.n && !held; k++) {
      ir_region o = p->region.v[k];
      held = o.buf == r.buf && (sch_same_region(p, o, r) ||
                                arith_region_covers(p, s->scratch, o, r));
    }
    for (uint32_t k = old.at; k < old.at + old.n; k++) {
      ir_region o = p->region.v[k];
      if (o.buf != r.buf) continue;
      if (held)
        out[n++] = o;
      else
        r = arith_region_union(p, r, o);
    }
    if (!held) out[n++] = r;
  }
  return n;
}

static void widen_regions(sch_state *s, ir_stmt block) {
  ir_program *p = s->p;
  ir_span reads = ir_blk(p, block)->reads, writes = ir_blk(p, block)->writes;
  ir_block_find_all_regions(p, s->scratch, block);
  const ir_block_rec b = *ir_blk(p, block);
  uint32_t most = reads.n + writes.n + b.reads.n + b.writes.n;
  ir_region *r = arena_array(s->scratch, ir_region, most);
  uint32_t n = union_regions(s, reads, b.reads, r);
  ir_block_set_reads(p, block, n, r);
  n = union_regions(s, writes, b.writes, r);
  ir_block_set_writes(p, block, n, r);
}

void sch_widen_scope(sch_state *s, ir_stmt scope) {
  const ir_program *p = s->p;
  for (ir_stmt b = scope; b && ir_st(p, b)->parent; b = ir_scope_of(p, b))
    widen_regions(s, b);
}
