/* SPDX-License-Identifier: Apache-2.0
 * Predictions of Gaussian processes: moments of the mixture of the parts that
 * were fitted (gp.c), and its posterior covariances. */
#include "search/gsl/gp.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <stdbool.h>
#include <stdlib.h>

/* The point on the scale of the process. */
static void scale_point(const gsl_gp *gp, const double *x, double *at) {
  for (uint32_t k = 0; k < gp->d; k++)
    at[k] = (x[k] - gp->lo[k]) * gp->scale[k];
}

/* Prior covariances of a scaled point with the points known. */
static void fill_prior(const gsl_gp *gp, const gp_part *w, const double *at,
                       gsl_vector *cov) {
  double variance = exp(w->theta[gp->d]);
  for (uint32_t i = 0; i < gp->n; i++)
    gsl_vector_set(
        cov, i,
        variance * gp_matern(gp_distance2(gp->d, at, gp->x + (size_t)i * gp->d,
                                          w->rate)));
}

/* One scaled point by one part; `cov` is room for n numbers. */
static void ask_part(const gsl_gp *gp, const gp_part *w, const double *at,
                     gsl_vector *cov, double *mean, double *variance) {
  double square;
  fill_prior(gp, w, at, cov);
  gsl_blas_ddot(cov, w->alpha, mean);
  if (!variance) return;
  gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, w->factor, cov);
  gsl_blas_ddot(cov, cov, &square);
  *variance = fmax(0, exp(w->theta[gp->d]) - square);
}

/* The moments of the mixture. */
static void predict_one(const gsl_gp *gp, const double *x, double *at,
                        gsl_vector *cov, double *mean, double *sd) {
  double sum = 0, square = 0;
  scale_point(gp, x, at);
  for (uint32_t i = 0; i < gp->nparts; i++) {
    double one, variance, w = gp->part[i].weight;
    ask_part(gp, &gp->part[i], at, cov, &one, &variance);
    sum += w * one;
    square += w * (variance + one * one);
  }
  *mean = gp->mean + gp->spread * sum;
  *sd = gp->spread * sqrt(fmax(0, square - sum * sum));
}

void gp_predict(const gsl_gp *gp, uint32_t m, const double *x, double *mean,
                double *sd) {
  double *at = malloc((gp->d + 1) * sizeof *at);
  gsl_error_handler_t *before = gsl_set_error_handler_off();
  gsl_vector *cov = gsl_vector_alloc(gp->n);
  for (uint32_t i = 0; i < m; i++) {
    mean[i] = gp->mean;
    sd[i] = gp->spread;
    if (at && cov)
      predict_one(gp, x + (size_t)i * gp->d, at, cov, &mean[i], &sd[i]);
  }
  gsl_vector_free(cov);
  gsl_set_error_handler(before);
  free(at);
}

/* What covariances with a point `here` are found from. */
typedef struct covarying {
  const gsl_gp *gp;
  double *here, *at;    /* scaled points */
  double off[GP_PARTS]; /* of each mean at `here`: from the mixture's */
  gsl_vector *cov, *solved[GP_PARTS]; /* inverse times priors of `here` */
} covarying;

static bool begin_covarying(covarying *c, const double *x) {
  const gsl_gp *gp = c->gp;
  double sum = 0;
  c->here = malloc((gp->d + 1) * sizeof *c->here);
  c->at = malloc((gp->d + 1) * sizeof *c->at);
  c->cov = gsl_vector_alloc(gp->n);
  if (!c->here || !c->at || !c->cov) return false;
  scale_point(gp, x, c->here);
  for (uint32_t i = 0; i < gp->nparts; i++) {
    c->solved[i] = gsl_vector_alloc(gp->n);
    if (!c->solved[i]) return false;
    ask_part(gp, &gp->part[i], c->here, c->cov, &c->off[i], NULL);
    gsl_linalg_cholesky_solve(gp->part[i].factor, c->cov, c->solved[i]);
    sum += gp->part[i].weight * c->off[i];
  }
  for (uint32_t i = 0; i < gp->nparts; i++) c->off[i] -= sum;
  return true;
}

static double covary_one(const covarying *c, const double *x) {
  const gsl_gp *gp = c->gp;
  double sum = 0;
  scale_point(gp, x, c->at);
  for (uint32_t i = 0; i < gp->nparts; i++) {
    const gp_part *w = &gp->part[i];
    double mean, known;
    ask_part(gp, w, c->at, c->cov, &mean, NULL);
    gsl_blas_ddot(c->cov, c->solved[i], &known);
    double prior = exp(w->theta[gp->d]) *
                   gp_matern(gp_distance2(gp->d, c->at, c->here, w->rate));
    sum += w->weight * (prior - known + c->off[i] * mean);
  }
  return gp->spread * gp->spread * sum;
}

double gp_covariance(const gsl_gp *gp, const double *at, uint32_t m,
                     const double *x, double *out) {
  covarying c = {.gp = gp};
  gsl_error_handler_t *before = gsl_set_error_handler_off();
  bool good = begin_covarying(&c, at);
  double noise = 0;
  for (uint32_t i = 0; i < m; i++)
    out[i] = good ? covary_one(&c, x + (size_t)i * gp->d) : 0;
  for (uint32_t i = 0; i < gp->nparts; i++) {
    noise += gp->part[i].weight * exp(gp->part[i].theta[gp->d + 1]);
    gsl_vector_free(c.solved[i]);
  }
  gsl_vector_free(c.cov);
  gsl_set_error_handler(before);
  free(c.here);
  free(c.at);
  return gp->spread * gp->spread * noise;
}
