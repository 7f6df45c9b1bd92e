/* SPDX-License-Identifier: Apache-2.0
 * Gaussian processes by GSL: Cholesky factors, and BFGS on the negative
 * logarithm of the marginal likelihood with its gradient (Rasmussen and
 * Williams 2006, section 5.4.1).
 *
 * Dimensions are scaled to [0, 1], values to mean 0 and variance 1.  Length
 * scales have log-normal priors whose median grows with the square root of the
 * number of dimensions, after Hvarfner et al. (ICML 2024), variance and noise
 * log-normal ones, too: few points would else leave them open. */
#include "search/gsl/gp.h"
#include "search/gsl/errors.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SQRT5 2.23606797749978969641

struct gsl_gp {
  uint32_t n, d;
  double *lo, *scale;  /* of dimensions: (x - lo) * scale is in [0, 1] */
  double mean, spread; /* of values */
  double *x, *theta;   /* points on length scales; d + 2 logarithms */
  double *rate;        /* of each dimension: one over its length scale */
  gsl_matrix *factor;  /* of the covariance */
  gsl_vector *alpha;   /* its inverse times the values */
};

/* What the likelihood is of. */
typedef struct problem {
  uint32_t n, d;
  const double *x, *y;
  gsl_matrix *k, *inverse;
  gsl_vector *alpha;
  double *plain; /* by pair: sum of squared scaled distances */
  double *rate;  /* room for one over each length scale, */
  double *at;    /* and for the points on these */
} problem;

/* ---- the kernel --------------------------------------------------------- */

static void fill_rates(uint32_t d, const double *theta, double *rate) {
  for (uint32_t k = 0; k < d; k++) rate[k] = exp(-theta[k]);
}

/* Of points on length scales: most of the time goes by here, so that there are
 * four sums, which do not wait for each other. */
static double distance2(uint32_t d, const double *a, const double *b) {
  double s = 0, t = 0, u = 0, v = 0;
  uint32_t k = 0;
  for (; k + 4 <= d; k += 4) {
    s += (a[k] - b[k]) * (a[k] - b[k]);
    t += (a[k + 1] - b[k + 1]) * (a[k + 1] - b[k + 1]);
    u += (a[k + 2] - b[k + 2]) * (a[k + 2] - b[k + 2]);
    v += (a[k + 3] - b[k + 3]) * (a[k + 3] - b[k + 3]);
  }
  for (; k < d; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
  return (s + t) + (u + v);
}

/* From [0, 1] to length scales. */
static void stretch(uint32_t n, uint32_t d, const double *x, const double *rate,
                    double *out) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < d; k++)
      out[(size_t)i * d + k] = x[(size_t)i * d + k] * rate[k];
}

static double matern(double r2) {
  double r = SQRT5 * sqrt(r2);
  return (1 + r + r * r / 3) * exp(-r);
}

/* Covariance of the points, noise on its diagonal. */
static void fill_covariance(const problem *p, const double *theta) {
  double variance = exp(theta[p->d]), noise = exp(theta[p->d + 1]);
  for (uint32_t i = 0; i < p->n; i++) {
    const double *a = p->at + (size_t)i * p->d;
    gsl_matrix_set(p->k, i, i, variance + noise + 1e-10);
    for (uint32_t j = 0; j < i; j++) {
      double r2 = distance2(p->d, a, p->at + (size_t)j * p->d);
      double v = variance * matern(r2);
      p->plain[(size_t)i * p->n + j] = r2;
      gsl_matrix_set(p->k, i, j, v);
      gsl_matrix_set(p->k, j, i, v);
    }
  }
}

/* ---- likelihood --------------------------------------------------------- */

/* Medians and spreads of the logarithms. */
static void prior_of(uint32_t d, uint32_t i, double *median, double *spread) {
  if (i < d) {
    *median = log(0.5) + 0.5 * log((double)d);
    *spread = 1;
  } else {
    *median = i == d ? 0 : log(1e-2);
    *spread = i == d ? 1 : 2;
  }
}

static double add_priors(uint32_t d, const double *theta, double *gradient) {
  double sum = 0;
  for (uint32_t i = 0; i < d + 2; i++) {
    double median, spread;
    prior_of(d, i, &median, &spread);
    double z = (theta[i] - median) / spread;
    sum += 0.5 * z * z;
    if (gradient) gradient[i] += z / spread;
  }
  return sum;
}

