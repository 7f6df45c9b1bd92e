/* SPDX-License-Identifier: Apache-2.0
 * The list of the engine's own checks, in the order in which they run. */
#include "search/postproc/check.h"

const search_postproc *const search_postprocs[] = {&postproc_static_loops,
                                                   &postproc_vector_lanes};
const uint32_t search_npostprocs =
    sizeof search_postprocs / sizeof *search_postprocs;
