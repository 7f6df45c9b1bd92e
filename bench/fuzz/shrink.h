/* SPDX-License-Identifier: Apache-2.0
 * Test case reduction. */
#ifndef BENCH_FUZZ_SHRINK_H
#define BENCH_FUZZ_SHRINK_H

#include "random/fuzz.h"

/* Removes instructions, stages, outputs and extents while the case still
 * fails or ends its process, and prints the rest as a Lua script that
 * reproduces it. */
void shrink(const fuzz_options *o, uint64_t seed, uint64_t number);

#endif
