/* SPDX-License-Identifier: Apache-2.0
 * Moving a block within its scope (compute_at, reverse_compute_at, inlining):
 * the instances required at the new place, legality, and its new loop nest.
 *
 * `common` is the innermost loop or block around both the old and new place.
 * All questions are asked of one iteration of it: the loops at and above it
 * have the same values at both places. */
#ifndef SCHEDULE_ANALYSIS_MOVE_H
#define SCHEDULE_ANALYSIS_MOVE_H

#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "schedule/sch.h"

/* ---- ranges of iters (accessing_instances.c) ---------------------------- */

/* The values min .. min + extent - 1 of an iter; min is over variables bound
 * at or above some loop. */
typedef struct sch_span { ir_expr min; int64_t extent; } sch_span;
#define SCH_SPAN_NONE 0     /* extent: no value wanted (yet) */
#define SCH_SPAN_WHOLE (-1) /* extent: all values */

/* For each iter of the block the range that its instances lie in which
 * access the box [min, max] with region r (within: those whose region lies
 * wholly in the box); over-estimates, and is whole where nothing is known. */
void sch_instances(sch_state *s, ir_stmt block, ir_region r,
                   const ir_expr *min, const ir_expr *max, bool within,
                   sch_span *out);
/* The smallest range around both. */
sch_span sch_span_join(sch_state *s, sch_span a, sch_span b);
/* Clips ranges to the domains where both are constant; one value is left of
 * a range that lies outside. */
void sch_spans_clip(sch_state *s, ir_stmt block, sch_span *span);
/* Makes whole what is no shorter than the domain, wherever it lies. */
void sch_spans_widen(sch_state *s, ir_stmt block, sch_span *span);

/* ---- the move (move.c) -------------------------------------------------- */

typedef struct sch_move {
  ir_stmt block;          /* to be moved */
  ir_stmt loop;           /* to move under */
  ir_stmt scope;          /* the block both are in */
  ir_stmt common;           /* innermost around block and loop */
  ir_stmt from, to;       /* children of common: block's, loop's */
} sch_move;

/* What the statement itself says (bounds, bindings, predicate) depends on no
 * buffer; other statements than loops and blocks are not understood at all. */
bool sch_says_no_load(const ir_program *p, ir_stmt st);
/* The block is in loops only, in a scope of loops and blocks whose bounds
 * and bindings load nothing, and whose init uses nothing that it writes. */
bool sch_check_alone(sch_state *s, ir_stmt scope, ir_stmt block);
/* The same, but predicates of other blocks of the scope may load. */
bool sch_check_alone_but_predicates(sch_state *s, ir_stmt scope, ir_stmt block);
/* Is it a block whose predicate loads? */
bool sch_predicate_loads(const ir_program *p, ir_stmt st);
/* The same of a block that reads an input, all of which is to be copied before:
 * bounds of loops may load, since a copy of what nobody writes is right
 * wherever it is read.  *loads: some do. */
bool sch_check_copied(sch_state *s, ir_stmt scope, ir_stmt block, bool *loads);
/* The domains of the block's iters need no loop below `common`, which is around
 * it: they mean the same wherever common is. */
bool sch_check_domains(sch_state *s, ir_stmt block, ir_stmt common);
/* Fills in m after checking that block and loop are in one scope made of
 * loops and blocks only, neither around the other. */
bool sch_move_init(sch_state *s, sch_move *m, ir_stmt block, ir_stmt loop);
/* Complete or a reduction, and each element it writes is that of one
 * instance only: it may be run anywhere, again and in any order, where its
 * inputs are the same. */
bool sch_check_movable(sch_state *s, ir_stmt scope, ir_stmt block);
/* The same of a block whose reduction goes to its new place as a whole, in a
 * nest over its iters as they are declared: one by a reducer that keeps its
 * sources' order, too, where it runs in that order already. */
bool sch_check_movable_whole(sch_state *s, const sch_move *m);
/* A reduction that is first met at its start: in one iteration of `common` all
 * points that it reduces are in its result, each once.  What runs again does
 * so as a whole.  True of a block without an init, which reduces nothing. */
