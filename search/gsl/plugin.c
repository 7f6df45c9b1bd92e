/* SPDX-License-Identifier: Apache-2.0
 * The plug-in's table, and its statistics and quasi-random points. */
#include "search/gsl/gp.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_qrng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

static double t_test(uint32_t na, const double *a, uint32_t nb,
                     const double *b) {
  if (na < 2 || nb < 2) return 1;
  double t = fabs(gsl_stats_ttest(a, 1, na, b, 1, nb));
  if (isnan(t)) return 1; /* both all the same, and alike */
  return 2 * gsl_cdf_tdist_Q(t, (double)na + nb - 2);
}

static int quasi_random(gsl_sequence kind, uint32_t d, uint64_t skip,
                        uint32_t n, double *out) {
  const gsl_qrng_type *type =
      kind == GSL_SOBOL ? gsl_qrng_sobol : gsl_qrng_halton;
  if (d < 1 || d > type->max_dimension) return 1; /* GSL does not look */
  gsl_error_handler_t *before = gsl_set_error_handler_off();
  gsl_qrng *q = gsl_qrng_alloc(type, d);
  int bad = !q;
  for (uint64_t i = 0; i < skip && !bad; i++) bad = gsl_qrng_get(q, out);
  for (uint32_t i = 0; i < n && !bad; i++)
    bad = gsl_qrng_get(q, out + (size_t)i * d);
  if (q) gsl_qrng_free(q);
  gsl_set_error_handler(before);
  return bad;
}

static const gsl_plugin plugin = {
    GSL_PLUGIN_VERSION, gp_fit,  gp_likelihood, gp_predict,
    gp_covariance,      gp_free, t_test,        quasi_random};

__attribute__((visibility("default"))) const gsl_plugin *tess_gsl_plugin(void);

const gsl_plugin *tess_gsl_plugin(void) { return &plugin; }
