/* SPDX-License-Identifier: Apache-2.0
 * reverse_compute_at: moves a consumer under a loop of its producers. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/query.h"
#include "schedule/analysis/inline.h"
#include "schedule/analysis/move.h"

#define REVERSE_COMPUTE_AT_SIG(F, S)                                         \
  F(S, IN, BLOCK, block, REQ, "the consumer to move")                        \
  F(S, IN, LOOP, loop, REQ, "the loop to compute it under")                  \
  F(S, ATTR, BOOL, preserve_unit_loops, DEF(0), "keep loops of extent 1")    \
  F(S, ATTR, INT, index, DEF(-1),                                            \
    "where among the loop's children: -1 the last possible place, -2 right " \
    "after the last producer, k before child k")

PRIM_DEFINE(
    reverse_compute_at, REVERSE_COMPUTE_AT_SIG, .flags = SCH_TAKES_MARKS,
    .summary =
        "Move a consumer under a loop of its producers, where it uses what "
        "they have just made.",
    .rewrite = "for i_0: for i_1: B[.] = f(A[.]); for i: C[i] = g(B[i])   ->   "
               "for i_0: { for i_1: B[.] = f(A[.]); for ax0: C[.] = g(B[.]) }",
    .details =
        "1. Block and loop are in one scope, of loops and blocks as far as\n"
        "   it shares buffers with the block; the loop\n"
        "   is not around the block, and runs before it. The domains of the "
        "block's\n"
        "   iters need no loop that is not around both.\n"
        "2. The block is complete or a reduction: no iteration that must\n"
        "   keep its order, the only writer of what it writes, no element\n"
        "   written by two of its instances, and no point reduced twice,\n"
        "   unless that is started again.\n"
        "3. Some producer is under the loop; the others run before it,\n"
        "   and none between the new place and the old makes what is read.\n"
        "4. At the new place the producers have finished, in the same\n"
        "   iteration, all that the block reads there: no reduction goes on\n"
        "   over a loop around the place, and the tiles produced cover what\n"
        "   is read.\n"
        "5. All iterations of the loops together run just the instances\n"
        "   that ran before. Where a tile does not hold all that an instance\n"
        "   reads, as of a stencil, that runs where the last of it is made;\n"
        "   a reduction, all of which it would have to be, cannot be moved.\n"
        "   So does an instance that would run in several iterations, as one\n"
        "   that reads row 0 under a loop over rows, if that is known.\n"
        "6. Nothing that runs between the places reads elements that the\n"
        "   block has written by then.\n"
        "7. Loops whose iterations run in parallel stay free of races.\n"
        "New loops are called ax0, ax1, ...; where a tile overhangs the\n"
        "domain the block gets a predicate. With the inline mark the block\n"
        "is inlined into its producer; with the root mark nothing happens.\n",
    .refusals = SCH_REASONS(SCH_REVERSE_INLINE_REASONS, SCH_R_SCOPES_DIFFER,
                            SCH_R_LOOP_AROUND_BLOCK, SCH_R_LOOP_NOT_BEFORE,
                            SCH_R_BLOCK_PARTIAL, SCH_R_NO_PRODUCER,
                            SCH_R_PRODUCER_UNFINISHED, SCH_R_NOT_PARTITION,
                            SCH_R_INDEX_INVALID, SCH_R_INIT_LATE,
                            SCH_R_NOT_INJECTIVE),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "sch:reverse_compute_at(sch:get_block(\"D\"), i)\n");

/* A block under the move's `to` that writes what the moved block reads; top:
 * the innermost statement around it and the new place.  box (min, then max):
 * what it is known to write of `buf` in one iteration of top; or NULL. */
typedef struct producer {
  ir_stmt block, top;
  ir_buf buf;
  ir_expr *box;
} producer;

/* A block under the move's `to` that reads what the moved block writes, or
 * that writes what it reads and in each iteration comes after the new place:
 * it must do so before, or not conflict with it at all. */
typedef struct other {
  ir_stmt block;
  bool reads, behind;
} other;

