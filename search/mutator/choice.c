/* SPDX-License-Identifier: Apache-2.0
 * mutate_choice: changes a sampled choice that no other mutator knows the use
 * of, as a knob of a schedule written by hand. */
#include "search/mutator/mutator.h"

static bool changes_choice(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") &&
         !mutate_tile_size.changes(t, k) && !mutate_unroll.changes(t, k) &&
         !mutate_thread_binding.changes(t, k);
}

const search_mutator mutate_choice = {
    .name = "mutate_choice",
    .summary = "a choice that no other mutator knows is another",
    .probability = 0.3,
    .changes = changes_choice};
