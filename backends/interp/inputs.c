/* SPDX-License-Identifier: Apache-2.0
 * Random inputs for the equivalence check: distributions chosen so that a
 * miscompiled program differs visibly (index ranges, extremes, peaks,
 * near-constants). */
#include "backends/interp/interp.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "ir/query.h"

#include "backends/interp/residue.h"
#include "base/rng.h"
#include "ir/arith/range.h"
#include "ir/memo.h"
#include "ir/scalar.h"

#include <stdlib.h>

/* ---- peaks -------------------------------------------------------------- */

enum { MOST_CHOICES = 4096 };

/* How often a store, a condition or a let selects between values, times the
 * iterations of the enclosing loops. */
typedef struct choice {
  const ir_program *p;
  uint64_t most, here;
} choice;

static void count_choice(const ir_program *p, ir_expr e, void *ud) {
  const ir_node *n = ir_at(p, e);
  choice *c = ud;
  if (n->op >= IR_MIN && n->op <= IR_OR && n->op != IR_EQ && n->op != IR_NE &&
      (interp_is_data(p, n->a) || interp_is_data(p, n->b)))
    c->here++;
}

static void count_chosen(choice *c, arena *scratch, ir_stmt s, ir_expr e) {
  const ir_program *p = c->p;
  c->here = 0;
  ir_visit(p, scratch, e, count_choice, c);
  for (ir_stmt a = s; a && c->here; a = ir_st(p, a)->parent) {
    ir_span it = ir_is_block(p, a) ? ir_blk(p, a)->iters : (ir_span){0, 0};
    for (uint32_t i = it.at; i < it.at + it.n; i++) {
      int64_t n;
      if (p->iter.v[i].kind != IR_SPATIAL &&
          ir_const_int(p, p->iter.v[i].extent, &n) && n > 1)
        c->here = c->here > MOST_CHOICES / (uint64_t)n ? MOST_CHOICES
                                                       : c->here * (uint64_t)n;
    }
  }
  if (c->here > c->most) c->most = c->here;
}

static bool is_prime(uint32_t n) {
  for (uint32_t d = 2; d * d <= n; d++)
    if (n % d == 0) return false;
  return n > 1;
}

uint32_t interp_choices(const ir_program *p, arena *scratch) {
  choice c = {.p = p};
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_STORE) count_chosen(&c, scratch, s, r->value);
    if (r->kind == IR_IF) count_chosen(&c, scratch, s, r->cond);
    if (r->kind == IR_LET) count_chosen(&c, scratch, s, r->let_value);
  }
  return (uint32_t)c.most;
}

static void put_peak(interp_inputs *in, uint32_t choices, uint64_t k) {
  const uint64_t at = k / 4;
  in->below = k % 2;
  in->peak =
      (uint32_t)((k % 4 < 2 ? choices + in->period - at : at) % in->period);
}

bool interp_peaks(interp_inputs *in, const interp_few *few, uint32_t choices,
                  uint64_t k) {
  *in = (interp_inputs){.few = *few, .period = choices + 1};
  while (!is_prime(in->period)) in->period++;
  const uint64_t ways = 2 * (uint64_t)in->period,
                 first = few->n ? 2 * ways : ways;
  if (k < first) {
    in->flat = few->n ? k % 2 : 0;
    put_peak(in, choices, few->n ? k / 2 : k);
  } else {
    in->flat = (uint32_t)((k - first) / ways) + 2;
    put_peak(in, choices, (k - first) % ways);
  }
  return k < first + few->n * ways;
}

/* ---- drawing ------------------------------------------------------------ */

/* Integers over their whole range, most of them odd, so that products do not
 * vanish. */
static uint64_t draw_int(rng *r, tess_dtype t) {
  uint64_t odd = rng_below(r, 4) != 0;
  return (uint64_t)ir_wrap_int(t, (int64_t)(rng_u64(r) | odd));
}

/* The ends of the type's range, and small magnitudes around 0. */
static uint64_t draw_extreme(rng *r, tess_dtype t) {
  uint64_t near = rng_below(r, 3) - 1, end = UINT64_C(1) << (t.bits - 1);
  switch (rng_below(r, 3)) {
  case 0: return (uint64_t)ir_wrap_int(t, (int64_t)near);
  case 1: return (uint64_t)ir_wrap_int(t, (int64_t)(end + near));
  default: return draw_int(r, t);
  }
}

static uint64_t element_bits(tess_dtype t, double v) {
  return ir_is_float(t) ? residue_of_real(ir_round_real(t, v))
                        : (uint64_t)ir_wrap_int(t, (int64_t)v);
}

/* One value for all elements; for floats, below and above the constants that
 * programs compare with, also in sums of a few.  (A quotient of p by a power of
 * two would be a known value.) */
static uint64_t end_of(tess_dtype t, interp_range in, bool greatest) {
  const int64_t far = RESIDUE_N / 67;
  if (in.bounded) return (uint64_t)(greatest ? in.count - 1 : in.least);
  if (ir_is_float(t)) return residue_at(greatest ? far : -far);
  return (uint64_t)(greatest ? ir_int_max(t) : ir_int_min(t));
}