typedef struct plan {
  sch_move m;
  sch_span *span, *old;
  sch_span *wide; /* what all producers together determine, at most */
  sch_nest nest;
  producer *producer;
  other *other;
  uint32_t nproducers, nothers, under_loop;
  uint32_t after, position; /* first possible place; the one chosen */
  ir_region last;           /* of what it reads of what is made under the
                             * loop, what ends last; */
  ir_expr *made;            /* the box made: min, then max; or NULL */
  bool guarded;             /* it runs where that end is in that box */
  bool repeats;             /* some instance runs more than once */
  bool open_instances;      /* it is not seen which instances ran, */
  bool open_inputs;         /* or that producers have finished */
} plan;

/* ---- who produces what it reads ----------------------------------------- */

/* The last point of a region, in dimension d. */
static ir_expr end_of(ir_program *p, ir_region r, uint32_t d) {
  ir_expr size = ir_region_extent(p, r, d);
  return ir_add(p, ir_region_min(p, r, d), ir_sub(p, size, ir_index(p, 1)));
}

/* Region `used` is read of what the loop makes, the box: notes the one that
 * ends last. */
static void note_last(ir_program *p, plan *pl, ir_region used, ir_expr *box) {
  if (pl->made && used.buf != pl->last.buf) return;
  for (uint32_t d = 0; d < ir_ndim(p, used.buf) && pl->made; d++)
    if (!arith_prove_le(p, end_of(p, pl->last, d), end_of(p, used, d))) return;
  pl->last = used;
  pl->made = box;
}

/* Producer f under the loop: its tile determines which instances to run
 * there. */
static void follow(sch_state *s, plan *pl, producer *f) {
  ir_program *p = s->p;
  ir_stmt block = pl->m.block, q = f->block;
  ir_span w = ir_blk(p, q)->writes, r = ir_blk(p, block)->reads;
  uint32_t niters = ir_blk(p, block)->iters.n;
  sch_span *one = arena_array(s->scratch, sch_span, niters);
  for (uint32_t i = 0; i < w.n; i++) {
    ir_region made = p->region.v[w.at + i];
    uint32_t ndim = ir_ndim(p, made.buf);
    ir_expr *box = arena_array(s->scratch, ir_expr, 2 * ndim);
    bool known = false;
    for (uint32_t k = 0; k < r.n; k++) {
      ir_region used = p->region.v[r.at + k];
      if (used.buf != made.buf) continue;
      if (!known && !ir_may_access_tail(p, s->scratch, q, made, pl->m.loop, box,
                                        box + ndim))
        break;
      known = true;
      f->buf = made.buf;
      f->box = box;
      if (!s->quick) note_last(p, pl, used, box);
      sch_instances(s, block, used, box, box + ndim, true, one);
      for (uint32_t j = 0; j < niters; j++)
        if (one[j].extent > 0) {
          if (pl->span[j].extent <= 0 || one[j].extent < pl->span[j].extent)
            pl->span[j] = one[j];
          pl->wide[j] = sch_span_join(s, pl->wide[j], one[j]);
        }
    }
  }
}

/* Block q, of which the caller has refused that it runs between the new place
 * and the old, does no harm: nothing that both access, as far as is known
 * before the nest is known. */
static bool add_other(sch_state *s, plan *pl, ir_stmt q, bool reads) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  bool under = ir_is_ancestor(p, m->loop, q);
  if (!ir_is_ancestor(p, m->to, q))
    return sch_never_later(s, m->block, q, reads ? m->block : q, m->common,
                           true);
  if (s->quick) return false;
  bool behind = !under && !sch_comes_before(p, q, m->loop);
  pl->other[pl->nothers++] = (other){q, reads, behind};
  return true;
}

/* Where the block may go under the loop, behind q. */
static void go_behind(const ir_program *p, plan *pl, ir_stmt q) {
  uint32_t after = sch_position(p, pl->m.loop, q) + 1;
  pl->after = after > pl->after ? after : pl->after;
}

/* Notes q, which runs there, too, and reads what the block writes. */
static bool add_reader(sch_state *s, plan *pl, ir_stmt q) {
  (void)sch_refuse(s, SCH_R_READ_BEFORE, .s = {q, pl->m.block},
                   .buf = sch_shared_buf(s->p, pl->m.block, q));
  if (!add_other(s, pl, q, true)) return false;
  if (ir_is_ancestor(s->p, pl->m.loop, q)) go_behind(s->p, pl, q);
  return true;
}

/* Notes producer q, which runs between the loop's outermost iteration and
 * the block's old place. */
