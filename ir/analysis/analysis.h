/* SPDX-License-Identifier: Apache-2.0
 * Analyses of blocks: accessed regions, the loop nest around a block,
 * may-access and must-access boxes, reduction order, lifetime scopes. */
#ifndef IR_ANALYSIS_ANALYSIS_H
#define IR_ANALYSIS_ANALYSIS_H

#include "ir/arith/arith.h"
#include "ir/edit.h"

/* ---- accessed regions (accesses.c) -------------------------------------- */

/* The regions that statement `body` (one subtree) reads or writes outside
 * of buffers allocated within, over the variables bound above it: what a
 * block around it must declare. Appended to `out` (scratch array of at most
 * `max`), reads first merged per buffer; returns the number or -1. */
int ir_accessed_regions(ir_program *p, arena *scratch, ir_stmt body,
                        bool writes, int max, ir_region *out);
/* Expression e of statement s, with values in place of the names that lets
 * bind from s up to `top`, a statement around it or s. */
ir_expr ir_inline_lets(ir_program *p, arena *scratch, ir_stmt s, ir_stmt top,
                       ir_expr e);

/* ---- a block seen from further out (view.c) ----------------------------- */

/* The loops between `top` (a statement above `st`, or 0) and `st`, neither
 * included, outer first.  false: other statements stand there too. */
typedef struct ir_loops {
  uint32_t n;
  ir_var *var;
  ir_expr *lo, *extent;
} ir_loops;
bool ir_loops_between(const ir_program *p, arena *scratch, ir_stmt top,
                      ir_stmt st, ir_loops *out);
/* Does one of them tell where another one runs?  Then they run no box. */
bool ir_loops_coupled(const ir_program *p, const ir_loops *l);
/* Expressions over the iters of a block, in place, become ones over the
 * loops around it. */
void ir_bind_iters(ir_program *p, arena *scratch, ir_stmt block, uint32_t n,
                   ir_expr *e);
/* Does no loop or let, and no buffer, tell the value of e?  It is a number, or
 * made of sizes: the same wherever it stands. */
bool ir_is_invariant(const ir_program *p, ir_expr e);

/* A block seen from `top`, a statement above, as if guarded splits had not
 * been made: loops that count together (i_0 * 4 + i_1) and that its predicate
 * ends early (.. < 10) are one loop (of 10), of which they are digits; so where
 * sizes tell the end. */
typedef struct ir_view {
  ir_loops l;   /* the loops between */
  ir_expr pred; /* what is left of the predicate; 0: nothing */
  uint32_t nsteps;
  ir_subst *step; /* in scratch */
} ir_view;
/* false: other statements than loops stand between. */
bool ir_view_block(ir_program *p, arena *scratch, ir_stmt top, ir_stmt block,
                   ir_view *out);
/* An expression over the loops, as one over those of the view. */
ir_expr ir_view_expr(const ir_view *v, ir_expr e);
/* The same of a condition that holds, for expressions over its variables; no
 * loops. */
void ir_view_given(ir_program *p, arena *scratch, ir_expr given, ir_view *out);
/* Does e speak of anything but the loops of the view? */
bool ir_view_escapes(const ir_program *p, const ir_view *v, ir_expr e);

/* ---- reductions count up (counting.c) ----------------------------------- */

/* In the order of the loops l, outer first, is each result of iters bound over
 * them first met with all iters that reduce at their least, where it is
 * initialised?  By rules that are quick and do not see all. */
bool ir_counts_from_init(const ir_program *p, arena *scratch,
                         const ir_loops *l, uint32_t n, const ir_iter *iter);
/* The same of a block in the loops below `top`, and its predicate; false where
 * other statements stand there. */
bool ir_counts_from_start(const ir_program *p, arena *scratch, ir_stmt block,
                          ir_stmt top);
/* All that reduces stands below `top`, and runs each result's instances in the
 * order of its reduce iters as they are declared. */
bool ir_reduces_as_declared(ir_program *p, arena *scratch, ir_stmt block,
                            ir_stmt top);

/* ---- what a block touches (cover.c) ------------------------------------- */

/* The view's predicate without what only says that an iter's binding lies in
 * its domain and that speaks of variables bound further out: as if iters
 * could overhang.  0: nothing is left. */
ir_expr ir_unclipped(ir_program *p, ir_stmt block, const ir_view *v);
/* A box [min, max], inclusive, over variables bound at or above `top`, around
 * all that region r (one over the block's iters) names while the loops
 * between `top` and the block run; not clipped to the shape.  false: none
 * can be given. */
bool ir_may_access_box(ir_program *p, arena *scratch, ir_stmt block,
                       ir_region r, ir_stmt top, ir_expr *min, ir_expr *max);
/* The part of [min, max] that lies in buffer b lies in [omin, omax], where
 * `given` (0: nothing) holds. */
bool ir_box_within(ir_program *p, arena *scratch, ir_buf b, const ir_expr *min,
                   const ir_expr *max, const ir_expr *omin,
                   const ir_expr *omax, ir_expr given);
/* Does region r meanwhile surely name every point of the box [min, max] that
 * lies in the buffer, when `given` holds (a condition over variables bound at
 * or above `top`; 0: none)? */
bool ir_must_access_box(ir_program *p, arena *scratch, ir_stmt block,
                        ir_region r, ir_stmt top, const ir_expr *min,
                        const ir_expr *max, ir_expr given);
/* Does r, one of the block's own regions, surely name all of a box, whichever,
 * while the loops from `loop` on run?  Sees only what is plainly so, quickly
 * (plain.c). */
bool ir_must_access_box_quick(const ir_program *p, ir_stmt block, ir_stmt loop,
                              ir_region r);
/* Does each run of the block surely access (write or read) every point of
 * region r, one of those that it declares?  What it declares may be a box
 * around less (surely.c). */
bool ir_must_access_region(ir_program *p, arena *scratch, ir_stmt block,
                           ir_region r, bool write);

/* ---- lifetime scopes (lifetime.c) --------------------------------------- */

/* The one rule of where a buffer of a block's allocs lives (home.c): the
 * loop in each of whose iterations, or the block in each of whose instances,
 * it is fresh.  It is the innermost one around all its accesses in which no
 * value is carried from one iteration to the next: each read is surely
 * preceded, in the same iteration, by writes that cover it, which no memory
 * changed there tells, and each result of a reduction into the buffer is seen
 * to begin at its init in the iteration.  At worst it is the block
 * that allocates it.  Global buffers live outside of thread loops; shared ones
 * may live inside, where each thread is seen to have its own until lowering
 * finds out that one is enough for all (kernel.h).  So what is computed under
 * a parallel loop for use there is each iteration's own, while a scan keeps
 * its state.  Lowering
 * allocates there, the interpreter uses the same answer, and primitives
 * count on it.  `b` is a local buffer of a program with blocks; 0: no block
 * of the entry function allocates it. */
ir_stmt ir_lifetime_scope(ir_program *p, arena *scratch, ir_buf b);

/* ---- layout conversion -------------------------------------------------- */

/* The annotation of a block that converts a layout-free parameter. */
#define IR_PREPARE_KEY "layout_prepare"

#endif
