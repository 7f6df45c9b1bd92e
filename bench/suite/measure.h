/* SPDX-License-Identifier: Apache-2.0
 * Measuring a row of the operator suite that bench/suite.lua tuned. */
#ifndef BENCH_SUITE_MEASURE_H
#define BENCH_SUITE_MEASURE_H

#include <stdint.h>

/* Prints {"ours": seconds, "peers": {name: seconds}, "difference": {name:
 * relative}, "naive": seconds} for the row in that folder; the exit status. */
int suite_measure(const char *folder, uint32_t threads);

#endif
