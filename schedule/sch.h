/* SPDX-License-Identifier: Apache-2.0
 * What primitives share: helpers to rewrite, and the questions they ask
 * (schedule/analysis/).  Knows nothing of traces and random variables.
 *
 * Terms.  The scope of a statement is the block it is in.  The child
 * blocks of a statement are the blocks below it with no block between,
 * leaving out those in the init of a block.
 * Analyses that hand out a list take it from the scratch arena. */
#ifndef SCHEDULE_SCH_H
#define SCHEDULE_SCH_H

#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "schedule/sig.h"

/* No loop is made longer than this, so that index arithmetic cannot leave
 * 64 bits. */
#define SCH_MAX_EXTENT ((int64_t)1 << 60)

/* ---- rewriting (rewrite/domains.c) -------------------------------------- */

/* Another kind; `thread` counts for IR_THREAD only. */
void sch_set_loop_kind(sch_state *s, ir_stmt loop, ir_loop_kind kind,
                       ir_thread thread);
/* Whether the loop may become of that kind without losing one whose iterations
 * run concurrently; LOOP_KIND. */
bool sch_loop_takes_kind(sch_state *s, ir_stmt loop, ir_loop_kind kind);
/* And-s `cond` to the predicate of every block directly below `top`. */
void sch_guard_below(sch_state *s, ir_stmt top, ir_expr cond);
/* Variables var[i] become to[i]: in an expression (the result is another
 * one), or in what is below the loop `top`: bounds of loops, bindings
 * and predicates of child blocks, other statements.  Blocks are not entered,
 * since they see only what they bind. */
ir_expr sch_replace_in(sch_state *s, ir_expr e, uint32_t n,
                       const ir_var *var, const ir_expr *to);
void sch_replace_vars(sch_state *s, ir_stmt top, uint32_t n,
                      const ir_var *var, const ir_expr *to);

/* The block `scope` and those around it, less the outermost, declare at
 * least what is now accessed in them: after a change below
 * (sch_transaction does it; rewrite/widen_regions.c). */
void sch_widen_scope(sch_state *s, ir_stmt scope);
/* The block `to`, which was derived from `from`, takes over its annotations,
 * except those that describe its body and its regions
 * (rewrite/annotations.c). */
void sch_copy_annotations(ir_program *p, ir_stmt from, ir_stmt to);

/* Do the bounds of a loop, the value of a let or the domain of an iter of a
 * block use v? */
bool sch_domain_needs(const ir_program *p, ir_stmt at, ir_var v);
/* Replaces variables in the domains, of loops, lets and iters, below `top`. */
void sch_replace_in_domains(sch_state *s, ir_stmt top, uint32_t n,
                            const ir_var *var, const ir_expr *to);
/* The first loop or block below `top` one of whose variables would then claim
 * less than its domain; 0: none. */
ir_stmt sch_replaced_misfit(sch_state *s, ir_stmt top, uint32_t n,
                            const ir_var *var, const ir_expr *to);
/* If the variable of `loop` could be in `range`, would the variables of loops
 * below whose bounds need it, and of iters, stay in the ranges that they have?
 * false: refused, as DEPENDENT_LOOP.  `rest`: so does that of a loop which
 * would begin past the end of its range and so never run. */
bool sch_inner_fit(sch_state *s, ir_stmt loop, arith_range range, bool rest);
/* The first of them that would not; 0: none. */
ir_stmt sch_inner_misfit(sch_state *s, ir_stmt loop, arith_range range,
                         bool rest);
/* `lo` and `extent` may become the domain of v, bound at `at`: its variable
 * claims no less; else refused in the same way, naming `because`. */
bool sch_domain_fits(sch_state *s, ir_stmt at, ir_var v, ir_expr lo,
                     ir_expr extent, ir_stmt because);
/* The same for all loops and iters below top once variables have these
 * values. */
bool sch_domains_fit(sch_state *s, ir_stmt top, ir_subst *values,
                     ir_stmt because);

/* ---- the tree (analysis/tree.c) ----------------------------------------- */

/* The loops around `st` inside its scope, outer first; returns how many. */
uint32_t sch_loops_above(const ir_program *p, ir_stmt st, uint32_t max,
                         ir_stmt *out);
/* The same as a list, as many as there are. */
sch_list sch_loops_of(sch_state *s, ir_stmt st);
/* What sch_next_outside gives for a statement without body, or a block. */
ir_stmt sch_skip_outside(const ir_program *p, ir_stmt at, ir_stmt top);
/* The statement after `at` below `top` (which it is to begin with) in
 * pre-order, not entering blocks nor the init of `top`; 0 at the end. */
