/* SPDX-License-Identifier: Apache-2.0
 * Loading libxgboost.  It stays loaded until the process ends: it has state of
 * threads that outlives what is made with it. */
#include "search/model/xgb_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find(void *lib, const char *name, void *to, char why[256]) {
  void *symbol = dlsym(lib, name);
  if (!symbol) {
    snprintf(why, 256, "libxgboost has no %s", name);
    return false;
  }
  memcpy(to, &symbol, sizeof symbol);
  return true;
}

bool xgb_load(xgb_library *x, char why[256]) {
  const int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  void *lib = dlopen("libxgboost.so.0", how);
  if (!lib) lib = dlopen("libxgboost.so", how);
  if (!lib) {
    const char *said = dlerror();
    snprintf(why, 256, "%s", said ? said : "libxgboost.so.0 does not load");
    return false;
  }
  bool all = find(lib, "XGBGetLastError", &x->get_last_error, why) &&
             find(lib, "XGBSetGlobalConfig", &x->set_global_config, why) &&
             find(lib, "XGDMatrixCreateFromMat", &x->matrix_new, why) &&
             find(lib, "XGDMatrixFree", &x->matrix_free, why) &&
             find(lib, "XGBoosterCreate", &x->booster_new, why) &&
             find(lib, "XGBoosterFree", &x->booster_free, why) &&
             find(lib, "XGBoosterSetParam", &x->set_param, why) &&
             find(lib, "XGBoosterBoostOneIter", &x->boost_one, why) &&
             find(lib, "XGBoosterPredictFromDMatrix", &x->predict, why) &&
             find(lib, "XGBoosterFeatureScore", &x->feature_score, why);
  dlclose(lib);
  return all;
}
