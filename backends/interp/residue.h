/* SPDX-License-Identifier: Apache-2.0
 * The residue domain: floats are elements of the ring of integers modulo n, so
 * that sums and products are exact in any order.  (Integers and bools keep
 * their own arithmetic, which is exact in any order, so that bounds proven when
 * expressions are built hold.)
 *
 * n is a product of three primes, chosen so that the ring has an element G
 * whose order divides n.  So G^x is well defined for residues x, and e^x is
 * that: e^(x + y) is e^x e^y, which fused reductions and an online softmax rely
 * on.  A difference that is not 0 in the reals is 0 for random inputs with a
 * probability of about 2^-61; inside of an exponent, of 2^-39, the order.
 * Division is that of each of the three fields, with 1 / 0 = 0.
 *
 * Other operations without a meaning in the ring are hashes of their arguments,
 * made consistent with constant folding:
 *
 *   - fractions k / 256 of small magnitude are "known": their residues have
 *     their value, and casts, functions and comparisons of known values give
 *     what native arithmetic gives;
 *   - a cast to a float type that holds every value of the other is the
 *     identity;
 *   - the order of min, max and comparisons is total, keeps known values, and
 *     all n / 2^28 below 2^32 in magnitude, in their usual order, and has the
 *     infinities as its ends, and next to them the greatest and least finite
 *     numbers of the types, which the search for an extreme begins with. */
#ifndef BACKENDS_INTERP_RESIDUE_H
#define BACKENDS_INTERP_RESIDUE_H

#include "ir/ir.h"

/* r, q = 2 r + 1 and p = 2 q + 1 are primes: a chain of Cunningham.  Modulo p
 * there is an element of order q, modulo q one of order r. */
#define RESIDUE_R UINT64_C(659189)
#define RESIDUE_Q (2 * RESIDUE_R + 1)
#define RESIDUE_N ((2 * RESIDUE_Q + 1) * RESIDUE_Q * RESIDUE_R)

__extension__ typedef unsigned __int128 residue_wide;

static inline uint64_t residue_add(uint64_t a, uint64_t b) {
  uint64_t s = a + b;
  return s >= RESIDUE_N ? s - RESIDUE_N : s;
}

static inline uint64_t residue_sub(uint64_t a, uint64_t b) {
  return a >= b ? a - b : a + RESIDUE_N - b;
}

/* x modulo n, for x < 2^122: by a quotient that is too small by 3 at most
 * (Barrett's reduction); the factor is 2^124 / n. */
static inline uint64_t residue_fold(residue_wide x) {
  const uint64_t factor = UINT64_C(9281086001335547206);
  uint64_t high = (uint64_t)(x >> 60);
  uint64_t quotient = (uint64_t)(((residue_wide)high * factor) >> 64);
  uint64_t r = (uint64_t)x - quotient * RESIDUE_N;
  r = r >= 2 * RESIDUE_N ? r - 2 * RESIDUE_N : r;
  return r >= RESIDUE_N ? r - RESIDUE_N : r;
}

static inline uint64_t residue_mul(uint64_t a, uint64_t b) {
  return residue_fold((residue_wide)a * b);
}

/* A constant, exactly: numerator times the inverse of 2^k. */
uint64_t residue_of_real(double v);

/* 1 / a; modulo each prime the inverse of 0 is 0. */
uint64_t residue_inverse(uint64_t a);
uint64_t residue_div(uint64_t a, uint64_t b);
/* G^a. */
uint64_t residue_exp(uint64_t a);
/* Is a before b? */
bool residue_less(uint64_t a, uint64_t b);
/* The element of rank n in the order, |n| < RESIDUE_N / 2; 0 has rank 0. */
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