/* Half the trace of (alpha alpha' - K^-1) dK / d theta, for all of theta. */
static void fill_gradient(const problem *p, const double *theta,
                          double *restrict gradient) {
  double variance = exp(theta[p->d]), noise = exp(theta[p->d + 1]);
  for (uint32_t i = 0; i < p->n; i++) {
    double ai = gsl_vector_get(p->alpha, i);
    double own = ai * ai - gsl_matrix_get(p->inverse, i, i);
    gradient[p->d] -= 0.5 * own * variance;
    gradient[p->d + 1] -= 0.5 * own * noise;
    for (uint32_t j = 0; j < i; j++) {
      double r2 = p->plain[(size_t)i * p->n + j], r = SQRT5 * sqrt(r2);
      double w =
          ai * gsl_vector_get(p->alpha, j) - gsl_matrix_get(p->inverse, i, j);
      const double *a = p->at + (size_t)i * p->d;
      const double *b = p->at + (size_t)j * p->d;
      double slope = w * variance * 5 / 3 * (1 + r) * exp(-r);
      gradient[p->d] -= w * variance * matern(r2);
      for (uint32_t k = 0; k < p->d; k++)
        gradient[k] -= slope * (a[k] - b[k]) * (a[k] - b[k]);
    }
  }
}

/* Negative logarithm of likelihood and priors; +inf where the covariance has
 * no factor, which then is not to be used. */
static double likelihood(const problem *p, const double *theta,
                         double *gradient) {
  gsl_vector_const_view y = gsl_vector_const_view_array(p->y, p->n);
  double sum = 0.5 * p->n * log(2 * M_PI);
  if (gradient) memset(gradient, 0, (p->d + 2) * sizeof *gradient);
  for (uint32_t i = 0; i < p->d + 2; i++)
    if (!(fabs(theta[i]) < 20)) return INFINITY;
  fill_rates(p->d, theta, p->rate);
  stretch(p->n, p->d, p->x, p->rate, p->at);
  fill_covariance(p, theta);
  if (gsl_linalg_cholesky_decomp1(p->k)) return INFINITY;
  gsl_linalg_cholesky_solve(p->k, &y.vector, p->alpha);
  for (uint32_t i = 0; i < p->n; i++)
    sum += log(gsl_matrix_get(p->k, i, i)) +
           0.5 * p->y[i] * gsl_vector_get(p->alpha, i);
  if (gradient) {
    gsl_matrix_memcpy(p->inverse, p->k);
    gsl_linalg_cholesky_invert(p->inverse);
    fill_gradient(p, theta, gradient);
  }
  return sum + add_priors(p->d, theta, gradient);
}

/* ---- fitting ------------------------------------------------------------ */

static double f_of(const gsl_vector *v, void *ud) {
  double f = likelihood(ud, v->data, NULL);
  return isfinite(f) ? f : 1e10;
}

static void fdf_of(const gsl_vector *v, void *ud, double *f, gsl_vector *df) {
  *f = likelihood(ud, v->data, df->data);
  if (isfinite(*f)) return;
  *f = 1e10;
  gsl_vector_set_zero(df);
}

static void df_of(const gsl_vector *v, void *ud, gsl_vector *df) {
  double f;
  fdf_of(v, ud, &f, df);
}

static void minimise(problem *p, double *theta, uint32_t steps) {
  gsl_multimin_fdfminimizer *m = gsl_multimin_fdfminimizer_alloc(
      gsl_multimin_fdfminimizer_vector_bfgs2, p->d + 2);
  gsl_multimin_function_fdf f = {f_of, df_of, fdf_of, p->d + 2, p};
  gsl_vector_view start = gsl_vector_view_array(theta, p->d + 2);
  if (!m) return;
  int bad = gsl_multimin_fdfminimizer_set(m, &f, &start.vector, 0.5, 0.2);
  for (uint32_t i = 0; i < steps && !bad; i++) {
    bad = gsl_multimin_fdfminimizer_iterate(m);
    if (gsl_multimin_test_gradient(m->gradient, 1e-2) == GSL_SUCCESS) break;
  }
  memcpy(theta, m->x->data, (p->d + 2) * sizeof *theta);
  gsl_multimin_fdfminimizer_free(m);
}

