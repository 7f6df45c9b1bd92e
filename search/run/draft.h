/* SPDX-License-Identifier: Apache-2.0
 * What the cost model "analytic" prefers. */
#ifndef SEARCH_RUN_DRAFT_H
#define SEARCH_RUN_DRAFT_H

#include "search/run/tune.h"

enum { DRAFT_DRAWS = 512 };

/* Takes the best candidate of a session. */
typedef tess_status draft_taker(void *ud, tess_session *s,
                                const search_cand *best);
/* Of at most so many that are drawn; it is taken where one is valid. */
tess_status draft_make(const tune_setup *set, uint32_t draws,
                       draft_taker *take, void *ud);

#endif
