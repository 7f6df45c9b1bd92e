/* SPDX-License-Identifier: Apache-2.0
 * Exact dependence analysis by integer points of polyhedra (isl).
 *
 * Where the quick rules (distance.h) cannot exclude a conflict, the accesses
 * themselves are analysed: what the blocks load and store, under their loops,
 * predicates and conditions, all of which may be quasi-affine.  isl then finds
 * a pair of conflicting iterations, or proves that there is none.  That takes
 * milliseconds and allocates, so it is the last resort; isl's memory is its
 * own and freed when the primitive ends.  Each question has a limit of
 * operations, and after one that exceeded it the primitive asks no more
 * (polyhedra_build.c): so an answer does not depend on the others, and those
 * that are likely to be asked again are remembered (polyhedra_memo.c).
 *
 * polyhedra_find.c finds the accesses (in scratch); the other files translate
 * them to isl sets and maps (polyhedra_isl.h) and query them, and take none of
 * our memory meanwhile, so that nothing unwinds over isl. */
#ifndef SCHEDULE_DEPENDENCE_POLYHEDRA_H
#define SCHEDULE_DEPENDENCE_POLYHEDRA_H

#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "schedule/dependence/distance.h"

typedef enum poly_verdict {
  POLY_DISJOINT,      /* they never conflict */
  POLY_CONFLICT,       /* they do */
  POLY_NOT_AFFINE, /* they may, for all that can be said in affine terms */
  POLY_TOO_HARD    /* given up: too many operations */
} poly_verdict;

/* Do iterations exist, at the distances d->within (what block `b1` runs in
 * less what `b2` does; NULL: any), in which b1 writes an element of `buf`
 * that b2 accesses?  Both are child blocks of one scope; the loops that d
 * gives no role have one value.  *out (may be NULL): two that conflict. */
poly_verdict poly_conflict(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf,
                       sch_conflict *out);
/* For a caller that has refused because they may: true when they never do;
 * else the refusal gets the two iterations, or says that it is unknown. */
bool poly_clears(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf);
/* The same of iterations of which a's comes later than b's in the order of
 * d's loops, or is the same with `or_same`, and in which one of them accesses
 * what the other one, b if `b_writes`, writes.  The refusal gets the writing
 * iteration first. */
bool poly_clears_later(dist *d, ir_stmt a, ir_stmt b, bool b_writes,
                       bool or_same, ir_buf buf);

/* Is each element of `buf` that the reader reads, and the maker writes in a
 * later iteration of d's loops, one that it has also written in an earlier one
 * or the same?  `within`: room for d->n.  false, too, where it is unknown. */
bool poly_made_first(dist *d, ir_stmt maker, ir_stmt reader, ir_buf buf,
                     arith_range *within);

/* Do the loops from `top` down to the block, which is below it, reach each
 * instance only once?  false: not, with two iterations that reach the same in
 * *out, or it is unknown. */
bool poly_once(sch_state *s, ir_stmt block, ir_stmt top, sch_conflict *out);

/* Is all that the reduction runs below `top` in its result once, after
 * its last start there, if there is one?  false: with two that reach the
 * same in *out or, *lost, one whose part is started over by the other; or it
 * is unknown. */
bool poly_adds_once(sch_state *s, ir_stmt block, ir_stmt top, bool *lost,
                    sch_conflict *out);

/* Is each result of the reduction, in one run of its scope or, where `top` is
 * not 0, of the loops from `top` down to it, first met where all reduce iters
 * are at their start?  false: not, with an iteration that comes before in *out
 * and the one that starts, or it is unknown. */
bool poly_starts_first(sch_state *s, ir_stmt block, ir_stmt top,
                       sch_conflict *out);

/* Once n loops from `top` down, of which number i goes to place to[i], are
 * in their new order: does an iteration of the reduction change places with
 * the one in which its result is initialized?  *out: it, and that one. */
poly_verdict poly_start_moves(sch_state *s, ir_stmt block, ir_stmt top,
                              uint32_t n, const uint32_t *to,
                              sch_conflict *out);

/* While the loops below `above`, a statement around the block, run, in
 * whatever iteration of it: does the block reach every point of a box?
 * part: n ranges over its iters that each instance reaches, box: n ranges
 * over what is bound at or above `above`; min and extent alternately.
 * false, too, where it is unknown. */
