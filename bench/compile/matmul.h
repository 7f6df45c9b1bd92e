/* SPDX-License-Identifier: Apache-2.0
 * A matrix product with bias and ReLU as a tiled loop nest: a good candidate of
 * the tiling module, ready for lowering. */
#ifndef BENCH_COMPILE_MATMUL_H
#define BENCH_COMPILE_MATMUL_H

#include "ir/ir.h"

/* Loops i0 j0 (fused, parallel) i1 j1 k0 i2 j2 k1 i3 (unrolled) j3
 * (vectorised); factors from the outside in. */
typedef struct matmul_tiles {
  int64_t i[4], j[4], k[2];
  bool cache_write;     /* accumulate in a tile below j1 */
  bool cache_read;      /* copy the panel of B below k0 */
} matmul_tiles;

static inline int64_t matmul_extent(const int64_t *factor, int n) {
  int64_t e = 1;
  while (n-- > 0) e *= factor[n];
  return e;
}

/* Builds the program in `p`, which is empty: parameters A, B, bias, D. */
void matmul_make(ir_program *p, const matmul_tiles *t);

#endif
