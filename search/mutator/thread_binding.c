/* SPDX-License-Identifier: Apache-2.0
 * mutate_thread_binding: changes how many threads a loop is bound to, where
 * that was sampled. */
#include "search/mutator/mutator.h"

bool mutator_thread_binding(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") &&
         mutator_binds(t, k, "threadIdx.");
}
