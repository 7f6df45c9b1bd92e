/* SPDX-License-Identifier: Apache-2.0
 * The memory limit of this machine or container. */
#ifndef MEASURE_TENSOR_ROOM_H
#define MEASURE_TENSOR_ROOM_H

#include <stdint.h>

/* Bytes that all processes here may have together: what the machine has, or
 * what its container is given of it. */
uint64_t room_of_machine(void);

#endif
