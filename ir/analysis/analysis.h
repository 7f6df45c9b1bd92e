/* SPDX-License-Identifier: Apache-2.0
 * Analyses of blocks: accessed regions, the loop nest around a block,
 * may-access and must-access boxes, reduction order, lifetime scopes. */
#ifndef IR_ANALYSIS_ANALYSIS_H
#define IR_ANALYSIS_ANALYSIS_H

#include "ir/arith/arith.h"
#include "ir/edit.h"

/* ---- accessed regions (accesses.c) -------------------------------------- */

/* May-access regions: those that statement `body` (one subtree) reads or writes
 * of buffers allocated outside of it, over the variables bound outside; what a
 * block around it must declare.  Appends to `out` (a scratch array of at most
 * `max`), merged per buffer; returns the number, or -1 for too many. */
int ir_accessed_regions(ir_program *p, arena *scratch, ir_stmt body,
                        bool writes, int max, ir_region *out);
/* Expression e of statement s, with the lets between s and `top` (a statement
 * around s, or s) inlined. */
ir_expr ir_inline_lets(ir_program *p, arena *scratch, ir_stmt s, ir_stmt top,
                       ir_expr e);

/* ---- a block seen from an outer statement (loop_view.c) ----------------- */

/* The loops between `top` (a statement above `st`, or 0) and `st`, exclusive,
 * outermost first. false: other statements are in between. */
typedef struct ir_loops {
  uint32_t n;
  ir_var *var;
  ir_expr *lo, *extent;
} ir_loops;
bool ir_loops_between(const ir_program *p, arena *scratch, ir_stmt top,
                      ir_stmt st, ir_loops *out);
/* Are the loops coupled, so that their iteration domain is not rectangular: do
 * the bounds of one depend on another? */
bool ir_loops_coupled(const ir_program *p, const ir_loops *l);
/* May one have no iteration?  It runs nothing below it then, whether or not
 * something is bound to it. */
bool ir_loops_may_be_empty(const ir_program *p, const ir_loops *l);
/* Replaces the iters of a block, in place, by their bindings. */
void ir_bind_iters(ir_program *p, arena *scratch, ir_stmt block, uint32_t n,
                   ir_expr *e);
/* Is e invariant everywhere: built of constants and sizes only, without loop or
 * let variables and loads? */
bool ir_is_invariant(const ir_program *p, ir_expr e);

/* A block seen from `top`, a statement above, with guarded splits undone: loops
 * that form one count (i_0 * 4 + i_1) which the predicate ends early (.. < 10)
 * are merged into one loop (of 10), of which they become digits; also for
 * symbolic ends. */
typedef struct ir_view {
  ir_loops l;   /* the loops between */
  ir_expr pred; /* the remaining predicate; 0: true */
  uint32_t nsteps;
  ir_subst *step; /* in scratch */
} ir_view;
/* false: other statements than loops are in between. */
bool ir_view_block(ir_program *p, arena *scratch, ir_stmt top, ir_stmt block,
                   ir_view *out);
/* Rewrites an expression over the loops to one over those of the view. */
ir_expr ir_view_expr(const ir_view *v, ir_expr e);
/* A view without loops, of a condition that holds: rewrites expressions over
 * the condition's variables. */
void ir_view_condition(ir_program *p, arena *scratch, ir_expr given,
                       ir_view *out);
/* Does e use variables other than the loops of the view? */
bool ir_view_uses_outer(const ir_program *p, const ir_view *v, ir_expr e);

/* ---- what is known where a statement runs (facts.c) --------------------- */

/* The domain of a loop's variable or of a block's iters; 0: all of it is in the
 * bounds of the variables, which constant ends are. */
ir_expr ir_domain_of(ir_program *p, ir_stmt s);
/* The condition under which the body of a statement runs, or its alt; 0:
 * true. */
ir_expr ir_fact_of(ir_program *p, ir_stmt s, bool alt);
/* The facts of all statements around s that are none of memory's contents, and
 * the domains alone of its loops and blocks; 0: true. */
ir_expr ir_facts_around(ir_program *p, ir_stmt s);
ir_expr ir_domains_around(ir_program *p, ir_stmt s);
/* The part of a condition that does not follow from what is given; 0: all of
 * it does. */
ir_expr ir_needed_condition(ir_program *p, arena *scratch, ir_expr cond,
                            ir_expr given);
/* Is e a digit, as fuse makes them over sizes: x % m with 0 < m <= end, or
 * x // m with 0 <= x < end * m? */
bool ir_is_digit_below(ir_program *p, arena *scratch, ir_expr e, ir_expr end,
                       ir_expr given);

/* ---- reductions over the grid (grid_reduction.c) ------------------------ */

/* Does the iter follow the variable?  A reduce iter does not where the variable
 * only determines from what is in memory where its domain begins, as a row of a
 * sparse matrix does. */
bool ir_iter_follows(const ir_program *p, ir_iter it, ir_var var);
/* Does a reduce iter of the block follow the loop? */
bool ir_loop_reduces(const ir_program *p, ir_stmt loop, ir_stmt block);
/* Is the loop, of the same scope, one over blocks of threads that share the
 * block's reduction? */
