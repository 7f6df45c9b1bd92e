/* SPDX-License-Identifier: Apache-2.0
 * Automatic copies: one block that copies, under a loop, all that the blocks
 * there read or write of a buffer; lowering chooses the copy's loops. */
#ifndef SCHEDULE_REWRITE_AUTO_COPY_H
#define SCHEDULE_REWRITE_AUTO_COPY_H

#include "schedule/rewrite/cache.h"

/* Lets the blocks under the loop read, or write, a copy of the buffer that
 * `meant` names at the block.  false after refusing, before any change. */
bool sch_auto_copy(sch_state *s, ir_stmt loop, ir_stmt block, sch_buffer meant,
                   bool write, const char *storage, ir_stmt *copy);

#define SCH_AUTO_REASONS                                                    \
  SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN, SCH_R_OTHER_STATEMENT,        \
    SCH_R_STORAGE_UNKNOWN, SCH_R_INIT_OF_SCOPE, SCH_R_OPAQUE_ACCESS,        \
    SCH_R_LOOP_NOT_AROUND, SCH_R_INPUT_WRITTEN, SCH_R_REGION_NOT_WHOLE,     \
    SCH_R_COPY_NOT_STATIC, SCH_R_BUFFER_LIVE_IN, SCH_R_STORAGE_INSIDE,         \
    SCH_R_WOULD_RACE, SCH_R_BUFFER_HIDDEN, SCH_BUFFER_REASONS

#endif
