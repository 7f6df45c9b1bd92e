/* SPDX-License-Identifier: Apache-2.0
 * sample_categorical: samples one of several integers, by probability. */
#include "schedule/sch.h"
#include <math.h>

#define SAMPLE_CATEGORICAL_SIG(F, S)                                    \
  F(S, ATTR, INTS, candidates, REQ, "what to choose from")              \
  F(S, ATTR, REALS, probs, OPT,                                         \
    "how likely each is, up to a factor; without it all are the same")  \
  F(S, DECISION, INT, decision, OPT, "which candidate, counted from 0") \
  F(S, OUT, VAR, value, REQ, "the candidate chosen")

static const sch_sampler choice_sampler;

PRIM_DEFINE(
    sample_categorical, SAMPLE_CATEGORICAL_SIG, .flags = SCH_PURE | SCH_SAMPLES,
    .sampler = &choice_sampler, .decides = "choice",
    .summary = "Sample one of several integers.", .rewrite = "",
    .details =
        "1. There is at least one candidate.\n"
        "2. There are as many probabilities as candidates, or none.\n"
        "3. Probabilities are finite and not negative, and not all are 0.\n"
        "Probabilities are rounded to multiples of 2^-32 of the largest, and "
        "one\n"
        "that is not 0 to no less than the smallest of these. A stale "
        "decision\n"
        "becomes the nearest candidate.\n",
    .refusals = SCH_REASONS(SCH_R_CANDIDATES_EMPTY, SCH_R_CHOICE_OUTSIDE,
                            SCH_R_PROBS_COUNT, SCH_R_PROBS_VALUE),
    .example =
        "local u = sch:sample_categorical({ 0, 16, 64 }, { 0.5, 0.25, 0.25 })\n"
        "sch:annotate(sch:get_block(\"C\"), \"pragma_auto_unroll_max_step\", "
        "u)\n");

typedef struct sample_categorical_args args;

static bool is_weight(double x) { return x >= 0 && isfinite(x); }

static bool refuse_value(sch_state *s, const args *a, uint32_t i) {
  return sch_refuse(s, SCH_R_PROBS_VALUE, .n = {i},
                    .t = arena_printf(s->scratch, "%g", a->probs.v[i]));
}

static bool choice_size(sch_state *s, const void *ud, uint32_t *n) {
  const args *a = ud;
  bool any = !a->probs.n;
  if (!a->candidates.n) return sch_refuse(s, SCH_R_CANDIDATES_EMPTY);
  if (a->probs.n && a->probs.n != a->candidates.n)
    return sch_refuse(s, SCH_R_PROBS_COUNT, .n = {a->probs.n, a->candidates.n});
  for (uint32_t i = 0; i < a->probs.n; i++) {
    if (!is_weight(a->probs.v[i])) return refuse_value(s, a, i);
    any = any || a->probs.v[i] > 0;
  }
  if (!any) return refuse_value(s, a, 0);
  *n = 1;
  return true;
}

static double largest(const args *a) {
  double most = 0;
  for (uint32_t i = 0; i < a->probs.n; i++)
    if (a->probs.v[i] > most) most = a->probs.v[i];
  return most;
}

/* The integer weight of candidate i: division and a product of doubles, so
 * the same on every machine. */
static uint32_t weight(const args *a, double most, uint32_t i) {
  if (!a->probs.n) return 1;
  double x = a->probs.v[i] / most * 4294967295.0;
  uint32_t w = (uint32_t)x;
  return w || a->probs.v[i] == 0 ? w : 1;
}

static uint64_t choice_count(sch_state *s, const void *ud) {
  (void)s;
  return ((const args *)ud)->candidates.n;
}

/* Draws by weight among all but candidate `not`; false: none has any. */
static bool draw_other(const args *a, uint32_t not, rng *r, int64_t *out) {
  double most = largest(a);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < a->candidates.n; i++)
    if (i != not ) sum += weight(a, most, i);
  if (!sum) return false;
  uint64_t at = rng_below(r, sum);
  for (uint32_t i = 0;; i++) {
    uint32_t w = i == not ? 0 : weight(a, most, i);
    if (at < w) {
      *out = i;
      return true;
    }
    at -= w;
  }
}

static void choice_draw(sch_state *s, const void *a, rng *r, int64_t *out) {
  (void)s;
  draw_other(a, UINT32_MAX, r, out);
}

static bool choice_admit(sch_state *s, const void *ud, uint32_t n,
                         const int64_t *d) {
  const args *a = ud;
  if (n != 1 || d[0] < 0 || d[0] >= a->candidates.n)
    return sch_refuse(s, SCH_R_CHOICE_OUTSIDE,
                      .n = {n ? d[0] : -1, a->candidates.n});
  return true;
}

static void choice_repair(sch_state *s, const void *ud, uint32_t n,
                          const int64_t *d, int64_t *out) {
  const args *a = ud;
  (void)s;
  int64_t x = n ? d[0] : 0, last = (int64_t)a->candidates.n - 1;
  *out = x < 0 ? 0 : x > last ? last : x;
}

static double choice_logp(sch_state *s, const void *ud, const int64_t *d) {
  const args *a = ud;
  (void)s;
  double most = largest(a);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < a->candidates.n; i++) sum += weight(a, most, i);
  return log((double)weight(a, most, (uint32_t)d[0])) - log((double)sum);
}

static bool choice_neighbour(sch_state *s, const void *ud, const int64_t *d,
                             rng *r, int64_t *out) {
  (void)s;
  return draw_other(ud, (uint32_t)d[0], r, out);
}

static void choice_at(sch_state *s, const void *a, uint64_t i, int64_t *out) {
  (void)s, (void)a;
  *out = (int64_t)i;
}

/* The candidate on a logarithmic scale that keeps its sign. */
static uint32_t choice_embed(sch_state *s, const void *ud, const int64_t *d,
                             double *out) {
  const args *a = ud;
  (void)s;
  double x = (double)a->candidates.v[d[0]];
  out[0] = x < 0 ? -log2(1 - x) : log2(1 + x);
  return 1;
}

static const sch_sampler choice_sampler = {
    choice_size, choice_count,     choice_draw, choice_admit, choice_repair,
    choice_logp, choice_neighbour, choice_at,   choice_embed};

static bool sample_categorical_apply(sch_state *s, args *a) {
  (void)s;
  a->value = a->candidates.v[a->decision];
  return true;
}