static bool add_producer(sch_state *s, plan *pl, ir_stmt q) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  bool under = ir_is_ancestor(p, m->loop, q);
  ir_buf buf = sch_shared_buf(p, q, m->block);
  if (!ir_is_ancestor(p, m->to, q) ||
      (!under && !sch_comes_before(p, q, m->loop))) {
    (void)sch_refuse(s, SCH_R_PRODUCER_BETWEEN, .s = {q, m->loop}, .buf = buf);
    return add_other(s, pl, q, false);
  }
  ir_stmt top = under ? m->loop : sch_common(p, q, m->loop);
  if (!sch_is_whole(s, q, m->common, top)) {
    if (s->quick || sch_is_partial(p, q, m->common, top))
      return sch_refuse(s, SCH_R_PRODUCER_UNFINISHED, .s = {q, top},
                        .buf = buf);
    pl->open_inputs = true;
  }
  if (!sch_is_settled(s, q, m->common, m->to)) {
    if (s->quick)
      return sch_refuse(s, SCH_R_INPUT_OVERWRITTEN, .s = {q, m->block},
                        .buf = buf);
    pl->open_inputs = true;
  }
  producer *f = &pl->producer[pl->nproducers++];
  *f = (producer){.block = q, .top = top};
  if (!under) return true;
  go_behind(p, pl, q);
  pl->under_loop++;
  follow(s, pl, f);
  return true;
}

/* Block q, in a loop with the block, and after it there, reads what it will
 * have made long before: that has been done where q reads it now. */
static bool check_part(sch_state *s, const sch_move *m, ir_stmt q) {
  ir_stmt block = m->block;
  if (sch_is_whole(s, block, m->common, sch_common(s->p, block, q)))
    return true;
  (void)sch_refuse(s, SCH_R_BLOCK_PARTIAL, .s = {block, m->common});
  return sch_never_later(s, block, q, block, m->common, false);
}

/* Looks at all that runs between the new place and the old, or together with
 * one of them. */
static bool find_producers(sch_state *s, plan *pl) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  ir_stmt block = m->block, q;
  uint32_t niters = ir_blk(p, block)->iters.n, n = 0;
  for (q = m->common; (q = sch_next_child(p, q, m->common));) n++;
  pl->producer = arena_array(s->scratch, producer, n);
  pl->other = arena_array(s->scratch, other, 2 * n);
  pl->span = arena_zalloc(s->scratch, (niters + 1) * sizeof *pl->span);
  pl->wide = arena_zalloc(s->scratch, (niters + 1) * sizeof *pl->wide);
  bool between = false, past = false;
  for (q = m->common; (q = sch_next_child(p, q, m->common));) {
    between = between || ir_is_ancestor(p, m->to, q);
    past = past || q == block;
    if (!between || q == block) continue;
    if (past && !ir_is_ancestor(p, m->from, q)) break;
    unsigned how = past ? sch_depends(s, block, q) : sch_depends(s, q, block);
    if (!past && (how & SCH_WAR) && !add_reader(s, pl, q)) return false;
    if (!past && (how & SCH_RAW) && !add_producer(s, pl, q)) return false;
    if (past && !sch_check_ahead(s, q, block, m->common)) return false;
    if (past && (how & SCH_RAW) && !check_part(s, m, q)) return false;
  }
  if (!pl->under_loop)
    return sch_refuse(s, SCH_R_NO_PRODUCER, .s = {block, m->loop});
  return true;
}

/* ---- legality ----------------------------------------------------------- */

/* The box of region r, one of the block's reads, over the new nest. */
static bool new_box(sch_state *s, const plan *pl, ir_region r, ir_expr *min,
                    ir_expr *max) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, pl->m.block)->iters;
  ir_var *var = arena_array(s->scratch, ir_var, it.n);
  ir_expr *lo = arena_array(s->scratch, ir_expr, 2 * it.n);
  ir_expr *extent = lo + it.n;
  for (uint32_t k = 0; k < it.n; k++) {
    const ir_iter iter = p->iter.v[it.at + k];
    bool all = pl->span[k].extent <= 0;
    var[k] = iter.var;
    lo[k] = all ? iter.lo : pl->span[k].min;
    extent[k] = all ? iter.extent : ir_index(p, pl->span[k].extent);
  }
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    ir_expr at = ir_region_min(p, r, d), size = ir_region_extent(p, r, d);
    ir_expr low;
    if (!arith_relax(p, s->scratch, at, it.n, var, lo, extent, &min[d], &max[d],
                     NULL))
      return false;
    if (ir_is_const(p, size, 1)) continue;
    ir_expr last = ir_sub(p, ir_add(p, at, size), ir_index(p, 1));
    if (!arith_relax(p, s->scratch, last, it.n, var, lo, extent, &low, &max[d],
                     NULL))
      return false;
  }
  return true;
}

