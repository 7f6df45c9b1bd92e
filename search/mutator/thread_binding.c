/* SPDX-License-Identifier: Apache-2.0
 * mutate_thread_binding: changes how many threads a loop is bound to, where
 * that was sampled. */
#include "search/mutator/mutator.h"

static bool changes_threads(const vm_trace *t, uint32_t k) {
  return mutator_is(t, k, "sample_categorical") &&
         mutator_binds(t, k, "threadIdx.");
}

const search_mutator mutate_thread_binding = {
    .name = "mutate_thread_binding",
    .summary = "a loop is bound to another number of threads",
    .probability = 0.02,
    .changes = changes_threads};
