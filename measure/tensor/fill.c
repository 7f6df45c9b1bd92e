/* SPDX-License-Identifier: Apache-2.0
 * Fills tensors with zeros, random numbers, integers or poison. */
#include "measure/tensor/fill.h"
#include "base/rng.h"
#include "ir/scalar.h"
#include <string.h>

bool fill_parse(const char *text, fill_how *out) {
  static const char *const names[] = {"empty", "zeros", "random", "integers"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], text)) return *out = (fill_how)i, true;
  return false;
}

/* lo .. lo + count - 1. */
static void fill_integers(char *at, tess_dtype t, uint64_t n, int64_t lo,
                          uint64_t count, rng *r) {
  size_t bytes = ir_dtype_bytes(t);
  for (uint64_t i = 0; i < n; i++, at += bytes) {
    int64_t v = lo + (int64_t)rng_below(r, count);
    if (ir_is_float(t))
      ir_put_real(t, (double)v, at);
    else
      ir_put_int(t, v, at);
  }
}

/* lo + scale x, x in [0, 1).  24 bits are enough for any float but the
 * longest, and rounding stays below 1. */
static void fill_units(char *at, tess_dtype t, uint64_t n, double lo,
                       double scale, rng *r) {
  size_t bytes = ir_dtype_bytes(t);
  double below_one = t.code == TESS_DTYPE_BFLOAT ? 1 - 0x1p-8
                     : t.bits == 16              ? 1 - 0x1p-11
                                                 : 1;
  for (uint64_t i = 0; i < n; i++, at += bytes) {
    double v = t.bits == 64 ? rng_unit(r) : (rng_u32(r) >> 8) * 0x1p-24;
    v = ir_round_real(t, lo + scale * v);
    ir_put_real(t, v < below_one ? v : below_one, at);
  }
}

void fill_elements(void *data, tess_dtype t, uint64_t n, fill_how how,
                   int64_t range, uint64_t seed, uint64_t stream) {
  rng r;
  rng_init(&r, seed, stream);
  bool is_signed = t.code != TESS_DTYPE_UINT && t.code != TESS_DTYPE_BOOL;
  switch (how) {
  case FILL_EMPTY: return;
  case FILL_ZEROS: memset(data, 0, (size_t)n * ir_dtype_bytes(t)); return;
  case FILL_RANDOM:
  case FILL_SIGNED:
    if (ir_is_float(t))
      fill_units(data, t, n, how == FILL_SIGNED ? -1 : 0,
                 how == FILL_SIGNED ? 2 : 1, &r);
    else
      fill_integers(data, t, n, 0, t.code == TESS_DTYPE_BOOL ? 2 : 8, &r);
    return;
  case FILL_INTEGERS:
    if (t.code == TESS_DTYPE_BOOL)
      fill_integers(data, t, n, 0, 2, &r);
    else if (is_signed)
      fill_integers(data, t, n, -range, 2 * (uint64_t)range + 1, &r);
    else
      fill_integers(data, t, n, 0, (uint64_t)range + 1, &r);
  }
}

/* ---- declared contents -------------------------------------------------- */

/* The start of stratum i of n of `all` values. */
static uint64_t stratum(uint64_t all, uint64_t n, uint64_t i) {
  return (uint64_t)((__uint128_t)all * i / n);
}

/* One value of each stratum of the range: in order, and unique where there are
 * as many values as elements. */
static void fill_strata(char *at, tess_dtype t, uint64_t n, int64_t least,
                        uint64_t all, rng *r) {
  size_t bytes = ir_dtype_bytes(t);
  for (uint64_t i = 0; i < n; i++, at += bytes) {
    uint64_t from = stratum(all, n, i), to = stratum(all, n, i + 1);
    if (to > from) from += rng_below(r, to - from);
    ir_put_int(t, least + (int64_t)from, at);
  }
}

static void shuffle_ints(char *data, tess_dtype t, uint64_t n, rng *r) {
  size_t bytes = ir_dtype_bytes(t);
  for (uint64_t i = n; i > 1; i--) {
    char *a = data + (i - 1) * bytes, *b = data + rng_below(r, i) * bytes;
    int64_t v = ir_get_int(t, a);
    ir_put_int(t, ir_get_int(t, b), a);
    ir_put_int(t, v, b);
  }
}

void fill_within(void *data, tess_dtype t, uint64_t n, int64_t least,
                 int64_t below, uint8_t holds, uint64_t seed, uint64_t stream) {
  rng r;
  uint64_t all = below > least ? (uint64_t)below - (uint64_t)least : 1;
  rng_init(&r, seed, stream);
  if (holds & (IR_HOLDS_SORTED | IR_HOLDS_UNIQUE))
    fill_strata(data, t, n, least, all, &r);
  else
    fill_integers(data, t, n, least, all, &r);
  if (holds & IR_HOLDS_UNIQUE && !(holds & IR_HOLDS_SORTED))
    shuffle_ints(data, t, n, &r);
  if (!(holds & IR_HOLDS_ENDS) || !n) return;
  ir_put_int(t, least, data);
  ir_put_int(t, below - 1, (char *)data + (n - 1) * ir_dtype_bytes(t));
}

/* ---- poison ------------------------------------------------------------- */

/* Half of the words are quiet NaNs of both float types, so that reads of them
 * show in results; no byte value is frequent. */
static uint64_t poison_word(uint64_t seed, uint64_t stream, uint64_t i) {
  uint64_t x = seed * 0x9e3779b97f4a7c15u + stream * 0xd1b54a32d192ed03u + i;
  x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return i & 1 ? x : x | 0x7ffc00007fc00000u;
}

void fill_poison(void *data, uint64_t from, size_t bytes, uint64_t seed,
                 uint64_t stream) {
  char *at = data;
  for (uint64_t i = from / sizeof(uint64_t); bytes > 0; i++) {
    uint64_t word = poison_word(seed, stream, i);
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    memcpy(at, &word, n);
    at += n;
    bytes -= n;
  }
}

bool fill_is_poison(const void *data, size_t bytes, uint64_t seed,
                    uint64_t stream) {
  const char *at = data;
  for (uint64_t i = 0; bytes > 0; i++) {
    uint64_t word = poison_word(seed, stream, i);
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    if (memcmp(at, &word, n) != 0) return false;
    at += n;
    bytes -= n;
  }
  return true;
}
