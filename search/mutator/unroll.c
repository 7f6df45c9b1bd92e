/* SPDX-License-Identifier: Apache-2.0
 * mutate_unroll: changes how far loops are unrolled, where that was sampled. */
#include "search/mutator/mutator.h"

bool mutator_unroll(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") &&
         (mutator_annotates(t, k, "pragma_auto_unroll_max_step") ||
          mutator_annotates(t, k, "unroll_explicit") ||
          mutator_annotates(t, k, "unroll_implicit"));
}
