/* SPDX-License-Identifier: Apache-2.0
 * Random streams.  The cipher's key is the seed; its counter is the block
 * number (low half) and the stream's index (high half). */
#include "base/rng.h"
#include "base/assert.h"

#include <Random123/philox.h>

void rng_init(rng *r, uint64_t seed, uint64_t index) {
  *r = (rng){.seed = seed, .index = index};
}

static void refill(rng *r) {
  philox4x32_ctr_t counter = {{(uint32_t)r->block, (uint32_t)(r->block >> 32),
                               (uint32_t)r->index, (uint32_t)(r->index >> 32)}};
  philox4x32_key_t key = {{(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}};
  philox4x32_ctr_t out = philox4x32_R(10, counter, key);
  for (int i = 0; i < 4; i++) r->word[i] = out.v[i];
  r->block++;
  r->left = 4;
}

uint32_t rng_u32(rng *r) {
  if (r->left == 0) refill(r);
  return r->word[4 - r->left--];
}

uint64_t rng_u64(rng *r) {
  uint64_t low = rng_u32(r);
  return low | (uint64_t)rng_u32(r) << 32;
}

/* Lemire's method ("Fast random integer generation in an interval", 2019): the
 * high half of the product, with rejection of the low halves that would
 * introduce bias. */
static uint32_t below_32(rng *r, uint32_t n) {
  uint64_t product = (uint64_t)rng_u32(r) * n;
  if ((uint32_t)product < n) {
    uint32_t surplus = -n % n;
    while ((uint32_t)product < surplus) product = (uint64_t)rng_u32(r) * n;
  }
  return (uint32_t)(product >> 32);
}

/* Above 32 bits: draws below the largest multiple of n, modulo n. */
static uint64_t below_64(rng *r, uint64_t n) {
  uint64_t surplus = -n % n;
  uint64_t x;
  do x = rng_u64(r);
  while (x < surplus);
  return x % n;
}

uint64_t rng_below(rng *r, uint64_t n) {
  TESS_ASSERT(n > 0);
  return n <= UINT32_MAX ? below_32(r, (uint32_t)n) : below_64(r, n);
}

uint32_t rng_weighted(rng *r, const uint32_t *weight, uint32_t n) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += weight[i];
  uint64_t at = rng_below(r, sum);
  uint32_t i = 0;
  while (at >= weight[i]) at -= weight[i++];
  return i;
}

double rng_unit(rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }
