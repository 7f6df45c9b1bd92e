/* SPDX-License-Identifier: Apache-2.0
 * compute_at: moves a producer under a loop of its consumers. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/gpu.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define COMPUTE_AT_SIG(F, S)                                               \
  F(S, IN, BLOCK, block, REQ, "the producer to move")                      \
  F(S, IN, LOOP, loop, REQ, "the loop to compute it under")                \
  F(S, ATTR, BOOL, preserve_unit_loops, DEF(0), "keep loops of extent 1")  \
  F(S, ATTR, INT, index, DEF(-1),                                          \
    "where among the loop's children: -1 the last place before the first " \
    "consumer, -2 the first possible place, k before child k")

PRIM_DEFINE(
    compute_at, COMPUTE_AT_SIG, .flags = SCH_TAKES_MARKS,
    .summary =
        "Move a producer under a loop of its consumers, where it computes "
        "only what they read there.",
    .rewrite = "for i: B[i] = f(A[i]); for i_0: for i_1: C[.] = g(B[.])   ->   "
               "for i_0: { for ax0: B[.] = f(A[.]); for i_1: C[.] = g(B[.]) }",
    .details =
        "1. Block and loop are in one scope, of loops and blocks as far as\n"
        "   it shares buffers with the block; the loop\n"
        "   is not around the block, and runs after it. The domains of the "
        "block's\n"
        "   iters need no loop that is not around both.\n"
        "2. The block is complete or a reduction: no iteration that must\n"
        "   keep its order, the only writer of what it writes, no element\n"
        "   written by two of its instances, no point reduced twice unless\n"
        "   that is started again, and no function of the host's\n"
        "   called for what it does. A reducer that keeps the order\n"
        "   of what it combines does so where that is the order of the\n"
        "   block's iters.\n"
        "3. Where what it writes is seen outside of the scope, all of it is\n"
        "   still computed.\n"
        "4. All blocks that read what it writes are under the loop, and\n"
        "   some block does.\n"
        "5. What it reads is the same at the new place: nothing overwrites\n"
        "   it on the way, and what is computed is what was computed before\n"
        "   in the same iteration of the loops around both places.\n"
        "6. Loops whose iterations run in parallel stay free of races:\n"
        "   iterations that write the same elements have the buffer for\n"
        "   their own.\n"
        "What the threads around the loop, virtual ones too, have in common,\n"
        "in a shared scope, is computed for all of them.\n"
        "Iterations may compute the same elements again, as neighbouring\n"
        "tiles of a stencil do. New loops are called ax0, ax1, ...; where a\n"
        "tile overhangs the domain the block gets a predicate. With the\n"
        "inline mark that sample_compute_location gives, the block is\n"
        "inlined; with the root mark nothing happens.\n",
    .refusals = SCH_REASONS(SCH_INLINE_REASONS, SCH_R_SCOPES_DIFFER,
                            SCH_R_LOOP_AROUND_BLOCK, SCH_R_LOOP_NOT_AFTER,
                            SCH_R_BLOCK_PARTIAL, SCH_R_CONSUMER_OUTSIDE,
                            SCH_R_DEPENDENT_LOOP, SCH_R_NO_CONSUMER,
                            SCH_R_OUTPUT_NOT_WHOLE, SCH_R_INDEX_INVALID,
                            SCH_R_INIT_LATE, SCH_R_NOT_INJECTIVE),
    .example = "local i = sch:get_loops(sch:get_block(\"D\"))\n"
               "sch:compute_at(sch:get_block(\"C\"), i)\n");

/* What the checks find out, and the change needs. */
typedef struct plan {
  sch_move m;
  sch_span *span;
  sch_nest nest;
  uint32_t first, position;
  sch_reason open;   /* what the quick rules could not see about which
                      * instances run; SCH_R_NONE: nothing */
  ir_stmt within;    /* ... in an iteration of this */
  bool open_changes; /* nor that what it reads is not changed under m.to */
} plan;

/* ---- what is read under the loop ---------------------------------------- */

/* What threads have in common is computed for all of them: the box grows to
 * hold what any of them reads. */
