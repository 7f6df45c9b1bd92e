/* SPDX-License-Identifier: Apache-2.0
 * Judges of proposals, compared over a window of the last ones. */
#include "search/strategy/judging.h"

#include "search/model/object.h"

#include <math.h>

void judging_scale(judging *j, int judge, int scale) {
  if (j->scale[judge] == scale) return;
  j->scale[judge] = scale;
  for (uint32_t k = 0; k < JUDGING_WINDOW; k++) j->last[k].score[judge] = NAN;
}

void judging_note(judging *j, uint64_t hash, const double score[JUDGES]) {
  expectation *x = &j->last[j->n++ % JUDGING_WINDOW];
  *x = (expectation){.hash = hash, .seconds = NAN};
  for (int judge = 0; judge < JUDGES; judge++) x->score[judge] = score[judge];
}

void judging_see(judging *j, uint64_t hash, double seconds) {
  for (uint32_t k = 0; k < JUDGING_WINDOW && k < j->n; k++)
    if (j->last[k].hash == hash) j->last[k].seconds = seconds;
}

double judging_accuracy(const judging *j, int judge) {
  double score[JUDGING_WINDOW], seconds[JUDGING_WINDOW];
  uint32_t n = 0;
  for (uint32_t i = 0; i < JUDGING_WINDOW && i < j->n; i++) {
    const expectation *x = &j->last[i];
    if (isnan(x->seconds) || isnan(x->score[judge])) continue;
    score[n] = x->score[judge];
    seconds[n++] = x->seconds;
  }
  return n < JUDGING_FEW
             ? NAN
             : quality_of(n, score, seconds, 1, false).rank_accuracy;
}
