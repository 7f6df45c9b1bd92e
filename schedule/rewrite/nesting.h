/* SPDX-License-Identifier: Apache-2.0
 * A new block around adjacent statements (blockize, tensorize).
 *
 * Each iter of a contained block is divided: v = outer * count + inner, where
 * the loops around the new block make the outer part, which becomes an iter of
 * the new block, and the loops in it the inner one. */
#ifndef SCHEDULE_REWRITE_NESTING_H
#define SCHEDULE_REWRITE_NESTING_H

#include "schedule/sch.h"

/* Puts a block named so around first .. last (siblings of one scope, which
 * the caller has seen to), and everything that holds them into its terms.
 * `units`: it gets iters of one value, too.  false: refused. */
bool sch_nest_in_block(sch_state *s, ir_stmt first, ir_stmt last, bool units,
                       ir_stmt *made);
/* The same for what the targets, blocks or loops, are or are in, after
 * seeing that nothing else is between (siblings.c).  The reasons of init.h
 * come on top. */
bool sch_blockize(sch_state *s, uint32_t n, const ir_stmt *targets, bool units,
                  ir_stmt *made);
#define SCH_NESTING_REASONS                                                 \
  SCH_R_NOT_DIVISIBLE, SCH_R_OUTER_REDUCTION, SCH_R_OUTER_UNKNOWN

#endif