static bool for_all_threads(sch_state *s, const plan *pl, ir_buf b,
                            ir_expr *min, ir_expr *max) {
  ir_program *p = s->p;
  ir_scope scope = (ir_scope)p->buf.v[b].scope;
  for (ir_stmt l = pl->m.loop; l != pl->m.common; l = ir_st(p, l)->parent) {
    const ir_stmt_rec r = *ir_st(p, l);
    if (!sch_threads_share(scope, &r)) continue;
    for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
      ir_expr other;
      if (!arith_relax(p, s->scratch, min[d], 1, &r.var, &r.lo, &r.extent,
                       &min[d], &other, NULL) ||
          !arith_relax(p, s->scratch, max[d], 1, &r.var, &r.lo, &r.extent,
                       &other, &max[d], NULL))
        return false;
    }
  }
  return true;
}

/* Consumer q's region r of what the block writes: which instances it needs. */
static void need_region(sch_state *s, plan *pl, ir_stmt q, ir_region r) {
  ir_program *p = s->p;
  ir_stmt block = pl->m.block;
  ir_span w = ir_blk(p, block)->writes;
  uint32_t niters = ir_blk(p, block)->iters.n, ndim = ir_ndim(p, r.buf);
  ir_expr *box = arena_array(s->scratch, ir_expr, 2 * ndim);
  sch_span *one = arena_array(s->scratch, sch_span, niters);
  bool known = false;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_region mine = p->region.v[i];
    if (mine.buf != r.buf) continue;
    known =
        ir_may_access_box(p, s->scratch, q, r, pl->m.loop, box, box + ndim) &&
        for_all_threads(s, pl, r.buf, box, box + ndim);
    if (known) sch_instances(s, block, mine, box, box + ndim, false, one);
    for (uint32_t k = 0; k < niters; k++)
      pl->span[k] = sch_span_join(
          s, pl->span[k], known ? one[k] : (sch_span){0, SCH_SPAN_WHOLE});
  }
}

/* Finds the consumers, all under the loop, and what they need. */
static bool find_needs(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  ir_stmt block = pl->m.block, loop = pl->m.loop;
  uint32_t niters = ir_blk(p, block)->iters.n, consumers = 0;
  pl->span = arena_zalloc(s->scratch, (niters + 1) * sizeof *pl->span);
  pl->first = UINT32_MAX;
  for (ir_stmt q = pl->m.scope; (q = sch_next_child(p, q, pl->m.scope));) {
    if (q == block || !(sch_depends(s, block, q) & SCH_RAW)) continue;
    if (!ir_is_ancestor(p, loop, q))
      return sch_refuse(s, SCH_R_CONSUMER_OUTSIDE, .s = {q, loop},
                        .buf = sch_shared_buf(p, block, q));
    ir_span r = ir_blk(p, q)->reads;
    uint32_t at = sch_position(p, loop, q);
    for (uint32_t i = 0; i < r.n; i++)
      need_region(s, pl, q, p->region.v[r.at + i]);
    pl->first = at < pl->first ? at : pl->first;
    consumers++;
  }
  if (!consumers) return sch_refuse(s, SCH_R_NO_CONSUMER, .s = {block, loop});
  for (uint32_t k = 0; k < niters; k++)
    if (pl->span[k].extent == SCH_SPAN_NONE)
      pl->span[k].extent = SCH_SPAN_WHOLE;
  sch_spans_clip(s, block, pl->span);
  sch_spans_widen(s, block, pl->span);
  return true;
}

/* ---- tails -------------------------------------------------------------- */

/* The one region that is read of what the block writes, of one element for each
 * instance of its reader *q; false: there are others, too. */
static bool find_reader(const sch_state *s, const plan *pl, ir_region made,
                        ir_stmt *q, ir_region *out) {
  const ir_program *p = s->p;
  uint32_t n = 0;
  for (ir_stmt b = pl->m.scope; (b = sch_next_child(p, b, pl->m.scope));) {
    ir_span r = ir_blk(p, b)->reads;
    for (uint32_t i = r.at; i < r.at + r.n && b != pl->m.block; i++) {
      if (p->region.v[i].buf != made.buf) continue;
      *out = p->region.v[i];
      *q = b;
      n++;
    }
  }
  return n == 1;
}

/* Where the reader's tile ends early, as that of a split of a split that does
 * not divide, nothing is computed behind its end. */
