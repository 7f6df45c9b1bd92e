/* SPDX-License-Identifier: Apache-2.0
 * Counting and sampling ordered factorizations.
 *
 * A factorization into k parts distributes the exponent of each prime over the
 * parts; the ways to distribute a over k are the binomial (a + k - 1 over k -
 * 1), and primes are independent.  Where the last part is limited, its
 * divisors are enumerated. */
#include "schedule/factor.h"

void factor_primes_of(int64_t x, factor_primes *out) {
  out->n = 0;
  for (int64_t p = 2; x > 1; p += p == 2 ? 1 : 2) {
    if (p > x / p) p = x;
    uint32_t power = 0;
    for (; x % p == 0; x /= p) power++;
    if (power) {
      out->prime[out->n] = p;
      out->power[out->n++] = power;
    }
  }
}

/* n over k, n at most 62 + FACTOR_MAX_PARTS: fits by far. */
static factor_count binomial(uint32_t n, uint32_t k) {
  if (2 * k > n) k = n - k;
  if (n <= 61) { /* then every product on the way has 64 bits */
    uint64_t r = 1;
    for (uint32_t i = 1; i <= k; i++) r = r * (n - k + i) / i;
    return r;
  }
  factor_count r = 1;
  for (uint32_t i = 1; i <= k; i++) r = r * (n - k + i) / i;
  return r;
}

/* Ways to deal `power` out over `parts`. */
static factor_count deals(uint32_t power, uint32_t parts) {
  return parts ? binomial(power + parts - 1, parts - 1) : power == 0;
}

/* Deal number `index`: part i is multiplied by prime to the power it gets. */
static void deal(int64_t prime, uint32_t power, uint32_t parts,
                 factor_count index, int64_t *out) {
  for (uint32_t i = 0; i < parts; i++) {
    uint32_t left = parts - i - 1, give = 0;
    for (; left && give < power; give++) {
      factor_count ways = deals(power - give, left);
      if (index < ways) break;
      index -= ways;
    }
    if (!left) give = power;
    power -= give;
    for (; give; give--) out[i] *= prime;
  }
}

/* ---- divisors ----------------------------------------------------------- */

typedef struct divisor {
  int64_t value;
  uint32_t power[FACTOR_MAX_PRIMES];
} divisor;

/* The next divisor that is at most `limit`, beginning after 1. */
static bool next_divisor(const factor_primes *x, int64_t limit, divisor *d) {
  for (uint32_t i = 0; i < x->n; i++) {
    if (d->power[i] < x->power[i] && d->value <= limit / x->prime[i]) {
      d->value *= x->prime[i];
      d->power[i]++;
      return true;
    }
    for (; d->power[i]; d->power[i]--) d->value /= x->prime[i];
  }
  return false;
}

static divisor first_divisor(const factor_primes *x) {
  divisor d = {.value = 1};
  for (uint32_t i = 0; i < x->n; i++) d.power[i] = 0;
  return d;
}

static bool unlimited(const factor_primes *x, int64_t limit) {
  int64_t value = 1;
  for (uint32_t i = 0; i < x->n; i++)
    for (uint32_t k = 0; k < x->power[i]; k++) value *= x->prime[i];
  return limit >= value;
}

uint64_t factor_divisors(const factor_primes *x, int64_t limit) {
  uint64_t n = 1;
  if (limit < 1) return 0;
  if (unlimited(x, limit)) {
    for (uint32_t i = 0; i < x->n; i++) n *= x->power[i] + 1;
    return n;
  }
  divisor d = first_divisor(x);
  while (next_divisor(x, limit, &d)) n++;
  return n;
}

int64_t factor_divisor(const factor_primes *x, int64_t limit, uint64_t index) {
  divisor d = first_divisor(x);
  while (index--) next_divisor(x, limit, &d);
  return d.value;
}

/* ---- factorisations ----------------------------------------------------- */

/* Ways to deal what divisor d leaves of x out over `parts`. */
static factor_count ways_left(const factor_primes *x, const divisor *d,
                              uint32_t parts) {
  factor_count ways = 1;
  for (uint32_t i = 0; i < x->n; i++)
    ways *= deals(x->power[i] - d->power[i], parts);
  return ways;
}

factor_count factor_ways(const factor_primes *x, uint32_t parts,
                         int64_t limit) {
  divisor d = first_divisor(x);
  if (unlimited(x, limit)) return ways_left(x, &d, parts);
  factor_count ways = 0;
  do ways += ways_left(x, &d, parts - 1);
  while (next_divisor(x, limit, &d));
  return ways;
}

void factor_way(const factor_primes *x, uint32_t parts, int64_t limit,
                factor_count index, int64_t *out) {
  divisor d = first_divisor(x);
  for (uint32_t i = 0; i < parts; i++) out[i] = 1;
  if (!unlimited(x, limit)) {
    for (parts--;; next_divisor(x, limit, &d)) {
      factor_count ways = ways_left(x, &d, parts);
      if (index < ways) break;
      index -= ways;
    }
    out[parts] = d.value;
  }
  for (uint32_t i = 0; i < x->n; i++) {
    uint32_t power = x->power[i] - d.power[i];
    factor_count ways = deals(power, parts);
    deal(x->prime[i], power, parts, index % ways, out);
    index /= ways;
  }
}

factor_count factor_below(rng *r, factor_count n) {
  if (n <= UINT64_MAX) return rng_below(r, (uint64_t)n);
  factor_count all = ~(factor_count)0, most = all - all % n, x;
  do x = (factor_count)rng_u64(r) << 64 | rng_u64(r);
  while (x >= most);
  return x % n;
}

/* ---- with a part of its own --------------------------------------------- */

/* How often `prime` divides x. */
static uint32_t power_in(int64_t x, int64_t prime) {
  uint32_t n = 0;
  for (; x % prime == 0; x /= prime) n++;
  return n;
}

/* Ways to deal `power` out so that the places from `pos` on get `some`. */
static factor_count ways_to_part(uint32_t power, uint32_t parts, uint32_t pos,
                                 uint32_t some) {
  return deals(some, parts - pos) * deals(power - some, pos);
}

static factor_count ways_with_part(uint32_t power, uint32_t parts, uint32_t pos,
                                   uint32_t least) {
  factor_count ways = 0;
  for (uint32_t some = least; some <= power; some++)
    ways += ways_to_part(power, parts, pos, some);
  return ways;
}

factor_count factor_part_ways(const factor_primes *x, uint32_t parts,
                              uint32_t pos, int64_t inner) {
  factor_count ways = 1;
  for (uint32_t i = 0; i < x->n; i++)
    ways *=
        ways_with_part(x->power[i], parts, pos, power_in(inner, x->prime[i]));
  return ways;
}

void factor_part_way(const factor_primes *x, uint32_t parts, uint32_t pos,
                     int64_t inner, factor_count index, int64_t *out) {
  for (uint32_t i = 0; i < parts; i++) out[i] = 1;
  for (uint32_t i = 0; i < x->n; i++) {
    uint32_t power = x->power[i], some = power_in(inner, x->prime[i]);
    factor_count ways = ways_with_part(power, parts, pos, some);
    factor_count at = index % ways;
    index /= ways;
    for (; at >= ways_to_part(power, parts, pos, some); some++)
      at -= ways_to_part(power, parts, pos, some);
    factor_count inside = deals(some, parts - pos);
    deal(x->prime[i], some, parts - pos, at % inside, out + pos);
    deal(x->prime[i], power - some, pos, at / inside, out);
  }
}