static inline ir_stmt sch_next_outside(const ir_program *p, ir_stmt at,
                                       ir_stmt top) {
  const ir_stmt_rec *r = ir_st(p, at);
  if (r->body && (at == top || r->kind != IR_BLOCK)) return r->body;
  return sch_skip_outside(p, at, top);
}
/* The child block of `top` after `at`, itself a child block or `top` to
 * begin with, in program order; 0 at the end. */
ir_stmt sch_next_child(const ir_program *p, ir_stmt at, ir_stmt top);
/* The child blocks of `top` in program order. */
sch_list sch_child_blocks(sch_state *s, ir_stmt top);
/* The innermost statement that is `a` and `b` or above both. */
ir_stmt sch_common(const ir_program *p, ir_stmt a, ir_stmt b);
/* The statement right below `above` on the way down to `below`. */
ir_stmt sch_step_down(const ir_program *p, ir_stmt above, ir_stmt below);
/* The only statement in the body of `st`, 0 when there are none or more. */
static inline ir_stmt sch_only_child(const ir_program *p, ir_stmt st) {
  ir_stmt c = p->stmt.v[st].body;
  return c && !p->stmt.v[c].next ? c : 0;
}
/* The first statement from `below` up to `above`, both left out, that is no
 * loop, as a condition is; 0: there is none. */
ir_stmt sch_other_between(const ir_program *p, ir_stmt above, ir_stmt below);
/* Does `a` run before `b`?  Neither contains the other. */
bool sch_comes_before(const ir_program *p, ir_stmt a, ir_stmt b);
/* Holds nothing but loops, blocks and their sequences down to the child
 * blocks of `top`; else `*other` is the first other statement. */
bool sch_is_plain(const ir_program *p, ir_stmt top, ir_stmt *other);
/* The same, but conditions on indices only are allowed. */
bool sch_is_nest(const ir_program *p, ir_stmt top, ir_stmt *other);

/* ---- blocks (analysis/blocks.c) ----------------------------------------- */

bool sch_reads_buf(const ir_program *p, ir_stmt block, ir_buf buf);
bool sch_writes_buf(const ir_program *p, ir_stmt block, ir_buf buf);
/* The same buffer and the same place, as expressions. */
bool sch_same_region(const ir_program *p, ir_region a, ir_region b);
/* Has an init, as a reduction does. */
static inline bool sch_has_init(const ir_program *p, ir_stmt block) {
  return p->stmt.v[block].alt != 0;
}
/* Does its init load the buffer, anywhere?  And: load it or store to it? */
bool sch_init_loads(const ir_program *p, ir_stmt block, ir_buf buf);
bool sch_init_uses(const ir_program *p, ir_stmt block, ir_buf buf);
/* Gives a block with reduce iters the same in whatever order these run, its
 * init aside: is it a reduction, beyond being called one?
 * (dependence/reduction_commutes.c)
 */
bool sch_reduction_commutes(const ir_program *p, ir_stmt block);
/* What a block is within `top`, a block or loop above it: properties that
 * look at other blocks (dominant) look at the child blocks of `top`. */
enum {
  SCH_DOMINANT = 1,   /* the only writer of each buffer it writes */
  SCH_COMPLETE = 2,   /* all iters spatial, dominant, reads nothing it writes */
  SCH_REDUCTION = 4   /* init, affine, no opaque iter, dominant, no reduce
                       * iter in the place it writes, and it commutes */
};
unsigned sch_block_props(sch_state *s, ir_stmt top, ir_stmt block);
/* The map from the loops around the block to its iters is a bijection onto
 * their domain (under its predicate). */
bool sch_is_affine(sch_state *s, ir_stmt block);
/* As many loops as iters, and iter i is loop i. */
bool sch_is_trivial(const ir_program *p, ir_stmt block);
/* Trivial, without a predicate, and each loop as long as its iter's domain. */
bool sch_runs_its_domain(const ir_program *p, ir_stmt block);
/* Writes a buffer that does not live in its scope, so that it is seen
 * outside. */
bool sch_is_output(const ir_program *p, ir_stmt block);
/* Multi-level tiling would pay: not tiled yet (annotation tiling_structure),
 * trivially bound, one write, some reduction, and a spatial iter that does
 * not index all that is read (analysis/tiling.c). */
bool sch_needs_tiling(sch_state *s, ir_stmt block);
/* Does it read again, for other spatial iterations, what changes in the course
 * of its reduction?  The rest stays in a register without any tiles, as the
 * mean of a row does of which squares are added up. */
