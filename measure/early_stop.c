/* SPDX-License-Identifier: Apache-2.0
 * Margins of stopping early, from the samples of the kernels before. */
#include "measure/early_stop.h"
#include <math.h>

/* What was seen of so few says nothing of the next; of more, one in so many is
 * left out as the machine's doing. */
enum { FEW = 6, OUTLIERS = 8 };

/* A kernel is sampled on where it is a little further off than those before, so
 * that a machine that becomes noisier is noticed. */
static const double headroom = 1.25;
/* Less is not worth telling apart. */
static const double finest = 5e-3;

void early_stop_learn(early_stop *r, const measure_result *whole) {
  double *above = r->above[r->n++ % EARLY_STOP_KEPT], least = INFINITY;
  uint32_t n = whole->sample.n;
  above[0] = whole->first > 0 ? whole->first / whole->median - 1 : NAN;
  for (uint32_t k = 1; k < TIMING_STEPS; k++) {
    if (k <= n) least = fmin(least, whole->sample.v[k - 1]);
    above[k] = least / whole->median - 1;
  }
}

/* The greatest that was seen of so many samples, without outliers; NAN: too
 * few are known. */
static double seen_above(const early_stop *r, uint32_t samples) {
  uint32_t kept = r->n < EARLY_STOP_KEPT ? r->n : EARLY_STOP_KEPT, n = 0;
  double v[EARLY_STOP_KEPT];
  for (uint32_t i = 0; i < kept; i++) {
    double x = r->above[i][samples];
    if (isnan(x)) continue;
    uint32_t at = n++;
    for (; at > 0 && v[at - 1] < x; at--) v[at] = v[at - 1];
    v[at] = x;
  }
  return n < FEW ? NAN : v[n / OUTLIERS];
}

timing_margins early_stop_margins(const early_stop *r, double most) {
  timing_margins m;
  for (uint32_t k = 0; k < TIMING_STEPS; k++) {
    double seen = seen_above(r, k);
    m.v[k] = most / (k ? k : 1);
    if (!isnan(seen)) m.v[k] = fmin(m.v[k], fmax(headroom * seen, finest));
  }
  return m;
}
