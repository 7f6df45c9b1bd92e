/* SPDX-License-Identifier: Apache-2.0
 * The reference kernel: a small product of integers in float32, unscheduled,
 * by whose time devices are compared and whose outputs are the same on all. */
#ifndef FLEET_KERNEL_H
#define FLEET_KERNEL_H

#include "ir/object.h"

enum { FLEET_KERNEL_SIDE = 64, FLEET_KERNEL_ELEMENTS = 64 * 64 };

/* Sets the context's error. */
tess_status fleet_kernel_new(tess_context *c, tess_program **out);
/* The inputs, whose sums are exact. */
void fleet_kernel_fill(float *a, float *b);

#endif
