/* SPDX-License-Identifier: Apache-2.0
 * sample_perfect_tile: samples tile sizes that divide the extent. */
#include "schedule/tile.h"
#include <math.h>

#define SAMPLE_PERFECT_TILE_SIG(F, S)                             \
  F(S, IN, LOOP, loop, REQ, "the loop whose extent is cut")       \
  F(S, ATTR, INT, n, REQ, "how many factors")                     \
  F(S, ATTR, INT, max_innermost_factor, DEF(16),                  \
    "the last factor is at most this; -1: no limit")              \
  F(S, DECISION, INTS, decision, OPT, "the factors, outer first") \
  F(S, OUT, VARS, factors, REQ, "the factors, outer first")

static const sch_sampler tile_sampler;

PRIM_DEFINE(
    sample_perfect_tile, SAMPLE_PERFECT_TILE_SIG,
    .flags = SCH_PURE | SCH_SAMPLES, .as_many = "n", .sampler = &tile_sampler,
    .decides = "tile",
    .summary = "Sample factors that multiply to the extent of a loop.",
    .rewrite = "",
    .details =
        "1. The extent is at least 1 and at most 2^44, if it is a constant.\n"
        "2. `n` is 1 to 32.\n"
        "3. `max_innermost_factor` is at least 1, or -1.\n"
        "4. There is such a list of factors (with one factor, the extent "
        "itself\n"
        "   must be within the limit).\n"
        "Where the extent is no constant, as a size, {-1, 1, ..} is the only\n"
        "decision: split takes the first one as open.\n"
        "Every list of `n` factors that multiply to the extent and end with "
        "one\n"
        "within the limit is a decision, and all are equally likely. Another\n"
        "one is refused; a replay with `repair` mends it as TVM does: from "
        "the\n"
        "last factor on, one that does not divide becomes all that is left,\n"
        "the first takes the rest; and a last factor beyond the limit becomes\n"
        "the largest divisor within.\n",
    .refusals = SCH_REASONS(SCH_TILE_REASONS, SCH_R_TILE_IMPOSSIBLE,
                            SCH_R_TILE_INNERMOST, SCH_R_TILE_LIMIT),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "local i0, i1, i2 = sch:sample_perfect_tile(i, { n = 3 })\n"
               "sch:split(i, { i0, i1, i2 })\n");

typedef struct sample_perfect_tile_args args;

/* The space of decisions; the arguments were checked by size(). */
typedef struct space {
  int64_t extent, limit;
  uint32_t n;
  factor_primes primes;
} space;

static void get_space(const sch_state *s, const void *ud, space *t) {
  const args *a = ud;
  t->extent = sch_tile_extent_of(s, a->loop);
  t->n = (uint32_t)a->n;
  t->limit = a->max_innermost_factor < 0 ? INT64_MAX : a->max_innermost_factor;
  factor_primes_of(t->extent, &t->primes);
}

static bool tile_size(sch_state *s, const void *ud, uint32_t *n) {
  const args *a = ud;
  int64_t extent, limit = a->max_innermost_factor;
  if (!sch_tile_extent(s, a->loop, a->n, &extent)) return false;
  if (limit < 1 && limit != -1)
    return sch_refuse(s, SCH_R_TILE_LIMIT, .n = {limit});
  if (a->n == 1 && limit != -1 && extent > limit)
    return sch_refuse(s, SCH_R_TILE_IMPOSSIBLE, .s = {a->loop},
                      .n = {extent, limit});
  *n = (uint32_t)a->n;
  return true;
}

