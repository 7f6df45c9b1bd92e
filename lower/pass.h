/* SPDX-License-Identifier: Apache-2.0
 * What the passes share.  Each pass is one function over the entry function
 * of the program. */
#ifndef LOWER_PASS_H
#define LOWER_PASS_H

#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "lower/lower.h"

/* Defines (or declares) the pass of that name in passes.def. */
#define LOWER_PASS(name)                                                    \
  tess_status lower_pass_##name(ir_program *p, arena *scratch,              \
                                const lower_options *o, err_state *e)
#define PASS(name, summary) LOWER_PASS(name);
#define ALIAS(other, name)
#include "lower/passes.def"
#undef PASS
#undef ALIAS

/* Rewrites every expression of the entry function, or of `top` and below,
 * bottom-up (map_exprs.c): f gets a node and its operands after rewriting, and
 * gives another expression, or 0 for the same operation over them. */
typedef ir_expr (*lower_map_fn)(ir_program *p, const ir_node *n,
                                const ir_expr *operands, void *ud);
void lower_map(ir_program *p, arena *scratch, lower_map_fn f, void *ud);
void lower_map_below(ir_program *p, arena *scratch, ir_stmt top,
                     lower_map_fn f, void *ud);

/* Does e neither read memory nor call anything, so that it has one value
 * wherever its variables are bound? (accesses.c) */
bool lower_is_arithmetic(const ir_program *p, ir_expr e);

/* On a loop, from mark_double_buffer to software_pipeline: the buffers, by
 * number, that are double buffered. */
#define LOWER_DOUBLED "lower_doubled"

/* Each access of the one statement, not of those below it: f gets the
 * statement, the buffer and the indices (accesses.c). */
typedef void (*lower_access_fn)(void *ud, ir_stmt at, ir_buf b, ir_span idx,
                                bool writes);
void lower_each_access(const ir_program *p, arena *scratch, ir_stmt s,
                       lower_access_fn f, void *ud);
/* All of `top` and below, in scratch. */
typedef struct lower_access {
  ir_stmt at;
  ir_buf buf;
  ir_span idx;
  bool writes;
} lower_access;
typedef struct lower_accesses { uint32_t n; lower_access *v; } lower_accesses;
lower_accesses lower_find_accesses(const ir_program *p, arena *scratch,
                                   ir_stmt top);

/* Multi-versions buffer b: a new one with leading dimensions of these extents;
 * below `top`, accesses to b become accesses to version `which`
 * (versions.c). */
ir_buf lower_several(ir_program *p, arena *scratch, ir_buf b, uint32_t n,
                     const int64_t *extent);
void lower_choose(ir_program *p, arena *scratch, ir_stmt top, ir_buf b,
                  ir_buf made, uint32_t n, const ir_expr *which);

/* The annotation of a block that a warp executes collectively, in kernels; and
 * whether a block has it and is in one. */
#define LOWER_WARP_KEY "warp_execution"
bool lower_is_of_warp(const ir_program *p, ir_stmt block);
/* Is s a loop bound to vthread? */
bool lower_is_vthread(const ir_program *p, ir_stmt s);
/* Is s below a loop over blocks of threads, or threads, or a warp's own? */
bool lower_in_kernel(const ir_program *p, ir_stmt s);

/* Does the IR_EVALUATE commit a thread's asynchronous copies, or wait for them?
 * Once per thread, not per virtual thread. */
static inline bool lower_of_copies(const ir_program *p, ir_stmt s) {
  const ir_node *n = ir_at(p, ir_st(p, s)->eval);
  return n->op == IR_CALL && ir_fn_of_copies(n->a);
}

/* Hoists e into a let before the loop, named as the loop's variable with the
 * suffix `what`. */
ir_expr lower_keep(ir_program *p, ir_stmt loop, ir_expr e, const char *what);

/* Pre-order over the entry function: the root, then ir_next. */
#define LOWER_EACH(p, s)                                                    \
  for (ir_stmt root_ = ir_entry(p)->root, s = root_; s;                     \
       s = ir_next((p), s, root_))

/* The alignments of a buffer's strides that storage_align annotated: a list of
 * {which write of the block, axis, factor, offset}. */
#define LOWER_ALIGN_KEY "buffer_dim_align"
enum { LOWER_MAX_ALIGNS = 64 };
/* A list of just n integers. */
bool lower_ints(const ir_program *p, ir_val v, uint32_t n, int64_t *out);

bool lower_has_constant_shape(const ir_program *p, ir_buf b);

/* Replaces s by its children. */
void lower_splice(ir_program *p, ir_stmt s);

#endif
