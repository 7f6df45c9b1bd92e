/* SPDX-License-Identifier: Apache-2.0
 * Pins a process to cores for timing. */
#ifndef MEASURE_CORES_H
#define MEASURE_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Binds this process to `threads` processing units of `allowed`, on distinct
 * cores where possible; false: there are too few or the topology is unknown,
 * and the process may run on all of `allowed`. */
bool cores_pin(uint32_t threads, const cpu_set_t *allowed);

#endif
