/* SPDX-License-Identifier: Apache-2.0
 * Random forests for regression (Breiman 2001): bootstrapped trees that choose
 * among some of the columns at each split.  The variance of a prediction is
 * that of its leaves by the law of total variance (Hutter et al. 2014), as in
 * scikit-optimize. */
#ifndef SEARCH_MODEL_FOREST_H
#define SEARCH_MODEL_FOREST_H

#include "base/arena.h"

typedef struct forest_options {
  uint32_t trees, leaf;      /* samples in a leaf at least */
  double share;              /* of the columns looked at in a split */
  uint64_t seed;
} forest_options;

typedef struct forest forest;

/* n rows of `width` numbers, and what is to be told of each.  In the arena,
 * scratch too; unwinds. */
forest *forest_fit(arena *a, const forest_options *o, uint32_t n,
                   uint32_t width, const float *x, const double *y);
void forest_predict(const forest *f, const float *row, double *mean,
                    double *variance);
/* Covariances of n rows with one, by the same law: those of the trees' means,
 * and the variance of the leaves that they share. */
void forest_covary(const forest *f, const float *at, uint32_t n,
                   const float *const *row, double *out);
/* Adds the squared error that splits by each column took away. */
void forest_importance(const forest *f, double *out);

#endif
