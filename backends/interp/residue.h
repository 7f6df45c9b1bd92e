/* SPDX-License-Identifier: Apache-2.0
 * The residue domain: floats are elements of the field of integers modulo a
 * prime, so that sums and products are exact in any order.  (Integers and bools
 * keep their own arithmetic, which is exact in any order, so that bounds proven
 * when expressions are built hold.)
 *
 * Operations without a meaning in the field are hashes of their arguments, made
 * consistent with constant folding:
 *
 *   - fractions k / 256 of small magnitude are "known": their residues have
 *     their value, and casts, functions and comparisons of known values give
 *     what native arithmetic gives;
 *   - a cast to a float type that holds every value of the other is the
 *     identity;
 *   - the order of min, max and comparisons is total, keeps known values, and
 *     all n / 2^28 below 2^32 in magnitude, in their usual order, and has the
 *     infinities as its ends. */
#ifndef BACKENDS_INTERP_RESIDUE_H
#define BACKENDS_INTERP_RESIDUE_H

#include "ir/ir.h"

/* Not the Mersenne prime 2^61 - 1: powers of two would be few there. */
#define RESIDUE_P ((UINT64_C(1) << 61) - 31)

__extension__ typedef unsigned __int128 residue_wide;

static inline uint64_t residue_add(uint64_t a, uint64_t b) {
  uint64_t s = a + b;
  return s >= RESIDUE_P ? s - RESIDUE_P : s;
}

static inline uint64_t residue_sub(uint64_t a, uint64_t b) {
  return a >= b ? a - b : a + RESIDUE_P - b;
}

/* 2^61 is 31 modulo p, so the high part comes down times 31. */
static inline uint64_t residue_fold(residue_wide x) {
  const uint64_t low = (UINT64_C(1) << 61) - 1;
  residue_wide t = (residue_wide)(uint64_t)(x >> 61) * 31 + ((uint64_t)x & low);
  uint64_t r = (uint64_t)(t >> 61) * 31 + ((uint64_t)t & low);
  return r >= RESIDUE_P ? r - RESIDUE_P : r;
}

static inline uint64_t residue_mul(uint64_t a, uint64_t b) {
  return residue_fold((residue_wide)a * b);
}

/* A constant, exactly: numerator times the inverse of 2^k. */
uint64_t residue_of_real(double v);

/* 1 / a; the inverse of 0 is 0. */
uint64_t residue_inverse(uint64_t a);
uint64_t residue_div(uint64_t a, uint64_t b);
/* Is a before b? */
bool residue_less(uint64_t a, uint64_t b);
/* The element of rank n in the order, |n| < p / 2; 0 has rank 0. */
uint64_t residue_at(int64_t n);

uint64_t residue_from_int(tess_dtype to, tess_dtype from, int64_t v);
int64_t residue_to_int(uint64_t seed, tess_dtype to, uint64_t a);
uint64_t residue_cast(uint64_t seed, tess_dtype to, tess_dtype from,
                      uint64_t a);
/* Any function of ir/fn.def on values of float type t, and floor modulo. */
uint64_t residue_call(uint64_t seed, ir_fn fn, tess_dtype t, uint32_t n,
                      const uint64_t *args);
uint64_t residue_mod(uint64_t seed, tess_dtype t, uint64_t a, uint64_t b);
/* A hash of arbitrary words: of a host function, of a value's bits. */
uint64_t residue_hash(uint64_t seed, uint64_t tag, uint32_t n,
                      const uint64_t *args);

#endif
