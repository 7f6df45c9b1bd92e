/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic of the residue domain: the ring, e^x as a power in it, and hashes
 * for operations without a meaning in it. */
#include "backends/interp/residue.h"

#include "base/hash.h"
#include "ir/scalar.h"

#include <math.h>

/* A known value is n / 2^FRACTION with |n| < 2^KNOWN; the order holds n /
 * 2^PLACE with |n| < RESIDUE_N / 2, and so all known ones. */
enum { FRACTION = 8, KNOWN = 40, PLACE = 28 };

/* The infinities and not-a-number: arbitrary elements, far from known ones. */
#define INF_RESIDUE UINT64_C(1234567890123456789)
#define NAN_RESIDUE UINT64_C(987654321987654321)

/* The greatest finite numbers of float64, float32 and bfloat16. */
#define GREATEST_F64 UINT64_C(1134676512449365717)
#define GREATEST_F32 UINT64_C(2200382153990881165)
#define GREATEST_BF16 UINT64_C(1914617878719196906)

/* 4 modulo p and q, 1 modulo r. */
#define RESIDUE_G UINT64_C(2291500764689007272)

static uint64_t negate(uint64_t a) { return a ? RESIDUE_N - a : 0; }

/* The symmetric representative of a, of least magnitude. */
static int64_t centred(uint64_t a) {
  return a > RESIDUE_N / 2 ? (int64_t)a - (int64_t)RESIDUE_N : (int64_t)a;
}

static uint64_t power(uint64_t a, uint64_t e) {
  uint64_t r = 1;
  for (; e; e >>= 1, a = residue_mul(a, a))
    if (e & 1) r = residue_mul(r, a);
  return r;
}

/* ---- constants ---------------------------------------------------------- */

uint64_t residue_of_real(double v) {
  if (isnan(v)) return NAN_RESIDUE;
  if (isinf(v)) return v > 0 ? INF_RESIDUE : negate(INF_RESIDUE);
  int e;
  uint64_t m = (uint64_t)ldexp(fabs(frexp(v, &e)), 53);
  e -= 53;
  uint64_t two = e < 0 ? (RESIDUE_N + 1) / 2 : 2;
  uint64_t r = residue_mul(m, power(two, (uint64_t)(e < 0 ? -e : e)));
  return v < 0 ? negate(r) : r;
}

/* a as n / 2^FRACTION. */
static bool known(uint64_t a, int64_t *n) {
  int64_t c = centred(residue_fold((residue_wide)a << FRACTION));
  *n = c;
  return c > -(INT64_C(1) << KNOWN) && c < INT64_C(1) << KNOWN;
}

/* The value of a known residue; false: unknown. */
static bool known_value(uint64_t a, double *v) {
  int64_t n;
  if (a == NAN_RESIDUE) return *v = NAN, true;
  if (a == INF_RESIDUE || a == RESIDUE_N - INF_RESIDUE)
    return *v = a == INF_RESIDUE ? INFINITY : -INFINITY, true;
  if (!known(a, &n)) return false;
  *v = ldexp((double)n, -FRACTION);
  return true;
}

/* ---- division and order ------------------------------------------------- */

/* Euclid's algorithm: a * x is 1 modulo n when the remainder comes to 1; where
 * it does not, a is 0 modulo one of the primes, and has an inverse modulo the
 * others by Fermat's theorem. */
uint64_t residue_inverse(uint64_t a) {
  const uint64_t order = RESIDUE_Q * RESIDUE_R * (RESIDUE_R - 1);
  int64_t r0 = (int64_t)RESIDUE_N, r1 = (int64_t)a, x0 = 0, x1 = 1;
  while (r1 > 1) {
    int64_t q = r0 / r1, r = r0 - q * r1, x = x0 - q * x1;
    r0 = r1, r1 = r;
    x0 = x1, x1 = x;
  }
  if (!r1) return power(a, order - 1);
  return x1 < 0 ? (uint64_t)(x1 + (int64_t)RESIDUE_N) : (uint64_t)x1;
}

uint64_t residue_exp(uint64_t a) {
  return power(RESIDUE_G, a % (RESIDUE_Q * RESIDUE_R));
}

