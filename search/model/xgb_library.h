/* SPDX-License-Identifier: Apache-2.0
 * The functions of libxgboost's C interface (1.7) that are used, found when a
 * model asks for them. */
#ifndef SEARCH_MODEL_XGB_LIBRARY_H
#define SEARCH_MODEL_XGB_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *xgb_matrix;
typedef void *xgb_booster;

/* Each gives 0, or -1 with get_last_error(). */
typedef struct xgb_library {
  const char *(*get_last_error)(void);
  int (*set_global_config)(const char *json);
  int (*matrix_new)(const float *v, uint64_t nrow, uint64_t ncol,
                    float missing, xgb_matrix *out);
  int (*matrix_free)(xgb_matrix m);
  int (*booster_new)(const xgb_matrix *m, uint64_t n, xgb_booster *out);
  int (*booster_free)(xgb_booster b);
  int (*set_param)(xgb_booster b, const char *name, const char *value);
  int (*boost_one)(xgb_booster b, xgb_matrix m, float *grad, float *hess,
                   uint64_t n);
  int (*predict)(xgb_booster b, xgb_matrix m, const char *config,
                 uint64_t const **shape, uint64_t *dim, float const **out);
  int (*feature_score)(xgb_booster b, const char *config, uint64_t *nfeatures,
                       char const ***features, uint64_t *dim,
                       uint64_t const **shape, float const **out);
} xgb_library;

/* false: it is not there, and `why` says how it was looked for. */
bool xgb_load(xgb_library *out, char why[256]);

#endif