bool poly_reaches_all(sch_state *s, ir_stmt block, ir_stmt above, uint32_t n,
                      const ir_expr *part, const ir_expr *box);

/* Whether `cond`, over what is bound around `st` in its scope, holds in all
 * iterations of the loops there: 1, in none: -1, or neither, or it is
 * unknown: 0. */
int poly_holds(sch_state *s, ir_stmt st, ir_expr cond);

/* ---- what was asked before (polyhedra_memo.c) --------------------------- */

/* 128 bits of a question; at 0: none. */
typedef struct poly_key {
  uint64_t at, check;
} poly_key;
/* Answers that depend on nothing but the question: a proof that two blocks do
 * not conflict, or what poly_holds gives. */
bool poly_recall(const sch_state *s, const poly_key *k, int *answer);
void poly_remember(sch_state *s, const poly_key *k, int answer);

/* ---- what is asked about (polyhedra_find.c) ----------------------------- */

/* What must hold for an access to happen, the innermost last. */
typedef struct poly_cond {
  const struct poly_cond *up;
  enum { POLY_LOOP, POLY_TRUE, POLY_FALSE, POLY_START, POLY_RANGE } kind;
  ir_expr e;  /* POLY_TRUE, POLY_FALSE: a condition; else an end */
  ir_var v;   /* POLY_RANGE: a variable from 0 to before the end */
  ir_stmt st; /* POLY_LOOP: the loop's variable is in its range, to before
               * the end; POLY_START: the block's reduce iters are at their
               * start */
} poly_cond;

typedef struct poly_access {
  struct poly_access *next;
  bool write, box; /* box: arg holds min, extent alternately, else indices */
  uint32_t at;
  const poly_cond *when;
} poly_access;

/* A block's accesses to one buffer, over the loops dim[0 .. n): those that
 * differ between iterations, around it (the first `around`) and in it. */
typedef struct poly_block {
  uint32_t n, around;
  ir_var *dim;
  poly_access *first;
  const poly_cond *when; /* poly_instances, poly_moved: the block runs */
} poly_block;

/* Two blocks, over common parameters: loops around both that have one value,
 * iters of the scope, symbolic extents. */
typedef struct poly_pair {
  ir_program *p;
  uint32_t ndim; /* of the buffer */
  uint32_t nparam;
  ir_var *param;
  const poly_cond *context; /* holds of the parameters */
  ir_expr *bound;           /* by variable: what an iter or let represents */
  int32_t *pos;             /* by variable; -1: none (polyhedra.c) */
  poly_block b[2];
} poly_pair;

/* For what is around `st`: parameters, and *context for them. */
void poly_around(sch_state *s, ir_stmt st, poly_pair *out);
/* The same for the block's own iterations, over the loops from `top` (0: from
 * its scope) on: the first of the two blocks. */
void poly_instances(sch_state *s, ir_stmt block, ir_stmt top, poly_pair *out);
/* The same over the loops below `above`; and as the second, which has no loops,
 * an iteration of `above`. */
void poly_instances_in(sch_state *s, ir_stmt block, ir_stmt above,
                       poly_pair *out);
/* The block in the nest that it is to get at another place: the second of the
 * two; the first is itself where it is, or `maker`; of both the accesses to
 * `buf` are found.  Loops at and above m->common
 * have one value. */
struct sch_move;
struct sch_nest;
void poly_moved(sch_state *s, const struct sch_move *m,
                const struct sch_nest *nest, ir_stmt maker, ir_buf buf,
                poly_pair *out);
/* Gives the variables of block k of the pair their places in x->pos. */
void poly_places(const poly_pair *x, int k);
/* Which of the block's dimensions the variable is; -1: none. */
int poly_place(const poly_block *b, ir_var v);
/* The keys of poly_conflict and poly_holds. */
void poly_key_of_conflict(const dist *d, const poly_pair *x, poly_key *key);
void poly_key_of_condition(const poly_pair *x, ir_expr cond, poly_key *key);

/* All of it in scratch; the first block's writes, the second's accesses. */
void poly_find(const dist *d, ir_stmt b1, ir_stmt b2, ir_buf buf,
               poly_pair *out);

#endif
