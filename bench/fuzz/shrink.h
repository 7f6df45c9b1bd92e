/* SPDX-License-Identifier: Apache-2.0
 * Making a case that is wrong small. */
#ifndef BENCH_FUZZ_SHRINK_H
#define BENCH_FUZZ_SHRINK_H

#include "support/fuzz.h"

/* Leaves out instructions, stages, outputs and extents while the case stays
 * wrong, or ends its process, and prints what is left as a Lua script that
 * shows it. */
void shrink(const fuzz_options *o, uint64_t seed, uint64_t number);

#endif
