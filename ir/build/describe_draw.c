/* SPDX-License-Identifier: Apache-2.0
 * Random test values for checking the algebraic laws of reducers. */
#include "ir/build/describe_draw.h"
#include "ir/edit.h"
#include "ir/scalar.h"

#include <math.h>

enum { LISTED = 16, FEW = 3 };

typedef describe_word word;

/* MIXED: any of the others, or an extreme value. */
typedef enum kind { PLAIN, NEAR, WIDE, MIXED } kind;

/* ---- constants ---------------------------------------------------------- */

/* Small integers are drawn anyway; a float that is an identity far from all
 * other values is not informative. */
void describe_draw_near(describe_draw *d, ir_expr e) {
  const double most = 1e15;
  const ir_node *n = ir_at(d->p, e);
  bool real = n->op == IR_REAL;
  if ((!real && n->op != IR_INT) || d->nknown == DESCRIBE_KNOWN) return;
  double f = real ? n->f : (double)n->i;
  if ((real && !(fabs(f) < most)) || (f == floor(f) && fabs(f) < 3)) return;
  int64_t i = real ? (int64_t)f : n->i;
  for (uint32_t k = 0; k < d->nknown; k++)
    if (d->known[k].f == f && d->known[k].i == i) return;
  d->known[d->nknown].f = f;
  d->known[d->nknown++].i = i;
}

/* ---- values ------------------------------------------------------------- */

static word draw_plain(bool real, uint32_t k) {
  static const double some[LISTED] = {0,    1, -1,  2,  -2, 0.5,  3, -0.25,
                                      -0.5, 4, 1.5, -3, 5,  0.25, 7, -1.5};
  static const int8_t whole[LISTED] = {0, 1,  -1, 2, 3,  7,  -2, 5,
                                       4, -3, 6,  8, -5, 10, 12, 16};
  return real ? (word){.f = some[k]} : (word){.i = whole[k]};
}

/* On both sides of a constant, closer to a small one, half of them integers. */
static word draw_near(const describe_draw *d, uint32_t which, bool real,
                      uint32_t k) {
  static const double by[] = {0, 1, -1, 2, -2, 0.5, -0.5, 3};
  static const int8_t whole[] = {0, 1, -1, 2, -2, 3, -3, 4};
  static const int8_t halves[] = {-2, -1, 1, 3, 4, 5, 6, 8};
  double f = d->known[which].f;
  uint64_t i = (uint64_t)d->known[which].i;
  if (k < LISTED / 2)
    return real ? (word){.f = f + by[k] * (fabs(f) < 0.25 ? f / 4 : 1)}
                : (word){.i = (int64_t)(i + (uint64_t)(int64_t)whole[k])};
  int64_t half = halves[k - LISTED / 2];
  if (real) return (word){.f = f / 2 * (double)half};
  i = (uint64_t)(d->known[which].i / 2) * (uint64_t)half;
  return (word){.i = (int64_t)i};
}

static word draw_wide(rng *r, bool real, tess_dtype t) {
  uint64_t any = rng_u64(r);
  double f = (double)(any & 255) / 16 - 8;
  if (real) return (word){.f = ldexp(f, (int)rng_below(r, 20) - 6)};
  any >>= 63 - rng_below(r, t.bits);
  return (word){.i = (int64_t)(rng_below(r, 2) ? any : 0 - any)};
}

static word draw_extreme(rng *r, bool real, tess_dtype t) {
  bool most = rng_below(r, 2);
  if (real) return (word){.f = most ? INFINITY : -INFINITY};
  return (word){.i = most ? ir_int_max(t) : ir_int_min(t)};
}

/* Every other round draws around a constant, cycling through them. */
static word draw_value(describe_draw *d, tess_dtype t, uint32_t k) {
  static const kind kinds[] = {PLAIN, NEAR, WIDE, NEAR, MIXED, NEAR};
  const uint32_t many = sizeof kinds / sizeof *kinds;
  rng *r = &d->random;
  kind like = kinds[d->round % many];
  uint32_t dice = (uint32_t)rng_below(r, 8), which = d->round / 2;
  bool real = ir_is_float(t);
  if (t.code == TESS_DTYPE_BOOL) return (word){.i = k % 2};
  if (like == MIXED)
    like = (kind)(dice / 2), which = rng_u32(r);
  else if (dice == 0)
    like = PLAIN;
  if (like == NEAR && d->nknown)
    return draw_near(d, which % d->nknown, real, k);
  if (like == MIXED) return draw_extreme(r, real, t);
  return like == PLAIN ? draw_plain(real, k) : draw_wide(r, real, t);
}

/* Makes the value fit the type, and the range of a variable. */
static word fit_to_type(const ir_node *n, word v) {
  if (ir_is_float(n->dtype)) return v;
  uint64_t i = (uint64_t)ir_wrap_int(n->dtype, v.i);
  uint64_t lo = (uint64_t)n->lo, many = (uint64_t)n->hi - lo + 1;
  if (n->op != IR_VAR || !many) return (word){.i = (int64_t)i};
  return (word){.i = (int64_t)(lo + (i - lo) % many)};
}

/* A permutation of a list whose length is a power of two. */
typedef struct permutation {
  uint32_t at, by;
} permutation;

static permutation permuted(rng *r) {
  uint32_t any = rng_u32(r);
  return (permutation){any >> 8, any | 1};
}

void describe_draw_round(describe_draw *d, uint32_t round) {
  d->round = round;
  rng_init(&d->random, 0, round);
}

/* All distinct, or few distinct ones. */
void describe_draw_leaf(describe_draw *d, ir_expr e, uint32_t n,
                        describe_word *out) {
  const ir_node *node = ir_at(d->p, e);
  rng *r = &d->random;
  word some[DESCRIBE_DIFFERENT];
  permutation of = permuted(r);
  for (uint32_t k = 0; k < DESCRIBE_DIFFERENT; k++, of.at += of.by)
    some[k] = fit_to_type(node, draw_value(d, node->dtype, of.at % LISTED));
  bool few = rng_below(r, 2);
  of = permuted(r);
  for (uint32_t k = 0; k < n; k++, of.at += of.by)
    out[k] = some[few ? rng_below(r, FEW) : of.at % DESCRIBE_DIFFERENT];
}
