/* SPDX-License-Identifier: Apache-2.0
 * Automatic copies: one block that copies, under a loop, all that the blocks
 * there read or write of a buffer; lowering chooses how. */
#ifndef SCHEDULE_ANALYSIS_AUTO_COPY_H
#define SCHEDULE_ANALYSIS_AUTO_COPY_H

#include "schedule/analysis/cache.h"

typedef struct sch_auto {
  sch_stage st;
  ir_stmt loop;
  bool write;
  bool exact;              /* nothing but the box may be copied */
  sch_list users;          /* the blocks that access the copy instead */
} sch_auto;

/* Checks that the loop stands around the block, in the same scope. */
bool sch_auto_init(sch_state *s, sch_auto *a, ir_stmt loop, ir_stmt block,
                   ir_buf buf, bool write, const char *storage);
/* Who uses the copy, where it stands and what it holds. */
bool sch_auto_plan(sch_state *s, sch_auto *a);
/* Makes it; false after refusing, before any change. */
bool sch_auto_make(sch_state *s, sch_auto *a, ir_stmt *copy);

#define SCH_AUTO_REASONS                                                    \
  SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN, SCH_R_OTHER_STATEMENT,        \
    SCH_R_STORAGE_UNKNOWN, SCH_R_INIT_OF_SCOPE, SCH_R_OPAQUE_ACCESS,        \
    SCH_R_LOOP_NOT_AROUND, SCH_R_INPUT_WRITTEN, SCH_R_REGION_NOT_WHOLE,     \
    SCH_R_NOT_STATIC, SCH_R_CONTENTS_OUTER, SCH_R_STORAGE_INSIDE,         \
    SCH_R_WOULD_RACE, SCH_BUFFER_REASONS

#endif