/* Producer q must write the part of [min, max] that is in the buffer,
 * where `given` holds. */
static bool covers(sch_state *s, const producer *q, ir_buf buf,
                   const ir_expr *min, const ir_expr *max, ir_expr given) {
  ir_program *p = s->p;
  ir_span w = ir_blk(p, q->block)->writes;
  uint32_t ndim = ir_ndim(p, buf);
  bool known = q->box && q->buf == buf;
  ir_expr *box = known ? q->box : arena_array(s->scratch, ir_expr, 2 * ndim);
  for (uint32_t i = 0; i < w.n; i++) {
    ir_region r = p->region.v[w.at + i];
    if (r.buf == buf &&
        (known || ir_may_access_box(p, s->scratch, q->block, r, q->top, box,
                                    box + ndim)) &&
        ir_box_within(p, s->scratch, buf, min, max, box, box + ndim, given) &&
        ir_must_access_box(p, s->scratch, q->block, r, q->top, box, box + ndim,
                           given) &&
        ir_must_access_region(p, s->scratch, q->block, r, true))
      return true;
  }
  return false;
}

/* Everything that is read at the new place and made under `to` is there: one
 * producer has made it all, and so has each that goes on under the loop, as
 * the update behind an init does. */
static bool check_covered(sch_state *s, const plan *pl) {
  ir_program *p = s->p;
  ir_span r = ir_blk(p, pl->m.block)->reads;
  for (uint32_t i = 0; i < r.n; i++) {
    ir_region used = p->region.v[r.at + i];
    uint32_t ndim = ir_ndim(p, used.buf);
    ir_stmt missing = 0;
    bool made = false;
    ir_expr *box = NULL;
    for (uint32_t k = 0; k < pl->nproducers; k++) {
      const producer *q = &pl->producer[k];
      bool goes_on = q->top == pl->m.loop;
      if (!sch_writes_buf(p, q->block, used.buf)) continue;
      if (!box) {
        box = arena_array(s->scratch, ir_expr, 2 * ndim);
        if (!new_box(s, pl, used, box, box + ndim)) missing = q->block;
      }
      if (missing || (made && !goes_on)) continue;
      if (covers(s, q, used.buf, box, box + ndim, pl->nest.pred))
        made = true;
      else if (goes_on)
        missing = q->block;
    }
    if (missing || (box && !made))
      return sch_refuse(
          s, SCH_R_NOT_COVERED,
          .s = {pl->m.block, missing ? missing : pl->producer[0].block},
          .buf = used.buf);
  }
  return true;
}

/* The same, exactly: no producer writes later what is read now. */
static bool check_made(sch_state *s, const plan *pl) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  ir_span r = ir_blk(p, m->block)->reads;
  for (uint32_t k = 0; k < pl->nproducers; k++)
    for (uint32_t i = r.at; i < r.at + r.n; i++) {
      ir_stmt q = pl->producer[k].block;
      ir_buf buf = p->region.v[i].buf;
      sch_conflict late;
      if (sch_writes_buf(p, q, buf) &&
          !sch_made_by_then(s, m, &pl->nest, q, buf, &late))
        return sch_refuse(s, SCH_R_NOT_COVERED, .s = {m->block, q}, .buf = buf,
                          .conflict = late);
    }
  return true;
}

/* The others do nothing at a wrong time. */
static bool check_others(sch_state *s, const plan *pl) {
  const ir_program *p = s->p;
  const sch_move *m = &pl->m;
  for (uint32_t k = 0; k < pl->nothers; k++) {
    other q = pl->other[k];
    ir_stmt writer = q.reads ? m->block : q.block;
    ir_span w = ir_blk(p, writer)->writes;
    for (uint32_t i = w.at; i < w.at + w.n; i++) {
      ir_buf buf = p->region.v[i].buf;
      sch_conflict late;
      if (!sch_reads_buf(p, q.reads ? q.block : m->block, buf) ||
          sch_done_by_then(s, m, &pl->nest, q.block, q.reads, q.behind, buf,
                           &late))
        continue;
      sch_reason why = q.reads ? SCH_R_READ_BEFORE : SCH_R_PRODUCER_BETWEEN;
      return sch_refuse(s, why, .s = {q.block, q.reads ? m->block : m->loop},
                        .buf = buf, .conflict = late);
    }
  }
  return true;
}

