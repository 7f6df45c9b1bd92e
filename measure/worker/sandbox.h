/* SPDX-License-Identifier: Apache-2.0
 * What a worker that runs strangers' code may not do: talk to the network,
 * start programs, look into other processes, remove or write files. */
#ifndef MEASURE_WORKER_SANDBOX_H
#define MEASURE_WORKER_SANDBOX_H

#include <stdbool.h>

/* From now on, and for good; false: this system cannot, and *why says so. */
bool sandbox_enter(const char **why);

#endif
