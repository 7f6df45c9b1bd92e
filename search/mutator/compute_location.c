/* SPDX-License-Identifier: Apache-2.0
 * mutate_compute_location: moves a block to another loop that was sampled for
 * it. */
#include "search/mutator/mutator.h"

static bool changes_location(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_compute_location");
}

const search_mutator mutate_compute_location = {
    .name = "mutate_compute_location",
    .summary = "a block is computed at another loop",
    .probability = 0.05,
    .changes = changes_location};
