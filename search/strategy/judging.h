/* SPDX-License-Identifier: Apache-2.0
 * How well judges, who say what they expect of proposals before these are
 * measured, ranked the last ones. */
#ifndef SEARCH_STRATEGY_JUDGING_H
#define SEARCH_STRATEGY_JUDGING_H

#include <stdint.h>

enum { JUDGES = 2, JUDGING_WINDOW = 64, JUDGING_FEW = 24 };

/* What was expected of a proposal, higher is better; NAN: nothing. */
typedef struct expectation {
  uint64_t hash;
  double score[JUDGES];
  double seconds;            /* INFINITY: it failed; NAN: it is not measured */
} expectation;

typedef struct judging {
  expectation last[JUDGING_WINDOW];
  uint32_t n;                /* of all that were noted; the newest are kept */
  int scale[JUDGES];         /* of what each says */
} judging;

/* What the judge says from here on is on this scale (0 at first): on another
 * one it cannot be ranked among what was said before, which is forgotten. */
void judging_scale(judging *j, int judge, int scale);
void judging_note(judging *j, uint64_t hash, const double score[JUDGES]);
/* What came of a proposal, if it was noted. */
void judging_see(judging *j, uint64_t hash, double seconds);
/* The share of pairs that the judge ranked rightly; NAN: of too few. */
double judging_accuracy(const judging *j, int judge);

#endif
