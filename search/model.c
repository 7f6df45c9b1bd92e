/* SPDX-License-Identifier: Apache-2.0
 * The list of built-in cost models, and "random", the baseline: its scores are
 * pseudo-random from a stream of the session's seed, so that runs repeat. */
#include "search/search.h"

static tess_status random_predict(void *ud, tess_session *s, uint32_t n,
                                  const tess_candidate *c, double *score) {
  (void)ud;
  for (uint32_t i = 0; i < n; i++) {
    rng r;
    rng_init(&r, s->seed,
             search_hash(c[i].sketch, c[i].ndecisions, c[i].decisions));
    score[i] = rng_unit(&r);
  }
  return TESS_OK;
}

static tess_status random_open(tess_session *s, tess_cost_model *out) {
  (void)s;
  *out = (tess_cost_model){.name = "random", .predict = random_predict};
  return TESS_OK;
}

static const search_model random_model = {
    "random", "knows nothing: scores are noise", random_open};
const search_model *const search_models[] = {&random_model};
const uint32_t search_nmodels = sizeof search_models / sizeof *search_models;
