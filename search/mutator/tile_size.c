/* SPDX-License-Identifier: Apache-2.0
 * mutate_tile_size: moves a divisor from one factor of a sampled tile to
 * another, or changes how many elements or bytes at a time threads copy that
 * make a copy together. */
#include "search/mutator/mutator.h"

bool mutator_tile_size(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_perfect_tile") ||
         mutator_is(t, k, "sample_partitioned_tile") ||
         mutator_annotates(t, k, "cooperative_fetch") ||
         mutator_annotates(t, k, "vector_bytes");
}
