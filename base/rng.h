/* SPDX-License-Identifier: Apache-2.0
 * Counter-based random streams: Philox4x32-10 (Salmon et al., "Parallel random
 * numbers: as easy as 1, 2, 3", 2011; by Random123).  A stream is a function of
 * (seed, index) only, never of time, threads or order; the distributions use
 * integers only, so that a draw is the same on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

typedef struct rng {
  uint64_t seed, index, block;  /* key, stream, next counter */
  uint32_t word[4];
  uint32_t left;                /* words of `word` not yet used */
} rng;

void rng_init(rng *r, uint64_t seed, uint64_t index);
uint32_t rng_u32(rng *r);
uint64_t rng_u64(rng *r);
/* Uniform over 0 .. n-1, unbiased; n >= 1. */
uint64_t rng_below(rng *r, uint64_t n);
/* Index i with probability weight[i] / sum; not all weights are 0. */
uint32_t rng_weighted(rng *r, const uint32_t *weight, uint32_t n);
/* In [0, 1), 53 bits: for data and strategies, never for trace draws. */
double rng_unit(rng *r);

#endif