bool sch_reuses_in_reduction(sch_state *s, ir_stmt block);
/* Splitting the reduction itself, into partial ones (rfactor) or over threads,
 * would pay: a trivially bound reduction with an init that is not tiled, alone
 * in its loops, all of constant extents.  One that multi-level tiling suits
 * must have fewer spatial than reduction iterations and no more than
 * max_spatial; another more than min_reduce reduction iterations. */
bool sch_needs_rfactor(sch_state *s, ir_stmt block, int64_t max_spatial,
                       int64_t min_reduce);
/* Does v determine where the region begins? */
bool sch_is_indexed_by(const ir_program *p, ir_region r, ir_var v);
/* Which of the block's regions the operand means: number *index of those it
 * writes where *write is set, else of those it reads; their buffer is *buf.
 * sides: what may be meant.  false: refused. */
enum { SCH_READS = 1, SCH_WRITES = 2 };
bool sch_find_buffer(sch_state *s, ir_stmt block, sch_buffer meant,
                     unsigned sides, bool *write, uint32_t *index,
                     ir_buf *buf);
#define SCH_BUFFER_REASONS                                                  \
  SCH_R_BUFFER_INDEX, SCH_R_BUFFER_NAME, SCH_R_BUFFER_NAMES,                \
    SCH_R_BUFFER_SIDE, SCH_R_BUFFER_SIDE_OPEN
/* The block that allocates `buf`, 0: a parameter, constant or unknown. */
ir_stmt sch_alloc_block(const ir_program *p, ir_buf buf);

/* For each variable of a loop around `block`: the kinds of the block's iters
 * that the loop drives (bits 1 << ir_iter_kind), or-ed into drives[var].  A
 * loop of one iteration, which no binding mentions, counts as those do that
 * were split off the same loop, so that what is known of a nest does not
 * depend on the sizes of its tiles; where no binding mentions one of these,
 * as a spatial one. */
void sch_mark_drivers(sch_state *s, ir_stmt block, uint8_t *drives);
/* Ors `bits` to every variable in e. */
void sch_mark_vars(const ir_program *p, ir_expr e, uint8_t bits,
                   uint8_t *drives);

/* What kinds of iters the variable of a loop goes into, over its child
 * blocks: S none or spatial only, R reduce only, else mixed; opaque as soon
 * as one opaque iter uses it. */
typedef enum sch_loop_type {
  SCH_LOOP_S, SCH_LOOP_R, SCH_LOOP_MIXED, SCH_LOOP_OPAQUE
} sch_loop_type;
sch_loop_type sch_type_of_loop(sch_state *s, ir_stmt loop);

/* ---- dependences (dependence/block_deps.c) ------------------------------ */

/* Child block `dst` of a scope depends on the earlier one `src` through a
 * buffer: only where their regions, over whole domains, can overlap. */
enum { SCH_RAW = 1, SCH_WAW = 2, SCH_WAR = 4 };
/* Bits of how `dst` depends on `src` (both child blocks of one scope, src
 * first in program order). */
unsigned sch_depends(sch_state *s, ir_stmt src, ir_stmt dst);
/* Blocks of the same scope that `block` depends on by RAW or WAW, and those
 * that depend so on it; in program order. */
sch_list sch_producers(sch_state *s, ir_stmt block);
sch_list sch_consumers(sch_state *s, ir_stmt block);
/* What `buf` is a part of: itself, or what `scope` matched it to. */
ir_buf sch_storage(const ir_program *p, ir_stmt scope, ir_buf buf);

/* ---- bounds that are read (analysis/data_bounds.c) ---------------------- */

/* Does what e reads for `reader` stay as it is at and below `top`?  false:
 * refused (SCH_R_INPUT_OVERWRITTEN). */
bool sch_reads_stay(sch_state *s, ir_stmt top, ir_expr e, ir_stmt reader);
/* What decides at `t`, outside of blocks, whether or how often something runs:
 * how many expressions. */
uint32_t sch_deciding(const ir_program *p, ir_stmt t, ir_expr e[2]);
/* Does what is read at or below `top`, to decide what runs there, stay as it
 * is meanwhile?  false: refused (SCH_R_INPUT_OVERWRITTEN). */
bool sch_bounds_stay(sch_state *s, ir_stmt top);

/* ---- races (dependence/races.c) ----------------------------------------- */

/* May the iterations of `loop` run in parallel, bound to `thread` or, where
 * that is negative, as a parallel or vectorized loop, if the loops inner[0
 * .. n), now around it, were inside?  false: refused. */
bool sch_iterations_free(sch_state *s, ir_stmt loop, int thread, uint32_t n,
                         const ir_stmt *inner);
