/* SPDX-License-Identifier: Apache-2.0
 * Cores for timing. */
#ifndef MEASURE_CORES_H
#define MEASURE_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Binds this process to `threads` processing units of `allowed`, no two of
 * them of one core where that can be; false: there are too few, or they
 * cannot be found out, and it may run on all of `allowed`. */
bool cores_pin(uint32_t threads, const cpu_set_t *allowed);

#endif
