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

/* The processing units of `allowed` on cores that a process bound so leaves
 * alone, into *others; returns how many cores these are, 0 where the topology
 * is unknown. */
uint32_t cores_left(uint32_t threads, const cpu_set_t *allowed,
                    cpu_set_t *others);

#endif