bool ir_is_grid_reduction(const ir_program *p, ir_stmt loop, ir_stmt block);
/* The store as X[i] = X[i] op e, e not reading X: e; 0: it is not of that
 * form. */
ir_expr ir_atomic_operand(const ir_program *p, const ir_stmt_rec *store);
/* May the block's updates be made atomically in any order?  It reduces by a
 * sum, or an extreme of integers, into single elements of global memory, and
 * has no init. */
bool ir_updates_atomically(const ir_program *p, ir_stmt block);

/* ---- order of reductions (reduction_order.c) ---------------------------- */

/* Executed in the order of the loops l, outermost first: does each result of
 * the iters, which are bound over them, start at its init, with all reduce
 * iters at their minimum?  Sound, by fast rules that are not complete. */
bool ir_loops_start_at_init(const ir_program *p, arena *scratch,
                            const ir_loops *l, uint32_t n, const ir_iter *iter);
/* The same for a block in the loops below `top`, and its predicate; false also
 * if other statements are in between. */
bool ir_block_starts_at_init(const ir_program *p, arena *scratch, ir_stmt block,
                             ir_stmt top);
/* Do all reductions nested in `top` execute the instances of each result in the
 * declared order of its reduce iters? */
bool ir_reduces_in_declared_order(ir_program *p, arena *scratch, ir_stmt block,
                                  ir_stmt top);

/* ---- may-access and must-access boxes (footprint.c) --------------------- */

/* The view's predicate without guards that only clip an iter's binding to its
 * domain and depend on variables bound outside: as if iters could overhang. 0:
 * true. */
ir_expr ir_unclipped_predicate(ir_program *p, ir_stmt block, const ir_view *v);
/* May-access: a box [min, max], inclusive, over variables bound at or above
 * `top`, that contains every point of region r (over the block's iters) while
 * the loops between `top` and the block run; not clipped to the shape. false:
 * none is known. */
bool ir_may_access_box(ir_program *p, arena *scratch, ir_stmt block,
                       ir_region r, ir_stmt top, ir_expr *min, ir_expr *max);
/* The same, clipped to what the block's predicate admits: max is then the
 * minimum of two ends, where the guard of a tile ends it before the domain. */
bool ir_may_access_tail(ir_program *p, arena *scratch, ir_stmt block,
                        ir_region r, ir_stmt top, ir_expr *min, ir_expr *max);
/* The condition under which an access of the same element at `now`, in other
 * loops below `top`, is not past the tails that end this one; 0: none does. */
ir_expr ir_tail_condition(ir_program *p, arena *scratch, ir_stmt block,
                          ir_region r, ir_stmt top, const ir_expr *now);
/* Is the part of [min, max] inside buffer b contained in [omin, omax], given a
 * condition (0: none)? */
bool ir_box_within(ir_program *p, arena *scratch, ir_buf b, const ir_expr *min,
                   const ir_expr *max, const ir_expr *omin, const ir_expr *omax,
                   ir_expr given);
/* Must-access: does region r, while the loops between `top` and the block run,
 * cover every point of the box [min, max] inside the buffer, given a condition
 * over variables bound at or above `top` (0: none)? */
bool ir_must_access_box(ir_program *p, arena *scratch, ir_stmt block,
                        ir_region r, ir_stmt top, const ir_expr *min,
                        const ir_expr *max, ir_expr given);
/* Must-access by a fast test for rectangular nests (footprint_box.c): does r,
 * one of the block's regions, cover some full box while the loops from `loop`
 * down run? */
bool ir_must_access_box_quick(const ir_program *p, ir_stmt block, ir_stmt loop,
                              ir_region r);
/* Must each instance of the block access (write or read) every point of region
 * r, which it declares?  A declared region may be a bounding box
 * (must_access.c). */
bool ir_must_access_region(ir_program *p, arena *scratch, ir_stmt block,
                           ir_region r, bool write);

/* ---- lifetime scopes (lifetime.c) --------------------------------------- */

/* The lifetime scope of a buffer allocated by a block: the loop in each of
 * whose iterations, or the block in each of whose instances, the buffer is
 * fresh.
 *
 * It is the innermost loop or block around all accesses that carries no value
 * of the buffer from one iteration to the next: each read must be preceded, in
 * the same iteration, by writes that cover it and whose extent does not depend
 * on memory changed there, and each result of a reduction into the buffer must
 * start at its init in that iteration.  At worst it is the block that allocates
 * it.  Global buffers are allocated outside of thread loops; shared ones may be
 * allocated inside, if each thread provably could have its own, until lowering
 * finds that one serves all (lower/threads).  So what is computed under a
 * parallel loop for use there is private to each iteration, while a scan keeps
 * its state.
 *
 * Lowering allocates there, the interpreter uses the same function, and
 * primitives rely on it.  `b` is a local buffer of a program with blocks; 0: no
 * block of the entry function allocates it. */
ir_stmt ir_lifetime_scope(ir_program *p, arena *scratch, ir_buf b);

/* ---- layout conversion -------------------------------------------------- */

/* The annotation of a block that converts a layout-free parameter. */
#define IR_PREPARE_KEY "layout_prepare"

#endif
