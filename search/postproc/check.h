/* SPDX-License-Identifier: Apache-2.0
 * The engine's own checks of replayed programs, which every candidate undergoes
 * whatever its space: one a file.  (The postprocessors that spaces choose are
 * primitives, schedule/prim/, since they are part of a trace.) */
#ifndef SEARCH_POSTPROC_CHECK_H
#define SEARCH_POSTPROC_CHECK_H

#include "search/candidate/session.h"

extern const search_postproc postproc_static_loops;
extern const search_postproc postproc_vector_lanes;

#endif
