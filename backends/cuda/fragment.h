/* SPDX-License-Identifier: Apache-2.0
 * Fragments of matrices: tiles of 16 x 16 in the registers of a warp, and the
 * instructions on them. */
#ifndef BACKENDS_CUDA_FRAGMENT_H
#define BACKENDS_CUDA_FRAGMENT_H

#include "backends/cuda/kernel.h"

/* Decides each fragment's layout from the products that use it, before
 * anything is emitted. */
void cuda_plan_fragments(emit *m);
/* Storage for the tiles of an allocated fragment. */
void cuda_place_fragment(emit *m, ir_buf b, uint64_t bytes);
/* The operation under that condition (lower/lower_fragments.c). */
void cuda_instead(emit *m, ir_expr cond);

#endif