uint64_t residue_div(uint64_t a, uint64_t b) {
  return residue_mul(a, residue_inverse(b));
}

/* By how much an element ranks below the greatest; 0: it is no extreme. */
static int64_t below_greatest(uint64_t a) {
  switch (a) {
  case INF_RESIDUE: return 1;
  case GREATEST_F64: return 2;
  case GREATEST_F32: return 3;
  case GREATEST_BF16: return 4;
  default: return 0;
  }
}

/* The rank of a in the total order: as n / 2^PLACE would have.  Known values
 * and others of as few bits rank by their value, extremes at the ends. */
static int64_t rank_of(uint64_t a) {
  int64_t up = below_greatest(a), down = up ? 0 : below_greatest(negate(a));
  if (up) return INT64_MAX - up;
  if (down) return down - INT64_MAX;
  return centred(residue_fold((residue_wide)a << PLACE));
}

bool residue_less(uint64_t a, uint64_t b) { return rank_of(a) < rank_of(b); }

uint64_t residue_at(int64_t n) {
  uint64_t r = n < 0 ? RESIDUE_N - (uint64_t)-n : (uint64_t)n;
  return residue_mul(r, residue_of_real(ldexp(1, -PLACE)));
}

/* ---- hashes ------------------------------------------------------------- */

uint64_t residue_hash(uint64_t seed, uint64_t tag, uint32_t n,
                      const uint64_t *args) {
  uint64_t h = hash_mix(hash_mix(0x7e55e2a, seed), tag);
  for (uint32_t i = 0; i < n; i++) h = hash_mix(h, args[i]);
  return residue_fold(hash_mix(h, n));
}

static uint64_t tag_of(tess_dtype t, unsigned what) {
  return (uint64_t)what << 16 | (uint64_t)t.code << 8 | t.bits;
}

enum { TAG_CAST = 0x100, TAG_MOD = 0x200 };

/* Is every value of `from` exact in `to`? */
static bool holds_all(tess_dtype to, tess_dtype from) {
  return to.bits > from.bits || (to.code == from.code && to.bits == from.bits);
}

uint64_t residue_cast(uint64_t seed, tess_dtype to, tess_dtype from,
                      uint64_t a) {
  double v;
  if (holds_all(to, from)) return a;
  if (known_value(a, &v)) return residue_of_real(ir_round_real(to, v));
  return residue_hash(seed, tag_of(to, TAG_CAST), 1, &a);
}

uint64_t residue_from_int(tess_dtype to, tess_dtype from, int64_t v) {
  return residue_of_real(ir_cast_int_to_real(to, from, v));
}

int64_t residue_to_int(uint64_t seed, tess_dtype to, uint64_t a) {
  double v;
  if (to.code == TESS_DTYPE_BOOL) return a != 0;
  if (known_value(a, &v)) return ir_cast_real_to_int(to, v);
  uint64_t h = residue_hash(seed, tag_of(to, TAG_CAST), 1, &a);
  return ir_wrap_int(to, (int64_t)(h << 3 ^ h >> 13));
}

uint64_t residue_mod(uint64_t seed, tess_dtype t, uint64_t a, uint64_t b) {
  double x, y;
  if (known_value(a, &x) && known_value(b, &y))
    return residue_of_real(ir_fold_real(IR_MOD, t, x, y));
  return residue_hash(seed, tag_of(t, TAG_MOD), 2, (uint64_t[]){a, b});
}

uint64_t residue_call(uint64_t seed, ir_fn fn, tess_dtype t, uint32_t n,
                      const uint64_t *args) {
  double v[3];
  bool all = n <= 3;
  if (fn == IR_FN_FMA)
    return residue_add(residue_mul(args[0], args[1]), args[2]);
  if (fn == IR_FN_EXP) return residue_exp(args[0]);
  for (uint32_t i = 0; all && i < n; i++) all = known_value(args[i], &v[i]);
  if (all) return residue_of_real(ir_apply_real(fn, t, v));
  if (fn == IR_FN_ABS) /* the greater of a and -a in the order above */
    return rank_of(args[0]) < 0 ? residue_sub(0, args[0]) : args[0];
  return residue_hash(seed, tag_of(t, (unsigned)fn), n, args);
}
