/* SPDX-License-Identifier: Apache-2.0
 * The engine's own checks of replayed programs, which every candidate undergoes
 * whatever its space: one a file.  (The postprocessors that spaces choose are
 * primitives, schedule/prim/, since they are part of a trace.) */
#ifndef SEARCH_POSTPROC_CHECK_H
#define SEARCH_POSTPROC_CHECK_H

#include "schedule/sch.h"

/* Checks a replayed program, made from `given`; false: rejected, with a reason
 * (static text) and the number that exceeded a limit. */
typedef struct search_postproc {
  const char *name;
  bool (*run)(sch_state *s, const ir_program *given, const char **why,
              int64_t *number);
} search_postproc;
extern const search_postproc *const search_postprocs[];
extern const uint32_t search_npostprocs;

extern const search_postproc postproc_static_loops;
extern const search_postproc postproc_vector_lanes;

#endif