static bool check_inputs(sch_state *s, const plan *pl) {
  if (!pl->open_inputs && check_covered(s, pl)) return true;
  return !s->quick && check_made(s, pl);
}

static bool is_enough(sch_state *s, plan *pl, sch_coverage c) {
  const sch_move *m = &pl->m;
  pl->repeats = c == SCH_COVERS;
  if (!sch_has_init(s->p, m->block)) return c != SCH_COVERS_NOT;
  return c == SCH_COVERS_ONCE &&
         sch_nest_starts_at_init(s, m->scope, m->loop, &pl->nest);
}

/* The loops below common run each old instance, just once, or at least once
 * where that is as good. */
static bool check_partition(sch_state *s, plan *pl) {
  const sch_move *m = &pl->m;
  sch_conflict left = {0};
  if (!pl->open_instances && !pl->guarded &&
      is_enough(s, pl,
                sch_nest_coverage(s, m->common, m->loop, &pl->nest, pl->old)))
    return true;
  if (!s->quick &&
      (pl->open_instances ||
       sch_nest_confine(s, m->block, m->common, &pl->nest)) &&
      is_enough(s, pl, sch_covers_exactly(s, m, &pl->nest, &left)))
    return true;
  return sch_refuse(s, SCH_R_NOT_PARTITION, .s = {m->block, m->loop},
                    .conflict = left);
}

/* The nest runs those whose end is made there. */
static void keep_to_made(sch_state *s, plan *pl) {
  ir_program *p = s->p;
  const sch_nest *nest = &pl->nest;
  uint32_t ndim = ir_ndim(p, pl->last.buf);
  ir_var *var = arena_array(s->scratch, ir_var, nest->niters);
  ir_expr *to = arena_array(s->scratch, ir_expr, nest->niters);
  for (uint32_t k = 0; k < nest->niters; k++) {
    var[k] = nest->iter[k].var;
    to[k] = nest->iter[k].bind;
  }
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr at = end_of(p, pl->last, d);
    at = sch_replace_in(s, at, nest->niters, var, to);
    sch_nest_guard(s, &pl->nest, ir_binary(p, IR_LE, pl->made[d], at));
    sch_nest_guard(s, &pl->nest, ir_binary(p, IR_LE, at, pl->made[ndim + d]));
  }
}

/* The nest that runs these instances, and whether it may. */
static bool check_nest(sch_state *s, plan *pl, sch_span *span, bool units) {
  ir_stmt block = pl->m.block;
  uint32_t niters = ir_blk(s->p, block)->iters.n;
  for (uint32_t k = 0; k < niters; k++)
    if (span[k].extent <= 0) span[k] = pl->old[k];
  sch_spans_clip(s, block, span);
  pl->span = span;
  sch_nest_plan(s, block, span, units, &pl->nest);
  if (pl->guarded) keep_to_made(s, pl);
  if (pl->open_instances &&
      (s->quick || !sch_nest_confine(s, block, pl->m.common, &pl->nest)))
    return sch_refuse(s, SCH_R_INSTANCES_UNKNOWN, .s = {block});
  return check_inputs(s, pl) && check_others(s, pl) && check_partition(s, pl);
}

/* An end is in the box, or the box bounds the iters that determine it: the nest
 * need not go through all instances to find those that it runs. */
static bool is_bounded(sch_state *s, const plan *pl, ir_expr end, uint32_t d,
                       const sch_span *span) {
  ir_program *p = s->p;
  ir_span it = ir_blk(p, pl->m.block)->iters;
  uint32_t n = ir_ndim(p, pl->last.buf);
  if (arith_prove_le(p, pl->made[d], end) &&
      arith_prove_le(p, end, pl->made[n + d]))
    return true;
  for (uint32_t k = 0; k < it.n; k++)
    if (span[k].extent <= 0 && ir_uses_var(p, end, p->iter.v[it.at + k].var))
      return false;
  return true;
}

/* Each instance where the last of what it reads is made.  One that reduces
 * might not begin at its init. */