bool sch_adds_once(sch_state *s, ir_stmt block, ir_stmt common);
/* No instance of the block writes what another one writes. */
bool sch_writes_once(sch_state *s, ir_stmt block);
/* Some block of the scope writes what `block` reads. */
bool sch_has_producer(const sch_state *s, ir_stmt scope, ir_stmt block);
/* A loop below `top` and around `at` (`at` included) is bound to an iter of
 * the block that is not spatial: at `at` its results are provably partial. */
bool sch_is_partial(const ir_program *p, ir_stmt block, ir_stmt top,
                    ir_stmt at);
/* In one iteration of `top`, each iteration of the loops down to `at`, at
 * the block or around it, leaves those results that it has to do with as
 * they will be: no other one reduces into them, or each reduces all
 * (reduction_complete.c).  false: not known to be so.  A block that reduces
 * nothing is whole anywhere. */
bool sch_is_whole(sch_state *s, ir_stmt block, ir_stmt top, ir_stmt at);
/* What the block reads is the same when it runs later, at or in `to`, a
 * later child of `common` than the one that it is in; *open (if not NULL): it
 * remains to be seen of what runs in `to` (sch_unchanged_by_then). */
bool sch_check_later(sch_state *s, ir_stmt block, ir_stmt common, ir_stmt to,
                     bool *open);
/* All that the block reads of what `maker`, before it in a loop with it,
 * writes in an iteration of common has been written when it does, by an exact
 * look: later writes, if they give the same, do no harm. */
bool sch_made_first(sch_state *s, ir_stmt maker, ir_stmt block, ir_stmt common);
/* The block may run before all of q, which it is in a loop with, and which
 * comes after it there: in no later iteration does the block read what q has
 * written, or write what q has read. */
bool sch_check_ahead(sch_state *s, ir_stmt q, ir_stmt block, ir_stmt common);
/* For a caller that has refused because `writer`, which is a or b, writes
 * what the other one reads: in no iteration of common does a conflict with that
 * later than b (or along with b: `or_same`); else the refusal gets more detail
 * (loop_carried.c). */
bool sch_never_later(sch_state *s, ir_stmt a, ir_stmt b, ir_stmt writer,
                     ir_stmt common, bool or_same);
/* Once block `w` has run, with all that common's iteration holds of it, what
 * it wrote stays; `w` is under the child `part` of common. */
bool sch_is_settled(sch_state *s, ir_stmt w, ir_stmt common, ir_stmt part);
/* The instances that run in one iteration of common are all those in the box
 * `out` (and in the domain); false: not known to be. */
bool sch_old_instances(sch_state *s, ir_stmt block, ir_stmt common,
                       sch_span *out);
/* Every instance of the block's domain may be run, as far as its iters and
 * what it accesses are concerned: its predicate only keeps it in its domain,
 * and where they do not all run as it is, others do no harm: they sum
 * nothing, access nothing outside of buffers, and read what the caller
 * gives. */
bool sch_can_run_all(sch_state *s, ir_stmt block);
/* Every value of span (in the domain) lies in `old`. */
bool sch_spans_within(sch_state *s, ir_stmt block, const sch_span *span,
                      const sch_span *old);
/* For messages: a buffer that `w` writes and `r` reads; the first one that
 * the block writes; the first one of those that its scope does not own. */
ir_buf sch_shared_buf(const ir_program *p, ir_stmt w, ir_stmt r);
ir_buf sch_first_write(const ir_program *p, ir_stmt block);
ir_buf sch_outer_buf(const ir_program *p, ir_stmt block);
/* ---- the new place (place.c) -------------------------------------------- */

/* Which child of `loop` the block goes before, among positions lo .. hi:
 * index -1 the last, -2 the first, k that one.  false after refusing. */
bool sch_choose_position(sch_state *s, ir_stmt loop, int64_t index,
                         uint32_t lo, uint32_t hi, uint32_t *out);
/* The position among the children of `above` of the one that is or holds
 * `st`. */
uint32_t sch_position(const ir_program *p, ir_stmt above, ir_stmt st);

typedef struct sch_nest {
  uint32_t nloops;
  ir_var *var;
  ir_expr *extent;
  uint32_t niters;
  ir_iter *iter;          /* with the new bindings */
  ir_expr pred;
} sch_nest;