static void free_problem(problem *p) {
  gsl_matrix_free(p->k);
  gsl_matrix_free(p->inverse);
  gsl_vector_free(p->alpha);
  free(p->plain);
  free(p->rate);
  free(p->at);
}

static int make_problem(problem *p, uint32_t n, uint32_t d, const double *x,
                        const double *y) {
  *p = (problem){.n = n, .d = d, .x = x, .y = y};
  p->k = gsl_matrix_alloc(n, n);
  p->inverse = gsl_matrix_alloc(n, n);
  p->alpha = gsl_vector_alloc(n);
  p->plain = malloc((size_t)n * n * sizeof *p->plain);
  p->rate = malloc((d + 1) * sizeof *p->rate);
  p->at = malloc(((size_t)n * d + 1) * sizeof *p->at);
  return p->k && p->inverse && p->alpha && p->plain && p->rate && p->at;
}

static void scale_points(gsl_gp *gp, const double *x) {
  for (uint32_t k = 0; k < gp->d; k++) {
    double lo = INFINITY, hi = -INFINITY;
    for (uint32_t i = 0; i < gp->n; i++) {
      lo = fmin(lo, x[(size_t)i * gp->d + k]);
      hi = fmax(hi, x[(size_t)i * gp->d + k]);
    }
    gp->lo[k] = lo;
    gp->scale[k] = hi > lo ? 1 / (hi - lo) : 0;
    for (uint32_t i = 0; i < gp->n; i++)
      gp->x[(size_t)i * gp->d + k] =
          (x[(size_t)i * gp->d + k] - lo) * gp->scale[k];
  }
}

static void scale_values(gsl_gp *gp, const double *y, double *out) {
  double sum = 0, square = 0;
  for (uint32_t i = 0; i < gp->n; i++) sum += y[i];
  gp->mean = sum / gp->n;
  for (uint32_t i = 0; i < gp->n; i++)
    square += (y[i] - gp->mean) * (y[i] - gp->mean);
  gp->spread = square > 0 ? sqrt(square / gp->n) : 1;
  for (uint32_t i = 0; i < gp->n; i++) out[i] = (y[i] - gp->mean) / gp->spread;
}

static gsl_gp *gp_new(uint32_t n, uint32_t d) {
  gsl_gp *gp = calloc(1, sizeof *gp);
  if (!gp) return NULL;
  gp->n = n;
  gp->d = d;
  gp->lo = malloc((d + 1) * sizeof *gp->lo);
  gp->scale = malloc((d + 1) * sizeof *gp->scale);
  gp->theta = malloc((d + 2) * sizeof *gp->theta);
  gp->rate = malloc((d + 1) * sizeof *gp->rate);
  gp->x = malloc(((size_t)n * d + 1) * sizeof *gp->x);
  if (gp->lo && gp->scale && gp->theta && gp->rate && gp->x) return gp;
  gp_free(gp);
  return NULL;
}

/* 0: it has no factor. */
static int do_gp_fit(gsl_gp *gp, problem *p, const gsl_gp *before,
                     uint32_t steps) {
  double spread;
  for (uint32_t i = 0; i < gp->d + 2; i++)
    prior_of(gp->d, i, &gp->theta[i], &spread);
  if (before) memcpy(gp->theta, before->theta, (gp->d + 2) * sizeof(double));
  if (steps) minimise(p, gp->theta, steps);
  if (!isfinite(likelihood(p, gp->theta, NULL))) return 0;
  fill_rates(gp->d, gp->theta, gp->rate);
  stretch(gp->n, gp->d, gp->x, gp->rate, gp->x);
  gp->factor = p->k;
  gp->alpha = p->alpha;
  p->k = NULL;
  p->alpha = NULL;
  return 1;
}

gsl_gp *gp_fit(uint32_t n, uint32_t d, const double *x, const double *y,
               const gsl_gp *before, uint32_t steps) {
  gsl_gp *gp = n ? gp_new(n, d) : NULL;
  double *values = malloc((n + 1) * sizeof *values);
  problem p = {0};
  int good = 0;
  errors_off();
  if (gp && values) {
    scale_points(gp, x);
    scale_values(gp, y, values);
    good = make_problem(&p, n, d, gp->x, values) &&
           do_gp_fit(gp, &p, before, steps);
    free_problem(&p);
  }
  errors_restore();
  free(values);
  if (good) return gp;
  gp_free(gp);
  return NULL;
}

