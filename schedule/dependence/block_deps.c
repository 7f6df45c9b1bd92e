/* SPDX-License-Identifier: Apache-2.0
 * Block-level dependences (RAW, WAW, WAR) in a scope, by overlap of declared
 * regions. */
#include "ir/query.h"
#include "schedule/sch.h"

ir_buf sch_storage(const ir_program *p, ir_stmt scope, ir_buf buf) {
  ir_span m = scope ? ir_blk(p, scope)->matches : (ir_span){0, 0};
  for (uint32_t i = m.at; i < m.at + m.n; i++)
    if (p->match.v[i].buf == buf) return p->match.v[i].source.buf;
  return buf;
}

/* Least and greatest index of dimension d that the region can reach. */
static bool reach(const ir_program *p, ir_region r, uint32_t d, int64_t *lo,
                  int64_t *hi) {
  const ir_node *m = ir_at(p, ir_region_min(p, r, d));
  const ir_node *e = ir_at(p, ir_region_extent(p, r, d));
  *lo = m->lo;
  return m->lo != INT64_MIN && m->hi != INT64_MAX && e->hi != INT64_MAX &&
         !__builtin_add_overflow(m->hi, e->hi - 1, hi);
}

/* Can two regions overlap, whatever their iters are? */
static bool may_overlap(const ir_program *p, ir_stmt scope, ir_region a,
                        ir_region b) {
  if (a.buf != b.buf)
    return sch_storage(p, scope, a.buf) == sch_storage(p, scope, b.buf);
  for (uint32_t d = 0; d < ir_ndim(p, a.buf); d++) {
    int64_t alo, ahi, blo, bhi;
    if (reach(p, a, d, &alo, &ahi) && reach(p, b, d, &blo, &bhi) &&
        (ahi < blo || bhi < alo))
      return false;
  }
  return true;
}

static bool any_overlap(const ir_program *p, ir_stmt scope, ir_span a,
                        ir_span b) {
  for (uint32_t i = a.at; i < a.at + a.n; i++)
    for (uint32_t j = b.at; j < b.at + b.n; j++)
      if (may_overlap(p, scope, p->region.v[i], p->region.v[j])) return true;
  return false;
}

unsigned sch_depends(sch_state *s, ir_stmt src, ir_stmt dst) {
  const ir_program *p = s->p;
  ir_stmt scope = ir_scope_of(p, src);
  const ir_block_rec *a = ir_blk(p, src), *b = ir_blk(p, dst);
  unsigned how = 0;
  if (any_overlap(p, scope, a->writes, b->reads)) how |= SCH_RAW;
  if (any_overlap(p, scope, a->writes, b->writes)) how |= SCH_WAW;
  if (any_overlap(p, scope, a->reads, b->writes)) how |= SCH_WAR;
  return how;
}

/* The children of the block's scope before it, or after it, that are joined
 * with it by RAW or WAW. */
static sch_list neighbours(sch_state *s, ir_stmt block, bool after) {
  ir_stmt scope = ir_scope_of(s->p, block);
  if (!scope) return (sch_list){0, NULL};
  sch_list all = sch_child_blocks(s, scope);
  ir_stmt *v = arena_array(s->scratch, ir_stmt, all.n);
  uint32_t n = 0;
  bool seen = false;
  for (uint32_t i = 0; i < all.n; i++) {
    ir_stmt b = all.v[i];
    if (b == block)
      seen = true;
    else if (seen == after &&
             ((after ? sch_depends(s, block, b) : sch_depends(s, b, block)) &
              (SCH_RAW | SCH_WAW)))
      v[n++] = b;
  }
  return (sch_list){n, v};
}

sch_list sch_producers(sch_state *s, ir_stmt block) {
  return neighbours(s, block, false);
}

sch_list sch_consumers(sch_state *s, ir_stmt block) {
  return neighbours(s, block, true);
}
