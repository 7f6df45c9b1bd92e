/* SPDX-License-Identifier: Apache-2.0
 * Random programs under random schedules that bind threads, compiled for a
 * device: a slice for a test; `bench/fuzz --target` looks at many. */
#ifndef SUPPORT_DEVICE_FUZZ_H
#define SUPPORT_DEVICE_FUZZ_H

#include <stdint.h>

/* Fails the test if a kernel computes other bits than the interpreter, or if
 * of the cases fewer than `least` became kernels.  CUDA's are emulated. */
void device_fuzz(const char *target, uint64_t seed, uint64_t cases,
                 uint64_t least);

#endif
