/* SPDX-License-Identifier: Apache-2.0
 * Quasi-random designs of Bayesian optimisation: for each point of a Sobol or
 * Halton sequence (GSL's) that of several draws whose decisions are nearest, in
 * the unit cube of the columns that differ. */
#include "search/strategy/bayesian.h"

#include <math.h>

enum { MOST_COLUMNS = 40 }; /* a Sobol sequence of GSL's has no more */

/* Draws as points of the unit cube. */
typedef struct cube {
  uint32_t n, d;
  uint32_t column[MOST_COLUMNS];
  float low[MOST_COLUMNS], high[MOST_COLUMNS];
  const search_rows *r;
  bool *taken;
} cube;

static float number_at(const cube *x, uint32_t i, uint32_t column) {
  return x->r->v[(size_t)x->r->first[i] * x->r->width + column];
}

static bool has_row(const cube *x, uint32_t i) {
  return x->r->first[i] < x->r->first[i + 1];
}

static void find_differing(cube *x) {
  for (uint32_t k = 0; k < x->r->width && x->d < MOST_COLUMNS; k++) {
    float low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < x->n; i++) {
      if (!has_row(x, i)) continue;
      low = fminf(low, number_at(x, i, k));
      high = fmaxf(high, number_at(x, i, k));
    }
    if (!(low < high)) continue;
    x->column[x->d] = k;
    x->low[x->d] = low;
    x->high[x->d++] = high;
  }
}

static double distance_to(const cube *x, uint32_t i, const double *point) {
  double sum = 0;
  for (uint32_t k = 0; k < x->d; k++) {
    double at = (number_at(x, i, x->column[k]) - x->low[k]) /
                (double)(x->high[k] - x->low[k]);
    sum += (at - point[k]) * (at - point[k]);
  }
  return sum;
}

static uint32_t nearest_to(const cube *x, const double *point) {
  uint32_t best = UINT32_MAX;
  double least = INFINITY;
  for (uint32_t i = 0; i < x->n; i++) {
    if (x->taken[i] || !has_row(x, i)) continue;
    double far = distance_to(x, i, point);
    if (far < least) least = far, best = i;
  }
  return best;
}

uint32_t bayes_nearest(bayes *b, gsl_sequence kind, uint64_t skip,
                       const search_rows *r, uint32_t n, uint32_t *out) {
  cube x = {.n = r->n, .r = r};
  uint32_t got = 0;
  x.taken = arena_zalloc(&b->spare, (r->n + 1) * sizeof *x.taken);
  find_differing(&x);
  double *point = arena_array(&b->spare, double, (size_t)n *x.d + 1);
  if (!x.d || b->gsl->quasi_random(kind, x.d, skip, n, point)) return 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = nearest_to(&x, point + (size_t)i * x.d);
    if (at == UINT32_MAX) break;
    x.taken[at] = true;
    out[got++] = at;
  }
  return got;
}
