/* SPDX-License-Identifier: Apache-2.0
 * Inlining: a block with a single store defines its buffer by an expression,
 * which is substituted for the loads of the buffer. */
#ifndef SCHEDULE_ANALYSIS_INLINE_H
#define SCHEDULE_ANALYSIS_INLINE_H

#include "ir/edit.h"
#include "schedule/sch.h"

/* buf[idx] = value, over the block's iters. */
typedef struct sch_def {
  ir_stmt store;
  ir_buf buf;
  uint32_t n;
  ir_expr *idx;            /* in scratch */
  ir_expr value;
} sch_def;
/* The list of statements beginning at `first` is one plain store. */
bool sch_get_def(sch_state *s, ir_stmt first, sch_def *out);
/* The same, but as in a block that copies on its own (read_at) it may be
 * in a nest of loops, and under a condition *cond (0: none) that only keeps
 * it in its buffer. */
bool sch_get_copy_def(sch_state *s, ir_stmt first, sch_def *out,
                      ir_expr *cond);
/* All that `cond` says is that idx lies in the buffer. */
bool sch_only_clips(ir_program *p, ir_expr cond, ir_buf buf,
                    const ir_expr *idx);

/* Solves idx(iters) == point for the spatial iters of the block, other than
 * those of extent 1 that do not show: iter k becomes out[k].  Where `cond` is
 * not NULL it gets what must hold besides, 0 when nothing: the point is
 * reached at all, by iters in their domains.  false: not invertible. */
bool sch_invert(sch_state *s, ir_stmt block, uint32_t n, const ir_expr *idx,
                const ir_expr *point, ir_expr *out, ir_expr *cond);

/* Some block at or below `top` matches a local buffer to `buf`. */
bool sch_has_match(const ir_program *p, ir_stmt top, ir_buf buf);
/* Computes again, from what is in the blocks at and below `top`, what
 * they read and write; not above. */
void sch_refresh_regions(sch_state *s, ir_stmt top);
/* Before that, where accesses come into `top` from a block that read `reads`:
 * what was said of these buffers was not said of them. */
void sch_end_claims(sch_state *s, ir_stmt top, ir_span reads);

/* What each step of the reduction combines with its only result so far, which
 * it stores as `made` says, and by which operation; 0: not by one of + * min
 * max, and, or, alone (epilogue.c). */
ir_expr sch_added(const ir_program *p, ir_stmt reduction, const sch_def *made,
                  ir_op *how);
/* The same, whatever the steps begin with, and so whether or not they are
 * those of a known reducer. */
ir_expr sch_added_to_any(const ir_program *p, const sch_def *made, ir_op *how);
/* An operation on a result that commutes with the steps that reduce it
 * (epilogue.c). */
typedef struct sch_epilogue {
  ir_op op;                /* of the steps */
  ir_buf buf;              /* the result */
  ir_expr value;           /* the operation: an expression that loads it once */
  ir_expr added;           /* what a step combines with the result so far */
} sch_epilogue;
/* Does what `block` stores commute with the steps of the reduction, which
 * stores `made`?  false: refused. */
bool sch_epilogue_fits(sch_state *s, ir_stmt block, const sch_def *def,
                       ir_stmt reduction, const sch_def *made,
                       sch_epilogue *out);
/* What is combined in each step instead; `sub` maps the block's iters. */
ir_expr sch_epilogue_step(ir_subst *sub, const sch_epilogue *e);

/* For a caller that has refused because block q, which runs before `block`
 * though not before all of its producer, writes what it reads, or `reads` what
 * it writes: in the producer's place the block does neither too early, by an
 * exact look (fold.c); iter: its iters, over the producer's, where `cond`
 * holds.  Else the refusal gets more detail. */
bool sch_fold_passes(sch_state *s, ir_stmt block, ir_stmt producer,
                     const ir_expr *iter, ir_expr cond, ir_stmt q, bool reads);
/* For a caller that has refused because it does not see which instances of
 * the two there are: where *guard holds, too, over the loops around the
 * producer (0: always), the block runs there just what it ran, by an exact
 * look (fold.c). */
bool sch_fold_confine(sch_state *s, ir_stmt block, ir_stmt producer,
                      const ir_expr *iter, ir_expr cond, ir_expr *guard);

/* compute_inline and reverse_compute_inline themselves, which compute_at and
 * reverse_compute_at do at the inline mark. */
bool sch_inline(sch_state *s, ir_stmt block);
bool sch_reverse_inline(sch_state *s, ir_stmt block);
/* Folds the block into the reduction that makes what it reads, which may do
 * more than copy. */
bool sch_fuse_epilogue(sch_state *s, ir_stmt block, ir_stmt reduction);

#define SCH_INLINE_REASONS                                                  \
  SCH_R_BLOCK_IS_ROOT, SCH_R_INIT_OF_SCOPE, SCH_R_PLACE_NOT_PLAIN,          \
    SCH_R_OTHER_STATEMENT, SCH_R_BLOCK_NOT_COMPLETE, SCH_R_BLOCK_REDUCES,   \
    SCH_R_OUTPUT_BLOCK, SCH_R_SEVERAL_WRITES, SCH_R_BODY_NOT_STORE,         \
    SCH_R_NOT_INVERTIBLE, SCH_R_OPAQUE_ACCESS, SCH_R_READ_BEFORE,           \
    SCH_R_INPUT_OVERWRITTEN, SCH_R_INSTANCES_UNKNOWN, SCH_R_NOT_LOCAL,      \
    SCH_R_WOULD_RACE, SCH_R_ONLY_BLOCK, SCH_R_BUFFER_HIDDEN,                \
    SCH_R_CALL_IN_STATEMENT, SCH_POLY_REASONS
#define SCH_FOLD_REASONS                                                    \
  SCH_R_BLOCK_IS_ROOT, SCH_R_INIT_OF_SCOPE, SCH_R_PLACE_NOT_PLAIN,          \
    SCH_R_OTHER_STATEMENT, SCH_R_BLOCK_NOT_COMPLETE, SCH_R_BLOCK_REDUCES,   \
    SCH_R_SEVERAL_WRITES, SCH_R_BODY_NOT_STORE, SCH_R_NO_PRODUCER_BEFORE,   \
    SCH_R_OUTPUT_BLOCK, SCH_R_OTHER_CONSUMER, SCH_R_OPAQUE_ACCESS,          \
    SCH_R_NOT_INVERTIBLE, SCH_R_PRODUCER_BETWEEN, SCH_R_READ_BEFORE,        \
    SCH_R_INPUT_OVERWRITTEN, SCH_R_INSTANCES_UNKNOWN, SCH_R_NOT_COVERED,    \
    SCH_R_PARTIAL_RESULT, SCH_R_COPY_NO_BOX, SCH_R_COPY_PARTIAL,           \
    SCH_R_WOULD_RACE, SCH_R_BUFFER_HIDDEN, SCH_R_DEPENDENT_LOOP,            \
    SCH_POLY_REASONS
#define SCH_REVERSE_INLINE_REASONS SCH_FOLD_REASONS, SCH_R_NOT_A_COPY

#endif
