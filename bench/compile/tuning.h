/* SPDX-License-Identifier: Apache-2.0
 * Building candidates as a tuning run does. */
#ifndef BENCH_COMPILE_TUNING_H
#define BENCH_COMPILE_TUNING_H

#include <stdbool.h>
#include <stdint.h>

/* Tunes a workload (bench/sketches.lua) over the default space with that many
 * threads, and reports what workers spent on building each candidate: replay,
 * lowering and compiling, beside whatever else the run does. */
bool tuning_measure(const char *workload, uint32_t trials, uint32_t threads);

#endif
