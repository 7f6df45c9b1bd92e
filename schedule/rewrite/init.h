/* SPDX-License-Identifier: Apache-2.0
 * The init of a reduction as a separate block, hoisted before a loop around
 * the reduction, or before the block itself, and so before all updates there.
 */
#ifndef SCHEDULE_REWRITE_INIT_H
#define SCHEDULE_REWRITE_INIT_H

#include "schedule/sch.h"

typedef struct sch_init {
  sch_state *s;
  ir_stmt block, at; /* before which it is inserted */
  bool each;         /* it will run only where the loops further out
                      * start a reduction; else none of them may drive
                      * one */
  sch_list inner;    /* the loops from `at` down to the block */
  uint8_t *drives;   /* by variable of these: what it drives */
} sch_init;

/* `at` is a loop around the block, in its scope, or the block. */
bool sch_init_check(sch_state *s, ir_stmt block, ir_stmt at, bool each,
                    sch_init *out);
/* The nest of the init, detached, with the block *init in it; only after the
 * check, since when loops further out may have given way to others. */
ir_stmt sch_init_take(const sch_init *w, ir_stmt *init);
/* Such a nest, detached, with an empty block *block over the spatial iters in
 * place of the init, named after the reduction with a suffix; m maps its iters
 * to those of the new block.  It may stand wherever the init might, or in an
 * iteration of `at` that drives no spatial iter. */
ir_stmt sch_init_nest(const sch_init *w, const char *suffix, ir_subst *m,
                      ir_stmt *block);
/* Does this loop from `at` down to the block drive reduce iters only? */
bool sch_init_is_reduced(const sch_init *w, ir_stmt loop);
/* Would an access `r` of `other`, in an earlier iteration of the loops `inner`
 * (from `at` down to the block), or before the block in the same one, access
 * what
 * the block, which writes `write`, writes later?  It would then see what was
 * put there before `at` instead of what was there. */
bool sch_init_conflicts(sch_state *s, ir_stmt block, ir_stmt at, sch_list inner,
                     ir_stmt other, ir_region write, ir_region r);
/* What the check can refuse for. */
#define SCH_INIT_REASONS                                                       \
  SCH_R_BUFFER_HIDDEN, SCH_R_DEPENDENT_LOOP, SCH_R_INIT_EFFECTS,               \
      SCH_R_INIT_LATE, SCH_R_INIT_LOCAL, SCH_R_INIT_READS, SCH_R_INIT_START,   \
      SCH_R_INIT_USED, SCH_R_INPUT_OVERWRITTEN, SCH_R_RESULT_SHARED,           \
      SCH_R_LOOP_MAY_BE_EMPTY, SCH_R_NOT_INJECTIVE, SCH_R_NO_INIT,             \
      SCH_R_OTHER_STATEMENT
/* ... and INIT_HEIGHT, where not `each`, and LOOP_NOT_AROUND. */

#endif