static bool check_latest(sch_state *s, plan *pl, bool units) {
  ir_stmt block = pl->m.block;
  if (!pl->made || sch_has_init(s->p, block)) return false;
  ir_program *p = s->p;
  uint32_t niters = ir_blk(p, block)->iters.n, n = ir_ndim(p, pl->last.buf);
  sch_span *span = arena_array(s->scratch, sch_span, niters);
  ir_expr *end = arena_array(s->scratch, ir_expr, 2 * n);
  for (uint32_t d = 0; d < n; d++) {
    end[2 * d] = end_of(p, pl->last, d);
    end[2 * d + 1] = ir_index(p, 1);
  }
  sch_instances(s, block, ir_region_new(p, pl->last.buf, end), pl->made,
                pl->made + n, true, span);
  for (uint32_t d = 0; d < n; d++)
    if (!is_bounded(s, pl, end[2 * d], d, span)) return false;
  pl->guarded = true;
  return check_nest(s, pl, span, units);
}

/* The nest runs instances again and again, and one that runs each where the
 * last of what it reads is made will not: that one takes its place. */
static void reverse_at_settle(sch_state *s, plan *pl, bool units) {
  plan was = *pl;
  sch_conflict left;
  ir_mark mark = ir_get_mark(s->p);
  if (s->quick || !pl->repeats ||
      sch_covers_exactly(s, &pl->m, &pl->nest, &left) == SCH_COVERS_ONCE ||
      (check_latest(s, pl, units) && !pl->repeats))
    return;
  *pl = was;
  ir_rollback(s->p, mark);
}

/* What one producer makes, else what all make together, else what they then
 * have made. */
static bool find_nest(sch_state *s, plan *pl, bool units) {
  ir_mark mark = ir_get_mark(s->p);
  sch_span *wide = pl->wide;
  if (check_nest(s, pl, pl->span, units)) return true;
  if (s->quick) return false;
  sch_refusal why = s->refusal;
  ir_rollback(s->p, mark);
  if (pl->under_loop > 1 && check_nest(s, pl, wide, units)) return true;
  ir_rollback(s->p, mark);
  if (check_latest(s, pl, units)) return true;
  s->refusal = why;
  return false;
}

static bool check_nests(sch_state *s, plan *pl, bool units) {
  if (!find_nest(s, pl, units)) return false;
  reverse_at_settle(s, pl, units);
  return true;
}

static bool reverse_at_check(sch_state *s, plan *pl, ir_stmt block,
                             ir_stmt loop, bool preserve_unit_loops,
                             int64_t index) {
  ir_program *p = s->p;
  *pl = (plan){0};
  if (!sch_move_init(s, &pl->m, block, loop)) return false;
  if (!sch_comes_before(p, loop, block))
    return sch_refuse(s, SCH_R_LOOP_NOT_BEFORE, .s = {block, loop});
  if (!sch_check_movable(s, pl->m.scope, block) ||
      !sch_adds_once(s, block, pl->m.common) || !find_producers(s, pl))
    return false;
  uint32_t niters = ir_blk(p, block)->iters.n, children = 0;
  pl->old = arena_array(s->scratch, sch_span, niters);
  if (!sch_old_instances(s, block, pl->m.common, pl->old)) {
    pl->open_instances = true;
    for (uint32_t k = 0; k < niters; k++)
      pl->old[k] = (sch_span){0, SCH_SPAN_WHOLE};
  }
  if (!check_nests(s, pl, preserve_unit_loops)) return false;
  for (ir_stmt c = ir_st(p, loop)->body; c; c = ir_st(p, c)->next) children++;
  return sch_choose_position(s, loop, index, pl->after, children,
                             &pl->position);
}

static bool move(sch_state *s, void *ud) {
  const struct reverse_compute_at_args *a = ud;
  plan pl;
  if (!reverse_at_check(s, &pl, a->block, a->loop, a->preserve_unit_loops,
                        a->index))
    return false;
  sch_nest_place(s, a->block, &pl.nest, a->loop, pl.position);
  return true;
}

static bool reverse_compute_at_apply(sch_state *s,
                                     struct reverse_compute_at_args *a) {
  if (a->loop == SCH_ROOT_MARK) return true;
  if (a->loop == SCH_INLINE_MARK) return sch_reverse_inline(s, a->block);
  return sch_transaction(s, move, a, a->block);
}
