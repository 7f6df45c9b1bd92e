/* SPDX-License-Identifier: Apache-2.0
 * Tensor intrinsics in a program: beside its entry there are two functions for
 * each, the description "name.desc" and the implementation "name.impl", which
 * have the same parameters. */
#ifndef SCHEDULE_REWRITE_INTRIN_H
#define SCHEDULE_REWRITE_INTRIN_H

#include "schedule/sch.h"

/* Is there an intrinsic of that name? */
bool sch_knows_intrin(const ir_program *p, const char *name);
/* The next intrinsic of the family, whose names go on with '_' behind its own;
 * *func is 0 before the first.  NULL: there is none. */
const char *sch_next_of_family(sch_state *s, const char *family,
                               uint32_t *func);
/* The functions of an intrinsic; false: refused, there is none. */
bool sch_find_intrin(sch_state *s, const char *name, uint32_t *desc,
                     uint32_t *impl);
/* The block's body, which must be what `desc` describes, gives way to that
 * of `impl`.  false: refused. */
bool sch_use_intrin(sch_state *s, ir_stmt block, uint32_t desc,
                    uint32_t impl);
#define SCH_INTRIN_REASONS                                                  \
  SCH_R_INTRIN_UNKNOWN, SCH_R_INTRIN_MISMATCH, SCH_R_INTRIN_BUFFER

#endif
