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

/* Rewrites every expression of the entry function, operands first (map.c):
 * f gets a node and its operands as they are now, and gives another
 * expression, or 0 for the same operation over them. */
typedef ir_expr (*lower_map_fn)(ir_program *p, const ir_node *n,
                                const ir_expr *operands, void *ud);
void lower_map(ir_program *p, arena *scratch, lower_map_fn f, void *ud);

/* On a loop, between the passes `double` and `pipeline`: the buffers, by
 * number, of which it needs two. */
#define LOWER_DOUBLED "lower_doubled"

/* Each access of the one statement, not of those below it: f gets the
 * statement, the buffer and the indices (access.c). */
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

/* A buffer that is as many as the extents say of buffer b, to be told apart
 * by indices in front; below `top`, accesses to b become accesses to the one
 * at `which` (dims.c). */
ir_buf lower_several(ir_program *p, arena *scratch, ir_buf b, uint32_t n,
                     const int64_t *extent);
void lower_choose(ir_program *p, arena *scratch, ir_stmt top, ir_buf b,
                  ir_buf made, uint32_t n, const ir_expr *which);

/* The annotation of a block that all lanes of a warp run together, once, in
 * kernels; and whether a block has it and is in one. */
#define LOWER_WARP_KEY "warp_execution"
bool lower_is_of_warp(const ir_program *p, ir_stmt block);
/* Is s a loop bound to vthread? */
bool lower_is_vthread(const ir_program *p, ir_stmt s);
/* Is s below a loop over blocks of threads, or threads, or a warp's own? */
bool lower_in_kernel(const ir_program *p, ir_stmt s);

/* Does the IR_EVALUATE send a thread's copies, or wait for them?  Each thread
 * does so, once for all that it does as several virtual ones. */
static inline bool lower_of_copies(const ir_program *p, ir_stmt s) {
  const ir_node *n = ir_at(p, ir_st(p, s)->eval);
  return n->op == IR_CALL && ir_fn_of_copies(n->a);
}

/* A name, the loop's with `what` behind it, for what e is before the loop. */
ir_expr lower_keep(ir_program *p, ir_stmt loop, ir_expr e, const char *what);

/* Pre-order over the entry function: the root, then ir_next. */
#define LOWER_EACH(p, s)                                                    \
  for (ir_stmt root_ = ir_entry(p)->root, s = root_; s;                     \
       s = ir_next((p), s, root_))

/* The alignments of a buffer's strides that storage_align noted: a list of
 * {which write of the block, axis, factor, offset}. */
#define LOWER_ALIGN_KEY "buffer_dim_align"
enum { LOWER_MAX_ALIGNS = 64 };
/* A list of just n integers. */
bool lower_ints(const ir_program *p, ir_val v, uint32_t n, int64_t *out);

bool lower_has_constant_shape(const ir_program *p, ir_buf b);

/* Puts the children of s in its place; s dies. */
void lower_splice(ir_program *p, ir_stmt s);

#endif