/* An extreme value beyond all regular ones. */
static uint64_t draw_peak(rng *r, tess_dtype t, bool beyond, bool below) {
  if (ir_is_float(t)) {
    const int64_t part = RESIDUE_N / 8;
    int64_t v = (int64_t)rng_below(r, (uint64_t)part);
    if (!beyond) return residue_at(v);
    return residue_at(below ? -2 * part - v : 2 * part + v);
  }
  int64_t lo = ir_int_min(t), hi = ir_int_max(t), part = hi / 8 - lo / 8;
  int64_t v = (int64_t)rng_below(r, (uint64_t)part);
  if (!beyond) return (uint64_t)(lo + 3 * part + v);
  return (uint64_t)(below ? lo + v : hi - v);
}

/* A peak or an ordinary element, all peaks alike: opposite ends of the type,
 * or one of the few values for peaks and another one elsewhere. */
static uint64_t draw_flat(rng *r, tess_dtype t, bool beyond,
                          const interp_inputs *from) {
  const interp_range any = {.bounded = false};
  if (from->flat == 1) return end_of(t, any, beyond != from->below);
  uint64_t which = beyond ? rng_below(r, from->few.n) : from->flat - 2;
  return element_bits(t, from->few.v[which]);
}

static uint64_t draw_any(rng *r, tess_dtype t, uint64_t i,
                         const interp_inputs *from) {
  bool beyond = from->period && i % from->period == from->peak;
  if (from->flat) return draw_flat(r, t, beyond, from);
  if (from->period) return draw_peak(r, t, beyond, from->below);
  if (from->few.n)
    return element_bits(t, from->few.v[rng_below(r, from->few.n)]);
  if (ir_is_float(t)) return rng_below(r, RESIDUE_N);
  return from->extreme ? draw_extreme(r, t) : draw_int(r, t);
}

/* A value within the valid range of an index, or a bool. */
static uint64_t draw_within(rng *r, interp_range in, uint64_t i,
                            const interp_inputs *from) {
  const int64_t last = in.count - 1;
  uint64_t all = (uint64_t)in.count - (uint64_t)in.least;
  uint64_t v = (uint64_t)(in.least + (int64_t)rng_below(r, all));
  if (from->period) {
    bool beyond = i % from->period == from->peak;
    if (beyond || all == 2)
      return (uint64_t)(beyond != from->below ? last : in.least);
  }
  if (!from->extreme) return v;
  switch (rng_below(r, 3)) {
  case 0: return (uint64_t)last;
  case 1: return (uint64_t)in.least;
  default: return v;
  }
}

/* One element with a value of the few among zeros, or among ones: sums and
 * products do not hide it. */
static void draw_alone(rng *r, tess_dtype t, double v, uint64_t n,
                       uint64_t *out) {
  uint64_t others = element_bits(t, (double)rng_below(r, 2));
  for (uint64_t i = 0; i < n; i++) out[i] = others;
  if (n) out[rng_below(r, n)] = element_bits(t, v);
}

static void draw_elements(const interp_inputs *from, rng *r, tess_dtype t,
                          interp_range in, uint64_t n, uint64_t *out) {
  if (from->alone && !in.bounded) {
    draw_alone(r, t, from->few.v[from->alone - 1], n, out);
    return;
  }
  uint32_t how = from->ends <= 2 ? from->ends : (uint32_t)rng_below(r, 3);
  for (uint64_t i = 0; i < n; i++)
    out[i] = how          ? end_of(t, in, how == 2)
             : in.bounded ? draw_within(r, in, i, from)
                          : draw_any(r, t, i, from);
}

/* ---- declared contents -------------------------------------------------- */

static int compare_ints(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* One value of each of n strata of the range, in order. */
static void draw_strata(rng *r, interp_range in, uint64_t n, uint64_t *out) {
  const uint64_t all = (uint64_t)in.count - (uint64_t)in.least;
  const uint64_t each = all / n, more = all % n;
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t width = each + (i < more);
    out[i] = (uint64_t)in.least + at + rng_below(r, width);
    at += width;
  }
}

static void shuffle(rng *r, uint64_t n, uint64_t *v) {
  for (uint64_t i = n; i > 1; i--) {
    uint64_t k = rng_below(r, i), old = v[i - 1];
    v[i - 1] = v[k];
    v[k] = old;
  }
}

/* Gives what was drawn the order that is declared.  A range without enough
 * values for unique ones keeps what was drawn. */
static void arrange(rng *r, interp_range in, uint64_t n, uint64_t *out) {
  const uint64_t all = (uint64_t)in.count - (uint64_t)in.least;
  if (!n) return;
  if (in.holds & IR_HOLDS_UNIQUE && all >= n) {
    draw_strata(r, in, n, out);
    if (!(in.holds & IR_HOLDS_SORTED)) shuffle(r, n, out);
  } else if (in.holds & IR_HOLDS_SORTED) {
    qsort(out, n, sizeof *out, compare_ints);
  }
  if (!(in.holds & IR_HOLDS_ENDS)) return;
  out[0] = (uint64_t)in.least;
  out[n - 1] = (uint64_t)(in.count - 1);
}

void interp_draw(const interp_inputs *from, tess_dtype t, uint64_t seed,
                 uint32_t number, interp_range in, uint64_t n, uint64_t *out) {
  rng r;
  rng_init(&r, seed, number);
  draw_elements(from, &r, t, in, n, out);
  if (in.holds) arrange(&r, in, n, out);
}
