/* SPDX-License-Identifier: Apache-2.0
 * Gaussian processes and the rest of the plug-in, among its files. */
#ifndef SEARCH_GSL_GP_H
#define SEARCH_GSL_GP_H

#include "search/gsl/plugin.h"
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_vector.h>
#include <math.h>

/* One process, of given length scales, variance and noise. */
typedef struct gp_part {
  double weight;
  double *theta;      /* d + 2 logarithms */
  double *rate;       /* of each dimension: one over its length scale */
  gsl_matrix *factor; /* of the covariance */
  gsl_vector *alpha;  /* its inverse times the values */
} gp_part;

enum { GP_PARTS = 5 };

struct gsl_gp {
  uint32_t n, d, nparts;
  double *lo, *scale;  /* of dimensions: x is (x - lo) * scale */
  double mean, spread; /* of values */
  double *x;           /* scaled points */
  gp_part part[GP_PARTS];
};

#define GP_SQRT5 2.23606797749978969641

/* Squared distance where each dimension has its rate. */
static inline double gp_distance2(uint32_t d, const double *a, const double *b,
                        const double *rate) {
  double sum = 0;
  for (uint32_t k = 0; k < d; k++) {
    double x = (a[k] - b[k]) * rate[k];
    sum += x * x;
  }
  return sum;
}

static inline double gp_matern(double r2) {
  double r = GP_SQRT5 * sqrt(r2);
  return (1 + r + r * r / 3) * exp(-r);
}

gsl_gp *gp_fit(uint32_t n, uint32_t d, const double *x, const double *y,
               uint32_t steps);
double gp_likelihood(uint32_t n, uint32_t d, const double *x, const double *y,
                     const double *theta, double *gradient);
void gp_predict(const gsl_gp *gp, uint32_t m, const double *x, double *mean,
                double *sd);
double gp_covariance(const gsl_gp *gp, const double *at, uint32_t m,
                     const double *x, double *out);
void gp_free(gsl_gp *gp);

#endif
