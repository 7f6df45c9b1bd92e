/* SPDX-License-Identifier: Apache-2.0
 * What the samplers of tile sizes share. */
#ifndef SCHEDULE_TILE_H
#define SCHEDULE_TILE_H

#include "schedule/factor.h"
#include "schedule/sch.h"

/* The extent of a loop that can be cut into n factors; 1 where it is no
 * constant: nothing is cut then, and the first factor is left open.  false:
 * refused. */
bool sch_tile_extent(sch_state *s, ir_stmt loop, int64_t n, int64_t *extent);
/* The same where it was found to be one. */
int64_t sch_tile_extent_of(const sch_state *s, ir_stmt loop);
/* Factors of that extent as a decision: where it is no constant, the first
 * one says that it is open. */
void sch_tile_open(const sch_state *s, ir_stmt loop, int64_t *d);
bool sch_tile_is_open(const sch_state *s, ir_stmt loop);
/* Are d[0 .. n) `want` factors of the loop's extent?  false: refused. */
bool sch_tile_admit(sch_state *s, ir_stmt loop, int64_t want, uint32_t n,
                    const int64_t *d);
/* As numbers for a model. */
uint32_t sch_tile_embed(int64_t n, const int64_t *d, double *out);
#define SCH_TILE_REASONS                                                    \
  SCH_R_EXTENT_EMPTY, SCH_R_TILE_COUNT, SCH_R_TILE_EXTENT,                  \
    SCH_R_TILE_FACTOR, SCH_R_TILE_OPEN, SCH_R_TILE_PARTS,                   \
    SCH_R_TILE_PRODUCT, SCH_R_TILE_PRODUCT_LARGE

#endif
