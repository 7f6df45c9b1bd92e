/* SPDX-License-Identifier: Apache-2.0
 * mutate_compute_location: moves a block to another loop that was sampled for
 * it. */
#include "search/mutator/mutator.h"

bool mutator_compute_location(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_compute_location");
}
