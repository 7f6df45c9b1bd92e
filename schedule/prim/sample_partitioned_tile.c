/* SPDX-License-Identifier: Apache-2.0
 * sample_partitioned_tile: samples tile sizes of which the inner ones multiply
 * to a multiple of a given factor. */
#include "schedule/tile.h"
#include <math.h>

#define SAMPLE_PARTITIONED_TILE_SIG(F, S)                         \
  F(S, IN, LOOP, loop, REQ, "the loop whose extent is cut")       \
  F(S, ATTR, INT, n, REQ, "how many factors")                     \
  F(S, ATTR, INT, partition_pos, DEF(0),                          \
    "the inner part begins with this factor, counted from 0")     \
  F(S, ATTR, INT, innerpart_factor, DEF(1),                       \
    "the inner part multiplies to a multiple of this")            \
  F(S, DECISION, INTS, decision, OPT, "the factors, outer first") \
  F(S, OUT, VARS, factors, REQ, "the factors, outer first")

static const sch_sampler part_sampler;

PRIM_DEFINE(
    sample_partitioned_tile, SAMPLE_PARTITIONED_TILE_SIG,
    .flags = SCH_PURE | SCH_SAMPLES, .as_many = "n", .sampler = &part_sampler,
    .decides = "tile",
    .summary =
        "Sample factors of a loop's extent whose inner ones hold a given "
        "factor.",
    .rewrite = "",
    .details =
        "1. The extent is at least 1 and at most 2^44, if it is a constant.\n"
        "2. `n` is 1 to 32.\n"
        "3. `partition_pos` is 0 to n - 1.\n"
        "4. `innerpart_factor` is at least 1 and divides a constant extent.\n"
        "Where the extent is no constant, as a size, {-1, 1, ..} is the only\n"
        "decision: split takes the first one as open.\n"
        "Every list of `n` factors that multiply to the extent, those from\n"
        "`partition_pos` on to a multiple of `innerpart_factor`, is a "
        "decision,\n"
        "and all are equally likely. Another one is refused; a replay with\n"
        "`repair` mends it as TVM does: from the last factor on, one that "
        "does\n"
        "not divide becomes all that is left, the first takes the rest; where\n"
        "that, or the decision itself, breaks the rule for the inner part, "
        "the\n"
        "inner part becomes `innerpart_factor` at `partition_pos`, and the "
        "first\n"
        "factor takes the rest.\n",
    .refusals = SCH_REASONS(SCH_TILE_REASONS, SCH_R_TILE_INNER_FACTOR,
                            SCH_R_TILE_INNER_PART, SCH_R_TILE_PARTITION),
    .example = "local i = sch:get_loops(sch:get_block(\"C\"))\n"
               "local i0, i1, i2 = sch:sample_partitioned_tile(i, 3, 1, 4)\n"
               "sch:split(i, { i0, i1, i2 })\n");

typedef struct sample_partitioned_tile_args args;

/* The space of decisions; the arguments were checked by size(). */
typedef struct space {
  int64_t extent, inner;
  uint32_t n, pos;
  factor_primes primes;
} space;

static void get_space(const sch_state *s, const void *ud, space *t) {
  const args *a = ud;
  t->extent = sch_tile_extent_of(s, a->loop);
  t->inner = sch_tile_is_open(s, a->loop) ? 1 : a->innerpart_factor;
  t->n = (uint32_t)a->n;
  t->pos = (uint32_t)a->partition_pos;
  factor_primes_of(t->extent, &t->primes);
}

static factor_count ways(const space *t) {
  return factor_part_ways(&t->primes, t->n, t->pos, t->inner);
}

static bool part_size(sch_state *s, const void *ud, uint32_t *n) {
  const args *a = ud;
  int64_t extent, pos = a->partition_pos, inner = a->innerpart_factor;
  if (!sch_tile_extent(s, a->loop, a->n, &extent)) return false;
  if (pos < 0 || pos >= a->n)
    return sch_refuse(s, SCH_R_TILE_PARTITION, .n = {pos, a->n});
  bool open = sch_tile_is_open(s, a->loop);
  if (inner < 1 || (extent % inner != 0 && !open))
    return sch_refuse(s, SCH_R_TILE_INNER_FACTOR, .s = {a->loop},
                      .n = {inner, extent});
  *n = (uint32_t)a->n;
  return true;
}

static uint64_t part_count(sch_state *s, const void *a) {
  space t;
  get_space(s, a, &t);
  factor_count n = ways(&t);
  return n > UINT64_MAX ? UINT64_MAX : (uint64_t)n;
}

static void part_draw(sch_state *s, const void *a, rng *r, int64_t *out) {
  space t;
  get_space(s, a, &t);
  factor_part_way(&t.primes, t.n, t.pos, t.inner, factor_below(r, ways(&t)),
                  out);
  sch_tile_open(s, ((const args *)a)->loop, out);
}