static uint64_t tile_count(sch_state *s, const void *a) {
  space t;
  get_space(s, a, &t);
  factor_count n = factor_ways(&t.primes, t.n, t.limit);
  return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static void tile_draw(sch_state *s, const void *a, rng *r, int64_t *out) {
  space t;
  get_space(s, a, &t);
  factor_count n = factor_ways(&t.primes, t.n, t.limit);
  factor_way(&t.primes, t.n, t.limit, factor_below(r, n), out);
  sch_tile_open(s, ((const args *)a)->loop, out);
}

static void tile_at(sch_state *s, const void *a, uint64_t i, int64_t *out) {
  space t;
  get_space(s, a, &t);
  factor_way(&t.primes, t.n, t.limit, i, out);
  sch_tile_open(s, ((const args *)a)->loop, out);
}

static double tile_logp(sch_state *s, const void *a, const int64_t *d) {
  space t;
  (void)d;
  get_space(s, a, &t);
  return -log((double)factor_ways(&t.primes, t.n, t.limit));
}

static bool tile_admit(sch_state *s, const void *ud, uint32_t n,
                       const int64_t *d) {
  const args *a = ud;
  int64_t limit = a->max_innermost_factor;
  if (!sch_tile_admit(s, a->loop, a->n, n, d)) return false;
  if (limit != -1 && d[n - 1] > limit)
    return sch_refuse(s, SCH_R_TILE_INNERMOST, .n = {d[n - 1], limit});
  return true;
}

static int64_t largest_divisor(int64_t x, int64_t limit) {
  factor_primes f;
  factor_primes_of(x, &f);
  uint64_t n = factor_divisors(&f, limit);
  int64_t best = 1;
  for (uint64_t i = 0; i < n; i++) {
    int64_t v = factor_divisor(&f, limit, i);
    if (v > best) best = v;
  }
  return best;
}

/* The last entries of a decision that is too long count; one too short is
 * taken to begin with ones. */
static void tile_repair(sch_state *s, const void *ud, uint32_t n,
                        const int64_t *d, int64_t *out) {
  space t;
  get_space(s, ud, &t);
  int64_t left = t.extent;
  for (uint32_t i = t.n, k = n; i-- > 1;) {
    int64_t f = k ? d[--k] : 1;
    if (f < 1) f = 1;
    if (left % f != 0) f = left;
    if (i == t.n - 1 && f > t.limit) f = largest_divisor(left, t.limit);
    out[i] = f;
    left /= f;
  }
  out[0] = left;
  sch_tile_open(s, ((const args *)ud)->loop, out);
}

/* Moves from factor x to another that keep the limit: each divisor but 1 of
 * d[x] may go to any other place; the divisors are counted from 0, which is
 * 1 itself. */
static bool tile_neighbour(sch_state *s, const void *ud, const int64_t *d,
                           rng *r, int64_t *out) {
  space t;
  if (sch_tile_is_open(s, ((const args *)ud)->loop)) return false;
  get_space(s, ud, &t);
  factor_primes f[FACTOR_MAX_PARTS];
  uint64_t free_moves[FACTOR_MAX_PARTS], last_moves[FACTOR_MAX_PARTS];
  uint64_t total = 0;
  uint32_t last = t.n - 1, x = 0;
  for (; x < t.n; x++) {
    factor_primes_of(d[x], &f[x]);
    uint32_t places = x == last ? last : last - 1;
    free_moves[x] = last ? (factor_divisors(&f[x], d[x]) - 1) * places : 0;
    last_moves[x] =
        x == last ? 0 : factor_divisors(&f[x], t.limit / d[last]) - 1;
    total += free_moves[x] + last_moves[x];
  }
  if (!total) return false;
  uint64_t at = rng_below(r, total);
  for (x = 0; at >= free_moves[x] + last_moves[x]; x++)
    at -= free_moves[x] + last_moves[x];
  memcpy(out, d, t.n * sizeof *d);
  uint32_t to = last;
  int64_t limit = t.limit / d[last];
  if (at < free_moves[x]) {
    uint32_t places = x == last ? last : last - 1;
    to = (uint32_t)(at % places);
    if (to >= x) to++;
    at /= places;
    limit = d[x];
  } else {
    at -= free_moves[x];
  }
  int64_t moved = factor_divisor(&f[x], limit, at + 1);
  out[x] /= moved;
  out[to] *= moved;
  return true;
}

static uint32_t tile_embed(sch_state *s, const void *ud, const int64_t *d,
                           double *out) {
  const args *a = ud;
  (void)s;
  return sch_tile_embed(a->n, d, out);
}

static const sch_sampler tile_sampler = {
    tile_size, tile_count,     tile_draw, tile_admit, tile_repair,
    tile_logp, tile_neighbour, tile_at,   tile_embed};

static bool sample_perfect_tile_apply(sch_state *s, args *a) {
  (void)s;
  a->factors = a->decision;
  return true;
}
