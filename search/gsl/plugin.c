/* SPDX-License-Identifier: Apache-2.0
 * The plug-in's table, and quasi-random points. */
#include "search/gsl/gp.h"
#include "search/gsl/errors.h"

#include <gsl/gsl_qrng.h>

static int quasi_random(gsl_sequence kind, uint32_t d, uint64_t skip,
                        uint32_t n, double *out) {
  const gsl_qrng_type *type =
      kind == GSL_SOBOL ? gsl_qrng_sobol : gsl_qrng_halton;
  if (d < 1 || d > type->max_dimension) return 1; /* GSL does not look */
  errors_off();
  gsl_qrng *q = gsl_qrng_alloc(type, d);
  int bad = !q;
  for (uint64_t i = 0; i < skip && !bad; i++) bad = gsl_qrng_get(q, out);
  for (uint32_t i = 0; i < n && !bad; i++)
    bad = gsl_qrng_get(q, out + (size_t)i * d);
  if (q) gsl_qrng_free(q);
  errors_restore();
  return bad;
}

static const gsl_plugin plugin = {GSL_PLUGIN_VERSION, gp_fit,  gp_predict,
                                  gp_covariance,      gp_free, quasi_random};

__attribute__((visibility("default"))) const gsl_plugin *tess_gsl_plugin(void);

const gsl_plugin *tess_gsl_plugin(void) { return &plugin; }