static void end_at_tail(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  ir_stmt block = pl->m.block, q = 0;
  ir_span w = ir_blk(p, block)->writes;
  ir_region r;
  if (w.n != 1 || pl->open || sch_is_output(p, block) ||
      !find_reader(s, pl, p->region.v[w.at], &q, &r) ||
      p->buf.v[r.buf].scope != IR_SCOPE_GLOBAL)
    return;
  ir_region made = p->region.v[w.at];
  ir_expr *now = arena_array(s->scratch, ir_expr, ir_ndim(p, r.buf));
  ir_subst sub;
  ir_subst_init(&sub, p, s->scratch);
  for (uint32_t k = 0; k < pl->nest.niters; k++)
    ir_subst_var(&sub, pl->nest.iter[k].var, pl->nest.iter[k].bind);
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    if (!ir_is_const(p, ir_region_extent(p, made, d), 1)) return;
    now[d] = ir_subst_expr(&sub, ir_region_min(p, made, d));
  }
  ir_expr cond = ir_tail_condition(p, s->scratch, q, r, pl->m.loop, now);
  if (!cond) return;
  if (pl->nest.pred)
    pl->nest.pred = ir_needed_condition(p, s->scratch, pl->nest.pred, cond);
  sch_nest_guard(s, &pl->nest, cond);
}

/* ---- legality ----------------------------------------------------------- */

/* All wanted instances ran before: somewhere in the scope, or, where its
 * inputs are made in the scope, in the same iteration of common.  Where that is
 * not seen it is left open. */
static bool check_instances(sch_state *s, plan *pl, ir_stmt within) {
  ir_program *p = s->p;
  ir_stmt block = pl->m.block;
  uint32_t niters = ir_blk(p, block)->iters.n;
  sch_span *old = arena_array(s->scratch, sch_span, niters);
  pl->within = within;
  if (!sch_old_instances(s, block, within, old)) {
    pl->open = SCH_R_INSTANCES_UNKNOWN;
    return true;
  }
  for (uint32_t k = 0; k < niters; k++)
    if (pl->span[k].extent == SCH_SPAN_WHOLE) pl->span[k] = old[k];
  if (!sch_spans_within(s, block, pl->span, old)) pl->open = SCH_R_NOT_LOCAL;
  return true;
}

/* What the block reads is there, and the same; nothing to ask of a block
 * whose inputs are made elsewhere. */
static bool check_inputs(sch_state *s, plan *pl) {
  ir_stmt block = pl->m.block, common = pl->m.common;
  if (!sch_has_producer(s, pl->m.scope, block))
    return sch_can_run_all(s, block) || check_instances(s, pl, pl->m.scope);
  return sch_check_later(s, block, common, pl->m.to, &pl->open_changes) &&
         check_instances(s, pl, common);
}

/* What was left open: the new nest is kept to what ran before.  In another
 * iteration of common the same must then be made as was, since it may be read
 * later. */
static bool check_confined(sch_state *s, plan *pl) {
  ir_stmt block = pl->m.block;
  sch_conflict left = {0};
  if (!pl->open) return true;
  if (!s->quick && sch_nest_confine(s, block, pl->within, &pl->nest) &&
      (pl->within == pl->m.scope ||
       sch_covers_exactly(s, &pl->m, &pl->nest, &left) != SCH_COVERS_NOT))
    return true;
  return sch_refuse(s, pl->open, .s = {block, pl->within}, .conflict = left);
}

/* By the time the block runs at its new place q, a block under m.to, has
 * changed nothing that it reads. */
static bool check_writer(sch_state *s, const plan *pl, ir_stmt q) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  ir_span w = ir_blk(p, q)->writes, r = ir_blk(p, m->block)->reads;
  bool first = ir_is_ancestor(p, m->loop, q)
                   ? sch_position(p, m->loop, q) < pl->position
                   : sch_comes_before(p, q, m->loop);
  for (uint32_t i = w.at; i < w.at + w.n; i++)
    for (uint32_t j = r.at; j < r.at + r.n; j++) {
      ir_buf x = p->region.v[i].buf, y = p->region.v[j].buf;
      sch_conflict conflict = {0};
      if (sch_storage(p, m->scope, x) != sch_storage(p, m->scope, y)) continue;
      if (x != y ||
          !sch_unchanged_by_then(s, m, &pl->nest, q, first, x, &conflict))
        return sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {q, m->block},
                          .buf = x, .conflict = conflict);
    }
  return true;
}

