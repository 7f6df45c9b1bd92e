/* SPDX-License-Identifier: Apache-2.0
 * Facts about a program for compilation: the binder of each variable, the
 * outermost scope to which each expression can be hoisted, lifetime scopes of
 * buffers and their racing levels. */
#ifndef BACKENDS_INTERP_PLAN_H
#define BACKENDS_INTERP_PLAN_H

#include "backends/interp/interp.h"
#include "ir/edit.h"

typedef struct plan_var {
  ir_stmt binder;        /* loop, block or let; 0: symbolic extent */
  ir_expr alias;         /* the value a let or block binds it to, when that can
                          * be computed where its own variables are bound */
  uint8_t bound, many;   /* many: by several statements */
} plan_var;

typedef struct plan_stmt {
  uint32_t depth;
  uint16_t level;        /* number of racing loops around its body */
  ir_expr first, last;   /* expressions hoisted to it, in order */
  ir_buf buf;            /* first of the buffers with this lifetime scope */
} plan_stmt;

typedef struct plan_node {
  uint8_t known;         /* the other fields are */
  uint8_t pure;          /* no loads, no host calls */
  uint8_t listed;        /* in the list of its scope */
  uint32_t visit;        /* the last statement that was visited with it */
  ir_stmt scope;         /* pure: innermost binder of its variables */
  ir_expr next;          /* in the list of its scope */
} plan_node;

typedef struct plan_buf {
  ir_stmt lifetime;          /* lifetime scope; 0: a parameter or constant */
  ir_stmt decl;          /* the block or allocate that names it */
  uint8_t stored, used, is_match;
  uint16_t level;        /* greatest level of an access */
  uint32_t match;        /* is_match: in ir_program.match */
  ir_stmt kernel;        /* the outermost thread loop around its lifetime scope;
                          * 0: none */
  ir_buf next;           /* with the same lifetime scope */
} plan_buf;

typedef struct plan {
  ir_program *p;
  arena *memory;
  interp_error *e;
  bool lockstep, regions;
  bool warps;            /* in kernels, warps are a racing level */
  uint16_t levels;       /* the greatest level */
  uint32_t visit;        /* number of the statement being visited */
  uint32_t deep;         /* depth of the expression being visited */
  plan_var *var;
  plan_stmt *stmt;
  plan_node *node;
  plan_buf *buf;
} plan;

/* Analyses the entry function.  Problems are recorded in *e, only the first
 * one; the caller checks e->code. */
void plan_make(plan *n, ir_program *p, arena *memory,
               const interp_options *o, interp_error *e);

/* Records a problem, unless there is one already. */
void plan_fail(interp_error *e, tess_status code, ir_stmt s, ir_buf b,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Facts about an expression that occurs below the binders of its variables. */
const plan_node *plan_of(plan *n, ir_expr e);

/* The operands of a node that are expressions; at most plan_arity(...). */
uint32_t plan_operands(const ir_program *p, ir_expr e, const uint32_t **out,
                       uint32_t small[4]);

/* Is it a loop whose iterations race?  Cross-thread reductions, and those
 * over the grid, are excluded: they mean what a serial loop does. */
bool plan_is_racing(const ir_program *p, ir_stmt s);
/* One for each warp of a kernel. */
static inline bool plan_is_of_warp(ir_scope s) {
  return s == IR_SCOPE_WARP || ir_scope_is_fragment(s);
}
static inline bool plan_is_grid(unsigned thread) {
  return thread <= IR_BLOCKIDX_Z;
}

#endif
