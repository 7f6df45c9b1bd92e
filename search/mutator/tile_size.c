/* SPDX-License-Identifier: Apache-2.0
 * mutate_tile_size: moves a divisor from one factor of a sampled tile to
 * another, or changes how many lanes a cooperative fetch has. */
#include "search/mutator/mutator.h"

static bool changes_tile(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_perfect_tile") ||
         mutator_is(t, k, "sample_partitioned_tile") ||
         mutator_annotates(t, k, "meta_schedule.cooperative_fetch");
}

const search_mutator mutate_tile_size = {
    .name = "mutate_tile_size",
    .summary = "a divisor moves from one factor of a tile to another",
    .probability = 0.9,
    .changes = changes_tile};
