/* SPDX-License-Identifier: Apache-2.0
 * Primitives made for tests of the machine. */
#include "ir/edit.h"
#include "schedule/sig.h"

#include <math.h>

#define TOY_DIVISOR_SIG(F, S)                                   \
  F(S, IN, LOOP, loop, REQ, "a loop of constant extent")        \
  F(S, IN, EXPR, least, DEF(1), "no divisor smaller than this") \
  F(S, DECISION, INT, decision, OPT, "the divisor")             \
  F(S, OUT, VAR, divisor, REQ, "the divisor")                   \
  F(S, OUT, VAR, rest, REQ, "the extent divided by it")

static bool toy_size(sch_state *s, const void *a, uint32_t *n);
static uint64_t toy_count(sch_state *s, const void *a);
static void toy_draw(sch_state *s, const void *a, rng *r, int64_t *out);
static bool toy_admit(sch_state *s, const void *a, uint32_t n,
                      const int64_t *d);
static void toy_repair(sch_state *s, const void *a, uint32_t n,
                       const int64_t *d, int64_t *out);
static double toy_logp(sch_state *s, const void *a, const int64_t *d);
static bool toy_neighbour(sch_state *s, const void *a, const int64_t *d, rng *r,
                          int64_t *out);
static void toy_at(sch_state *s, const void *a, uint64_t i, int64_t *out);
static uint32_t toy_embed(sch_state *s, const void *a, const int64_t *d,
                          double *out);

static const sch_sampler toy_sampler = {toy_size,      toy_count,  toy_draw,
                                        toy_admit,     toy_repair, toy_logp,
                                        toy_neighbour, toy_at,     toy_embed};

PRIM_DEFINE(toy_divisor, TOY_DIVISOR_SIG, .flags = SCH_PURE | SCH_SAMPLES,
            .sampler = &toy_sampler, .decides = "divisor",
            .refusals = SCH_REASONS(SCH_R_NOT_STATIC),
            .summary = "Draw a divisor.", .rewrite = "", .details = "",
            .example = "");

static int64_t extent_of(sch_state *s, const void *args) {
  const struct toy_divisor_args *a = args;
  int64_t e = 0;
  ir_const_int(s->p, ir_st(s->p, a->loop)->extent, &e);
  return e;
}

static bool toy_fits(sch_state *s, const void *args, int64_t d) {
  const struct toy_divisor_args *a = args;
  return d >= 1 && d >= a->least && extent_of(s, args) % d == 0;
}

static bool toy_size(sch_state *s, const void *a, uint32_t *n) {
  *n = 1;
  return toy_count(s, a) ? true : sch_refuse(s, SCH_R_NOT_STATIC);
}

static uint64_t toy_count(sch_state *s, const void *a) {
  uint64_t n = 0;
  for (int64_t d = 1; d <= extent_of(s, a); d++) n += toy_fits(s, a, d);
  return n;
}

static void toy_at(sch_state *s, const void *a, uint64_t i, int64_t *out) {
  int64_t d = 1;
  for (;; d++)
    if (toy_fits(s, a, d) && i-- == 0) break;
  *out = d;
}

static void toy_draw(sch_state *s, const void *a, rng *r, int64_t *out) {
  toy_at(s, a, rng_below(r, toy_count(s, a)), out);
}

static bool toy_admit(sch_state *s, const void *a, uint32_t n,
                      const int64_t *d) {
  return n == 1 && toy_fits(s, a, *d);
}

static void toy_repair(sch_state *s, const void *a, uint32_t n,
                       const int64_t *d, int64_t *out) {
  *out = n ? *d : 1;
  while (*out > 1 && !toy_fits(s, a, *out)) --*out;
  if (!toy_fits(s, a, *out)) *out = extent_of(s, a);
}

static double toy_logp(sch_state *s, const void *a, const int64_t *d) {
  (void)d;
  return -log((double)toy_count(s, a));
}

static bool toy_neighbour(sch_state *s, const void *a, const int64_t *d, rng *r,
                          int64_t *out) {
  uint64_t n = toy_count(s, a);
  if (n < 2) return false;
  toy_at(s, a, rng_below(r, n - 1), out);
  if (*out >= *d) do
      ++*out;
    while (!toy_fits(s, a, *out));
  return true;
}

static uint32_t toy_embed(sch_state *s, const void *a, const int64_t *d,
                          double *out) {
  (void)s, (void)a;
  *out = log2((double)*d);
  return 1;
}

static bool toy_divisor_apply(sch_state *s, struct toy_divisor_args *a) {
  a->divisor = a->decision;
  a->rest = extent_of(s, a) / a->decision;
  return true;
}

#define TOY_SPOIL_SIG(F, S) F(S, IN, LOOP, loop, REQ, "a loop")
PRIM_DEFINE(toy_spoil, TOY_SPOIL_SIG,
            .refusals = SCH_REASONS(SCH_R_LOOP_NOT_SERIAL),
            .summary = "Change, then refuse.", .rewrite = "", .details = "",
            .example = "");

static bool toy_spoil_apply(sch_state *s, struct toy_spoil_args *a) {
  ir_kill(s->p, a->loop);
  ir_name(s->p, "spoilt");
  for (int64_t i = 0; i < 5000; i++) ir_index(s->p, 1000 + i);
  ir_expr two[] = {ir_index(s->p, 7777), ir_index(s->p, 8888)};
  ir_load(s->p, 1, 2, two);
  return sch_refuse(s, SCH_R_LOOP_NOT_SERIAL, .s = {a->loop});
}

#define TOY_MARK_SIG(F, S)                        \
  F(S, IN, BLOCK, block, REQ, "a block")          \
  F(S, ATTR, BOOL, in_line, DEF(0), "which mark") \
  F(S, OUT, LOOP, loop, REQ, "the mark")
PRIM_DEFINE(toy_mark, TOY_MARK_SIG, .flags = SCH_PURE,
            .refusals = (const uint16_t[]){0}, .summary = "Give a mark.",
            .rewrite = "", .details = "", .example = "");

static bool toy_mark_apply(sch_state *s, struct toy_mark_args *a) {
  (void)s;
  a->loop = a->in_line ? SCH_INLINE_MARK : SCH_ROOT_MARK;
  return true;
}

#define TOY_MANY_SIG(F, S)                           \
  F(S, IN, INT, n, REQ, "how many")                  \
  F(S, IN, VALUE, value, OPT, "anything")            \
  F(S, ATTR, REALS, numbers, OPT, "numbers")         \
  F(S, ATTR, STR, text, TXT("none"), "a text")       \
  F(S, ATTR, DTYPE, dtype, TXT("float32"), "a type") \
  F(S, OUT, VARS, vars, REQ, "variables 1 .. n")
PRIM_DEFINE(toy_many, TOY_MANY_SIG, .flags = SCH_PURE,
            .refusals = (const uint16_t[]){0}, .summary = "Give many.",
            .rewrite = "", .details = "", .example = "");

static bool toy_many_apply(sch_state *s, struct toy_many_args *a) {
  int64_t *v = arena_array(s->scratch, int64_t, a->n);
  for (int64_t i = 0; i < a->n; i++) v[i] = i + 1;
  a->vars = (sch_ints){(uint32_t)a->n, v};
  return true;
}