static bool check_changes(sch_state *s, const plan *pl) {
  ir_stmt to = pl->m.to;
  for (ir_stmt q = to; pl->open_changes && (q = sch_next_child(s->p, q, to));)
    if ((sch_depends(s, pl->m.block, q) & SCH_WAR) && !check_writer(s, pl, q))
      return false;
  return true;
}

/* In an iteration of common its results are made from their start to their end:
 * it may be run there again. */
static bool check_whole(sch_state *s, const sch_move *m) {
  const ir_program *p = s->p;
  if (!ir_is_loop(p, m->common) || !sch_has_init(p, m->block)) return true;
  return (!sch_is_partial(p, m->block, m->scope, m->common) &&
          sch_begins_at_init(s, m->block, m->from)) ||
         sch_refuse(s, SCH_R_BLOCK_PARTIAL, .s = {m->block, m->common});
}

/* What is seen outside of the scope must all be computed, if not once. */
static bool check_output(sch_state *s, const plan *pl) {
  ir_stmt block = pl->m.block, common = pl->m.common;
  uint32_t niters = ir_blk(s->p, block)->iters.n;
  if (!sch_is_output(s->p, block)) return true;
  sch_span *old = arena_array(s->scratch, sch_span, niters);
  sch_conflict left = {0};
  if ((sch_old_instances(s, block, common, old) &&
       sch_nest_coverage(s, common, pl->m.loop, &pl->nest, old) !=
           SCH_COVERS_NOT) ||
      sch_covers_exactly(s, &pl->m, &pl->nest, &left) != SCH_COVERS_NOT)
    return true;
  return sch_refuse(s, SCH_R_OUTPUT_NOT_WHOLE, .s = {block, pl->m.loop},
                    .buf = sch_outer_buf(s->p, block), .conflict = left);
}

static bool compute_at_check(sch_state *s, plan *pl, ir_stmt block,
                             ir_stmt loop, bool preserve_unit_loops,
                             int64_t index) {
  ir_program *p = s->p;
  pl->open = SCH_R_NONE;
  pl->open_changes = false;
  if (!sch_move_init(s, &pl->m, block, loop)) return false;
  if (!sch_comes_before(p, block, loop))
    return sch_refuse(s, SCH_R_LOOP_NOT_AFTER, .s = {block, loop});
  if (!sch_check_movable_whole(s, &pl->m)) return false;
  if (!check_whole(s, &pl->m)) return false;
  if (!find_needs(s, pl) || !check_inputs(s, pl)) return false;
  sch_nest_plan(s, block, pl->span, preserve_unit_loops, &pl->nest);
  end_at_tail(s, pl);
  if (!check_confined(s, pl) || !check_output(s, pl)) return false;
  return sch_choose_position(s, loop, index, 0, pl->first, &pl->position) &&
         check_changes(s, pl);
}

static bool may_move(sch_state *s, void *ud) {
  const struct compute_at_args *a = ud;
  plan pl;
  return compute_at_check(s, &pl, a->block, a->loop, a->preserve_unit_loops,
                          a->index);
}

static bool move(sch_state *s, void *ud) {
  const struct compute_at_args *a = ud;
  plan pl;
  if (!compute_at_check(s, &pl, a->block, a->loop, a->preserve_unit_loops,
                        a->index))
    return false;
  sch_nest_place(s, a->block, &pl.nest, a->loop, pl.position);
  sch_tighten_domains(s, a->block);
  return true;
}

bool sch_can_compute_at(sch_state *s, ir_stmt block, ir_stmt loop,
                        bool preserve_unit_loops) {
  struct compute_at_args a = {.block = block,
                              .loop = loop,
                              .index = -1,
                              .preserve_unit_loops = preserve_unit_loops};
  return sch_transaction_dry_run(s, may_move, move, &a, block);
}

static bool compute_at_apply(sch_state *s, struct compute_at_args *a) {
  if (a->loop == SCH_ROOT_MARK) return true;
  if (a->loop == SCH_INLINE_MARK) return sch_inline(s, a->block);
  return sch_transaction(s, move, a, a->block);
}
