/* SPDX-License-Identifier: Apache-2.0
 * sample_compute_location: samples a loop at which a block can be computed. */
#include "ir/query.h"
#include "schedule/sch.h"
#include <math.h>

#define SAMPLE_COMPUTE_LOCATION_SIG(F, S)                            \
  F(S, IN, BLOCK, block, REQ, "the block that is to move")           \
  F(S, DECISION, INT, decision, OPT,                                 \
    "-2 inline, -1 stay, k the k-th loop around its first consumer") \
  F(S, OUT, LOOP, loop, REQ, "the loop, or a mark for inline and stay")

static const sch_sampler place_sampler;

PRIM_DEFINE(
    sample_compute_location, SAMPLE_COMPUTE_LOCATION_SIG,
    .flags = SCH_PURE | SCH_SAMPLES, .sampler = &place_sampler,
    .decides = "location",
    .summary = "Sample a loop at which a block could be computed.",
    .rewrite = "",
    .details =
        "1. It is not the outermost block of the function.\n"
        "Candidates, all equally likely: to inline the block, where\n"
        "compute_inline is possible; to let it stay; and of the loops around "
        "its\n"
        "first consumer that are around all of them those of more than one\n"
        "iteration where compute_at is possible: from the outermost on "
        "those\n"
        "that drive spatial iters only, then those that drive others as long "
        "as\n"
        "a loop of the first kind stands further in, or where there is none "
        "at\n"
        "all: none further in than a loop that drives others and then one "
        "that\n"
        "does not, as in TVM. Passing the mark to compute_at or "
        "reverse_compute_at inlines, "
        "or\n"
        "does nothing. A stale decision becomes the next smaller candidate, "
        "or\n"
        "to stay.\n",
    .refusals = SCH_REASONS(SCH_R_PLACE_NOT_POSSIBLE, SCH_R_BLOCK_IS_ROOT),
    .example = "local c = sch:get_block(\"C\")\n"
               "local l = sch:sample_compute_location(c)\n"
               "sch:compute_at(c, l)\n");

typedef struct sample_compute_location_args args;

enum { INLINE = -2, STAY = -1 };

typedef struct places {
  uint32_t n;
  int64_t *v;     /* decisions, ascending */
  sch_list loops; /* around the first consumer */
} places;

/* How many of the loops around consumer 0 are around all consumers. */
static uint32_t shared_loops(const sch_state *s, sch_list users,
                             sch_list loops) {
  const ir_program *p = s->p;
  uint32_t n = loops.n;
  for (uint32_t i = 1; i < users.n; i++)
    while (n && !ir_is_ancestor(p, loops.v[n - 1], users.v[i])) n--;
  return n;
}

/* Which of the n loops, of more than one iteration, the block may go under: the
 * outer ones that drive spatial iters only, then those that drive others as
 * long as one of the first kind stands further in.  Where there is none of
 * these, any. */
static bool *worth_trying(sch_state *s, sch_list loops, uint32_t n) {
  bool *worth = arena_zalloc(s->scratch, n + 1), mixed = false;
  bool *spatial = arena_array(s->scratch, bool, n + 1);
  uint32_t last = 0; /* behind the innermost spatial one */
  for (uint32_t k = 0; k < n; k++) {
    spatial[k] = sch_type_of_loop(s, loops.v[k]) == SCH_LOOP_S;
    if (spatial[k]) last = k + 1;
  }
  for (uint32_t k = 0; k < n; k++) {
    if (ir_is_const(s->p, ir_st(s->p, loops.v[k])->extent, 1)) continue;
    if (spatial[k] ? mixed : last && k >= last) break;
    mixed = mixed || !spatial[k];
    worth[k] = true;
  }
  return worth;
}

static void add_loops(sch_state *s, ir_stmt block, sch_list users,
                      places *out) {
  uint32_t n = shared_loops(s, users, out->loops);
  bool *worth = worth_trying(s, out->loops, n);
  for (uint32_t k = 0; k < n; k++)
    if (worth[k] && sch_can_compute_at(s, block, out->loops.v[k], true))
      out->v[out->n++] = k;
}