/* New loops ax0, ax1, ... that run the block's iters over `span`. */
void sch_nest_plan(sch_state *s, ir_stmt block, const sch_span *span,
                   bool preserve_unit_loops, sch_nest *out);
/* Do the loops below `common` down to `loop`, with the nest, run all `old`
 * instances, and no others? */
typedef enum sch_coverage {
  SCH_COVERS_NOT, SCH_COVERS, SCH_COVERS_ONCE
} sch_coverage;
sch_coverage sch_nest_coverage(sch_state *s, ir_stmt common,
                               ir_stmt loop, const sch_nest *nest,
                               const sch_span *old);
/* Lets the nest run what the block ran in the same iteration of `common`, and
 * nothing else.  false: that cannot be said of the new iterations. */
bool sch_nest_confine(sch_state *s, ir_stmt block, ir_stmt common,
                      sch_nest *nest);
/* The condition, unless it is known to hold, and-ed to the nest's predicate. */
void sch_nest_guard(sch_state *s, sch_nest *nest, ir_expr cond);
/* sch_nest_coverage, by an exact look (polyhedra_move.c); the nest runs no
 * other instances.  NOT: with an instance that is left out in *out. */
sch_coverage sch_covers_exactly(sch_state *s, const sch_move *m,
                                const sch_nest *nest, sch_conflict *out);
/* In the nest the block accesses no element of `buf` that `maker` writes later
 * in the same iteration of m->common, by an exact look; false: perhaps, with
 * what `maker` does too late and the block's iteration in *out. */
bool sch_made_by_then(sch_state *s, const sch_move *m, const sch_nest *nest,
                      ir_stmt maker, ir_buf buf, sch_conflict *out);
/* ... nor in the same iteration of the loops around both, if `maker` comes
 * `behind` there; or, of one that `reads`, in the nest the block writes no
 * element of `buf` that it reads later. */
bool sch_done_by_then(sch_state *s, const sch_move *m, const sch_nest *nest,
                      ir_stmt maker, bool reads, bool behind, ir_buf buf,
                      sch_conflict *out);
/* ... nor one that `writer` has written by then, in the iteration of the loops
 * around both, too, if it runs `first` there. */
bool sch_unchanged_by_then(sch_state *s, const sch_move *m,
                           const sch_nest *nest, ir_stmt writer, bool first,
                           ir_buf buf, sch_conflict *out);
/* In the order of the loops, from the scope on, each result is first met with
 * all iters that reduce at their least value, where it is initialized. */
bool sch_nest_starts_at_init(sch_state *s, ir_stmt scope, ir_stmt loop,
                             const sch_nest *nest);
/* Drops what of the block's predicate always holds in the loops around, whose
 * lengths may be sizes. */
void sch_trim_predicate(sch_state *s, ir_stmt block);
/* Puts a detached block with its nest into `above`, before its child
 * `before` (0: at the end). */
void sch_nest_hang(sch_state *s, ir_stmt block, const sch_nest *nest,
                   ir_stmt above, ir_stmt before);
/* Takes the block out of its place, with the loops that become empty, and
 * puts it with its nest under `loop`, at `position`. */
void sch_nest_place(sch_state *s, ir_stmt block, const sch_nest *nest,
                    ir_stmt loop, uint32_t position);
/* Takes a block out of the tree, and the loops above that become empty. */
void sch_remove_leaf(ir_program *p, ir_stmt block);
/* The domains of iters shrink to constant ranges; a new variable takes the
 * place of such an iter in the block.  Nothing outside may run. */
void sch_shrink_domains(sch_state *s, ir_stmt block, const sch_span *to);
/* The same where the condition, over the block's iters, bounds one of them by
 * itself.  It must stay the predicate that keeps the iters in their domains. */
void sch_shrink_by(sch_state *s, ir_stmt block, ir_expr cond);
/* The domains shrink to what the loops around the block reach. */
void sch_tighten_domains(sch_state *s, ir_stmt block);
/* A loop variable printed ax<k>, from 0 to extent - 1. */
ir_var sch_ax_var(ir_program *p, uint32_t k, ir_expr extent);

#endif
