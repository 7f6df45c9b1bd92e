/* SPDX-License-Identifier: Apache-2.0
 * The programs of the random tester's cases as Lua. */
#ifndef FUZZ_DESCRIBE_H
#define FUZZ_DESCRIBE_H

#include <stdint.h>

/* Prints the Lua that makes the program of each case from `first` on, behind a
 * line "-- case K", with extents and types that accelerators take.  Gives the
 * status of the process. */
int describe_cases(uint64_t seed, uint64_t first, uint64_t count);

#endif
