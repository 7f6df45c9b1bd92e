/* SPDX-License-Identifier: Apache-2.0
 * Index maps of a box (a buffer's shape or a block's domain): the image, and
 * which points of the new box are images of no old one. */
#ifndef SCHEDULE_ANALYSIS_LAYOUT_H
#define SCHEDULE_ANALYSIS_LAYOUT_H

#include "ir/edit.h"
#include "schedule/sch.h"

/* The buffer is allocated in the function, no part of another, and no part of
 * it is matched; false after refusing. */
bool sch_check_allocated(sch_state *s, ir_buf buf);
bool sch_check_unmatched(sch_state *s, ir_buf buf);

typedef struct sch_layout {
  const sch_map *map;
  uint32_t ndim, nout;
  ir_var *var;             /* one a dimension, over its indices */
  const ir_expr *extent;   /* the old box, from 0 */
  ir_expr *out;            /* the map's results over var */
  ir_expr *shape;          /* the new box */
  bool apart;              /* no two points collide: seen, not only trusted */
  bool sized;              /* the old box is no constant, */
  int64_t size, holes;     /* new points, and how many are no old ones;
                            * if sized, at least, and holes 0 means none */
} sch_layout;

/* What the map makes of the box [0, extent); false after refusing, also when
 * two points would collide.  trust: where that is not known, they do not. */
bool sch_layout_init(sch_state *s, uint32_t ndim, const ir_expr *extent,
                     const sch_map *map, bool trust, sch_layout *out);
#define SCH_LAYOUT_REASONS                                                  \
  SCH_R_MAP_ARITY, SCH_R_MAP_EMPTY, SCH_R_MAP_NEGATIVE, SCH_R_MAP_LARGE,    \
    SCH_R_MAP_COLLIDES, SCH_R_MAP_INJECTIVE_UNPROVEN, SCH_R_MAP_OPEN
/* Over a box that is no constant: one more than the greatest value of result
 * k, `e`, which may be a size; *size is multiplied with what it is where all
 * sizes are least.  false after refusing. */
bool sch_map_extent(sch_state *s, uint32_t k, ir_expr e, uint32_t n,
                    const ir_var *var, const ir_expr *lo, const ir_expr *extent,
                    int64_t *size, ir_expr *out);
/* The new indices for old ones. */
void sch_layout_index(sch_state *s, const sch_layout *l, const ir_expr *old,
                      ir_expr *out);
/* The box of new elements around those that come from the old ones in r, over
 * the iters of `block`; exact: provably no others, but perhaps holes. */
ir_region sch_layout_region(sch_state *s, const sch_layout *l, ir_stmt block,
                            ir_region r, bool *exact);
/* The old indices for new ones; false: the map cannot be solved for them. */
bool sch_layout_solve(sch_state *s, const sch_layout *l, const ir_expr *at,
                      ir_expr *old);
/* The condition that the new point at `at` comes from no old one; 0: the map
 * cannot be solved for it. */
ir_expr sch_layout_hole(sch_state *s, const sch_layout *l, const ir_expr *at);

#endif
