/* SPDX-License-Identifier: Apache-2.0
 * The plug-in of what needs GSL: its interface.  GSL is under the GPL, version
 * 3, so libtessera is not linked with it: the plug-in (lib/tessera/gsl.so) is
 * loaded when a search asks for it, and without it all else works.
 *
 * Sizes are in elements, matrices row by row.  Nothing here keeps state but
 * what a Gaussian process is; memory is from malloc.  Functions may be called
 * from several threads at once.  While one runs, GSL's error handler, of which
 * a process has one, is off, also for a host that calls GSL itself. */
#ifndef SEARCH_GSL_PLUGIN_H
#define SEARCH_GSL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define GSL_PLUGIN_VERSION 5u
#define GSL_PLUGIN_SYMBOL "tess_gsl_plugin"

/* A Gaussian process (Rasmussen and Williams 2006): constant mean, Matern 5/2
 * with a length scale for each dimension, and noise. */
typedef struct gsl_gp gsl_gp;

typedef enum gsl_sequence { GSL_SOBOL, GSL_HALTON } gsl_sequence;

typedef struct gsl_plugin {
  uint32_t version;          /* GSL_PLUGIN_VERSION */
  /* Fits length scales, variance and noise to n points of d dimensions by
   * maximising the marginal likelihood, with priors, in at most `steps` steps
   * of BFGS, from what they are in `before`, a process of as many dimensions,
   * or where that is NULL from the medians of the priors.  NULL: no memory, or
   * the points give no process. */
  gsl_gp *(*gp_fit)(uint32_t n, uint32_t d, const double *x, const double *y,
                    const gsl_gp *before, uint32_t steps);
  /* Mean and standard deviation, without noise, at m points. */
  void (*gp_predict)(const gsl_gp *gp, uint32_t m, const double *x,
                     double *mean, double *sd);
  /* Posterior covariances of m points with the point `at`, without noise;
   * gives the variance of the noise. */
  double (*gp_covariance)(const gsl_gp *gp, const double *at, uint32_t m,
                          const double *x, double *out);
  void (*gp_free)(gsl_gp *gp);
  /* Points skip .. skip + n - 1 of a quasi-random sequence in the unit cube of
   * d dimensions (Sobol at most 40, Halton 1229); 0: done. */
  int (*quasi_random)(gsl_sequence kind, uint32_t d, uint64_t skip,
                      uint32_t n, double *out);
} gsl_plugin;

typedef const gsl_plugin *(*gsl_plugin_fn)(void);

#endif
