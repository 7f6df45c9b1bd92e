/* SPDX-License-Identifier: Apache-2.0
 * What the cost model "analytic" takes things to cost, for what chooses these
 * numbers (bench/analytic.c). */
#ifndef SEARCH_MODEL_ANALYTIC_H
#define SEARCH_MODEL_ANALYTIC_H

#include "search/model/model.h"

/* In times a multiply-add of a vector, but for spilled, under_way and both. */
#define ANALYTIC_COSTS(X)                                          \
  X(division, 4)                                                   \
  X(function, 20)                                                  \
  X(logic, 0.3)      /* a comparison of integers, a choice */      \
  X(spilled, 3)      /* times, where sums do not stay */           \
  X(under_way, 8)    /* sums at once that wait for no other */     \
  X(wide, 0.5)       /* a vector that is loaded, */                \
  X(one, 0.5)        /* one element of it, for all lanes, */       \
  X(apart, 1.5)      /* or for one of them */                      \
  X(stored, 6)       /* a vector that is stored, */                \
  X(again, 6)        /* or of sums, that is loaded, too */         \
  X(both, 0.3)       /* the part of what goes on beside more */    \
  X(second, 0.4)     /* a line that comes from the second cache */ \
  X(third, 1)                                                      \
  X(memory, 1)                                                     \
  X(once, 1)         /* a line, when it is needed first */         \
  X(disturbed, 0.25) /* the part of a piece that others cost */

typedef struct analytic_costs {
#define ANALYTIC_FIELD(name, value) double name;
  ANALYTIC_COSTS(ANALYTIC_FIELD)
#undef ANALYTIC_FIELD
} analytic_costs;
extern const analytic_costs analytic_usual;

/* The scores of the learner by other costs. */
void analytic_score_by(const analytic_costs *v, const model_fit *f, uint32_t n,
                       const search_rows *rows, double *mean);

#endif
