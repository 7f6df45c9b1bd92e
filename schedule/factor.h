/* SPDX-License-Identifier: Apache-2.0
 * Counting and sampling ordered factorizations, exactly and in integers. All
 * of it works on a prime factorization and takes no memory. */
#ifndef SCHEDULE_FACTOR_H
#define SCHEDULE_FACTOR_H

#include "base/rng.h"
#include <stdbool.h>

__extension__ typedef unsigned __int128 factor_count;

enum { FACTOR_MAX_PARTS = 32, FACTOR_MAX_PRIMES = 16 };

typedef struct factor_primes {
  uint32_t n;
  int64_t prime[FACTOR_MAX_PRIMES]; /* ascending */
  uint32_t power[FACTOR_MAX_PRIMES];
} factor_primes;

/* x >= 1. */
void factor_primes_of(int64_t x, factor_primes *out);

/* How many ways there are to write x as an ordered product of `parts`
 * factors (1 .. FACTOR_MAX_PARTS), the last of them at most `limit`. */
factor_count factor_ways(const factor_primes *x, uint32_t parts, int64_t limit);
/* Way number `index`, 0 <= index < factor_ways, in a fixed order. */
void factor_way(const factor_primes *x, uint32_t parts, int64_t limit,
                factor_count index, int64_t *out);
/* The same where the factors from `pos` (0 .. parts - 1) on multiply to a
 * multiple of `inner`, which divides x. */
factor_count factor_part_ways(const factor_primes *x, uint32_t parts,
                              uint32_t pos, int64_t inner);
void factor_part_way(const factor_primes *x, uint32_t parts, uint32_t pos,
                     int64_t inner, factor_count index, int64_t *out);
/* Uniform over 0 .. n-1. */
factor_count factor_below(rng *r, factor_count n);

/* How many divisors of x are at most `limit`, and number `index` of them. */
uint64_t factor_divisors(const factor_primes *x, int64_t limit);
int64_t factor_divisor(const factor_primes *x, int64_t limit, uint64_t index);

#endif