static void part_at(sch_state *s, const void *a, uint64_t i, int64_t *out) {
  space t;
  get_space(s, a, &t);
  factor_part_way(&t.primes, t.n, t.pos, t.inner, i, out);
  sch_tile_open(s, ((const args *)a)->loop, out);
}

static double part_logp(sch_state *s, const void *a, const int64_t *d) {
  space t;
  (void)d;
  get_space(s, a, &t);
  return -log((double)ways(&t));
}

/* The product of the factors from `pos` on, as a remainder of `inner`. */
static bool holds_inner(uint32_t n, uint32_t pos, int64_t inner,
                        const int64_t *d) {
  factor_count product = 1;
  for (uint32_t i = pos; i < n; i++)
    product =
        product * (factor_count)(d[i] < 1 ? 1 : d[i]) % (factor_count)inner;
  return product % (factor_count)inner == 0;
}

static bool part_admit(sch_state *s, const void *ud, uint32_t n,
                       const int64_t *d) {
  const args *a = ud;
  if (!sch_tile_admit(s, a->loop, a->n, n, d)) return false;
  if (!sch_tile_is_open(s, a->loop) &&
      !holds_inner(n, (uint32_t)a->partition_pos, a->innerpart_factor, d))
    return sch_refuse(s, SCH_R_TILE_INNER_PART,
                      .n = {a->partition_pos, a->innerpart_factor});
  return true;
}

/* The last entries of a decision that is too long count; one too short is
 * taken to begin with ones. */
static void part_repair(sch_state *s, const void *ud, uint32_t n,
                        const int64_t *d, int64_t *out) {
  space t;
  get_space(s, ud, &t);
  for (uint32_t i = t.n, k = n; i-- > 0;) {
    out[i] = k ? d[--k] : 1;
    if (out[i] < 1) out[i] = 1;
  }
  bool fits = holds_inner(t.n, t.pos, t.inner, out);
  int64_t left = t.extent;
  for (uint32_t i = t.n; i-- > 1; left /= out[i])
    if (left % out[i] != 0) out[i] = left;
  out[0] = left;
  if (!fits || !holds_inner(t.n, t.pos, t.inner, out)) {
    for (uint32_t i = 1; i < t.n; i++) out[i] = 1;
    out[0] = t.extent / t.inner;
    out[t.pos] *= t.inner;
  }
  sch_tile_open(s, ((const args *)ud)->loop, out);
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

/* Moves from factor x to factor y: a divisor but 1 of d[x] goes there; what
 * leaves the inner part must leave it a multiple of `inner`. */
static bool part_neighbour(sch_state *s, const void *ud, const int64_t *d,
                           rng *r, int64_t *out) {
  space t;
  if (sch_tile_is_open(s, ((const args *)ud)->loop)) return false;
  get_space(s, ud, &t);
  factor_primes stay[FACTOR_MAX_PARTS], leave[FACTOR_MAX_PARTS];
  uint64_t staying[FACTOR_MAX_PARTS], leaving[FACTOR_MAX_PARTS], total = 0;
  int64_t spare = 1;
  for (uint32_t x = t.pos; x < t.n; x++) spare *= d[x];
  spare /= t.inner;
  for (uint32_t x = 0; x < t.n; x++) {
    int64_t out_of = x < t.pos ? 1 : common_divisor(d[x], spare);
    uint32_t outer = x < t.pos ? 0 : t.pos;
    factor_primes_of(d[x], &stay[x]);
    factor_primes_of(out_of, &leave[x]);
    staying[x] = (factor_divisors(&stay[x], d[x]) - 1) * (t.n - 1 - outer);
    leaving[x] = (factor_divisors(&leave[x], out_of) - 1) * outer;
    total += staying[x] + leaving[x];
  }
  if (!total) return false;
  uint64_t at = rng_below(r, total);
  uint32_t x = 0, to;
  for (; at >= staying[x] + leaving[x]; x++) at -= staying[x] + leaving[x];
  memcpy(out, d, t.n * sizeof *d);
  int64_t moved;
  if (at < staying[x]) {
    uint32_t first = x < t.pos ? 0 : t.pos, places = t.n - 1 - first;
    to = first + (uint32_t)(at % places);
    if (to >= x) to++;
    moved = factor_divisor(&stay[x], d[x], at / places + 1);
  } else {
    at -= staying[x];
    to = (uint32_t)(at % t.pos);
    moved = factor_divisor(&leave[x], INT64_MAX, at / t.pos + 1);
  }
  out[x] /= moved;
  out[to] *= moved;
  return true;
}

static uint32_t part_embed(sch_state *s, const void *ud, const int64_t *d,
                           double *out) {
  const args *a = ud;
  (void)s;
  return sch_tile_embed(a->n, d, out);
}

static const sch_sampler part_sampler = {
    part_size, part_count,     part_draw, part_admit, part_repair,
    part_logp, part_neighbour, part_at,   part_embed};

static bool sample_partitioned_tile_apply(sch_state *s, args *a) {
  (void)s;
  a->factors = a->decision;
  return true;
}
