/* SPDX-License-Identifier: Apache-2.0
 * A scheduled program as features see it: its loop tree, and of every store
 * the loops around it, the operations of one execution, and per accessed
 * buffer the region touched and the stride at each loop level.
 *
 * Read from the program as it is, not lowered.  A loop of one iteration that
 * is neither annotated nor bound is left out.  Ranges of indices are found by
 * interval arithmetic over the block bindings; what depends on data counts as
 * the whole buffer.  Everything lies in the scratch arena. */
#ifndef SEARCH_FEATURE_NEST_H
#define SEARCH_FEATURE_NEST_H

#include "ir/query.h"

#define NEST_NONE UINT32_MAX
enum { NEST_LINE = 64 };     /* bytes of a cache line */

/* ---- operations --------------------------------------------------------- */

/* One column each of the per-store features, in this order. */
typedef enum nest_op {
  NEST_MAD, NEST_ADD, NEST_MUL, NEST_DIV, NEST_CMP, NEST_MATH, NEST_CALL,
  NEST_INT_MAD, NEST_INT_ADD, NEST_INT_MUL, NEST_INT_DIV, NEST_INT_CMP,
  NEST_INT_MATH, NEST_INT_CALL, NEST_BOOL, NEST_SELECT, NEST_OPS
} nest_op;
extern const char *const nest_op_name[NEST_OPS];

/* ---- ranges of index expressions (range.c) ------------------------------ */

typedef struct nest_range { int64_t lo, hi; } nest_range;  /* inclusive */

/* The values of e where each variable v runs over var[v].  What interval
 * arithmetic does not tell has the bounds that its node has. */
nest_range nest_eval(const ir_program *p, const nest_range *var, ir_expr e);

/* ---- the tree ----------------------------------------------------------- */

typedef struct nest_loop {
  ir_stmt stmt;
  double extent;             /* where those around stand at their middle */
  uint32_t parent, depth;    /* index in loop, NEST_NONE; loops around it */
  uint32_t first, end;       /* stores below: [first, end) */
  uint8_t kind, thread;      /* ir_loop_kind, ir_thread */
} nest_loop;

/* How runs of elements lie: so many, so many elements apart, inner first. */
typedef struct nest_spread {
  uint32_t dims;
  double n[4], step[4];
} nest_spread;

/* What a store does to one buffer, all accesses together. */
typedef struct nest_access {
  ir_buf buf;
  uint8_t reads, writes;
  uint32_t n;                /* loads and stores of it in the statement */
  double elem;               /* bytes of an element */
  /* Of level d (0 .. depth), while the loops from depth d on run: */
  double *numel;             /* elements of the region touched */
  double *run;               /* elements of it that lie side by side */
  nest_spread *spread;       /* of these runs */
  double *stride;            /* of loop d (0 .. depth - 1): elements from one
                              * iteration to the next */
} nest_access;

typedef struct nest_store {
  ir_stmt stmt;
  uint32_t depth;
  uint32_t *loop;            /* those around, outer first (index in loop) */
  double *times;             /* iterations of each in which it executes */
  uint8_t *drives;           /* of each: NEST_SPATIAL | NEST_REDUCE */
  double op[NEST_OPS];       /* of one execution */
  uint32_t naccess;          /* the stored buffer's is the first */
  nest_access *access;
  double unroll;             /* pragma_auto_unroll_max_step around it */
  uint32_t call;             /* loops from this depth on are what one
                              * instruction does; depth: none are */
  bool beforehand;           /* it lays a parameter out, once */
} nest_store;
enum { NEST_SPATIAL = 1, NEST_REDUCE = 2 };

typedef struct nest {
  const ir_program *p;
  arena *scratch;
  uint32_t nloop, nstore;
  nest_loop *loop;           /* pre-order */
  nest_store *store;         /* in the order of the program */
} nest;

/* Unwinds on exhaustion, as everything here. */
void nest_build(nest *n, const ir_program *p, arena *scratch);

/* Executions of the store while the loops from depth d on run. */
double nest_executions(const nest_store *s, uint32_t d);
double nest_ops(const nest_store *s);        /* all operations of one */
/* The depth of the buffer's lifetime scope: the loops around the store that are
 * around all accesses of it. */
uint32_t nest_lifetime(const nest *n, const nest_store *s, ir_buf buf);

/* ---- parts (count.c, touch.c) ------------------------------------------- */

/* What stands around a store under way: loops and what they bind. */
typedef struct nest_bound {
  ir_var var;
  ir_expr lo, extent;        /* a loop: its range; else lo is the value, */
  ir_expr dlo, dextent;      /* and an iter's domain; 0: none */
  uint32_t loop;             /* a loop that counts: index in loop */
  uint8_t is_loop, iter;     /* iter: NEST_SPATIAL, NEST_REDUCE, 0 */
} nest_bound;
typedef struct nest_chain {
  uint32_t n, cap;
  nest_bound *v;
  nest_range *var;           /* by variable, while a store is looked at */
  nest_range *mid;           /* where the loops around stand at their middle */
  uint32_t *seen, era;       /* by node: visited in this era */
  uint32_t nmatch;
  const ir_match *match[16]; /* of the blocks around, outer first */
  bool init;                 /* in the init of a block that reduces */
  bool beforehand;           /* in a block that lays a parameter out */
  double unroll;
} nest_chain;

/* What a match buffer names; NULL where b is none.  Through several matches it
 * is the outermost's region. */
const ir_match *nest_match_of(const nest_chain *c, ir_buf b);

/* Loads below e, and operations; appends the loads to the list. */
typedef struct nest_loads {
  arena *scratch;
  uint32_t n, cap;
  ir_expr *v;
} nest_loads;
void nest_count(const ir_program *p, nest_chain *c, ir_expr e, double *op,
                nest_loads *loads);
/* Fills accesses, times and drives of a store whose loops are known. */
void nest_touch(nest *n, nest_chain *c, nest_store *s,
                const nest_loads *loads);

#endif
