/* SPDX-License-Identifier: Apache-2.0
 * Gaussian processes and the rest of the plug-in, among its files. */
#ifndef SEARCH_GSL_GP_H
#define SEARCH_GSL_GP_H

#include "search/gsl/plugin.h"

gsl_gp *gp_fit(uint32_t n, uint32_t d, const double *x, const double *y,
               const gsl_gp *before, uint32_t steps);
/* What fitting maximises, and its gradient: theta has d logarithms of length
 * scales, then those of variance and noise; x as it is, y with mean 0. */
double gp_likelihood(uint32_t n, uint32_t d, const double *x, const double *y,
                     const double *theta, double *gradient);
void gp_predict(const gsl_gp *gp, uint32_t m, const double *x, double *mean,
                double *sd);
double gp_covariance(const gsl_gp *gp, const double *at, uint32_t m,
                     const double *x, double *out);
void gp_free(gsl_gp *gp);

#endif
