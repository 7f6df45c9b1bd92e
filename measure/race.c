/* SPDX-License-Identifier: Apache-2.0
 * Margins of racing, from the samples of the kernels before. */
#include "measure/race.h"
#include <math.h>

/* What was seen of so few says nothing of the next; of more, one in so many is
 * left out as the machine's doing. */
enum { RACE_FEW = 6, RACE_OUTLIERS = 8 };

/* A kernel is sampled on where it is a little further off than those before, so
 * that a machine that becomes noisier is noticed. */
static const double race_headroom = 1.25;
/* Less is not worth telling apart. */
static const double race_finest = 5e-3;

void race_learn(race *r, const measure_result *whole) {
  double *above = r->above[r->n++ % RACE_KEPT], least = INFINITY;
  uint32_t n = whole->sample.n;
  above[0] = whole->first > 0 ? whole->first / whole->median - 1 : NAN;
  for (uint32_t k = 1; k < TIMING_STEPS; k++) {
    if (k <= n) least = fmin(least, whole->sample.v[k - 1]);
    above[k] = least / whole->median - 1;
  }
}

/* The greatest that was seen of so many samples, without outliers; NAN: too
 * few are known. */
static double seen_above(const race *r, uint32_t samples) {
  uint32_t kept = r->n < RACE_KEPT ? r->n : RACE_KEPT, n = 0;
  double v[RACE_KEPT];
  for (uint32_t i = 0; i < kept; i++) {
    double x = r->above[i][samples];
    if (isnan(x)) continue;
    uint32_t at = n++;
    for (; at > 0 && v[at - 1] < x; at--) v[at] = v[at - 1];
    v[at] = x;
  }
  return n < RACE_FEW ? NAN : v[n / RACE_OUTLIERS];
}

timing_margins race_margins(const race *r, double most) {
  timing_margins m;
  for (uint32_t k = 0; k < TIMING_STEPS; k++) {
    double seen = seen_above(r, k);
    m.v[k] = most / (k ? k : 1);
    if (!isnan(seen))
      m.v[k] = fmin(m.v[k], fmax(race_headroom * seen, race_finest));
  }
  return m;
}