static void find_places(sch_state *s, ir_stmt block, places *out) {
  sch_list users = sch_consumers(s, block);
  out->loops = users.n ? sch_loops_of(s, users.v[0]) : (sch_list){0, NULL};
  out->v = arena_array(s->scratch, int64_t, out->loops.n + 2);
  out->n = 0;
  if (sch_can_inline(s, block)) out->v[out->n++] = INLINE;
  out->v[out->n++] = STAY;
  if (users.n) add_loops(s, block, users, out);
  s->refusal.reason = SCH_R_NONE;
}

static bool place_size(sch_state *s, const void *ud, uint32_t *n) {
  const args *a = ud;
  if (!ir_st(s->p, a->block)->parent)
    return sch_refuse(s, SCH_R_BLOCK_IS_ROOT, .s = {a->block});
  *n = 1;
  return true;
}

static uint64_t place_count(sch_state *s, const void *a) {
  places c;
  find_places(s, ((const args *)a)->block, &c);
  return c.n;
}

static void place_draw(sch_state *s, const void *a, rng *r, int64_t *out) {
  places c;
  find_places(s, ((const args *)a)->block, &c);
  *out = c.v[rng_below(r, c.n)];
}

static void place_at(sch_state *s, const void *a, uint64_t i, int64_t *out) {
  places c;
  find_places(s, ((const args *)a)->block, &c);
  *out = c.v[i];
}

/* Is it one of those that find_places() lists?  Replays ask for one only. */
static bool is_place(sch_state *s, ir_stmt block, int64_t d) {
  sch_list users, loops;
  bool is = d == STAY;
  if (d == INLINE) is = sch_can_inline(s, block);
  if (d >= 0 && (users = sch_consumers(s, block)).n) {
    loops = sch_loops_of(s, users.v[0]);
    uint32_t n = shared_loops(s, users, loops);
    is = d < n && worth_trying(s, loops, n)[d] &&
         sch_can_compute_at(s, block, loops.v[d], true);
  }
  s->refusal.reason = SCH_R_NONE;
  return is;
}

static bool place_admit(sch_state *s, const void *ud, uint32_t n,
                        const int64_t *d) {
  const args *a = ud;
  return (n == 1 && is_place(s, a->block, d[0])) ||
         sch_refuse(s, SCH_R_PLACE_NOT_POSSIBLE, .s = {a->block},
                    .n = {n ? d[0] : INT64_MIN});
}

static void place_repair(sch_state *s, const void *a, uint32_t n,
                         const int64_t *d, int64_t *out) {
  places c;
  find_places(s, ((const args *)a)->block, &c);
  *out = STAY;
  for (uint32_t i = 0; n && i < c.n; i++)
    if (c.v[i] <= d[0]) *out = c.v[i];
}

static double place_logp(sch_state *s, const void *a, const int64_t *d) {
  (void)d;
  return -log((double)place_count(s, a));
}

static bool place_neighbour(sch_state *s, const void *a, const int64_t *d,
                            rng *r, int64_t *out) {
  places c;
  find_places(s, ((const args *)a)->block, &c);
  if (c.n < 2) return false;
  uint64_t i = rng_below(r, c.n - 1);
  for (uint32_t k = 0; k <= i; k++)
    if (c.v[k] == d[0]) {
      i++;
      break;
    }
  *out = c.v[i];
  return true;
}

static uint32_t place_embed(sch_state *s, const void *a, const int64_t *d,
                            double *out) {
  (void)s, (void)a;
  out[0] = (double)d[0];
  return 1;
}

static const sch_sampler place_sampler = {
    place_size, place_count,     place_draw, place_admit, place_repair,
    place_logp, place_neighbour, place_at,   place_embed};

static bool sample_compute_location_apply(sch_state *s, args *a) {
  if (a->decision == INLINE || a->decision == STAY) {
    a->loop = a->decision == INLINE ? SCH_INLINE_MARK : SCH_ROOT_MARK;
    return true;
  }
  sch_list users = sch_consumers(s, a->block);
  a->loop = sch_loops_of(s, users.v[0]).v[a->decision];
  return true;
}