void gp_free(gsl_gp *gp) {
  if (!gp) return;
  gsl_matrix_free(gp->factor);
  gsl_vector_free(gp->alpha);
  free(gp->lo);
  free(gp->scale);
  free(gp->theta);
  free(gp->rate);
  free(gp->x);
  free(gp);
}

double gp_likelihood(uint32_t n, uint32_t d, const double *x, const double *y,
                     const double *theta, double *gradient) {
  problem p;
  double f = INFINITY;
  errors_off();
  if (make_problem(&p, n, d, x, y)) f = likelihood(&p, theta, gradient);
  free_problem(&p);
  errors_restore();
  return f;
}

/* ---- asking ------------------------------------------------------------- */

/* The point on the scale of the process. */
static void scale_point(const gsl_gp *gp, const double *x, double *at) {
  for (uint32_t k = 0; k < gp->d; k++)
    at[k] = (x[k] - gp->lo[k]) * gp->scale[k] * gp->rate[k];
}

/* Prior covariances of a scaled point with the points known. */
static void fill_prior(const gsl_gp *gp, const double *at, gsl_vector *cov) {
  double variance = exp(gp->theta[gp->d]);
  for (uint32_t i = 0; i < gp->n; i++)
    gsl_vector_set(cov, i,
                   variance *
                       matern(distance2(gp->d, at, gp->x + (size_t)i * gp->d)));
}

/* One point; `at` and `cov` are room for d and n numbers. */
static void predict_one(const gsl_gp *gp, const double *x, double *at,
                        gsl_vector *cov, double *mean, double *sd) {
  double variance = exp(gp->theta[gp->d]), sum, square;
  scale_point(gp, x, at);
  fill_prior(gp, at, cov);
  gsl_blas_ddot(cov, gp->alpha, &sum);
  gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, gp->factor, cov);
  gsl_blas_ddot(cov, cov, &square);
  *mean = gp->mean + gp->spread * sum;
  *sd = gp->spread * sqrt(fmax(0, variance - square));
}

void gp_predict(const gsl_gp *gp, uint32_t m, const double *x, double *mean,
                double *sd) {
  double *at = malloc((gp->d + 1) * sizeof *at);
  errors_off();
  gsl_vector *cov = gsl_vector_alloc(gp->n);
  for (uint32_t i = 0; i < m; i++) {
    mean[i] = gp->mean;
    sd[i] = gp->spread;
    if (at && cov)
      predict_one(gp, x + (size_t)i * gp->d, at, cov, &mean[i], &sd[i]);
  }
  gsl_vector_free(cov);
  errors_restore();
  free(at);
}

/* `solved` is the inverse of the covariance times the priors of `here`. */
static double covary_one(const gsl_gp *gp, const double *here, const double *x,
                         const gsl_vector *solved, double *at,
                         gsl_vector *cov) {
  double known;
  scale_point(gp, x, at);
  fill_prior(gp, at, cov);
  gsl_blas_ddot(cov, solved, &known);
  double prior = exp(gp->theta[gp->d]) * matern(distance2(gp->d, at, here));
  return gp->spread * gp->spread * (prior - known);
}

double gp_covariance(const gsl_gp *gp, const double *at, uint32_t m,
                     const double *x, double *out) {
  double *room = malloc((2 * (size_t)gp->d + 1) * sizeof *room);
  errors_off();
  gsl_vector *cov = gsl_vector_alloc(gp->n), *solved = gsl_vector_alloc(gp->n);
  bool good = room && cov && solved;
  if (good) {
    scale_point(gp, at, room);
    fill_prior(gp, room, cov);
    gsl_linalg_cholesky_solve(gp->factor, cov, solved);
  }
  for (uint32_t i = 0; i < m; i++)
    out[i] = good ? covary_one(gp, room, x + (size_t)i * gp->d, solved,
                               room + gp->d, cov)
                  : 0;
  gsl_vector_free(cov);
  gsl_vector_free(solved);
  errors_restore();
  free(room);
  return gp->spread * gp->spread * exp(gp->theta[gp->d + 1]);
}
