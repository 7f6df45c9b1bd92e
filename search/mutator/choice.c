/* SPDX-License-Identifier: Apache-2.0
 * mutate_choice: changes a sampled choice that no other mutator knows the use
 * of, as a knob of a schedule written by hand. */
#include "search/mutator/mutator.h"

bool mutator_choice(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") && !mutator_tile_size(t, k) &&
         !mutator_unroll(t, k) && !mutator_thread_binding(t, k);
}