/* What that can refuse for. */
#define SCH_RACE_REASONS                                                    \
  SCH_R_ITER_NOT_SPATIAL, SCH_POLY_REASONS, SCH_R_OTHER_STATEMENT,          \
    SCH_R_RACE, SCH_R_RACE_OTHER
/* Given by the last resort (dependence/polyhedra.h): what is asked is not
 * quasi-affine, or too much of it. */
#define SCH_POLY_REASONS SCH_R_NOT_AFFINE, SCH_R_UNDECIDED

/* ---- apply, recheck, roll back (rewrite/transaction.c) ------------------ */

/* Applies a change, which refuses or succeeds as a primitive's apply does, and
 * may have made expressions and buffers by then; rolls it back and refuses
 * where a parallel, vectorized or thread loop would no longer be proven free
 * of races.  `at`: what changes, for the message. */
bool sch_transaction(sch_state *s, bool (*change)(sch_state *s, void *ud),
                     void *ud, ir_stmt at);
/* The same with another reason to refuse: s0 is the loop, s1 is `at`. */
bool sch_transaction_or(sch_state *s, bool (*change)(sch_state *s, void *ud),
                        void *ud, ir_stmt at, sch_reason why);
/* The same for a change that may refuse after it has begun: it is rolled
 * back. */
bool sch_transaction_rollback(sch_state *s,
                              bool (*change)(sch_state *s, void *ud),
                              void *ud, ir_stmt at);
/* The same for a change of which iterations of `loop` (and loops below) run,
 * and nothing else.  Nothing is rechecked where no parallel loop is around or
 * below it; nor where no block below has a predicate or depends on a quotient
 * or remainder of the loop's variable, unless `guards`: the change may add
 * predicates, or hide that iterations write all that they read. */
bool sch_transaction_loop(sch_state *s, bool (*change)(sch_state *s, void *ud),
                          void *ud, ir_stmt loop, bool guards);
/* Dry run: would it succeed?  The program stays as it is.  `check` is what
 * `change` asks before it changes anything, and enough where there is no
 * parallel loop. */
bool sch_transaction_dry_run(sch_state *s,
                             bool (*check)(sch_state *s, void *ud),
                             bool (*change)(sch_state *s, void *ud), void *ud,
                             ir_stmt at);

/* ---- order (dependence/permute.c) --------------------------------------- */

/* May the nest chain[0 .. n), each the only child of the one before, be run
 * in the order of the permutation next[0 .. n)?  false: refused.  (Kinds of
 * loops are not looked at.) */
bool sch_order_free(sch_state *s, uint32_t n, const ir_stmt *chain,
                    const ir_stmt *next);
#define SCH_ORDER_REASONS                                                   \
  SCH_R_INIT_LATE, SCH_R_NOT_INJECTIVE, SCH_R_ORDER_OPAQUE,                 \
  SCH_R_REDUCER_ORDERED,  \
    SCH_R_ORDER_DEPENDS, SCH_R_ORDER_INIT
/* ... and SCH_R_OTHER_STATEMENT, SCH_POLY_REASONS. */

/* Does the reduction `block`, in one run of its scope or, where `top` is not 0,
 * of the loops from `top` down to it, reach each result first where it
 * initializes it?  false: refused.  (analysis/reduction_init.c) */
bool sch_begins_at_init(sch_state *s, ir_stmt block, ir_stmt top);
/* Does the predicate of the block, wherever it holds, hold too where all those
 * of `loops` start that have a bit of `bits` in drives[var]?  false: refused,
 * INIT_START. */
bool sch_holds_at_start(sch_state *s, ir_stmt block, sch_list loops,
                        const uint8_t *drives, uint8_t bits);
/* In iterations of `loops`, from `top` down to the reduction `block`, instances
 * of other spatial iters have other results, so that none starts again what
 * another one has added up.  false: refused. */
bool sch_results_disjoint(sch_state *s, ir_stmt block, ir_stmt top,
                       sch_list loops);
/* All that the block does for an element it does in one iteration of `loops`,
 * the outermost ones in its scope.  false: refused, PARTIAL_RESULT. */
bool sch_steps_stay(sch_state *s, ir_stmt block, sch_list loops,
                    ir_stmt reader);
/* For a caller whose quick rules do not see it: do the loops from `top` down
 * to the block run each of its instances once?  false: refused. */
bool sch_runs_once(sch_state *s, ir_stmt block, ir_stmt top);

/* ---- possibility (beside the primitives) -------------------------------- */

/* The checks of a primitive without its change; false leaves the reason. */
bool sch_can_compute_at(sch_state *s, ir_stmt block, ir_stmt loop,
                        bool preserve_unit_loops);
bool sch_can_inline(sch_state *s, ir_stmt block);

#endif
