/* SPDX-License-Identifier: Apache-2.0
 * Dependence distances: by how much two iterations of a nest can differ and
 * still conflict on one element, or run one instance of a block.
 *
 * With x and y the two iterations, every index is a sum of atoms (a loop
 * variable, or a quotient or remainder), and the difference of an atom between
 * x and y is an unknown with a range.  Propagating the ranges through the
 * equations to a fixed point decides the mixed-radix sums that splitting and
 * fusing make; quotients and remainders that are all equal make their
 * dividends equal. */
#ifndef SCHEDULE_DEPENDENCE_DISTANCE_H
#define SCHEDULE_DEPENDENCE_DISTANCE_H

#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "schedule/sch.h"

typedef struct dist {
  sch_state *s;
  uint32_t n; /* the loops asked about */
  const ir_var *var;
  uint8_t *role;             /* of every variable: dist_role */
  uint32_t bits;             /* bit v % 32 of each variable with a role */
  const arith_range *within; /* only distances in these are asked for, one
                              * a loop (isl: 1 to -1 is any but 0); NULL:
                              * all */
} dist;

enum dist_role {
  DIST_SAME = 0, /* has one value in both iterations */
  DIST_ASKED = 1,
  DIST_FREE = 2
};

static inline void dist_set(dist *d, ir_var v, enum dist_role role) {
  d->role[v] = (uint8_t)role;
  d->bits |= 1u << v % 32;
}

/* May e have another value in the other iteration?  Loads may. */
bool dist_varies(const dist *d, ir_expr e);

/* The loops var[0..n) and all those below `top` may differ between the two
 * iterations; what is outside has one value. */
void dist_init(dist *d, sch_state *s, uint32_t n, const ir_var *var,
               ir_stmt top);

/* delta[i] bounds the value of var[i] at block `b1` less its value at block
 * `b2`, over all pairs of iterations in which b1 accesses an element of r1
 * that b2 accesses by r2 (regions of one buffer).  false: there are none. */
bool dist_regions(dist *d, ir_stmt b1, ir_region r1, ir_stmt b2, ir_region r2,
                  arith_range *delta);
/* The same for two iterations in which the block's iters are equal; only
 * spatial ones count when `spatial`. */
bool dist_iters(dist *d, ir_stmt block, bool spatial, arith_range *delta);
/* Sets `coupled` in drives[v] for the loops, of those that may differ from
 * `top` down to the block, that have one of `bits` there, and for all that
 * occur together with a coupled one in a bound, predicate or condition
 * (coupled_loops.c). */
void dist_tie(const dist *d, ir_stmt block, ir_stmt top, uint8_t *drives,
              uint8_t bits, uint8_t coupled);
/* By variable, 1 << kind of each iter of the block that it drives, and
 * DIST_COUPLED for the loops that are coupled to those of reduce iters. */
enum { DIST_COUPLED = 128 };
uint8_t *dist_ties(const dist *d, ir_stmt block, ir_stmt top);
/* Distances of which the first that is not 0 is number k (d->n: none is), and
 * has that sign (loop_carried.c). */
void dist_disjoint_first(const dist *d, uint32_t k, int sign,
                      arith_range *within);
/* Do b1 and b2 conflict in iterations of which b1's comes later in the order of
 * d's loops, or is the same with `or_same` (loop_carried.c)? */
bool dist_later(dist *d, ir_stmt b1, ir_region r1, ir_stmt b2, ir_region r2,
                bool or_same);

/* Nest `nest` comes after what is at and below `above`, and counts by the
 * same variables, those of d: once it runs in the same iterations of them
 * (none: before), does it conflict with no later one of theirs?  false:
 * refused, with `why` where they conflict.  What `nest` reads of buffers with
 * except[buf] does not count (NULL: all counts).  (fused_order.c) */
bool sch_keeps_order(dist *d, ir_stmt above, ir_stmt nest, sch_reason why,
                     const uint8_t *except);

#endif
