/* SPDX-License-Identifier: Apache-2.0
 * Building candidates as a tuning run does. */
#ifndef BENCH_COMPILE_TUNING_H
#define BENCH_COMPILE_TUNING_H

#include <stdbool.h>
#include <stdint.h>

/* Tunes a 1024 matrix product over the default space with that many threads,
 * and reports what workers spent on building each candidate: replay, lowering
 * and compiling, beside whatever else the run does. */
bool tuning_measure(uint32_t trials, uint32_t threads);

#endif
