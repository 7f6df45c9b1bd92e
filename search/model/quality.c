/* SPDX-License-Identifier: Apache-2.0
 * How good predictions were, once the times are known: root mean square error
 * of relative throughput, share of pairs in the right order, and how many of
 * the fastest quarter are among as many of the best predicted. */
#include "search/model/object.h"

#include <math.h>

/* Of pairs that differ in time; equal scores are half right. */
static double rank_accuracy(uint32_t n, const double *score,
                            const double *seconds) {
  double right = 0, pairs = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < i; j++) {
      if (seconds[i] == seconds[j]) continue;
      double faster = score[seconds[i] < seconds[j] ? i : j];
      double slower = score[seconds[i] < seconds[j] ? j : i];
      right += faster > slower ? 1 : faster == slower ? 0.5 : 0;
      pairs++;
    }
  return pairs > 0 ? right / pairs : NAN;
}

/* Is it among the k best?  Of equal ones the first are. */
static bool is_among(uint32_t n, const double *v, bool greatest, uint32_t i,
                     uint32_t k) {
  uint32_t before = 0;
  for (uint32_t j = 0; j < n; j++) {
    bool better = greatest ? v[j] > v[i] : v[j] < v[i];
    before += better || (v[j] == v[i] && j < i);
  }
  return before < k;
}

static double recall(uint32_t n, const double *score, const double *seconds) {
  uint32_t k = (n + 3) / 4, hits = 0;
  for (uint32_t i = 0; i < n; i++)
    hits += is_among(n, seconds, false, i, k) && is_among(n, score, true, i, k);
  return k ? (double)hits / k : NAN;
}

static double rmse(uint32_t n, const double *score, const double *seconds,
                   double best) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    double off = score[i] - best / seconds[i];
    sum += off * off;
  }
  return n ? sqrt(sum / n) : NAN;
}

tess_quality quality_of(uint32_t n, const double *score, const double *seconds,
                        double best, bool scaled) {
  tess_quality q = {.n = n,
                    .rank_accuracy = rank_accuracy(n, score, seconds),
                    .top_k_recall = recall(n, score, seconds),
                    .rmse = scaled ? rmse(n, score, seconds, best) : NAN};
  return q;
}
