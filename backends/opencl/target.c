/* SPDX-License-Identifier: Apache-2.0
 * OpenCL targets: limits of kinds of devices, of which the text may state
 * others.  A target's text says all of them, so that hosts and workers agree
 * whatever devices they see. */
#include "backends/opencl/opencl.h"
#include <stdio.h>
#include <string.h>

typedef struct model {
  const char *name;
  int64_t threads, shared, lanes, vector;
} model;

static const model models[] = {
#define MODEL(name, threads, shared, lanes, vector) \
  {name, threads, shared, lanes, vector},
#include "backends/opencl/models.def"
#undef MODEL
};
enum { NMODELS = sizeof models / sizeof *models };

static tess_status refuse_model(const target *t, err_state *e) {
  char known[256] = "";
  size_t at = 0;
  for (size_t i = 0; i < NMODELS; i++)
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s",
                           at ? ", " : "", models[i].name);
  return err_set(e, TESS_INVALID,
                 "target: there is no OpenCL device '-model=%s'; there are %s",
                 t->model, known);
}

static void complete_number(int64_t *field, int64_t value) {
  if (!*field) *field = value;
}

tess_status opencl_complete_target(target *t, err_state *e) {
  const model *m = NULL;
  const char *name = t->model[0] ? t->model : models[0].name;
  for (size_t i = 0; i < NMODELS; i++)
    if (!strcmp(models[i].name, name)) m = &models[i];
  if (!m) return refuse_model(t, e);
  if (t->contract[0] && strcmp(t->contract, "off") &&
      strcmp(t->contract, "fast"))
    return err_set(e, TESS_INVALID,
                   "target: -fp-contract is 'off' or 'fast', not '%s'",
                   t->contract);
  complete_number(&t->max_threads, m->threads);
  complete_number(&t->shared_bytes, m->shared);
  complete_number(&t->warp_size, m->lanes);
  complete_number(&t->vector_bytes, m->vector);
  return TESS_OK;
}
