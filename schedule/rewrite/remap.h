/* SPDX-License-Identifier: Apache-2.0
 * Copies in another layout: a block accesses a new buffer, indexed by a map of
 * its iters, instead of the old one, which it accesses by one index
 * expression, and another block copies between the two. */
#ifndef SCHEDULE_REWRITE_REMAP_H
#define SCHEDULE_REWRITE_REMAP_H

#include "ir/edit.h"
#include "schedule/rewrite/cache.h"

typedef struct sch_remap {
  sch_stage st;            /* the old buffer, and where the copy is */
  ir_stmt block;
  bool write;              /* the block writes the new buffer, else reads */
  ir_expr *idx;            /* where it accesses the old buffer */
  uint32_t nused;
  uint32_t *used;          /* positions of the iters that idx is made of, */
  bool sized;              /* some of them over no constant domain */
  uint32_t n;              /* the new buffer's dimensions, */
  ir_expr *to, *shape;     /* indices over the block's iters, and shape */
  sch_span *span;          /* of each used iter, what one run copies */
} sch_remap;

/* Checks that the block can do without the old buffer, and finds its place
 * and iters.  storage: NULL: that of the old buffer. */
bool sch_remap_init(sch_state *s, sch_remap *m, ir_stmt block, ir_buf buf,
                    bool write, const char *storage);
/* The new buffer has a dimension for each used iter. */
void sch_remap_by_iters(sch_state *s, sch_remap *m);
/* Where the copy is and what it copies. */
bool sch_remap_place(sch_state *s, sch_remap *m);
/* Makes it; buffer and block are named after the old buffer with `suffix`. */
ir_stmt sch_remap_make(sch_state *s, sch_remap *m, const char *suffix);
/* All of this for the buffer that `meant` names at the block and a new one
 * that is indexed by the map of all the block's iters, which must determine the
 * used ones, and no others.  false after refusing. */
bool sch_remap_cache(sch_state *s, ir_stmt block, sch_buffer meant, bool write,
                     const char *storage, const sch_map *map, ir_stmt *cached);

#define SCH_REMAP_REASONS                                                   \
  SCH_R_STORAGE_INSIDE, SCH_R_BLOCK_IS_ROOT, SCH_R_PLACE_NOT_PLAIN,         \
    SCH_R_OTHER_STATEMENT, SCH_R_STORAGE_UNKNOWN, SCH_R_INIT_OF_SCOPE,      \
    SCH_R_OPAQUE_ACCESS, SCH_R_NOT_LEAF, SCH_R_ACCESS_DIFFERS,              \
    SCH_R_ACCESS_CONDITIONAL, SCH_R_IN_PLACE, SCH_R_BLOCK_NOT_COMPLETE,     \
    SCH_R_PLACE_REDUCED, SCH_R_SEVERAL_WRITERS,                             \
    SCH_R_INPUT_WRITTEN, SCH_R_REGION_NOT_WHOLE, SCH_R_INSTANCES_UNKNOWN,   \
    SCH_R_NOT_STATIC, SCH_R_WOULD_RACE

/* What a map can be refused for. */
#define SCH_REMAP_MAP_REASONS                                               \
  SCH_R_MAP_ITER_COUNT, SCH_R_MAP_EMPTY, SCH_R_MAP_ITERS,                   \
    SCH_R_MAP_NEGATIVE, SCH_R_MAP_LARGE, SCH_R_MAP_NOT_INJECTIVE

#endif
