/* SPDX-License-Identifier: Apache-2.0
 * Blocks that reverse_compute_at places next to their producer, and
 * dependences among those already there. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"
#include "schedule/dependence/polyhedra.h"

/* The block as a nest of no loops in the producer's place; iter: its iters,
 * over the producer's, where `cond` (0: always) holds. */
static sch_nest nest_in_place(sch_state *s, ir_stmt block, ir_stmt producer,
                              const ir_expr *iter, ir_expr cond) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, block)->iters;
  sch_nest n = {.niters = it.n, .pred = ir_blk(p, producer)->pred};
  n.iter = arena_array(s->scratch, ir_iter, it.n);
  for (uint32_t k = 0; k < it.n; k++) {
    n.iter[k] = p->iter.v[it.at + k];
    n.iter[k].bind = iter[k];
    ir_bind_iters(p, s->scratch, producer, 1, &n.iter[k].bind);
  }
  if (cond) ir_bind_iters(p, s->scratch, producer, 1, &cond);
  if (cond) n.pred = n.pred ? ir_and(p, n.pred, cond) : cond;
  return n;
}

/* The block goes to where its producer is. */
static sch_move to_producer(const ir_program *p, ir_stmt block,
                            ir_stmt producer) {
  ir_stmt common = sch_common(p, producer, block);
  return (sch_move){.block = block,
                    .loop = ir_st(p, producer)->parent,
                    .scope = ir_scope_of(p, block),
                    .common = common,
                    .from = sch_step_down(p, common, block),
                    .to = sch_step_down(p, common, producer)};
}

bool sch_fold_passes(sch_state *s, ir_stmt block, ir_stmt producer,
                     const ir_expr *iter, ir_expr cond, ir_stmt q, bool reads) {
  const ir_program *p = s->p;
  sch_move m = to_producer(p, block, producer);
  ir_stmt writer = reads ? block : q;
  if (!ir_is_ancestor(p, m.to, q))
    return sch_never_later(s, block, q, writer, m.common, true);
  if (s->quick || m.to == producer) return false;
  sch_nest nest = nest_in_place(s, block, producer, iter, cond);
  bool behind = !sch_comes_before(p, q, producer);
  ir_span w = ir_blk(p, writer)->writes;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_buf buf = p->region.v[i].buf;
    if (sch_reads_buf(p, reads ? q : block, buf) &&
        !sch_done_by_then(s, &m, &nest, q, reads, behind, buf,
                          &s->refusal.conflict))
      return false;
  }
  return true;
}

bool sch_fold_confine(sch_state *s, ir_stmt block, ir_stmt producer,
                      const ir_expr *iter, ir_expr cond, ir_expr *guard) {
  ir_program *p = s->p;
  sch_move m = to_producer(p, block, producer);
  if (s->quick || m.to == producer) return false;
  sch_nest nest = nest_in_place(s, block, producer, iter, cond), just = nest;
  just.pred = 0;
  if (!sch_nest_confine(s, block, m.common, &just)) return false;
  *guard = just.pred;
  if (just.pred)
    nest.pred = nest.pred ? ir_and(p, nest.pred, just.pred) : just.pred;
  sch_conflict left;
  if (sch_covers_exactly(s, &m, &nest, &left) == SCH_COVERS_NOT)
    return left.n[0] && sch_refuse(s, SCH_R_NOT_COVERED, .s = {block, producer},
                                   .buf = sch_shared_buf(p, producer, block),
                                   .conflict = left);
  if (*guard && poly_holds(s, producer, *guard) > 0) *guard = 0;
  return true;
}
