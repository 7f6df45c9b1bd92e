/* SPDX-License-Identifier: Apache-2.0
 * mutate_unroll: changes how far loops are unrolled, where that was sampled. */
#include "search/mutator/mutator.h"

static bool changes_unroll(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") &&
         (mutator_annotates(t, k, "pragma_auto_unroll_max_step") ||
          mutator_annotates(t, k, "meta_schedule.unroll_"));
}

const search_mutator mutate_unroll = {
    .name = "mutate_unroll",
    .summary = "loops are unrolled up to another number of steps",
    .probability = 0.03,
    .changes = changes_unroll};
