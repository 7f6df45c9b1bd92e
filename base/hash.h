/* SPDX-License-Identifier: Apache-2.0
 * Hashing: 64-bit XXH3 for tables and structural hashes. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *p, size_t n);
/* Cheap mixing step for hashes of small records (inline: hot path). */
static inline uint64_t hash_mix(uint64_t h, uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

#endif
